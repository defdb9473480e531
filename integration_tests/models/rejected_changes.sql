{{ change_tables.rejected_changes([ref('stg_shop__orders')]) }}
