{{ history(ref('dedup_idm_event_log__orders')) }}
