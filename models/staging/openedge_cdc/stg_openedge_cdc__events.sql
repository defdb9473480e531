{{ openedge_events('openedge_cdc', ['orders', 'prices', 'machine_settings']) }}
