"""The SQL functions, by themselves and in Spark."""
