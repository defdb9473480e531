{{ staged_changes('full_loads', 'prices') }}
