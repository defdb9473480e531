{{ staged_changes('qlik_change_tables', 'machine_settings', reads=['machine_settings_full']) }}
