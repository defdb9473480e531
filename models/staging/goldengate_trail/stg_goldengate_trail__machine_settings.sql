{{ staged_changes('goldengate_trail', 'machine_settings') }}
