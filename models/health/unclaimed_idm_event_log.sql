{{ unclaimed_rows('idm_event_log', ['orders', 'prices', 'machine_settings']) }}
