"""Writes a dbt project's part for a feed: from the tables that a server has to sources, models and tests."""
