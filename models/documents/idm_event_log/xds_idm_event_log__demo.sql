{{ xds_documents([
    ref('dedup_idm_event_log__machine_settings'),
    ref('dedup_idm_event_log__orders'),
    ref('dedup_idm_event_log__prices'),
]) }}
