{{ change_tables.deduplicated_changes(ref('stg_bench__cdc')) }}
