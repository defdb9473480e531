"""The source database and the writers of feeds."""
