{{ staged_changes('idm_event_log', 'orders') }}
