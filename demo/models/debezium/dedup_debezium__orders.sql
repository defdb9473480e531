{{ deduplicated_changes(ref('stg_debezium__orders')) }}
