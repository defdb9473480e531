{{ change_tables.reported_changes([ref('dedup_shop__orders')]) }}
