"""The Thrift server with the SQL functions: its doors, its metastore, its cluster, and how others connect to it."""
