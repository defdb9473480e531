"""The site, and the files for systemd and containers."""
