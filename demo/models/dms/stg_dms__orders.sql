{{ staged_changes('dms', 'orders') }}
