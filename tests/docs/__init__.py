"""The pages and the site, the layout, and the files for systemd and containers."""
