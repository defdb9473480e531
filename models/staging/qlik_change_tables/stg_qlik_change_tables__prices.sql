{{ staged_changes('qlik_change_tables', 'prices') }}
