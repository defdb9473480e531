{{ staged_changes('debezium', 'orders') }}
