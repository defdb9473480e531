{{ current_state(ref('dedup_debezium__orders')) }}
