{{ staged_changes('goldengate_trail', 'orders') }}
