{{ unclaimed_rows('qlik_kafka', ['prices', 'machine_settings']) }}
