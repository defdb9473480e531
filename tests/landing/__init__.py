"""The jobs that land feeds."""
