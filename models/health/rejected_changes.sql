{{ rejected_changes([
    ref('stg_qlik_change_tables__machine_settings'),
    ref('stg_qlik_change_tables__orders'),
    ref('stg_qlik_change_tables__prices'),
]) }}
