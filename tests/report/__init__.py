"""`change-tables report`, and facts made up for it."""
