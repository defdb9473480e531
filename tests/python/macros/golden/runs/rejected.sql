create or replace view lake.rejected
  
  
  as
    
select * from the_model
;

alter view lake.rejected set tblproperties ('change_tables.digest' = '…')
;
