create or replace view lake.openedge_events
  
  
  as
    select * from the_model
;

alter view lake.openedge_events set tblproperties ('change_tables.digest' = '…')
;
