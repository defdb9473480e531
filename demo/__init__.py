"""A small source database, its feeds as replication products write them, and the proof that the models agree."""
