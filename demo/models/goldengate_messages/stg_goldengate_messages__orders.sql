{{ staged_changes('goldengate_messages', 'orders') }}
