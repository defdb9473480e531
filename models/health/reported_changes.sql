{{ reported_changes([
    ref('dedup_qlik_change_tables__machine_settings'),
    ref('dedup_qlik_change_tables__orders'),
    ref('dedup_qlik_change_tables__prices'),
]) }}
