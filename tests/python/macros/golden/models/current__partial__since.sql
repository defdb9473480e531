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
        false as _ct_is_known
    from changes

),

known_keys as (

    select distinct `order`, `it's`
    from events

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
        true as _ct_is_known
    from lake.current_feed__partial__state as last_events
    left semi join known_keys
        on last_events.`order` <=> known_keys.`order` and last_events.`it's` <=> known_keys.`it's`
    where
        last_events._mark is null

),

all_events as (

    select `order`, `it's`, `name with spaces`, fields, _change_op, _change_seq, _changed_at, _transaction_id, _change_id, _present_columns, _precedence, _is_deleted, _ct_is_known
    from events
    union all
    select `order`, `it's`, `name with spaces`, fields, _change_op, _change_seq, _changed_at, _transaction_id, _change_id, _present_columns, _precedence, _is_deleted, _ct_is_known
    from known_events

),

started_events as (

    select
        *,
        not _is_deleted
        and (_ct_is_known or _present_columns is null or _change_op in ('insert', 'snapshot', 'upsert')) as _ct_can_start
    from all_events

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

)

select _change_seq, _change_op, _change_id, _precedence, _is_deleted, _changed_at, _transaction_id, `order`, `it's`, `name with spaces`, fields
from folded
where _ct_next_seq is null
