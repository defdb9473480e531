{{ deduplicated_changes(ref('stg_qlik_kafka__machine_settings')) }}
