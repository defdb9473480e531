{{ history(ref('dedup_openedge_cdc__orders')) }}
