{{ history(ref('dedup_qlik_kafka__orders')) }}
