{{ staged_changes('idm_event_log', 'machine_settings', reads=['machine_settings_replica']) }}
