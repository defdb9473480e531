create or replace view lake.unclaimed_openedge
  
  
  as
    select * from the_model
;

alter view lake.unclaimed_openedge set tblproperties ('change_tables.digest' = '…')
;
