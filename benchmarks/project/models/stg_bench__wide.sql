{{ change_tables.staged_changes('bench', 'wide') }}
