{{ current_state(ref('dedup_qlik_kafka__prices')) }}
