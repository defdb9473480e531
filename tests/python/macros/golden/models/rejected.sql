select
    'feed' as source_name,
    'qlik' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row,
    _equal_rows as raw_rows,
    _batch_id as first_seen_batch,
    _healed_at as healed_at
from lake.dedup_feed__qlik__quarantine
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'qlik_plain' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row,
    _equal_rows as raw_rows,
    _batch_id as first_seen_batch,
    _healed_at as healed_at
from lake.dedup_feed__qlik_plain__quarantine
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'qlik_masks' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row,
    _equal_rows as raw_rows,
    _batch_id as first_seen_batch,
    _healed_at as healed_at
from lake.dedup_feed__qlik_masks__quarantine
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'full' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row,
    _equal_rows as raw_rows,
    _batch_id as first_seen_batch,
    _healed_at as healed_at
from lake.dedup_feed__full__quarantine
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'partial' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row,
    _equal_rows as raw_rows,
    _batch_id as first_seen_batch,
    _healed_at as healed_at
from lake.dedup_feed__partial__quarantine
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'orphans_start_rows' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row,
    _equal_rows as raw_rows,
    _batch_id as first_seen_batch,
    _healed_at as healed_at
from lake.dedup_feed__orphans_start_rows__quarantine
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'kafka' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row,
    _equal_rows as raw_rows,
    _batch_id as first_seen_batch,
    _healed_at as healed_at
from lake.dedup_feed__kafka__quarantine
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'kafka_avro' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row,
    _equal_rows as raw_rows,
    _batch_id as first_seen_batch,
    _healed_at as healed_at
from lake.dedup_feed__kafka_avro__quarantine
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'kafka_by_column' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row,
    _equal_rows as raw_rows,
    _batch_id as first_seen_batch,
    _healed_at as healed_at
from lake.dedup_feed__kafka_by_column__quarantine
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'kafka_read_whole' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row,
    _equal_rows as raw_rows,
    _batch_id as first_seen_batch,
    _healed_at as healed_at
from lake.dedup_feed__kafka_read_whole__quarantine
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'trail' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row,
    _equal_rows as raw_rows,
    _batch_id as first_seen_batch,
    _healed_at as healed_at
from lake.dedup_feed__trail__quarantine
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'trail_cased' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row,
    _equal_rows as raw_rows,
    _batch_id as first_seen_batch,
    _healed_at as healed_at
from lake.dedup_feed__trail_cased__quarantine
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'trail_full_images' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row,
    _equal_rows as raw_rows,
    _batch_id as first_seen_batch,
    _healed_at as healed_at
from lake.dedup_feed__trail_full_images__quarantine
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'events' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row,
    _equal_rows as raw_rows,
    _batch_id as first_seen_batch,
    _healed_at as healed_at
from lake.dedup_feed__events__quarantine
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'events_multi_valued' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row,
    _equal_rows as raw_rows,
    _batch_id as first_seen_batch,
    _healed_at as healed_at
from lake.dedup_feed__events_multi_valued__quarantine
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'events_ahead' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row,
    _equal_rows as raw_rows,
    _batch_id as first_seen_batch,
    _healed_at as healed_at
from lake.dedup_feed__events_ahead__quarantine
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'openedge' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row,
    _equal_rows as raw_rows,
    _batch_id as first_seen_batch,
    _healed_at as healed_at
from lake.dedup_feed__openedge__quarantine
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'openedge_arriving' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row,
    _equal_rows as raw_rows,
    _batch_id as first_seen_batch,
    _healed_at as healed_at
from lake.dedup_feed__openedge_arriving__quarantine
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'openedge_by_recid' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row,
    _equal_rows as raw_rows,
    _batch_id as first_seen_batch,
    _healed_at as healed_at
from lake.dedup_feed__openedge_by_recid__quarantine
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'openedge_spelt' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row,
    _equal_rows as raw_rows,
    _batch_id as first_seen_batch,
    _healed_at as healed_at
from lake.dedup_feed__openedge_spelt__quarantine
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'openedge_level_1' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row,
    _equal_rows as raw_rows,
    _batch_id as first_seen_batch,
    _healed_at as healed_at
from lake.dedup_feed__openedge_level_1__quarantine
where _status = 'rejected'
union all
select
    'feed' as source_name,
    'openedge_level_0' as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row,
    _equal_rows as raw_rows,
    _batch_id as first_seen_batch,
    _healed_at as healed_at
from lake.dedup_feed__openedge_level_0__quarantine
where _status = 'rejected'
