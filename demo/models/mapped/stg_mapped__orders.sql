{{ staged_changes('mapped', 'orders') }}
