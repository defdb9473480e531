"""The Thrift server and what is around it."""
