select
    'feed' as source_name,
    'qlik' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row
from lake.stg_feed__qlik
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'qlik_plain' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row
from lake.stg_feed__qlik_plain
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'qlik_masks' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row
from lake.stg_feed__qlik_masks
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'full' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row
from lake.stg_feed__full
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'partial' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row
from lake.stg_feed__partial
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'orphans_start_rows' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row
from lake.stg_feed__orphans_start_rows
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'kafka' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row
from lake.stg_feed__kafka
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'kafka_avro' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row
from lake.stg_feed__kafka_avro
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'kafka_by_column' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row
from lake.stg_feed__kafka_by_column
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'kafka_read_whole' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row
from lake.stg_feed__kafka_read_whole
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'trail' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row
from lake.stg_feed__trail
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'trail_cased' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row
from lake.stg_feed__trail_cased
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'trail_full_images' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row
from lake.stg_feed__trail_full_images
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'events' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row
from lake.stg_feed__events
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'events_multi_valued' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row
from lake.stg_feed__events_multi_valued
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'events_ahead' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row
from lake.stg_feed__events_ahead
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'openedge' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row
from lake.stg_feed__openedge
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'openedge_arriving' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row
from lake.stg_feed__openedge_arriving
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'openedge_by_recid' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row
from lake.stg_feed__openedge_by_recid
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'openedge_spelt' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row
from lake.stg_feed__openedge_spelt
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'openedge_level_1' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row
from lake.stg_feed__openedge_level_1
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'openedge_level_0' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row
from lake.stg_feed__openedge_level_0
where _status = 'rejected'
