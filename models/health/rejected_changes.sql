{{ rejected_changes([
    ref('stg_qlik_change_tables__customers'),
    ref('stg_qlik_change_tables__machine_settings'),
    ref('stg_qlik_change_tables__order_lines'),
    ref('stg_qlik_change_tables__orders'),
    ref('stg_qlik_change_tables__prices'),
]) }}
