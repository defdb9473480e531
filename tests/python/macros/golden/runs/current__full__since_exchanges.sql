select 0 as place, _mark from lake.dedup_feed__full__state where _mark is not null union all select 1 as place, _mark from lake.current_feed__full__state where _mark is not null
;

with changes as (select * from the_model),

events as (select * from the_model), moves_and_deletes as (

    select *
    from lake.dedup_feed__full__state
    where
        _mark is null
        and (_key_before is not null or _change_op = 'delete')
        and _batch_id <= '20260131T110000000000_00000009'

),

entries_and_ends as (select * from the_model),

exchanged_keys as (select * from the_model) select (select count(*) from (select 1 from exchanged_keys limit 1)), (select count(*) from entries_and_ends as known where _ct_enters and _change_seq >= '20260131120000250000000000000000015' and not exists (select 1 from events where events._change_id = known._change_id and events._change_seq = known._change_seq))
;

create table lake.current_feed__full__batch_20260131t120000000000_00000000
    using parquet
    as
    -- change_tables run: {"run": "since", "mark_before": {"layout": 1, "log": "20260130T120000000000_00000001", "batch": "20260130T120000000000_00000001", "floor": "", "loads": [], "key": ["order", "it's"], "columns": {"order": "bigint", "it's": "string", "name with spaces": "string"}, "counted": 0}, "mark": {"layout": 1, "log": "20260130T120000000000_00000001", "batch": "20260131T110000000000_00000009", "floor": "20260131120000250000000000000000015", "loads": ["", "20260131120000250000000000000000015"], "key": ["order", "it's"], "columns": {"order": "bigint", "it's": "string", "name with spaces": "string"}, "counted": 0}, "history": false, "folds": false, "moves": true, "has_floors": true, "ends_older_keys": true, "exchanges": true, "late": false, "replays": true, "follows_rows": false, "kept_step": "key_events", "is_to_be_counted": false, "log_is_outdated": false, "form": 0, "added": {}}
with changes as (select * from the_model),

events as (select * from the_model),

moves_and_deletes as (select * from the_model),

entries_and_ends as (select * from the_model),

exchanged_keys as (select * from the_model),

replayed_keys as (select * from the_model),

logged_changes as (select * from the_model),

logged_events as (select * from the_model),

replayed_events as (select * from the_model),

-- a move adds a row, a departure or a delete takes the first, any other change sets the newest; the end of a transaction
-- leaves only that, a truncate none; a change without a transaction is one of its own
counted_rows as (select * from the_model),

covered_ends as (select * from the_model),

key_events as (

    
    select
        events.`order`, events.`it's`, events.`name with spaces`, events._change_op, events._change_seq, events._changed_at, events._transaction_id, events._change_id, events._precedence, events._is_deleted,
        false as _is_replayed
    from events
    left anti join replayed_keys
        on events.`order` <=> replayed_keys.`order` and events.`it's` <=> replayed_keys.`it's`
    union all
    select
        replayed_events.`order`, replayed_events.`it's`, replayed_events.`name with spaces`, replayed_events._change_op, replayed_events._change_seq, replayed_events._changed_at, replayed_events._transaction_id, replayed_events._change_id, replayed_events._precedence, replayed_events._is_deleted,
        true as _is_replayed
    from replayed_events
    left anti join covered_ends
        on
            replayed_events.`order` <=> covered_ends.`order` and replayed_events.`it's` <=> covered_ends.`it's`
            and replayed_events._change_id = covered_ends._change_id
            and replayed_events._precedence = covered_ends._precedence

)

select * from key_events
;

