with changes as (

    select *
    from lake.dedup_feed__partial__state
    where
        _mark is null
        and _change_op <> 'truncate'
        and _batch_id > '20260130T120000000000_00000001'
        and _batch_id <= '20260131T110000000000_00000009'

),

events as (

    select
        `order`,
        `it's`,
        `name with spaces`,
        fields,
        _change_op,
        _change_seq,
        _changed_at,
        _transaction_id,
        _change_id,
        _present_columns,
        array_position(array('truncate', 'snapshot', 'departure', 'insert', 'update', 'upsert', 'delete'), _change_op) as _precedence,
        _change_op = 'delete' as _is_deleted,
        cast(null as timestamp) as _valid_from,
        cast(null as string) as _valid_from_seq,
        cast(null as timestamp) as _latest_at,
        false as _ct_is_known
    from changes

),

known_keys as (

    select distinct `order`, `it's`, true as _ct_has_events
    from events

),

new_floors as (

    select _change_seq
    from lake.dedup_feed__partial__state
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

known_events as (

    select
        last_events.`order`, last_events.`it's`, last_events.`name with spaces`, last_events.fields,
        last_events._change_op,
        last_events._change_seq,
        last_events._changed_at,
        last_events._transaction_id,
        last_events._change_id,
        cast(null as array<string>) as _present_columns,
        last_events._precedence,
        last_events._is_deleted,
        last_events._valid_from,
        last_events._valid_from_seq,
        last_events._latest_at,
        true as _ct_is_known
    from lake.history_feed__partial__state as last_events
    left join known_keys
        on last_events.`order` <=> known_keys.`order` and last_events.`it's` <=> known_keys.`it's`
    where
        last_events._mark is null
        and last_events._is_last
        and (known_keys._ct_has_events or (not last_events._is_deleted and last_events._change_seq < '20260131120000250000000000000000015') or last_events._change_seq >= (select min(_change_seq) from new_floors))

),

met_events as (

    select `order`, `it's`, `name with spaces`, fields, _change_op, _change_seq, _changed_at, _transaction_id, _change_id, _present_columns, _precedence, _is_deleted, _valid_from, _valid_from_seq, _latest_at, _ct_is_known
    from events
    union all
    select `order`, `it's`, `name with spaces`, fields, _change_op, _change_seq, _changed_at, _transaction_id, _change_id, _present_columns, _precedence, _is_deleted, _valid_from, _valid_from_seq, _latest_at, _ct_is_known
    from known_events

),

events_by_key as (

    select
        met_events.*,
        max(case when met_events._ct_is_known then met_events._change_seq end) over (partition by met_events.`order`, met_events.`it's`) as _ct_known_seq
    from met_events

),

given_events as (

    select
        `order`, `it's`, `name with spaces`, fields, _change_op, _change_seq, _changed_at, _transaction_id, _change_id, _present_columns, _precedence, _is_deleted, _valid_from, _valid_from_seq, _latest_at, _ct_is_known,
        coalesce(
            case
                when _ct_is_known then _change_seq >= (select min(_change_seq) from new_floors)
                when _change_seq <= _ct_known_seq then true
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
    from lake.dedup_feed__partial__state
    where
        _mark is null
        and _change_op <> 'truncate'
        and _batch_id <= '20260131T110000000000_00000009'

),

logged_events as (

    select
        `order`,
        `it's`,
        `name with spaces`,
        fields,
        _change_op,
        _change_seq,
        _changed_at,
        _transaction_id,
        _change_id,
        _present_columns,
        array_position(array('truncate', 'snapshot', 'departure', 'insert', 'update', 'upsert', 'delete'), _change_op) as _precedence,
        _change_op = 'delete' as _is_deleted,
        cast(null as timestamp) as _valid_from,
        cast(null as string) as _valid_from_seq,
        cast(null as timestamp) as _latest_at,
        false as _ct_is_known
    from logged_changes

),

replayed_events as (

    select `order`, `it's`, `name with spaces`, fields, _change_op, _change_seq, _changed_at, _transaction_id, _change_id, _present_columns, _precedence, _is_deleted, _valid_from, _valid_from_seq, _latest_at, _ct_is_known
    from logged_events
    left semi join replayed_keys
        on xxhash64(logged_events.`order`, logged_events.`it's`) = replayed_keys._ct_key

),

all_events as (

    select `order`, `it's`, `name with spaces`, fields, _change_op, _change_seq, _changed_at, _transaction_id, _change_id, _present_columns, _precedence, _is_deleted, _valid_from, _valid_from_seq, _latest_at, _ct_is_known
    from given_events
    left anti join replayed_keys
        on xxhash64(given_events.`order`, given_events.`it's`) = replayed_keys._ct_key
    union all
    select `order`, `it's`, `name with spaces`, fields, _change_op, _change_seq, _changed_at, _transaction_id, _change_id, _present_columns, _precedence, _is_deleted, _valid_from, _valid_from_seq, _latest_at, _ct_is_known
    from replayed_events

),

truncates as (

    select _change_seq, _changed_at, _transaction_id, _change_id
    from lake.dedup_feed__partial__state
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

spans as (

    select
        *,
        lead(_change_seq) over (
            partition by `order`, `it's`
            order by _change_seq, _precedence, _change_id
        ) as _ct_next_in_span
    from all_events

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
        if(_ct_is_floor, null, fields) as fields,
        if(_ct_is_floor, 'truncate', _change_op) as _change_op,
        if(_ct_is_floor, _ct_floor['_change_seq'], _change_seq) as _change_seq,
        if(_ct_is_floor, _ct_floor['_changed_at'], _changed_at) as _changed_at,
        if(_ct_is_floor, _ct_floor['_transaction_id'], _transaction_id) as _transaction_id,
        if(_ct_is_floor, _ct_floor['_change_id'], _change_id) as _change_id,
        if(_ct_is_floor, null, _present_columns) as _present_columns,
        if(_ct_is_floor, 1, _precedence) as _precedence,
        if(_ct_is_floor, true, _is_deleted) as _is_deleted,
        if(_ct_is_floor, null, _valid_from) as _valid_from,
        if(_ct_is_floor, null, _valid_from_seq) as _valid_from_seq,
        if(_ct_is_floor, null, _latest_at) as _latest_at,
        if(_ct_is_floor, false, _ct_is_known) as _ct_is_known
    from floored_events
        lateral view explode(if(_ct_floor is null, array(false), array(false, true))) as _ct_is_floor

),

started_events as (

    select
        *,
        not _is_deleted
        and (_ct_is_known or _present_columns is null or _change_op in ('insert', 'snapshot', 'upsert')) as _ct_can_start
    from ended_events

),

judged_events as (

    select
        *,
        coalesce(
            last_value(
                case
                    when _is_deleted then false
                    when _ct_can_start then true
                end,
                true
            ) over (
                partition by `order`, `it's`
                order by _change_seq, _precedence, _change_id
                rows between unbounded preceding and 1 preceding
            ),
            false
        ) as _ct_has_lived
    from started_events

),

decided_events as (

    select
        *,
        not _is_deleted and (_ct_can_start or _ct_has_lived) as _ct_lives,
        not _ct_has_lived or _ct_is_known or _present_columns is null or _change_op in ('insert', 'snapshot') as _ct_has_all
    from judged_events

),

overlaid_events as (

    select
        `order`,
        `it's`,
        if(
            _ct_lives,
            last_value(
                case
                    when _ct_lives and (_ct_has_all or array_contains(_present_columns, 'name with spaces'))
                        then named_struct('value', `name with spaces`)
                end,
                true
            ) over in_order.value,
            null
        ) as `name with spaces`,
        if(
            _ct_lives,
            last_value(
                case
                    when _ct_lives and (_ct_has_all or array_contains(_present_columns, 'fields'))
                        then named_struct('value', fields)
                end,
                true
            ) over in_order.value,
            null
        ) as fields,
        _change_op,
        _change_seq,
        _changed_at,
        _transaction_id,
        _change_id,
        _present_columns,
        _precedence,
        _valid_from,
        _valid_from_seq,
        _latest_at,
        _ct_is_known,
        not _ct_lives as _is_deleted,
        _ct_has_lived
    from decided_events
    window in_order as (
        partition by `order`, `it's`
        order by _change_seq, _precedence, _change_id
    )

),

placed_events as (

    select
        *,
        max(coalesce(_latest_at, _changed_at)) over in_order as _ct_running_at,
        lead(_change_seq) over in_order as _ct_next_seq
    from overlaid_events
    where _ct_has_lived or _ct_is_known or _change_op <> 'truncate'
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
            and (_is_deleted or struct(`name with spaces`) <=> lag(struct(`name with spaces`)) over in_order),
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
        false as _ct_is_withdrawn,
        _change_seq,
        _change_op,
        _change_id,
        _precedence,
        _is_deleted,
        _changed_at,
        _transaction_id,
        _ct_next_beginning is null as _is_last,
        _ct_running_at as _latest_at,
        _ct_beginning['at'] as _valid_from,
        _ct_next_beginning['at'] as _valid_to,
        _ct_beginning['seq'] as _valid_from_seq,
        _ct_next_beginning['seq'] as _valid_to_seq,
        _ct_next_beginning is null and not _is_deleted as _is_current,
        `order`, `it's`, `name with spaces`, fields
    from begun_events
    where _ct_ends

)

select *
from versions
