{{ current_state(ref('dedup_dms__prices')) }}
