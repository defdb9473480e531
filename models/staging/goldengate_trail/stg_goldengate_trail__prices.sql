{{ staged_changes('goldengate_trail', 'prices') }}
