{{ change_tables.staged_changes('bench', 'cdc') }}
