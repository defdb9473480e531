select 0 as place, _mark from lake.dedup_feed__partial__state where _mark is not null
;

create table lake.current_feed__partial__batch_20260131t120000000000_00000000
    using parquet
    as
    -- change_tables run: {"run": "first", "mark_before": null, "mark": {"layout": 1, "log": "20260130T120000000000_00000001", "batch": "20260130T120000000000_00000001", "floor": "20260131120000250000000000000000015", "loads": ["", "20260131120000250000000000000000015"], "key": ["order", "it's"], "columns": {"order": "bigint", "it's": "string", "name with spaces": "string", "fields": "struct<a:int,b:int>"}, "counted": 0}, "history": false, "folds": true, "moves": true, "has_floors": true, "ends_older_keys": false, "exchanges": false, "late": false, "replays": false, "follows_rows": true, "kept_step": "given_events", "is_to_be_counted": false, "log_is_outdated": false, "form": 0, "added": {}}
with changes as (select * from the_model),

events as (select * from the_model),

truncates as (select * from the_model),

floors as (select * from the_model),

key_events as (select * from the_model),

given_events as (

    
    select
        `order`, `it's`, `name with spaces`, fields, _change_op, _change_seq, _changed_at, _transaction_id, _change_id, _present_columns, _precedence, _is_deleted, _ct_enters, _is_replayed,
        false as _ct_is_known
    from key_events
    
)

select * from given_events
;

create or replace table lake.current_feed__partial__state
    using delta
    tblproperties ('delta.columnMapping.mode' = 'name', 'delta.enableDeletionVectors' = 'false', 'delta.enableTypeWidening' = 'true')
    
    as
    with state_rows as (

-- change_tables run: {"run": "first", "mark_before": null, "mark": {"layout": 1, "log": "20260130T120000000000_00000001", "batch": "20260130T120000000000_00000001", "floor": "20260131120000250000000000000000015", "loads": ["", "20260131120000250000000000000000015"], "key": ["order", "it's"], "columns": {"order": "bigint", "it's": "string", "name with spaces": "string", "fields": "struct<a:int,b:int>"}, "counted": 0}, "history": false, "folds": true, "moves": true, "has_floors": true, "ends_older_keys": false, "exchanges": false, "late": false, "replays": false, "follows_rows": true, "kept_step": "given_events", "is_to_be_counted": false, "log_is_outdated": false, "form": 0, "added": {}}
with changes as (select * from the_model),

events as (select * from the_model),

truncates as (select * from the_model),

floors as (select * from the_model),

key_events as (select * from the_model),

given_events as (

    select * from lake.current_feed__partial__batch_20260131t120000000000_00000000

),

spans as (select * from the_model),

key_floors as (select * from the_model),

ended_events as (select * from the_model),

-- no join of keys with events: Spark would push it into every branch of the events
marked_events as (select * from the_model),

replayed_tenancies as (select * from the_model),

tenancies as (select * from the_model),

links as (select * from the_model),

-- one row, of links alone: two ids a move
collected_links as (select * from the_model),

traced_links as (select * from the_model),

lineages as (select * from the_model),

followed_events as (select * from the_model),

started_events as (select * from the_model),

judged_events as (select * from the_model),

decided_events as (select * from the_model),

overlaid_events as (select * from the_model),

placed_events as (select * from the_model),

folded as (select * from the_model)

select
    cast(null as string) as _mark,
    _change_seq,
    _change_op,
    _change_id,
    _precedence,
    _is_deleted,
    _is_replayed,
    _changed_at,
    _transaction_id,
    `order`, `it's`, `name with spaces`, fields
from folded
where _ct_next_seq is null

)

select
    _mark,
    _change_seq, _change_op, _change_id, _precedence, _is_deleted, _is_replayed, _changed_at, _transaction_id, `order`, `it's`, `name with spaces`, fields
from state_rows
union all
select
    '{"layout": 1, "log": "20260130T120000000000_00000001", "batch": "20260130T120000000000_00000001", "floor": "20260131120000250000000000000000015", "loads": ["", "20260131120000250000000000000000015"], "key": ["order", "it\'s"], "columns": {"order": "bigint", "it\'s": "string", "name with spaces": "string", "fields": "struct<a:int,b:int>"}, "counted": 0}' as _mark,
    null as _change_seq, null as _change_op, null as _change_id, null as _precedence, null as _is_deleted, null as _is_replayed, null as _changed_at, null as _transaction_id, null as `order`, null as `it's`, null as `name with spaces`, null as fields
;

drop table if exists lake.current_feed__partial__batch_20260131t120000000000_00000000
;

create or replace view lake.current_feed__partial
(
    `order`,
    `it's`,
    `name with spaces`,
    fields,
    _change_op comment 'insert, update, upsert, delete, truncate, snapshot; null where the raw row is no change',
    _change_seq comment 'sorts as text in the order of change; of snapshot rows snapshot_seq',
    _changed_at comment 'when the source says it happened, approximate; never an order',
    _transaction_id comment 'null where the feed has none'
)
tblproperties ('change_tables.digest' = '…', 'change_tables.mark' = '…', 'change_tables.mark.0' = '…')
as
select
    `order`, -- bigint
    `it's`, -- string
    `name with spaces`, -- string
    fields, -- struct<a:int,b:int>
    _change_op, _change_seq, _changed_at, _transaction_id
from lake.current_feed__partial__state
where _mark is null and not _is_deleted
;
