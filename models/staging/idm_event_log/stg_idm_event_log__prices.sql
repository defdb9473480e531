{{ staged_changes('idm_event_log', 'prices', reads=['prices_replica']) }}
