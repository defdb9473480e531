{{ current_state(ref('dedup_full_loads__prices')) }}
