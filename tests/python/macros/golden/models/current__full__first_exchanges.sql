-- change_tables run: {"run": "first", "mark_before": null, "mark": {"layout": 1, "log": "20260130T120000000000_00000001", "batch": "20260130T120000000000_00000001", "floor": "20260131120000250000000000000000015", "loads": ["", "20260131120000250000000000000000015"], "key": ["order", "it's"], "columns": {"order": "bigint", "it's": "string", "name with spaces": "string"}, "counted": 0}, "history": false, "folds": false, "moves": true, "has_floors": true, "ends_older_keys": false, "exchanges": true, "late": false, "replays": false, "follows_rows": false, "kept_step": null, "is_to_be_counted": false, "log_is_outdated": false, "form": 0, "added": {}}
with changes as (

    select *
    from lake.dedup_feed__full__state
    where
        _mark is null
        and _change_op <> 'truncate'
        and _batch_id <= '20260130T120000000000_00000001'

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
        and _batch_id <= '20260130T120000000000_00000001'

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
    where entries._ct_enters

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
    from events
    left semi join exchanged_keys
        on events.`order` <=> exchanged_keys.`order` and events.`it's` <=> exchanged_keys.`it's`
    where events._change_seq >= '20260131120000250000000000000000015'
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

    select
        events.`order`, events.`it's`, events.`name with spaces`, events._change_op, events._change_seq, events._changed_at, events._transaction_id, events._change_id, events._precedence, events._is_deleted,
        false as _is_replayed
    from events
    left anti join covered_ends
        on
            events.`order` <=> covered_ends.`order` and events.`it's` <=> covered_ends.`it's`
            and events._change_id = covered_ends._change_id
            and events._precedence = covered_ends._precedence

),

-- the latest event of a key
ranked as (

    select
        *,
        row_number() over (
            partition by `order`, `it's`
            order by _change_seq desc, _precedence desc, _change_id desc
        ) as _ct_rank
    from key_events

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
