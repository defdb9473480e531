{{ current_state(ref('dedup_debezium__prices')) }}
