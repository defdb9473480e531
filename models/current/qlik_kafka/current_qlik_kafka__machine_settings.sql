{{ current_state(ref('dedup_qlik_kafka__machine_settings')) }}
