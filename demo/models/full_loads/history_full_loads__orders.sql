{{ history(ref('dedup_full_loads__orders')) }}
