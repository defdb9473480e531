{{ staged_changes('goldengate_messages', 'prices') }}
