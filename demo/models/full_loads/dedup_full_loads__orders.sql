{{ deduplicated_changes(ref('stg_full_loads__orders')) }}
