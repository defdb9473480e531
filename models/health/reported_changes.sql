{{ reported_changes([
    ref('dedup_goldengate_trail__machine_settings'),
    ref('dedup_goldengate_trail__orders'),
    ref('dedup_goldengate_trail__prices'),
    ref('dedup_idm_event_log__machine_settings'),
    ref('dedup_idm_event_log__orders'),
    ref('dedup_idm_event_log__prices'),
    ref('dedup_qlik_change_tables__machine_settings'),
    ref('dedup_qlik_change_tables__orders'),
    ref('dedup_qlik_change_tables__prices'),
    ref('dedup_qlik_kafka__machine_settings'),
    ref('dedup_qlik_kafka__orders'),
    ref('dedup_qlik_kafka__prices'),
]) }}
