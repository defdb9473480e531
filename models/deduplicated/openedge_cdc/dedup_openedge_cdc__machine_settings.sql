{{ deduplicated_changes(ref('stg_openedge_cdc__machine_settings')) }}
