"""The site of docs/ can be built: each link leads somewhere, and no page needs anything from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.commands.build import build
from mkdocs.config import load_config

from tests.pipelines.consumer import REPOSITORY


def test_the_site_has_no_broken_links_and_fetches_nothing(tmp_path: Path) -> None:
    # without the script that draws diagrams, which `make docs` brings over the network
    build(load_config(str(REPOSITORY / "mkdocs.yml"), site_dir=str(tmp_path), strict=True, extra={"generator": False}))
    pages = {str(path.relative_to(tmp_path)): path.read_text() for path in tmp_path.rglob("*.html")}
    assert {"index.html", "settings.html", "contributing.html", "feeds/openedge_cdc.html"} <= pages.keys()
    for name, page in pages.items():
        fetched = re.findall(r"""<(?:script|img|link|iframe)\b[^>]*\b(?:src|href)=["']?(https?:[^"'> ]*)""", page)
        assert fetched == [], name


def test_the_readme_fits_on_a_few_screens() -> None:
    assert len((REPOSITORY / "README.md").read_text().splitlines()) < 150
