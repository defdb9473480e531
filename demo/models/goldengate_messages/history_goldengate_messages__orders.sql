{{ history(ref('dedup_goldengate_messages__orders')) }}
