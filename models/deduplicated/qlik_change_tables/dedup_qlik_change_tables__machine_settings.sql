{{ deduplicated_changes(ref('stg_qlik_change_tables__machine_settings')) }}
