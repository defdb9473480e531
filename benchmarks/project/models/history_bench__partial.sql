{{ change_tables.history(ref('dedup_bench__partial')) }}
