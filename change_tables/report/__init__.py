"""`change-tables report`: what the runs of each log have found, as a page, as JSON, as metrics, and what to do next."""
