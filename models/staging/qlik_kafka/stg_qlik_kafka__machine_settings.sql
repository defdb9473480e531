{{ staged_changes('qlik_kafka', 'machine_settings') }}
