create or replace view lake.kafka_schemas
  
  
  as
    select * from the_model
;

alter view lake.kafka_schemas set tblproperties ('change_tables.digest' = '…')
;
