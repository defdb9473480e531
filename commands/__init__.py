"""The command line `change-tables`: one file a command."""
