"""Tests by pytest, a folder for each room of the repository; the data tests of dbt are in `generic`."""
