{{ staged_changes('openedge_cdc', 'prices', reads=['change_tracking']) }}
