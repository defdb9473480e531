select 0 as place, _mark from lake.dedup_feed__full__state where _mark is not null union all select 1 as place, _mark from lake.history_feed__full__state where _mark is not null
;

with changes as (select * from the_model),

events as (select * from the_model), last_events as (

    select *
    from lake.history_feed__full__state
    where _mark is null and _is_last

),

met_events as (

    select
        events._change_seq <= last_events._change_seq as _ct_is_late
    from events
    inner join last_events
        on events.`order` <=> last_events.`order` and events.`it's` <=> last_events.`it's`

),

new_floors as (

    select _change_seq
    from lake.dedup_feed__full__state
    where
        _mark is null
        and _change_op = 'truncate'
        and _batch_id > '20260130T120000000000_00000001'
        and _batch_id <= '20260131T110000000000_00000009'
    union all
    select '' as _change_seq
    union all
    select '20260131120000250000000000000000015' as _change_seq

), moves_and_deletes as (

    select *
    from lake.dedup_feed__full__state
    where
        _mark is null
        and (_key_before is not null or _change_op = 'delete')
        and _batch_id <= '20260131T110000000000_00000009'

),

entries_and_ends as (select * from the_model),

exchanged_keys as (select * from the_model) select count_if(_ct_is_late), (select count(*) from last_events where _change_seq >= (select min(_change_seq) from new_floors)), (select count(*) from (select 1 from exchanged_keys limit 1)) from met_events
;

create table lake.history_feed__full__batch_20260131t120000000000_00000000
    using parquet
    as
    -- change_tables run: {"run": "since", "mark_before": {"layout": 1, "log": "20260130T120000000000_00000001", "batch": "20260130T120000000000_00000001", "floor": "", "loads": [], "key": ["order", "it's"], "columns": {"order": "bigint", "it's": "string", "name with spaces": "string"}, "counted": 0}, "mark": {"layout": 1, "log": "20260130T120000000000_00000001", "batch": "20260131T110000000000_00000009", "floor": "20260131120000250000000000000000015", "loads": ["", "20260131120000250000000000000000015"], "key": ["order", "it's"], "columns": {"order": "bigint", "it's": "string", "name with spaces": "string"}, "counted": 0}, "history": true, "folds": true, "moves": true, "has_floors": true, "ends_older_keys": true, "exchanges": true, "late": true, "replays": true, "follows_rows": false, "kept_step": "given_events", "is_to_be_counted": false, "log_is_outdated": false, "form": 0, "added": {}}
with changes as (select * from the_model),

events as (select * from the_model),

last_events as (select * from the_model),

late_keys as (select * from the_model),

moves_and_deletes as (select * from the_model),

entries_and_ends as (select * from the_model),

exchanged_keys as (select * from the_model),

replayed_keys as (select * from the_model),

logged_changes as (select * from the_model),

logged_events as (select * from the_model),

replayed_events as (select * from the_model),

truncates as (select * from the_model),

floors as (select * from the_model),

-- a move adds a row, a departure or a delete takes the first, any other change sets the newest; the end of a transaction
-- leaves only that, a truncate none; a change without a transaction is one of its own
counted_rows as (select * from the_model),

covered_ends as (select * from the_model),

key_events as (select * from the_model),

known_keys as (select * from the_model),

known_events as (select * from the_model),

given_events as (

    
    select
        `order`, `it's`, `name with spaces`, _change_op, _change_seq, _changed_at, _transaction_id, _change_id, _precedence, _is_deleted, _is_replayed,
        cast(null as timestamp) as _valid_from,
        cast(null as string) as _valid_from_seq,
        cast(null as timestamp) as _latest_at,
        false as _ct_is_known
    from key_events
    union all
    select
        `order`, `it's`, `name with spaces`, _change_op, _change_seq, _changed_at, _transaction_id, _change_id, _precedence, _is_deleted, _is_replayed, _valid_from, _valid_from_seq, _latest_at,
        true as _ct_is_known
    from known_events
    
)

select * from given_events
;

