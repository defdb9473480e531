"""The models on a server: rows in, rows out."""
