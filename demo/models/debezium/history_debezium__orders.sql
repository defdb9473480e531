{{ history(ref('dedup_debezium__orders')) }}
