select
    'feed' as source_name,
    'qlik' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row,
    _equal_rows as raw_rows,
    _batch_id as first_seen_batch,
    _healed_at as healed_at,
    cast(null as timestamp) as acknowledged_at
from lake.dedup_feed__qlik__quarantine
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'trail' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row,
    cast(1 as bigint) as raw_rows,
    cast(null as string) as first_seen_batch,
    cast(null as timestamp) as healed_at,
    cast(null as timestamp) as acknowledged_at
from lake.stg_feed__trail
where _status = 'rejected'
