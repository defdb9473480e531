"""Writes the pages of docs/ that the code makes: `python -m docs.pages`, or `--check` to compare only."""

from __future__ import annotations

import argparse
import datetime
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from change_tables.udfs.catalog import CATALOG, Example, SqlFunction, sql_literal

from . import macro_pages

FOLDER = Path(__file__).resolve().parent

_HEAD = """<!-- From `udfs/catalog.py`, by `python -m docs.pages`. -->

# SQL functions

Every session of the Thrift server has these functions. They take columns and literals, and never fail on a value: the
result is null, or its `error` says what cannot be read. A lambda (`transform(x -> …)`) cannot call them.

`change_tables_version()` says [which version](install.md#do-the-two-fit) the server has.
"""


_OF_MODELS = (
    "first_ancestors",
    "reached_names",
    "rows_at_key",
    "read_avro_envelope",
    "format_association",
    "build_xds_document",
)
"""Functions that nobody else has a use for: the page only names them."""


def render_page() -> str:
    """The whole page, ending in a line feed."""
    texts = [_render_function(entry) for entry in CATALOG if entry.name not in _OF_MODELS]
    return "\n".join([_HEAD, *texts, _render_functions_of_models()])


def render_result(value: Any) -> str:
    """A result as the page shows it.

    >>> render_result([True, None])
    '[true, null]'

    >>> render_result({"pairs": [{"name": "idu", "value": "1"}], "error": None})
    "{pairs: [{name: 'idu', value: '1'}], error: null}"
    >>> render_result(datetime.datetime(2026, 1, 31, 12, 0, tzinfo=datetime.UTC))
    "timestamp'2026-01-31 12:00:00+00:00'"
    """
    match value:
        case dict():
            return "{" + ", ".join(f"{name}: {render_result(field)}" for name, field in value.items()) + "}"
        case list():
            return "[" + ", ".join(render_result(element) for element in value) + "]"
        case datetime.datetime():
            return f"timestamp'{value}'"
        case bool():
            return str(value).lower()
        case None | str() | bytes():
            return sql_literal(value)
    return str(value)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, width=120, break_long_words=False, break_on_hyphens=False)


def shown_examples(entry: SqlFunction) -> Sequence[Example]:
    """Those that the page shows: when the result is null, `null_behaviour` says. None where only models call it."""
    return [example for example in entry.examples if example.expected is not None and entry.name not in _OF_MODELS]


def _render_function(entry: SqlFunction) -> str:
    examples = "\n".join(
        f"{entry.call(example)}\n    -- {render_result(example.expected)}" for example in shown_examples(entry)
    )
    return f"""## {entry.name}

`{entry.signature}`

{_wrapped(entry.description)}

{_wrapped(f"Nulls: {entry.null_behaviour}")}

```sql
{examples}
```
"""


def _render_functions_of_models() -> str:
    names = ", ".join(f"`{name}`" for name in _OF_MODELS)
    return f"## Called by models alone\n\n{_wrapped(f'`udfs/catalog.py` has the rules and examples of {names}.')}\n"


PAGES: Mapping[str, Callable[[], str]] = {
    "udfs.md": render_page,
    "settings.md": macro_pages.settings_page,
    "columns.md": macro_pages.columns_page,
    "macros.md": macro_pages.macros_page,
    "reason_codes.md": macro_pages.reason_codes_page,
    "decisions/README.md": macro_pages.decisions_page,
}
"""The pages by their names in docs/; each says what it is made of."""


def main(arguments: list[str] | None = None, folder: Path = FOLDER) -> int:
    """Write the pages, or with `--check` compare them; returns the exit code, 1 where one is not up to date."""
    parser = argparse.ArgumentParser(prog="python -m docs.pages", description="Write the pages that the code makes.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a page is not up to date")
    options = parser.parse_args(arguments)
    outdated = []
    for name, render in PAGES.items():
        page, text = folder / name, render()
        if page.exists() and page.read_text(encoding="utf-8") == text:
            continue
        if options.check:
            outdated.append(f"docs/{name}")
        else:
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(text, encoding="utf-8")
    if outdated:
        print(f"not up to date with the code: {', '.join(outdated)}: run python -m docs.pages", file=sys.stderr)
    return 1 if outdated else 0


if __name__ == "__main__":
    sys.exit(main())
