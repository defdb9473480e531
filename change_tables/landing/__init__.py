"""Jobs that land feeds on a lake; each file runs by itself under spark-submit."""
