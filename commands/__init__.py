"""The command line `change-tables`: its options, and `doctor`. `main.COMMANDS` says where each command is."""
