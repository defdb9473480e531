{{ staged_changes('dms', 'prices') }}
