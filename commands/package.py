"""change_tables: a server with SQL functions, and the command line, beside the dbt package of the same name.

In the wheel this file is `change_tables/__init__.py`, with the folders of the repository beside it.
"""
