with changes as (

    select *
    from lake.dedup_feed__partial__state
    where
        _mark is null
        and _change_op <> 'truncate'
        and _batch_id <= '20260130T120000000000_00000001'

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

all_events as (

    select `order`, `it's`, `name with spaces`, fields, _change_op, _change_seq, _changed_at, _transaction_id, _change_id, _present_columns, _precedence, _is_deleted, _valid_from, _valid_from_seq, _latest_at, _ct_is_known
    from events

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
