{{ deduplicated_changes(ref('stg_goldengate_trail__machine_settings')) }}
