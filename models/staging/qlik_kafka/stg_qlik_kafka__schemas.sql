{{ qlik_kafka_schemas('qlik_kafka', 'schemas') }}
