{{ history(ref('dedup_mapped__orders')) }}
