select 0 as place, _checkpoint from lake.dedup_feed__events_multi_valued__state where startswith(_checkpoint, '{')
;

create or replace table lake.current_feed__events_multi_valued__state
    using delta
    tblproperties ('delta.columnMapping.mode' = 'name', 'delta.enableDeletionVectors' = 'false', 'delta.enableTypeWidening' = 'true', 'delta.dataSkippingStatsColumns' = '_checkpoint,_change_seq,_batch_id')
    
    as
    with state_rows as (

select * from the_model

)

select
    cast(null as string) as _checkpoint,
    '20260131T120000000000_00000000' as _batch_id,
    _change_seq, _change_op, _change_id, _precedence, _is_deleted, _changed_at, _transaction_id, `order`, `it's`, `name with spaces`, amount
from state_rows
union all
select
    '{"storage_version": 6, "log": "20260130T120000000000_00000001", "origin": "20260130T120000000000_00000001", "batch": "20260130T120000000000_00000001", "log_changes": 3, "reset_seq": "", "loads": [], "key": ["order", "it\'s"], "columns": {"order": "bigint", "it\'s": "string", "name with spaces": "string", "amount": "decimal(12,2)"}, "built": "20260131T120000000000_00000000", "written": "20260131T120000000000_00000000", "keeps_deleted": false}' as _checkpoint,
    null as _batch_id, null as _change_seq, null as _change_op, null as _change_id, null as _precedence, null as _is_deleted, null as _changed_at, null as _transaction_id, null as `order`, null as `it's`, null as `name with spaces`, null as amount
;

select count(*) as written_rows from lake.current_feed__events_multi_valued__state
;

create or replace view lake.current_feed__events_multi_valued
(
    `order`,
    `it's`,
    `name with spaces`,
    amount,
    _change_op comment 'insert, update, upsert, delete, truncate, snapshot; null where the raw row is no change',
    _change_seq comment 'sorts as text in the order of change; of snapshot rows snapshot_seq',
    _changed_at comment 'when the source says it happened, approximate; never an order',
    _transaction_id comment 'null where the feed has none'
)
tblproperties ('change_tables.digest' = '…', 'change_tables.checkpoint' = '…', 'change_tables.checkpoint.0' = '…')
as
select
    `order`, -- bigint
    `it's`, -- string
    `name with spaces`, -- string
    amount, -- decimal(12,2)
    _change_op, _change_seq, _changed_at, _transaction_id
from lake.current_feed__events_multi_valued__state
where _checkpoint is null and not _is_deleted
;
