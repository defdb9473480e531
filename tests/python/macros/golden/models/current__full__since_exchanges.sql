-- change_tables run: {"run": "since", "mark_before": {"layout": 1, "log": "20260130T120000000000_00000001", "batch": "20260130T120000000000_00000001", "floor": "", "loads": [], "key": ["order", "it's"], "columns": {"order": "bigint", "it's": "string", "name with spaces": "string"}, "counted": 0}, "mark": {"layout": 1, "log": "20260130T120000000000_00000001", "batch": "20260131T110000000000_00000009", "floor": "20260131120000250000000000000000015", "loads": ["", "20260131120000250000000000000000015"], "key": ["order", "it's"], "columns": {"order": "bigint", "it's": "string", "name with spaces": "string"}, "counted": 0}, "history": false, "folds": false, "moves": true, "has_floors": true, "ends_older_keys": true, "exchanges": true, "late": false, "replays": true, "follows_rows": false, "kept_step": "key_events", "is_to_be_counted": false, "log_is_outdated": false, "form": 0, "added": {}}
with changes as (

    select *
    from lake.dedup_feed__full__state
    where
        _mark is null
        and _change_op <> 'truncate'
        and _batch_id > '20260130T120000000000_00000001'
        and _batch_id <= '20260131T110000000000_00000009'

),

events as (

    select
        if(_ct_departs, _key_before['order'], `order`) as `order`,
        if(_ct_departs, _key_before['it\'s'], `it's`) as `it's`,
        if(_ct_departs, null, `name with spaces`) as `name with spaces`,
        _change_op, _change_seq, _changed_at, _transaction_id, _change_id,
        if(_ct_departs, 3, array_position(array('truncate', 'snapshot', 'departure', 'insert', 'update', 'upsert', 'delete'), _change_op)) as _precedence,
        _ct_departs or _change_op = 'delete' as _is_deleted,
        _key_before is not null and not _ct_departs as _ct_enters
    from changes
        lateral view explode(if(_key_before is null, array(false), array(false, true))) as _ct_departs

),

moves_and_deletes as (

    select *
    from lake.dedup_feed__full__state
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
        _change_op, _change_seq, _changed_at, _transaction_id, _change_id,
        if(_ct_departs, 3, array_position(array('truncate', 'snapshot', 'departure', 'insert', 'update', 'upsert', 'delete'), _change_op)) as _precedence,
        _ct_departs or _change_op = 'delete' as _is_deleted,
        _key_before is not null and not _ct_departs as _ct_enters
    from moves_and_deletes
        lateral view explode(if(_key_before is null, array(false), array(false, true))) as _ct_departs

),

exchanged_keys as (

    select distinct entries.`order`, entries.`it's`
    from entries_and_ends as entries
    left semi join entries_and_ends as ends
        on
            entries._transaction_id = ends._transaction_id
            and ends._is_deleted
            and entries.`order` <=> ends.`order` and entries.`it's` <=> ends.`it's`
    left semi join events
        on entries.`order` <=> events.`order` and entries.`it's` <=> events.`it's`
    where entries._ct_enters
    union distinct
    select ends.`order`, ends.`it's`
    from entries_and_ends as ends
    inner join events
        on
            ends._change_seq >= events._change_seq
            and ends.`order` <=> events.`order` and ends.`it's` <=> events.`it's`
    left anti join events as new_ends
        on ends._change_id = new_ends._change_id and ends._change_seq = new_ends._change_seq
    left semi join entries_and_ends as entries
        on entries._ct_enters and ends.`order` <=> entries.`order` and ends.`it's` <=> entries.`it's`
    where ends._is_deleted

),

replayed_keys as (

    select `order`, `it's`
    from exchanged_keys

),

logged_changes as (

    select *
    from lake.dedup_feed__full__state
    where
        _mark is null
        and _change_op <> 'truncate'
        and _batch_id <= '20260131T110000000000_00000009'

),

logged_events as (

    select
        if(_ct_departs, _key_before['order'], `order`) as `order`,
        if(_ct_departs, _key_before['it\'s'], `it's`) as `it's`,
        if(_ct_departs, null, `name with spaces`) as `name with spaces`,
        _change_op, _change_seq, _changed_at, _transaction_id, _change_id,
        if(_ct_departs, 3, array_position(array('truncate', 'snapshot', 'departure', 'insert', 'update', 'upsert', 'delete'), _change_op)) as _precedence,
        _ct_departs or _change_op = 'delete' as _is_deleted,
        _key_before is not null and not _ct_departs as _ct_enters
    from logged_changes
        lateral view explode(if(_key_before is null, array(false), array(false, true))) as _ct_departs

),

replayed_events as (

    select logged_events.*
    from logged_events
    left semi join replayed_keys
        on logged_events.`order` <=> replayed_keys.`order` and logged_events.`it's` <=> replayed_keys.`it's`

),

-- a move adds a row, a departure or a delete takes the first, any other change sets the newest; the end of a transaction
-- leaves only that, a truncate none; a change without a transaction is one of its own
counted_rows as (

    select
        `order`, `it's`,
        aggregate(
            array_sort(collect_list(struct(
                _change_seq, _precedence, _change_id, _transaction_id, _ct_enters, _is_deleted
            ))),
            named_struct(
                'transaction_id', cast(null as string),
                'rows', 0,
                'covered', cast(array() as array<struct<_change_id: string, _precedence: bigint>>)
            ),
            (held, event) -> named_struct(
                'transaction_id', event._transaction_id,
                'rows', case
                    when event._is_deleted
                        then greatest(if(event._transaction_id = held.transaction_id, held.rows, least(held.rows, 1)) - 1, 0)
                    when event._ct_enters
                        then if(event._transaction_id = held.transaction_id, held.rows, least(held.rows, 1)) + 1
                    else greatest(if(event._transaction_id = held.transaction_id, held.rows, least(held.rows, 1)), 1)
                end,
                'covered', if(
                    event._is_deleted and event._transaction_id = held.transaction_id and held.rows > 1,
                    concat(held.covered, array(named_struct('_change_id', event._change_id, '_precedence', event._precedence))),
                    held.covered
                )
            )
        ).covered as _ct_covered
    from replayed_events
    where replayed_events._change_seq >= '20260131120000250000000000000000015'
    group by `order`, `it's`

),

covered_ends as (

    select
        `order`, `it's`,
        _change_id,
        _precedence
    from counted_rows
        lateral view inline(_ct_covered) as _change_id, _precedence

),

key_events as (

    -- change_tables: kept in a table of its own, from here
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
-- change_tables: to here

),

-- keys that live and are older than the latest truncate or load
ended_keys as (

    select
        `order`, `it's`, `name with spaces`,
        _change_op, _change_seq, _changed_at, _transaction_id, _change_id, _precedence,
        true as _is_deleted,
        false as _is_replayed
    from lake.current_feed__full__state
    where _mark is null and not _is_deleted and _change_seq < '20260131120000250000000000000000015'

),

all_events as (

    select *
    from key_events
    union all
    select *
    from ended_keys

),

-- the latest event of a key
ranked as (

    select
        *,
        row_number() over (
            partition by `order`, `it's`
            order by _change_seq desc, _precedence desc, _change_id desc
        ) as _ct_rank
    from all_events

)

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
