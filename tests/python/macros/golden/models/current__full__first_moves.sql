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
        _change_op,
        _change_seq,
        _changed_at,
        _transaction_id,
        _change_id,
        if(_ct_departs, 3, array_position(array('truncate', 'snapshot', 'departure', 'insert', 'update', 'upsert', 'delete'), _change_op)) as _precedence,
        _ct_departs or _change_op = 'delete' as _is_deleted,
        _key_before is not null and not _ct_departs as _ct_enters
    from changes
        lateral view explode(if(_key_before is null, array(false), array(false, true))) as _ct_departs

),

-- the latest event of a key
ranked as (

    select
        *,
        row_number() over (
            partition by `order`, `it's`
            order by _change_seq desc, _precedence desc, _change_id desc
        ) as _ct_rank
    from events

)

select
    _is_deleted or _change_seq < '20260131120000250000000000000000015' as _is_deleted,
    _change_seq, _change_op, _change_id, _precedence, _changed_at, _transaction_id, `order`, `it's`, `name with spaces`
from ranked
where _ct_rank = 1
