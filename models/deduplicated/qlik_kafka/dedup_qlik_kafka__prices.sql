{{ deduplicated_changes(ref('stg_qlik_kafka__prices')) }}
