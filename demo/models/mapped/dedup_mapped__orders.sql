{{ deduplicated_changes(ref('stg_mapped__orders')) }}
