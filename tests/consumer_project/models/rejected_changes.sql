{{ change_tables.rejected_changes([ref('dedup_shop__orders')]) }}
