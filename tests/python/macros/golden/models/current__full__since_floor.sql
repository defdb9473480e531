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
        `order`,
        `it's`,
        `name with spaces`,
        _change_op,
        _change_seq,
        _changed_at,
        _transaction_id,
        _change_id,
        array_position(array('truncate', 'snapshot', 'departure', 'insert', 'update', 'upsert', 'delete'), _change_op) as _precedence,
        _change_op = 'delete' as _is_deleted
    from changes

),

-- also keys that live and are older than the latest truncate or load
all_events as (

    select _change_seq, _change_op, _change_id, _precedence, _is_deleted, _changed_at, _transaction_id, `order`, `it's`, `name with spaces`
    from events
    union all
    select _change_seq, _change_op, _change_id, _precedence, _is_deleted, _changed_at, _transaction_id, `order`, `it's`, `name with spaces`
    from lake.current_feed__full__state
    where _mark is null and not _is_deleted and _change_seq < '20260131120000250000000000000000015'

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
    _is_deleted or _change_seq < '20260131120000250000000000000000015' as _is_deleted,
    _change_seq, _change_op, _change_id, _precedence, _changed_at, _transaction_id, `order`, `it's`, `name with spaces`
from ranked
where _ct_rank = 1
