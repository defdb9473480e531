{{ current_state(ref('dedup_idm_event_log__machine_settings')) }}
