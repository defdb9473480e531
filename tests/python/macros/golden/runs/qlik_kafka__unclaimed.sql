create or replace view lake.unclaimed_kafka
  
  
  as
    select * from the_model
;

alter view lake.unclaimed_kafka set tblproperties ('change_tables.digest' = '…')
;
