{{ change_tables.staged_changes('shop', 'stock') }}
