{{ staged_changes('debezium', 'prices') }}
