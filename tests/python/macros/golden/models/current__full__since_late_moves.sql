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
        _change_op,
        _change_seq,
        _changed_at,
        _transaction_id,
        _change_id,
        if(_ct_departs, 3, array_position(array('truncate', 'snapshot', 'departure', 'insert', 'update', 'upsert', 'delete'), _change_op)) as _precedence,
        _ct_departs or _change_op = 'delete' as _is_deleted,
        _key_before is not null and not _ct_departs as _ct_enters,
        false as _ct_is_known
    from changes
        lateral view explode(if(_key_before is null, array(false), array(false, true))) as _ct_departs

),

known_keys as (

    select distinct `order`, `it's`, true as _ct_has_events
    from events

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

),

moved_keys as (

    select
        _ct_key,
        bool_or(_ct_enters) as _ct_was_entered,
        max(if(_ct_enters, null, _change_seq)) as _ct_end_seq
    from lake.dedup_feed__full__state
        lateral view inline(array(
            struct(xxhash64(`order`, `it's`), _key_before is not null),
            struct(if(_key_before is null, null, xxhash64(_key_before)), false)
        )) as _ct_key, _ct_enters
    where
        _mark is null
        and (_key_before is not null or _change_op = 'delete')
        and _batch_id <= '20260130T120000000000_00000001'
    group by _ct_key

),

known_events as (

    select
        last_events.`order`, last_events.`it's`,
        null as `name with spaces`,
        last_events._change_op,
        last_events._change_seq,
        last_events._changed_at,
        last_events._transaction_id,
        last_events._change_id,
        last_events._precedence,
        last_events._is_deleted,
        false as _ct_enters,
        true as _ct_is_known
    from lake.current_feed__full__state as last_events
    left join known_keys
        on last_events.`order` <=> known_keys.`order` and last_events.`it's` <=> known_keys.`it's`
    where
        last_events._mark is null
        and (known_keys._ct_has_events or (not last_events._is_deleted and last_events._change_seq < '20260131120000250000000000000000015') or last_events._change_seq >= (select min(_change_seq) from new_floors))

),

met_events as (

    select `order`, `it's`, `name with spaces`, _change_op, _change_seq, _changed_at, _transaction_id, _change_id, _precedence, _is_deleted, _ct_enters, _ct_is_known
    from events
    union all
    select `order`, `it's`, `name with spaces`, _change_op, _change_seq, _changed_at, _transaction_id, _change_id, _precedence, _is_deleted, _ct_enters, _ct_is_known
    from known_events

),

events_by_key as (

    select
        met_events.*,
        moved_keys._ct_end_seq,
        coalesce(moved_keys._ct_was_entered, false) or max(met_events._ct_enters) over (partition by met_events.`order`, met_events.`it's`) as _ct_is_entered,
        max(case when met_events._ct_is_known then met_events._transaction_id end) over (partition by met_events.`order`, met_events.`it's`) as _ct_known_transaction,
        max(case when met_events._ct_is_known then met_events._change_seq end) over (partition by met_events.`order`, met_events.`it's`) as _ct_known_seq
    from met_events
    left join moved_keys
        on xxhash64(met_events.`order`, met_events.`it's`) = moved_keys._ct_key

),

given_events as (

    select
        `order`, `it's`, `name with spaces`, _change_op, _change_seq, _changed_at, _transaction_id, _change_id, _precedence, _is_deleted, _ct_enters, _ct_is_known,
        coalesce(
            case
                when _ct_is_known then _ct_is_entered and greatest(_change_seq, _ct_end_seq) >= (select min(_change_seq) from new_floors)
                when _change_seq = _ct_known_seq then true
                when _change_seq <= greatest(_ct_known_seq, _ct_end_seq) then _ct_is_entered
                when _transaction_id = _ct_known_transaction then _ct_is_entered
            end,
            false
        ) as _ct_is_late
    from events_by_key

),

late_keys as (

    select distinct xxhash64(`order`, `it's`) as _ct_key
    from given_events
    where _ct_is_late

),

replayed_keys as (

    select _ct_key
    from late_keys

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
        _change_op,
        _change_seq,
        _changed_at,
        _transaction_id,
        _change_id,
        if(_ct_departs, 3, array_position(array('truncate', 'snapshot', 'departure', 'insert', 'update', 'upsert', 'delete'), _change_op)) as _precedence,
        _ct_departs or _change_op = 'delete' as _is_deleted,
        _key_before is not null and not _ct_departs as _ct_enters,
        false as _ct_is_known
    from logged_changes
        lateral view explode(if(_key_before is null, array(false), array(false, true))) as _ct_departs

),

replayed_events as (

    select `order`, `it's`, `name with spaces`, _change_op, _change_seq, _changed_at, _transaction_id, _change_id, _precedence, _is_deleted, _ct_enters, _ct_is_known
    from logged_events
    left semi join replayed_keys
        on xxhash64(logged_events.`order`, logged_events.`it's`) = replayed_keys._ct_key

),

