-- change_tables run: {"run": "first", "mark_before": null, "mark": {"layout": 1, "log": "20260130T120000000000_00000001", "batch": "20260130T120000000000_00000001", "floor": "20260131120000250000000000000000015", "loads": ["", "20260131120000250000000000000000015"], "key": ["order", "it's"], "columns": {"order": "bigint", "it's": "string", "name with spaces": "string"}, "counted": 0}, "history": true, "folds": true, "moves": true, "has_floors": true, "ends_older_keys": false, "exchanges": true, "late": false, "replays": false, "follows_rows": false, "kept_step": null, "is_to_be_counted": false, "log_is_outdated": false, "form": 0, "added": {}}
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

truncates as (

    select _change_seq, _changed_at, _transaction_id, _change_id
    from lake.dedup_feed__full__state
    where
        _mark is null
        and _change_op = 'truncate'
        and _batch_id <= '20260130T120000000000_00000001'
    union all
    select
        '' as _change_seq,
        cast(null as timestamp) as _changed_at,
        cast(null as string) as _transaction_id,
        cast(null as string) as _change_id
    union all
    select
        '20260131120000250000000000000000015' as _change_seq,
        cast(null as timestamp) as _changed_at,
        cast(null as string) as _transaction_id,
        cast(null as string) as _change_id

),

floors as (

    select array_sort(collect_list(struct(_change_seq, _changed_at, _transaction_id, _change_id))) as _ct_floors
    from truncates

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
    cross join floors
    group by `order`, `it's`, size(filter(_ct_floors, floor -> floor._change_seq <= events._change_seq))

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

given_events as (

    select
        `order`, `it's`, `name with spaces`, _change_op, _change_seq, _changed_at, _transaction_id, _change_id, _precedence, _is_deleted, _is_replayed,
        cast(null as timestamp) as _valid_from,
        cast(null as string) as _valid_from_seq,
        cast(null as timestamp) as _latest_at,
        false as _ct_is_known
    from key_events

),

spans as (

    select
        `order`, `it's`,
        _is_replayed,
        _change_seq as _ct_span_seq,
        _is_deleted as _ct_is_ended,
        lead(_change_seq) over (
            partition by `order`, `it's`
            order by _change_seq, _precedence, _change_id
        ) as _ct_span_next_seq
    from given_events

),

key_floors as (

    select
        `order`, `it's`,
        _is_replayed,
        get(
            filter(
                _ct_floors,
                floor -> floor._change_seq > _ct_span_seq and (_ct_span_next_seq is null or floor._change_seq <= _ct_span_next_seq)
            ),
            0
        ) as _ct_floor
    from spans
    cross join floors
    where not _ct_is_ended

),

ended_events as (

    select *
    from given_events
    union all
    select
        `order`,
        `it's`,
        cast(null as string) as `name with spaces`,
        'truncate' as _change_op,
        _ct_floor['_change_seq'] as _change_seq,
        _ct_floor['_changed_at'] as _changed_at,
        _ct_floor['_transaction_id'] as _transaction_id,
        _ct_floor['_change_id'] as _change_id,
        1 as _precedence,
        true as _is_deleted,
        _is_replayed,
        cast(null as timestamp) as _valid_from,
        cast(null as string) as _valid_from_seq,
        cast(null as timestamp) as _latest_at,
        false as _ct_is_known
    from key_floors
    where _ct_floor is not null

),

placed_events as (

    select
        *,
        max(coalesce(_latest_at, _changed_at)) over in_order as _ct_running_at,
        lead(_change_seq) over in_order as _ct_next_seq
    from ended_events
    window in_order as (
        partition by `order`, `it's`
        order by _change_seq, _precedence, _change_id
    )

),

folded as (

    select *
    from placed_events
    where _ct_next_seq is null or _ct_next_seq <> _change_seq

),

-- a version begins where a key begins or ends to live, or a tracked column changes
compared_events as (

    select
        *,
        not coalesce(
            _is_deleted = lag(_is_deleted) over in_order
            and (_is_deleted or struct(`order`, `it's`, `name with spaces`) <=> lag(struct(`order`, `it's`, `name with spaces`)) over in_order),
            false
        ) as _ct_begins
    from folded
    window in_order as (partition by `order`, `it's` order by _change_seq)

),

-- each event with the beginning of its version; the last of a version also has that of the next, which follows it
begun_events as (

    select
        *,
        lead(_ct_begins, 1, true) over in_order as _ct_ends,
        last_value(
            case
                when _ct_begins
                    then struct(
                        if(_ct_is_known, _valid_from_seq, _change_seq) as seq,
                        if(_ct_is_known, _valid_from, _ct_running_at) as `at`
                    )
            end,
            true
        ) over in_order as _ct_beginning,
        lead(
            case
                when _ct_begins
                    then struct(
                        if(_ct_is_known, _valid_from_seq, _change_seq) as seq,
                        if(_ct_is_known, _valid_from, _ct_running_at) as `at`
                    )
            end
        ) over in_order as _ct_next_beginning
    from compared_events
    window in_order as (partition by `order`, `it's` order by _change_seq)

),

versions as (

    select
        cast(null as string) as _mark,
        false as _ct_is_withdrawn,
        _change_seq,
        _change_op,
        _change_id,
        _precedence,
        _is_deleted,
        _is_replayed,
        _changed_at,
        _transaction_id,
        _ct_next_beginning is null as _is_last,
        _ct_running_at as _latest_at,
        _ct_beginning['at'] as _valid_from,
        _ct_next_beginning['at'] as _valid_to,
        _ct_beginning['seq'] as _valid_from_seq,
        _ct_next_beginning['seq'] as _valid_to_seq,
        _ct_next_beginning is null and not _is_deleted as _is_current,
        `order`, `it's`, `name with spaces`
    from begun_events
    where _ct_ends

)

select *
from versions
