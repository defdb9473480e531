"""Pipelines, built by dbt on a server and held against the pages of the formats and the design."""

import pytest

pytest.register_assert_rewrite(f"{__name__}.cases")
