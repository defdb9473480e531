{{ staged_changes('qlik_change_tables', 'order_lines') }}
