select 0 as place, _mark from lake.dedup_feed__partial__state where _mark is not null union all select 1 as place, _mark from lake.current_feed__partial__state where _mark is not null
;

with changes as (select * from the_model),

events as (select * from the_model), last_events as (

    select *
    from lake.current_feed__partial__state
    where _mark is null

),

moves_and_deletes as (

    select *
    from lake.dedup_feed__partial__state
    where
        _mark is null
        and (_key_before is not null or _change_op = 'delete')
        and _batch_id <= '20260131T110000000000_00000009'

),

entries_and_ends as (

    select
        if(_ct_departs, _key_before['order'], `order`) as `order`,
        if(_ct_departs, _key_before['it\'s'], `it's`) as `it's`,
        if(_ct_departs, null, `name with spaces`) as `name with spaces`,
        if(_ct_departs, null, fields) as fields,
        _change_op, _change_seq, _changed_at, _transaction_id, _change_id, _present_columns,
        if(_ct_departs, 3, array_position(array('truncate', 'snapshot', 'departure', 'insert', 'update', 'upsert', 'delete'), _change_op)) as _precedence,
        _ct_departs or _change_op = 'delete' as _is_deleted,
        _key_before is not null and not _ct_departs as _ct_enters
    from moves_and_deletes
        lateral view explode(if(_key_before is null, array(false), array(false, true))) as _ct_departs

),

moved_keys as (

    select
        entries_and_ends.`order`, entries_and_ends.`it's`,
        collect_set(case when entries_and_ends._ct_enters then entries_and_ends._transaction_id end) as _ct_entered_by,
        -- an end that took a row which another had covered has left no trace in the state
        max(case when events._change_id is null then entries_and_ends._change_seq end) as _ct_last_seq
    from entries_and_ends
    left join events
        on
            entries_and_ends._change_id = events._change_id
            and entries_and_ends._change_seq = events._change_seq
    group by entries_and_ends.`order`, entries_and_ends.`it's`
    having count_if(entries_and_ends._ct_enters or entries_and_ends._precedence = 3) > 0

),

met_events as (

    select
        moved_keys._ct_entered_by is not null as _ct_is_moved,
        events._transaction_id = last_events._transaction_id
        and array_contains(moved_keys._ct_entered_by, events._transaction_id) as _ct_is_open,
        events._change_seq <= greatest(last_events._change_seq, moved_keys._ct_last_seq) as _ct_is_late
    from events
    inner join last_events
        on events.`order` <=> last_events.`order` and events.`it's` <=> last_events.`it's`
    left join moved_keys
        on events.`order` <=> moved_keys.`order` and events.`it's` <=> moved_keys.`it's`

),

new_floors as (

    select _change_seq
    from lake.dedup_feed__partial__state
    where
        _mark is null
        and _change_op = 'truncate'
        and _batch_id > '20260130T120000000000_00000001'
        and _batch_id <= '20260131T110000000000_00000009'

) select count_if(_ct_is_late), (select count(*) from last_events where _change_seq >= (select min(_change_seq) from new_floors)), count_if(_ct_is_late and _ct_is_moved), count_if(_ct_is_open) from met_events
;

create table lake.current_feed__partial__batch_20260131t120000000000_00000000
    using parquet
    as
    -- change_tables run: {"run": "since", "mark_before": {"layout": 1, "log": "20260130T120000000000_00000001", "batch": "20260130T120000000000_00000001", "floor": "", "loads": [], "key": ["order", "it's"], "columns": {"order": "bigint", "it's": "string", "name with spaces": "string", "fields": "struct<a:int,b:int>"}, "counted": 0}, "mark": {"layout": 1, "log": "20260130T120000000000_00000001", "batch": "20260131T110000000000_00000009", "floor": "", "loads": [], "key": ["order", "it's"], "columns": {"order": "bigint", "it's": "string", "name with spaces": "string", "fields": "struct<a:int,b:int>"}, "counted": 0}, "history": false, "folds": true, "moves": true, "has_floors": false, "ends_older_keys": false, "exchanges": false, "late": true, "replays": true, "follows_rows": true, "kept_step": "given_events", "is_to_be_counted": false, "log_is_outdated": false, "form": 0, "added": {}}
