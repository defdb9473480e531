"""The package's macros without a server: what a run would send to Spark, and what macros decide."""
