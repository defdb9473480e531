{{ staged_changes('mapped', 'prices') }}
