"""`python -m change_tables`: the command line, also in a checkout."""

from __future__ import annotations

import sys

from .cli.main import main

if __name__ == "__main__":
    sys.exit(main())
