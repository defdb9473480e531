{{ current_state(ref('dedup_mapped__prices')) }}
