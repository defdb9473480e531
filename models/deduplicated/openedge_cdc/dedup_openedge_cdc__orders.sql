{{ deduplicated_changes(ref('stg_openedge_cdc__orders')) }}
