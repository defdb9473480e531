create or replace view lake.unclaimed_trail
  
  
  as
    select * from the_model
;

alter view lake.unclaimed_trail set tblproperties ('change_tables.digest' = '…')
;
