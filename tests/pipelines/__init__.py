"""Pipelines, built by dbt on a server and compared with the pages of docs/."""

import pytest

pytest.register_assert_rewrite(f"{__name__}.cases")
