create or replace view lake.unclaimed_kafka_by_column
  
  
  as
    select * from the_model
;

alter view lake.unclaimed_kafka_by_column set tblproperties ('change_tables.digest' = '…')
;
