{{ history(ref('dedup_dms__orders')) }}
