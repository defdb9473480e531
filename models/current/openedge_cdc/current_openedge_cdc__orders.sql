{{ current_state(ref('dedup_openedge_cdc__orders')) }}
