{{ history(ref('dedup_qlik_change_tables__orders')) }}
