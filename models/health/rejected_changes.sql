{{ rejected_changes([
    ref('stg_goldengate_trail__machine_settings'),
    ref('stg_goldengate_trail__orders'),
    ref('stg_goldengate_trail__prices'),
    ref('stg_idm_event_log__machine_settings'),
    ref('stg_idm_event_log__orders'),
    ref('stg_idm_event_log__prices'),
    ref('stg_qlik_change_tables__machine_settings'),
    ref('stg_qlik_change_tables__orders'),
    ref('stg_qlik_change_tables__prices'),
    ref('stg_qlik_kafka__machine_settings'),
    ref('stg_qlik_kafka__orders'),
    ref('stg_qlik_kafka__prices'),
]) }}
