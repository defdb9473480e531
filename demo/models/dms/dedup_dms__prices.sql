{{ deduplicated_changes(ref('stg_dms__prices')) }}
