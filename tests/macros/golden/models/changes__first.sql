select
    `order`,
    `it's`,
    `name with spaces`,
    fields,
    _change_op, _change_seq, _changed_at, _transaction_id, _is_deleted, _batch_id
from lake.current_feed__full__state
where
    _checkpoint is null
    and not _is_deleted
    and _batch_id <= '20260130T120000000000_00000001'
