{{ current_state(ref('dedup_goldengate_messages__prices')) }}
