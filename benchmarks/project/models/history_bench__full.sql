{{ change_tables.history(ref('dedup_bench__full')) }}
