create or replace view lake.reported
  
  
  as
    
select * from the_model
;

alter view lake.reported set tblproperties ('change_tables.digest' = '…')
;