all_events as (

    select `order`, `it's`, `name with spaces`, _change_op, _change_seq, _changed_at, _transaction_id, _change_id, _precedence, _is_deleted, _ct_enters, _ct_is_known
    from given_events
    left anti join replayed_keys
        on xxhash64(given_events.`order`, given_events.`it's`) = replayed_keys._ct_key
    union all
    select `order`, `it's`, `name with spaces`, _change_op, _change_seq, _changed_at, _transaction_id, _change_id, _precedence, _is_deleted, _ct_enters, _ct_is_known
    from replayed_events

),

truncates as (

    select _change_seq, _changed_at, _transaction_id, _change_id
    from lake.dedup_feed__full__state
    where
        _mark is null
        and _change_op = 'truncate'
        and _batch_id <= '20260131T110000000000_00000009'
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

    select
        array_sort(collect_list(struct(
            _change_seq, _change_id is null as _ct_is_load, _change_id, _changed_at, _transaction_id
        ))) as _ct_floors
    from truncates

),

touched_keys as (

    select `order`, `it's`
    from all_events
    where _transaction_id is not null and (_ct_enters or _is_deleted)
    group by `order`, `it's`, _transaction_id
    having bool_or(_ct_enters) and bool_or(_is_deleted)

),

touched_events as (

    select
        given.`order`, given.`it's`,
        collect_list(struct(
            given._change_seq,
            given._precedence,
            given._change_id,
            given._transaction_id,
            case
                when given._precedence = 1 then 'empties'
                when given._precedence in (3, 7) then 'takes'
                when given._ct_enters then 'adds'
                else 'sets'
            end as _ct_effect
        )) as _ct_events
    from all_events as given
    left semi join touched_keys
        on given.`order` <=> touched_keys.`order` and given.`it's` <=> touched_keys.`it's`
    group by given.`order`, given.`it's`

),

ordered_events as (

    select
        `order`, `it's`,
        array_sort(concat(
            _ct_events,
            transform(_ct_floors, floor -> named_struct(
                '_change_seq', floor._change_seq,
                '_precedence', cast(1 as bigint),
                '_change_id', floor._change_id,
                '_transaction_id', floor._transaction_id,
                '_ct_effect', 'empties'
            ))
        )) as _ct_events
    from touched_events
    cross join floors

),

events_with_rows as (

    select
        *,
        rows_at_key(_ct_events['_change_id'], _ct_events['_ct_effect'], _ct_events['_transaction_id']) as _ct_rows
    from ordered_events

),

rows_of_events as (

    select
        `order`, `it's`,
        _ct_pair['_ct_events']['_change_seq'] as _change_seq,
        _ct_pair['_ct_events']['_precedence'] as _precedence,
        _ct_pair['_ct_events']['_change_id'] as _change_id,
        _ct_pair['_ct_events']['_ct_effect'] as _ct_effect,
        _ct_pair['_ct_rows']['row_id'] as _ct_row,
        _ct_pair['_ct_rows']['takes_covered_row'] as _ct_takes_covered_row,
        _ct_pair['_ct_rows']['covered_by'] as _ct_covered_by
    from events_with_rows
        lateral view explode(arrays_zip(_ct_events, _ct_rows)) as _ct_pair

),

followed_events as (

    select
        all_events.*
    from all_events
    left join rows_of_events
        on
            all_events.`order` <=> rows_of_events.`order` and all_events.`it's` <=> rows_of_events.`it's`
            and all_events._change_seq = rows_of_events._change_seq
            and all_events._precedence = rows_of_events._precedence
            and all_events._change_id <=> rows_of_events._change_id
    where not coalesce(rows_of_events._ct_takes_covered_row, false)

),

spans as (

    select
        *,
        lead(_change_seq) over (
            partition by `order`, `it's`
            order by _change_seq, _precedence, _change_id
        ) as _ct_next_in_span
    from followed_events

),

floored_events as (

    select
        spans.*,
        case when not _is_deleted then get(
            filter(
                floors._ct_floors,
                floor -> floor._change_seq > spans._change_seq
                and (spans._ct_next_in_span is null or floor._change_seq <= spans._ct_next_in_span)
            ),
            0
        ) end as _ct_floor
    from spans
    cross join floors

),

ended_events as (

    select
        `order`, `it's`,
        if(_ct_is_floor, null, `name with spaces`) as `name with spaces`,
        if(_ct_is_floor, 'truncate', _change_op) as _change_op,
        if(_ct_is_floor, _ct_floor['_change_seq'], _change_seq) as _change_seq,
        if(_ct_is_floor, _ct_floor['_changed_at'], _changed_at) as _changed_at,
        if(_ct_is_floor, _ct_floor['_transaction_id'], _transaction_id) as _transaction_id,
        if(_ct_is_floor, _ct_floor['_change_id'], _change_id) as _change_id,
        if(_ct_is_floor, 1, _precedence) as _precedence,
        if(_ct_is_floor, true, _is_deleted) as _is_deleted,
        if(_ct_is_floor, false, _ct_enters) as _ct_enters,
        if(_ct_is_floor, false, _ct_is_known) as _ct_is_known
    from floored_events
        lateral view explode(if(_ct_floor is null, array(false), array(false, true))) as _ct_is_floor

),

placed_events as (

    select
        *,
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

)

select _change_seq, _change_op, _change_id, _precedence, _is_deleted, _changed_at, _transaction_id, `order`, `it's`, `name with spaces`
from folded
where _ct_next_seq is null and not _ct_is_known
