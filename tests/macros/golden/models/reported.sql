select
    'feed' as source_name,
    'qlik' as table_name,
    _change_id,
    _change_seq,
    code,
    detail,
    cast(null as timestamp) as acknowledged_at
from lake.dedup_feed__qlik__reports
union all
select
    'feed' as source_name,
    'trail' as table_name,
    _change_id,
    _change_seq,
    code,
    detail,
    cast(null as timestamp) as acknowledged_at
from lake.dedup_feed__trail__reports
