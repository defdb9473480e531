"""The site of docs/ can be built: each link leads somewhere, and no page needs anything from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

from dbt.cli.main import dbtRunner
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


def test_the_five_steps_of_the_readme_have_every_file_of_a_project(tmp_path: Path) -> None:
    readme = (REPOSITORY / "README.md").read_text()
    steps = readme.split("## Your own project in five steps", 1)[1].split("\n## ", 1)[0]
    project = tmp_path / "shop"
    for block in re.findall(r"^ {4}```(?:yaml|sql)\n(.*?)^ {4}```", steps, re.MULTILINE | re.DOTALL):
        _, *files = re.split(r"^(?:#|--) (\S+\.(?:yml|sql))\n", dedent(block), flags=re.MULTILINE)
        for name, text in zip(files[::2], files[1::2], strict=True):
            (project / name).parent.mkdir(parents=True, exist_ok=True)
            (project / name).write_text(text)
    (tmp_path / "change_tables").symlink_to(REPOSITORY)
    for command in (["deps"], ["parse", "--warn-error"]):
        done = dbtRunner().invoke(["--quiet", *command, "--project-dir", str(project), "--profiles-dir", str(project)])
        assert done.success, done.exception
    assert {path.name for path in (project / "models").iterdir()} >= {"_shop__sources.yml", "rejected_changes.sql"}
