{{ current_state(ref('dedup_qlik_change_tables__order_lines')) }}
