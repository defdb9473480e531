"""The models beside SQL by hand: `make bench`."""
