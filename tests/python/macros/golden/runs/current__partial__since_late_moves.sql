select 0 as place, _mark from lake.dedup_feed__partial__state where startswith(_mark, '{') union all select 1 as place, _mark from lake.current_feed__partial__state where startswith(_mark, '{')
;

create table lake.current_feed__partial__batch_20260131t120000000000_00000000
    using parquet
    as
with changes as (select * from the_model),

events as (select * from the_model),

known_keys as (select * from the_model),

moved_keys as (select * from the_model),

known_events as (select * from the_model),

met_events as (select * from the_model),

events_by_key as (select * from the_model),

given_events as (select * from the_model)

select *, false as _ct_is_replayed from given_events
;

select count(*) as late from lake.current_feed__partial__batch_20260131t120000000000_00000000 where _ct_is_late
;

insert into lake.current_feed__partial__batch_20260131t120000000000_00000000
                with given_events as (

    select * from lake.current_feed__partial__batch_20260131t120000000000_00000000

),

late_keys as (select * from the_model),

-- one row: two hashes a move
collected_moves as (select * from the_model),

replayed_keys as (select * from the_model),

logged_changes as (select * from the_model),

logged_events as (select * from the_model),

replayed_events as (select * from the_model)

select *, false as _ct_is_late, true as _ct_is_replayed from replayed_events
;

merge into lake.current_feed__partial__state as target
using (
    with state_rows as (

with all_events as (

    select kept.*
    from lake.current_feed__partial__batch_20260131t120000000000_00000000 as kept
    left join (select distinct xxhash64(`order`, `it's`) as _ct_key from lake.current_feed__partial__batch_20260131t120000000000_00000000 where _ct_is_replayed) as replayed_keys
        on xxhash64(kept.`order`, kept.`it's`) = replayed_keys._ct_key
    where kept._ct_is_replayed or replayed_keys._ct_key is null

),

touched_keys as (select * from the_model),

touched_events as (select * from the_model),

ordered_events as (select * from the_model),

events_with_rows as (select * from the_model),

rows_of_events as (select * from the_model),

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

select _change_seq, _change_op, _change_id, _precedence, _is_deleted, _changed_at, _transaction_id, `order`, `it's`, `name with spaces`, fields
from folded
where _ct_next_seq is null

)

select
    cast(null as string) as _mark,
    _change_seq, _change_op, _change_id, _precedence, _is_deleted, _changed_at, _transaction_id, `order`, `it's`, `name with spaces`, fields
from state_rows
union all
select
    '{"layout": 4, "log": "20260130T120000000000_00000001", "batch": "20260131T110000000000_00000009", "floor": "", "loads": [], "key": ["order", "it\'s"], "columns": {"order": "bigint", "it\'s": "string", "name with spaces": "string", "fields": "struct<a:int,b:int>"}, "counted": 0}' as _mark,
    null as _change_seq, null as _change_op, null as _change_id, null as _precedence, null as _is_deleted, null as _changed_at, null as _transaction_id, null as `order`, null as `it's`, null as `name with spaces`, null as fields
) as source
    on
        source.`order` <=> target.`order` and source.`it's` <=> target.`it's`
        and (source._mark is null) = (target._mark is null)
when matched and source._mark is not null then update set
    _mark = case
        when target._mark = '{"layout": 4, "log": "20260130T120000000000_00000001", "batch": "20260130T120000000000_00000001", "floor": "", "loads": [], "key": ["order", "it\'s"], "columns": {"order": "bigint", "it\'s": "string", "name with spaces": "string", "fields": "struct<a:int,b:int>"}, "counted": 0}' then source._mark
        else raise_error('change_tables: another run has written to this table at the same time; nothing was changed, run again')
    end
when
    matched
    then update set
    _change_seq = source._change_seq,
    _change_op = source._change_op,
    _change_id = source._change_id,
    _precedence = source._precedence,
    _is_deleted = source._is_deleted,
    _changed_at = source._changed_at,
    _transaction_id = source._transaction_id,
    `order` = source.`order`,
    `it's` = source.`it's`,
    `name with spaces` = source.`name with spaces`,
    fields = source.fields
when not matched then insert (_mark, _change_seq, _change_op, _change_id, _precedence, _is_deleted, _changed_at, _transaction_id, `order`, `it's`, `name with spaces`, fields)
    values (case when source._mark is not null then raise_error('change_tables: this table has lost the mark of its runs, as if it was emptied or replaced by hand; nothing was changed, run again') else source._mark end, source._change_seq, source._change_op, source._change_id, source._precedence, source._is_deleted, source._changed_at, source._transaction_id, source.`order`, source.`it's`, source.`name with spaces`, source.fields)
;

select count(*) as written_rows from lake.current_feed__partial__state
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
