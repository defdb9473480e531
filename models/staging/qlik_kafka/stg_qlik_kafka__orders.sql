{{ staged_changes('qlik_kafka', 'orders', reads=['schemas']) }}
