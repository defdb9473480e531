"""change_tables: a server with SQL functions, and the command line, beside the dbt package of the same name.

The wheel is this folder. `udfs` in it is a link to the repository's folder of that name.
"""
