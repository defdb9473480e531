{{ change_tables.current_state(ref('dedup_bench__cdc')) }}
