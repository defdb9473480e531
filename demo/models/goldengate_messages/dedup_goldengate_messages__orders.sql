{{ deduplicated_changes(ref('stg_goldengate_messages__orders')) }}
