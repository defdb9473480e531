"""The page: one HTML file with its style, its scripts and all facts within, which asks nothing of any network.

Jinja escapes every value, also in the facts that the scripts read. The page's own policy forbids every request, and
every script but the two that it has.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import vl_convert
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from .findings import STATES, duration, number, percent

_FOLDER = Path(__file__).resolve().parent
_MEANINGS = {"act": "a person is needed", "watch": "worth a look", "ok": "nothing to do"}
_SHOWN_MODELS = 10


def as_page(facts: Mapping[str, Any]) -> str:
    """The page of facts in the form of `as_json`."""
    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"duration": duration, "number": number, "percent": percent, "moment": moment, "size": size}
    scripts = [_plots(), _text("page.js")]
    order = {each: place for place, each in enumerate(STATES)}
    first = {log: place for place, each in reversed([*enumerate(facts["to_do"])]) for log in each["logs"]}
    tables = sorted(facts["tables"], key=lambda each: (order[each["state"]], first.get(each["log"], 0), each["log"]))
    models = [node for node in facts["nodes"] if node["kind"] == "model"]
    return environment.get_template("page.html.j2").render(
        facts=dict(facts) | {"tables": tables},
        packed=_packed(dict(facts) | {"tables": tables}),
        meanings=_MEANINGS,
        schemas=len({each["log"].rpartition(".")[0] for each in tables}),
        sources=sorted({each["source_name"] for each in tables}),
        models=models[:_SHOWN_MODELS],
        style=Markup(_text("page.css")),
        scripts=[Markup(script) for script in scripts],
        policy=" ".join(f"'sha256-{_digest(script)}'" for script in scripts),
    )


def _packed(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts with runs as lists of values, whose names are once in `run_columns`: a third of the length."""
    columns = sorted({name for table in facts["tables"] for run in table["runs"] for name in run})
    tables = [table | {"runs": [[run[name] for name in columns] for run in table["runs"]]} for table in facts["tables"]]
    return facts | {"tables": tables, "run_columns": columns}


def _text(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


@cache
def _plots() -> str:
    """Vega, Vega-Lite and vega-embed as one script, whose names do not reach others."""
    script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    if "</script" in script.lower() or "<!--" in script:
        raise ValueError("the script of the plots would end before its end: see the version of vl-convert-python")
    return f"(() => {{{script}}})();"


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def moment(time: str | None) -> str:
    """A time as people read it.

    >>> moment("2026-01-31T04:10:59+00:00")
    '2026-01-31 04:10'
    """
    return f"{datetime.fromisoformat(time):%Y-%m-%d %H:%M}" if time else "\N{EN DASH}"


def size(size_bytes: float) -> str:
    """A size in memory.

    >>> size(900), size(1234567)
    ('900 B', '1.2 MB')
    """
    for unit, length in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size_bytes >= length:
            return f"{size_bytes / length:.1f} {unit}"
    return f"{size_bytes:.0f} B"
