{{ staged_changes('qlik_kafka', 'prices') }}
