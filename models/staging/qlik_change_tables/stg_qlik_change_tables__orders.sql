{{ staged_changes('qlik_change_tables', 'orders', reads=['orders_full']) }}
