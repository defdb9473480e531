select
    'feed' as source_name,
    'qlik' as table_name,
    _change_id,
    _change_seq,
    code,
    detail
from lake.dedup_feed__qlik__reports
union all
select
    'feed' as source_name,
    'qlik_plain' as table_name,
    _change_id,
    _change_seq,
    code,
    detail
from lake.dedup_feed__qlik_plain__reports
union all
select
    'feed' as source_name,
    'qlik_masks' as table_name,
    _change_id,
    _change_seq,
    code,
    detail
from lake.dedup_feed__qlik_masks__reports
union all
select
    'feed' as source_name,
    'full' as table_name,
    _change_id,
    _change_seq,
    code,
    detail
from lake.dedup_feed__full__reports
union all
select
    'feed' as source_name,
    'partial' as table_name,
    _change_id,
    _change_seq,
    code,
    detail
from lake.dedup_feed__partial__reports
union all
select
    'feed' as source_name,
    'orphans_start_rows' as table_name,
    _change_id,
    _change_seq,
    code,
    detail
from lake.dedup_feed__orphans_start_rows__reports
union all
select
    'feed' as source_name,
    'kafka' as table_name,
    _change_id,
    _change_seq,
    code,
    detail
from lake.dedup_feed__kafka__reports
union all
select
    'feed' as source_name,
    'kafka_avro' as table_name,
    _change_id,
    _change_seq,
    code,
    detail
from lake.dedup_feed__kafka_avro__reports
union all
select
    'feed' as source_name,
    'kafka_by_column' as table_name,
    _change_id,
    _change_seq,
    code,
    detail
from lake.dedup_feed__kafka_by_column__reports
union all
select
    'feed' as source_name,
    'kafka_read_whole' as table_name,
    _change_id,
    _change_seq,
    code,
    detail
from lake.dedup_feed__kafka_read_whole__reports
union all
select
    'feed' as source_name,
    'trail' as table_name,
    _change_id,
    _change_seq,
    code,
    detail
from lake.dedup_feed__trail__reports
union all
select
    'feed' as source_name,
    'trail_cased' as table_name,
    _change_id,
    _change_seq,
    code,
    detail
from lake.dedup_feed__trail_cased__reports
union all
select
    'feed' as source_name,
    'trail_full_images' as table_name,
    _change_id,
    _change_seq,
    code,
    detail
from lake.dedup_feed__trail_full_images__reports
union all
select
    'feed' as source_name,
    'events' as table_name,
    _change_id,
    _change_seq,
    code,
    detail
from lake.dedup_feed__events__reports
union all
select
    'feed' as source_name,
    'events_multi_valued' as table_name,
    _change_id,
    _change_seq,
    code,
    detail
from lake.dedup_feed__events_multi_valued__reports
union all
select
    'feed' as source_name,
    'events_ahead' as table_name,
    _change_id,
    _change_seq,
    code,
    detail
from lake.dedup_feed__events_ahead__reports
union all
select
    'feed' as source_name,
    'openedge' as table_name,
    _change_id,
    _change_seq,
    code,
    detail
from lake.dedup_feed__openedge__reports
union all
select
    'feed' as source_name,
    'openedge_arriving' as table_name,
    _change_id,
    _change_seq,
    code,
    detail
from lake.dedup_feed__openedge_arriving__reports
union all
select
    'feed' as source_name,
    'openedge_by_recid' as table_name,
    _change_id,
    _change_seq,
    code,
    detail
from lake.dedup_feed__openedge_by_recid__reports
union all
select
    'feed' as source_name,
    'openedge_spelt' as table_name,
    _change_id,
    _change_seq,
    code,
    detail
from lake.dedup_feed__openedge_spelt__reports
union all
select
    'feed' as source_name,
    'openedge_level_1' as table_name,
    _change_id,
    _change_seq,
    code,
    detail
from lake.dedup_feed__openedge_level_1__reports
union all
select
    'feed' as source_name,
    'openedge_level_0' as table_name,
    _change_id,
    _change_seq,
    code,
    detail
from lake.dedup_feed__openedge_level_0__reports
