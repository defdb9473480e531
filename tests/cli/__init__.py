"""The command line, `jars` and `doctor`, and the wheel."""
