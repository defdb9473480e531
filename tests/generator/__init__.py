"""`change-tables init` and `diff`."""
