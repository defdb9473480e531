{{ unclaimed_rows('goldengate_trail', ['orders', 'prices', 'machine_settings']) }}
