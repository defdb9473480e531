select 0 as place, _checkpoint from lake.dedup_feed__events__state where startswith(_checkpoint, '{') union all select 1 as place, _checkpoint from lake.dedup_feed__events_multi_valued__state where startswith(_checkpoint, '{')
;

create or replace table lake.documents__state
    using delta
    tblproperties ('delta.columnMapping.mode' = 'name', 'delta.enableDeletionVectors' = 'true', 'delta.enableTypeWidening' = 'true', 'delta.dataSkippingStatsColumns' = '_checkpoint,_batch_id,_first_record_id,_last_record_id')
    
    as
    with document_rows as (

select * from the_model

)

select
    _checkpoint,
    record_ids, class_name, association, document, reason, _batch_id, _position, _first_record_id, _last_record_id
from document_rows
union all
select
    '{"storage_version": 6, "batch": "20260131T120000000000_00000000", "logs": {"usr": {"log": "20260130T120000000000_00000001", "batch": "20260130T120000000000_00000001"}, "multi": {"log": "20260130T120000000000_00000001", "batch": "20260130T120000000000_00000001"}}}' as _checkpoint,
    null as record_ids, null as class_name, null as association, null as document, null as reason, null as _batch_id, null as _position, null as _first_record_id, null as _last_record_id
;

create or replace view lake.documents
(
    record_ids comment 'the events that the document stands for, in their order, those included that add nothing to it',
    class_name comment 'table_name of the entry',
    association comment 'the pairs of the table key as they were logged, then table and schema',
    document comment 'the element, without declaration and without nds around it',
    reason comment 'null where there is a document, else code: detail',
    _batch_id comment 'the run that published',
    _position comment 'the place in that run; gaps mean nothing'
)
tblproperties ('change_tables.digest' = '…', 'change_tables.checkpoint' = '…', 'change_tables.checkpoint.0' = '…')
as
select
    record_ids, -- array<bigint>
    class_name, -- string
    association, -- string
    document, -- string
    reason, -- string
    _batch_id, _position
from lake.documents__state
where _checkpoint is null
;
