"""Functions that the models call from SQL: plain Python over Arrow arrays, one catalogue, one registration."""
