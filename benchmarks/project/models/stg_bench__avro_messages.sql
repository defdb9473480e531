{{ change_tables.staged_changes('bench', 'avro_messages') }}