merge into lake.history_feed__full__state as target
using (
    with state_rows as (

-- change_tables run: {"run": "since", "mark_before": {"layout": 1, "log": "20260130T120000000000_00000001", "batch": "20260130T120000000000_00000001", "floor": "", "loads": [], "key": ["order", "it's"], "columns": {"order": "bigint", "it's": "string", "name with spaces": "string"}, "counted": 0}, "mark": {"layout": 1, "log": "20260130T120000000000_00000001", "batch": "20260131T110000000000_00000009", "floor": "20260131120000250000000000000000015", "loads": ["", "20260131120000250000000000000000015"], "key": ["order", "it's"], "columns": {"order": "bigint", "it's": "string", "name with spaces": "string"}, "counted": 0}, "history": true, "folds": true, "moves": true, "has_floors": true, "ends_older_keys": true, "exchanges": true, "late": true, "replays": true, "follows_rows": false, "kept_step": "given_events", "is_to_be_counted": false, "log_is_outdated": false, "form": 0, "added": {}}
with changes as (select * from the_model),

events as (select * from the_model),

last_events as (select * from the_model),

late_keys as (select * from the_model),

moves_and_deletes as (select * from the_model),

entries_and_ends as (select * from the_model),

exchanged_keys as (select * from the_model),

replayed_keys as (select * from the_model),

logged_changes as (select * from the_model),

logged_events as (select * from the_model),

replayed_events as (select * from the_model),

truncates as (select * from the_model),

floors as (select * from the_model),

-- a move adds a row, a departure or a delete takes the first, any other change sets the newest; the end of a transaction
-- leaves only that, a truncate none; a change without a transaction is one of its own
counted_rows as (select * from the_model),

covered_ends as (select * from the_model),

key_events as (select * from the_model),

known_keys as (select * from the_model),

known_events as (select * from the_model),

given_events as (

    select * from lake.history_feed__full__batch_20260131t120000000000_00000000

),

spans as (select * from the_model),

key_floors as (select * from the_model),

ended_events as (select * from the_model),

placed_events as (select * from the_model),

folded as (select * from the_model),

-- a version begins where a key begins or ends to live, or a tracked column changes
compared_events as (select * from the_model),

-- each event with the beginning of its version; the last of a version also has that of the next, which follows it
begun_events as (select * from the_model),

versions as (select * from the_model),

-- versions of replayed keys that are no more
withdrawn_versions as (select * from the_model)

select *
from versions
union all
select *
from withdrawn_versions

)

select
    _mark,
    _ct_is_withdrawn, _change_seq, _change_op, _change_id, _precedence, _is_deleted, _is_replayed, _changed_at, _transaction_id, _is_last, _latest_at, _valid_from, _valid_to, _valid_from_seq, _valid_to_seq, _is_current, `order`, `it's`, `name with spaces`
from state_rows
union all
select
    '{"layout": 1, "log": "20260130T120000000000_00000001", "batch": "20260131T110000000000_00000009", "floor": "20260131120000250000000000000000015", "loads": ["", "20260131120000250000000000000000015"], "key": ["order", "it\'s"], "columns": {"order": "bigint", "it\'s": "string", "name with spaces": "string"}, "counted": 0}' as _mark,
    null as _ct_is_withdrawn, null as _change_seq, null as _change_op, null as _change_id, null as _precedence, null as _is_deleted, null as _is_replayed, null as _changed_at, null as _transaction_id, true as _is_last, null as _latest_at, null as _valid_from, null as _valid_to, null as _valid_from_seq, null as _valid_to_seq, null as _is_current, null as `order`, null as `it's`, null as `name with spaces`
) as source
    on
        source.`order` <=> target.`order` and source.`it's` <=> target.`it's`
        and source._valid_from_seq <=> target._valid_from_seq
        and (source._mark is null) = (target._mark is null)
when matched and source._mark is not null then update set
    _mark = case
        when target._mark = '{"layout": 1, "log": "20260130T120000000000_00000001", "batch": "20260130T120000000000_00000001", "floor": "", "loads": [], "key": ["order", "it\'s"], "columns": {"order": "bigint", "it\'s": "string", "name with spaces": "string"}, "counted": 0}' then source._mark
        else raise_error('change_tables: another run has written to this table at the same time; nothing was changed, run again')
    end
when matched and source._ct_is_withdrawn then delete
when matched then update set
    _change_seq = source._change_seq,
    _change_op = source._change_op,
    _change_id = source._change_id,
    _precedence = source._precedence,
    _is_deleted = source._is_deleted,
    _is_replayed = source._is_replayed,
    _changed_at = source._changed_at,
    _transaction_id = source._transaction_id,
    _is_last = source._is_last,
    _latest_at = source._latest_at,
    _valid_from = source._valid_from,
    _valid_to = source._valid_to,
    _valid_from_seq = source._valid_from_seq,
    _valid_to_seq = source._valid_to_seq,
    _is_current = source._is_current,
    `order` = source.`order`,
    `it's` = source.`it's`,
    `name with spaces` = source.`name with spaces`
when not matched then insert (_mark, _change_seq, _change_op, _change_id, _precedence, _is_deleted, _is_replayed, _changed_at, _transaction_id, _is_last, _latest_at, _valid_from, _valid_to, _valid_from_seq, _valid_to_seq, _is_current, `order`, `it's`, `name with spaces`)
    values (source._mark, source._change_seq, source._change_op, source._change_id, source._precedence, source._is_deleted, source._is_replayed, source._changed_at, source._transaction_id, source._is_last, source._latest_at, source._valid_from, source._valid_to, source._valid_from_seq, source._valid_to_seq, source._is_current, source.`order`, source.`it's`, source.`name with spaces`)
;

drop table if exists lake.history_feed__full__batch_20260131t120000000000_00000000
;

create or replace view lake.history_feed__full
(
    `order`,
    `it's`,
    `name with spaces`,
    _change_op comment 'insert, update, upsert, delete, truncate, snapshot; null where the raw row is no change',
    _change_seq comment 'sorts as text in the order of change; of snapshot rows snapshot_seq',
    _changed_at comment 'when the source says it happened, approximate; never an order',
    _transaction_id comment 'null where the feed has none',
    _valid_from comment 'when the version began, UTC; null = since ever',
    _valid_to comment 'when the version ended, UTC, that instant not included; null = it has not',
    _valid_from_seq comment 'the sequence at which the version began',
    _valid_to_seq comment 'the sequence at which the version ended; null = it has not',
    _is_current comment 'whether this is what the key has now'
)
tblproperties ('change_tables.digest' = '…', 'change_tables.mark' = '…', 'change_tables.mark.0' = '…')
as
select
    `order`, -- bigint
    `it's`, -- string
    `name with spaces`, -- string
    _change_op, _change_seq, _changed_at, _transaction_id, _valid_from, _valid_to, _valid_from_seq, _valid_to_seq, _is_current
from lake.history_feed__full__state
where _mark is null and not _is_deleted
;
