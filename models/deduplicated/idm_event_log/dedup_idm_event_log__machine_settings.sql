{{ deduplicated_changes(ref('stg_idm_event_log__machine_settings')) }}
