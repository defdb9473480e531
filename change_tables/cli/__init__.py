"""The command line `change-tables`: its options, `jars` and `doctor`. `main.COMMANDS` says where each command is."""