with changes as (select * from the_model),

events as (select * from the_model),

last_events as (select * from the_model),

late_keys as (select * from the_model),

replayed_keys as (select * from the_model),

logged_changes as (select * from the_model),

logged_events as (select * from the_model),

replayed_events as (select * from the_model),

key_events as (select * from the_model),

known_keys as (select * from the_model),

known_events as (select * from the_model),

given_events as (

    
    select
        `order`, `it's`, `name with spaces`, fields, _change_op, _change_seq, _changed_at, _transaction_id, _change_id, _present_columns, _precedence, _is_deleted, _ct_enters, _is_replayed,
        false as _ct_is_known
    from key_events
    union all
    select
        `order`, `it's`, `name with spaces`, fields, _change_op, _change_seq, _changed_at, _transaction_id, _change_id, _present_columns, _precedence, _is_deleted, _ct_enters, _is_replayed,
        true as _ct_is_known
    from known_events
    
)

select * from given_events
;

merge into lake.current_feed__partial__state as target
using (
    with state_rows as (

-- change_tables run: {"run": "since", "mark_before": {"layout": 1, "log": "20260130T120000000000_00000001", "batch": "20260130T120000000000_00000001", "floor": "", "loads": [], "key": ["order", "it's"], "columns": {"order": "bigint", "it's": "string", "name with spaces": "string", "fields": "struct<a:int,b:int>"}, "counted": 0}, "mark": {"layout": 1, "log": "20260130T120000000000_00000001", "batch": "20260131T110000000000_00000009", "floor": "", "loads": [], "key": ["order", "it's"], "columns": {"order": "bigint", "it's": "string", "name with spaces": "string", "fields": "struct<a:int,b:int>"}, "counted": 0}, "history": false, "folds": true, "moves": true, "has_floors": false, "ends_older_keys": false, "exchanges": false, "late": true, "replays": true, "follows_rows": true, "kept_step": "given_events", "is_to_be_counted": false, "log_is_outdated": false, "form": 0, "added": {}}
with changes as (select * from the_model),

events as (select * from the_model),

last_events as (select * from the_model),

late_keys as (select * from the_model),

replayed_keys as (select * from the_model),

logged_changes as (select * from the_model),

logged_events as (select * from the_model),

replayed_events as (select * from the_model),

key_events as (select * from the_model),

known_keys as (select * from the_model),

known_events as (select * from the_model),

given_events as (

    select * from lake.current_feed__partial__batch_20260131t120000000000_00000000

),

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
    '{"layout": 1, "log": "20260130T120000000000_00000001", "batch": "20260131T110000000000_00000009", "floor": "", "loads": [], "key": ["order", "it\'s"], "columns": {"order": "bigint", "it\'s": "string", "name with spaces": "string", "fields": "struct<a:int,b:int>"}, "counted": 0}' as _mark,
    null as _change_seq, null as _change_op, null as _change_id, null as _precedence, null as _is_deleted, null as _is_replayed, null as _changed_at, null as _transaction_id, null as `order`, null as `it's`, null as `name with spaces`, null as fields
) as source
    on
        source.`order` <=> target.`order` and source.`it's` <=> target.`it's`
        and (source._mark is null) = (target._mark is null)
when matched and source._mark is not null then update set
    _mark = case
        when target._mark = '{"layout": 1, "log": "20260130T120000000000_00000001", "batch": "20260130T120000000000_00000001", "floor": "", "loads": [], "key": ["order", "it\'s"], "columns": {"order": "bigint", "it\'s": "string", "name with spaces": "string", "fields": "struct<a:int,b:int>"}, "counted": 0}' then source._mark
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
    `name with spaces` = source.`name with spaces`,
    fields = source.fields
when not matched then insert (_mark, _change_seq, _change_op, _change_id, _precedence, _is_deleted, _is_replayed, _changed_at, _transaction_id, `order`, `it's`, `name with spaces`, fields)
    values (source._mark, source._change_seq, source._change_op, source._change_id, source._precedence, source._is_deleted, source._is_replayed, source._changed_at, source._transaction_id, source.`order`, source.`it's`, source.`name with spaces`, source.fields)
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
