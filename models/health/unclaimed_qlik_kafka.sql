{{ unclaimed_rows('qlik_kafka', ['orders', 'prices', 'machine_settings']) }}
