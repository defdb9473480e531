{{ staged_changes('full_loads', 'orders') }}
