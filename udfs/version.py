"""The version of the functions, the server and the command line. The dbt package has the same."""

__version__ = "0.1.0"
