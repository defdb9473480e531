{{ history(ref('dedup_goldengate_trail__orders')) }}
