"""The pages, and what writes those of them that the code makes: `python -m docs.pages`."""
