create or replace view lake.unclaimed_events
  
  
  as
    select * from the_model
;

alter view lake.unclaimed_events set tblproperties ('change_tables.digest' = '…')
;
