{{ staged_changes('qlik_change_tables', 'customers', reads=['customers_full']) }}
