{{ change_tables.deduplicated_changes(ref('stg_shop__stock')) }}
