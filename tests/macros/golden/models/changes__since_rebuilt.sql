select
    `order`,
    `it's`,
    if(_is_deleted, null, `name with spaces`) as `name with spaces`,
    if(_is_deleted, null, fields) as fields,
    _change_op, _change_seq, _changed_at, _transaction_id, _is_deleted, _batch_id
from lake.current_feed__full__state
where
    _checkpoint is null
    and _batch_id > '20260129T120000000000_00000002'
    and _batch_id <= '20260131T110000000000_00000009'
union all
select distinct
    `order`,
    `it's`,
    null as `name with spaces`,
    null as fields,
    null as _change_op,
    null as _change_seq,
    null as _changed_at,
    null as _transaction_id,
    true as _is_deleted,
    '20260130T120000000000_00000001' as _batch_id
from lake.changes as taken_in
left anti join (
    select `order`, `it's`
    from lake.current_feed__full__state
    where _checkpoint is null
) as kept
    on taken_in.`order` <=> kept.`order` and taken_in.`it's` <=> kept.`it's`