merge into lake.current_feed__full__state as target
using (
    with state_rows as (

-- change_tables run: {"run": "since", "mark_before": {"layout": 1, "log": "20260130T120000000000_00000001", "batch": "20260130T120000000000_00000001", "floor": "", "loads": [], "key": ["order", "it's"], "columns": {"order": "bigint", "it's": "string", "name with spaces": "string"}, "counted": 0}, "mark": {"layout": 1, "log": "20260130T120000000000_00000001", "batch": "20260131T110000000000_00000009", "floor": "20260131120000250000000000000000015", "loads": ["", "20260131120000250000000000000000015"], "key": ["order", "it's"], "columns": {"order": "bigint", "it's": "string", "name with spaces": "string"}, "counted": 0}, "history": false, "folds": false, "moves": true, "has_floors": true, "ends_older_keys": true, "exchanges": true, "late": false, "replays": true, "follows_rows": false, "kept_step": "key_events", "is_to_be_counted": false, "log_is_outdated": false, "form": 0, "added": {}}
with changes as (select * from the_model),

events as (select * from the_model),

moves_and_deletes as (select * from the_model),

entries_and_ends as (select * from the_model),

exchanged_keys as (select * from the_model),

replayed_keys as (select * from the_model),

logged_changes as (select * from the_model),

logged_events as (select * from the_model),

replayed_events as (select * from the_model),

-- a move adds a row, a departure or a delete takes the first, any other change sets the newest; the end of a transaction
-- leaves only that, a truncate none; a change without a transaction is one of its own
counted_rows as (select * from the_model),

covered_ends as (select * from the_model),

key_events as (

    select * from lake.current_feed__full__batch_20260131t120000000000_00000000

),

-- keys that live and are older than the latest truncate or load
ended_keys as (select * from the_model),

all_events as (select * from the_model),

-- the latest event of a key
ranked as (select * from the_model)

select
    cast(null as string) as _mark,
    _change_seq,
    _change_op,
    _change_id,
    _precedence,
    _is_deleted or _change_seq < '20260131120000250000000000000000015' as _is_deleted,
    _is_replayed,
    _changed_at,
    _transaction_id,
    `order`, `it's`, `name with spaces`
from ranked
where _ct_rank = 1

)

select
    _mark,
    _change_seq, _change_op, _change_id, _precedence, _is_deleted, _is_replayed, _changed_at, _transaction_id, `order`, `it's`, `name with spaces`
from state_rows
union all
select
    '{"layout": 1, "log": "20260130T120000000000_00000001", "batch": "20260131T110000000000_00000009", "floor": "20260131120000250000000000000000015", "loads": ["", "20260131120000250000000000000000015"], "key": ["order", "it\'s"], "columns": {"order": "bigint", "it\'s": "string", "name with spaces": "string"}, "counted": 0}' as _mark,
    null as _change_seq, null as _change_op, null as _change_id, null as _precedence, null as _is_deleted, null as _is_replayed, null as _changed_at, null as _transaction_id, null as `order`, null as `it's`, null as `name with spaces`
) as source
    on
        source.`order` <=> target.`order` and source.`it's` <=> target.`it's`
        and (source._mark is null) = (target._mark is null)
when matched and source._mark is not null then update set
    _mark = case
        when target._mark = '{"layout": 1, "log": "20260130T120000000000_00000001", "batch": "20260130T120000000000_00000001", "floor": "", "loads": [], "key": ["order", "it\'s"], "columns": {"order": "bigint", "it\'s": "string", "name with spaces": "string"}, "counted": 0}' then source._mark
        else raise_error('change_tables: another run has written to this table at the same time; nothing was changed, run again')
    end
when matched and (
    source._is_replayed
    or struct(source._change_seq, source._precedence, source._change_id)
    >= struct(target._change_seq, target._precedence, target._change_id)
) then update set
    _change_seq = source._change_seq,
    _change_op = source._change_op,
    _change_id = source._change_id,
    _precedence = source._precedence,
    _is_deleted = source._is_deleted,
    _is_replayed = source._is_replayed,
    _changed_at = source._changed_at,
    _transaction_id = source._transaction_id,
    `order` = source.`order`,
    `it's` = source.`it's`,
    `name with spaces` = source.`name with spaces`
when not matched then insert (_mark, _change_seq, _change_op, _change_id, _precedence, _is_deleted, _is_replayed, _changed_at, _transaction_id, `order`, `it's`, `name with spaces`)
    values (source._mark, source._change_seq, source._change_op, source._change_id, source._precedence, source._is_deleted, source._is_replayed, source._changed_at, source._transaction_id, source.`order`, source.`it's`, source.`name with spaces`)
;

drop table if exists lake.current_feed__full__batch_20260131t120000000000_00000000
;

create or replace view lake.current_feed__full
(
    `order`,
    `it's`,
    `name with spaces`,
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
    _change_op, _change_seq, _changed_at, _transaction_id
from lake.current_feed__full__state
where _mark is null and not _is_deleted
;
