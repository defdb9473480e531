{{ deduplicated_changes(ref('stg_dms__orders')) }}
