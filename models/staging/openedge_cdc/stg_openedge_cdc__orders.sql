{{ staged_changes('openedge_cdc', 'orders', reads=['change_tracking']) }}
