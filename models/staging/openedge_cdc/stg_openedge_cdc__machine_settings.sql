{{ staged_changes('openedge_cdc', 'machine_settings', reads=['change_tracking']) }}
