{{ unclaimed_rows('openedge_cdc', ['orders', 'prices', 'machine_settings']) }}
