{{ change_tables.current_state(ref('dedup_shop__stock')) }}
