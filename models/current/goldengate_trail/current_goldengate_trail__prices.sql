{{ current_state(ref('dedup_goldengate_trail__prices')) }}
