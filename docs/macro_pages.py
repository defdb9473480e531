"""The pages of settings, columns, macros and reason codes, made of what the macros, their YAML and the seed say."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment

REPOSITORY = Path(__file__).resolve().parents[1]
FORMATS = (
    "qlik_change_tables",
    "qlik_kafka",
    "goldengate_trail",
    "idm_event_log",
    "openedge_cdc",
    "mapped",
    "debezium",
    "dms",
    "full_loads",
    "goldengate_messages",
)
"""The formats, in the order in which pages name them."""

_MACRO = re.compile(r"(\{%-?\s*macro\s+)(\w+)\(")
_MATERIALIZATION = re.compile(r"\{%-?\s*materialization .*?endmaterialization\s*-?%\}", re.DOTALL)
_SIGNATURE = re.compile(r"\{%-?\s*(macro|test)\s+(\w+)\((.*?)\)\s*-?%\}")
_KINDS = {
    "text": "text",
    "number": "number",
    "flag": "`true`, `false`",
    "names": "list of names",
    "mapping": "mapping",
    "list": "list",
}
_STATUSES = {
    "rejected": "The row cannot be used. It is in `rejected_changes`.",
    "waiting": "The row needs another one, which has not landed. It comes in once that lands, also [after `waiting_days`](operations.md#rows-that-wait).",
    "ignored": "The row changes no row of the table.",
    "merged": "The row is a part of another row's change.",
    "reported": "The change was used and needs a look. It is in `reported_changes`.",
    "unpublished": "The event is in the log, and no XDS document is made of it.",
}


class _ReturnedError(Exception):
    """What a macro returns, as dbt's `return` does it: it ends the macro."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class Macros:
    """The macros of the package that return data, as functions, without dbt.

    >>> Macros().staged_columns({"format": "qlik_kafka", "column_names": ["id"]})[:2]
    ['id', '_change_op']
    """

    def __init__(self) -> None:
        self._jinja = Environment(extensions=["jinja2.ext.do"], autoescape=False)
        self._texts = {path: path.read_text(encoding="utf-8") for path in REPOSITORY.glob("macros/**/*.sql")}
        self._found: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        """The macro of that name; what is no macro is refused when it is called."""

        def call(*arguments: Any, **named: Any) -> Any:
            if name not in self._found:
                self._load(name)
            try:
                return str(self._found[name](*arguments, **named))
            except _ReturnedError as returned:
                return returned.value

        return call

    def _load(self, name: str) -> None:
        (text,) = (text for text in self._texts.values() if re.search(rf"macro {name}\(", text))
        # a name that begins with `_` is not seen from outside of a template
        template = self._jinja.from_string(_MACRO.sub(r"\1dbt_\2(", _MATERIALIZATION.sub("", text)))
        module = template.make_module(
            {"change_tables": self, "context": {}, "return": _end, "adapter": _NoFurtherFormats(), "zip": zip}
        )
        for found in _MACRO.finditer(text):
            self._found[found[2]] = getattr(module, f"dbt_{found[2]}")


def _end(value: Any) -> None:
    raise _ReturnedError(value)


class _NoFurtherFormats:
    """The adapter of a project that has no formats of its own."""

    def dispatch(self, *_: str) -> Any:
        return dict


@cache
def macros() -> Macros:
    """The macros of this checkout."""
    return Macros()


# settings


def settings_page() -> str:
    """All settings: the general ones, then those of each format."""
    general = macros().general_settings()
    formats = {name: macros().format_of(name) for name in FORMATS}
    parts = [_SETTINGS_HEAD, _settings_table(general, {name: parts["settings"] for name, parts in formats.items()})]
    parts.append(_OF_COLUMNS)
    parts.append(_settings_table(macros().general_column_settings(), {}))
    own = {name: _own_settings(format_parts, general) for name, format_parts in formats.items()}
    parts += [_OF_SEVERAL_HEAD, _table_of_several(own)]
    for name in FORMATS:
        settings, of_columns = own[name]
        several = [key for key in (*settings, *of_columns) if len(_sharing(own, name, key)) > 1]
        above = f", and {', '.join(f'`{key}`' for key in several)} [above](#of-several-formats)" if several else ""
        parts += [f"## {name}", f"See [the feed's page](feeds/{name}.md){above}."]
        alone = {key: each for key, each in settings.items() if key not in several}
        alone_of_columns = {key: each for key, each in of_columns.items() if key not in several}
        if alone:
            parts.append(_settings_table(alone, {}))
        if alone_of_columns:
            parts += [_OF_COLUMNS, _settings_table(alone_of_columns, {})]
    return "\n\n".join([*parts, _SETTINGS_TAIL])


_OwnSettings = tuple[Mapping[str, Any], Mapping[str, Any]]


def _own_settings(format_parts: Mapping[str, Any], general: Mapping[str, Any]) -> _OwnSettings:
    """The settings of one format that are not just the general ones, and those of its declared columns."""
    settings = {
        name: known for name, known in format_parts["settings"].items() if name not in general or "meaning" in known
    }
    return settings, format_parts["column_settings"]


def _sharing(own: Mapping[str, _OwnSettings], of: str, setting: str) -> Sequence[str]:
    """The formats that have a setting just as one has it."""
    (place,) = (at for at in (0, 1) if setting in own[of][at])
    return [name for name in own if own[name][place].get(setting) == own[of][place][setting]]


def _table_of_several(own: Mapping[str, _OwnSettings]) -> str:
    """One row for each setting that more than one format has, in the same words."""
    rows = {}
    for name, parts in own.items():
        for place, settings in enumerate(parts):
            for key, setting in settings.items():
                formats = _sharing(own, name, key)
                if len(formats) > 1:
                    listed = "of a declared column, under its `config.meta`: " if place else ""
                    of = ", ".join(f"`{each}`" for each in formats)
                    rows[f"`{key}`", of] = (_allowed(setting), _default(setting), listed + setting["meaning"])
    return _table(("setting", "of", "allowed", "default", "meaning"), [(*names, *row) for names, row in rows.items()])


def _settings_table(settings: Mapping[str, Any], of_formats: Mapping[str, Mapping[str, Any]]) -> str:
    rows = []
    for name, setting in settings.items():
        if "meaning" not in setting:
            raise ValueError(f"setting `{name}` has no `meaning`")
        default = _default(setting)
        # a format's own default, where it gives the setting no meaning of its own
        others = [
            (_default(own[name]), of) for of, own in of_formats.items() if name in own and "meaning" not in own[name]
        ]
        for other in dict.fromkeys(value for value, _ in others):
            default += f"; {other} of {', '.join(f'`{of}`' for value, of in others if value == other)}"
        rows.append((f"`{name}`", _allowed(setting), default, setting["meaning"]))
    return _table(("setting", "allowed", "default", "meaning"), rows)


def _allowed(setting: Mapping[str, Any]) -> str:
    if "values" not in setting:
        return _KINDS[setting["type"]]
    values = ", ".join(f"`{value}`".lower() if value in (True, False) else f"`{value}`" for value in setting["values"])
    return f"list of {values}" if setting["type"] == "names" else values


def _default(setting: Mapping[str, Any]) -> str:
    if setting.get("required"):
        return "must be given"
    default = setting["default"]
    match default:
        case None:
            return "null"
        case "":
            return "`''`"
        case bool():
            return f"`{default}`".lower()
        case list():
            return f"`[{', '.join(default)}]`"
        case dict():
            return f"`{{{', '.join(f'{word}: {meaning}' for word, meaning in default.items())}}}`"
    return f"`{default}`"


_OF_COLUMNS = "Of a declared column, under its own `config.meta`:"

_OF_SEVERAL_HEAD = """## Of several formats"""

_SETTINGS_HEAD = """<!-- From `macros/spec/table_spec.sql` and the formats in `macros/feeds`, by `python -m docs.pages`. -->

# Settings

Settings are under `config.meta.change_table` of an entry in a sources file, which also declares the source table's own columns, in its order,
with Spark types: see [an example](../README.md#your-own-project-in-five-steps). A run checks all entries before it builds a model, and names
all mistakes together.

## Of all formats"""

_SETTINGS_TAIL = """## Of models and runs

Model configuration is dbt's own. `file_format` is
[the server's](decisions/0011-the-server-says-the-table-format.md), `config.meta.tables_schema` of a current model or a history the
[schema of its table](operations.md#schemas).

Two variables change what one run does, as in `dbt build --vars '{change_tables_rescan: true}'`:

| variable | what the run does |
|---|---|
| `change_tables_rescan` | [compares the logs](operations.md#rescan) with every raw row |
| `change_tables_allow_loss` | lets a full refresh [lose changes](operations.md#full-refresh-and-loss), a state follow a log that lacks some, and an empty load end every key |

Two are for `vars` in `dbt_project.yml`:

| variable | default | what it says |
|---|---|---|
| `change_tables_runs` | `change_table_runs` | the name of the [table of runs](runs.md). `false`: there is none |
| `change_tables_runs_schema` | the target's schema | the schema of that table |
"""


# columns


def columns_page() -> str:
    """The columns that models add to the table's own."""
    types = {name: f"`{data_type}`" for name, data_type in macros().contract_column_types().items()}
    types["_key_before"] = "struct of the key columns"
    meanings = macros().contract_column_descriptions()
    spec = {"format": FORMATS[0], "column_names": []}
    models = {
        "stg": macros().staged_columns(spec),
        "dedup": macros().log_view_columns(spec),
        "current": macros().state_view_columns(False, True),
        "history": macros().state_view_columns(True),
    }
    shown = {name for names in models.values() for name in names}
    if shown != set(meanings):
        raise ValueError(f"columns without a description, or the reverse: {sorted(shown ^ set(meanings))}")
    rows = [
        (f"`{name}`", types[name], ", ".join(kind for kind, names in models.items() if name in names), meaning)
        for name, meaning in meanings.items()
    ]
    parts = [_COLUMNS_HEAD, _table(("column", "type", "in", "meaning"), rows), _COLUMNS_OF_FORMATS]
    for name in FORMATS:
        own = macros().format_of(name)["columns"]
        if own:
            listed = [(f"`{each['name']}`", f"`{each['data_type']}`", each["description"]) for each in own]
            parts += [f"### {name}", _table(("column", "type", "meaning"), listed)]
    return "\n\n".join(parts) + "\n"


_COLUMNS_HEAD = """<!-- From `macros/spec/contract_columns.sql` and the formats in `macros/feeds`, by `python -m docs.pages`. -->

# Columns of the models

Every model has the table's own columns first, then these. Spark has the same texts as [comments](operations.md#comments). The columns of
other models are on [the page of macros](macros.md), those of documents on [their own](feeds/idm_xds.md)."""

_COLUMNS_OF_FORMATS = """## Columns of one format

`stg_` and `dedup_` models of these formats have further columns."""


# macros


def macros_page() -> str:
    """The macros that users call. The generic tests are on a page of their own, and in dbt's docs."""
    entries = yaml.safe_load((REPOSITORY / "macros" / "_macros.yml").read_text(encoding="utf-8"))["macros"]
    signatures = _signatures()
    parts = [_MACROS_HEAD]
    for entry in entries:
        name = entry["name"]
        if [argument["name"] for argument in entry["arguments"]] != _names(signatures[name]):
            raise ValueError(f"macros/_macros.yml: `{name}` must have the arguments ({signatures[name]})")
        if name.startswith("test_"):
            continue
        arguments = [
            f"- `{each['name']}` (`{each['type']}`): {_line(each['description'])}"
            for each in entry["arguments"]
            if not _PLAIN_ARGUMENT.fullmatch(_line(each["description"]))
        ]
        see = entry.get("config", {}).get("meta", {}).get("see")
        text = _line(entry["description"]) + (f" See {see}." if see else "")
        parts += [f"## {name}", f"`{name}({signatures[name]})`", text, *(["\n".join(arguments)] if arguments else [])]
    missing = {f"test_{test.stem}" for test in REPOSITORY.glob("tests/generic/*.sql")} - {
        entry["name"] for entry in entries
    }
    if missing:
        raise ValueError(f"macros/_macros.yml lacks the generic tests {sorted(missing)}")
    return "\n\n".join(parts) + "\n"


def _signatures() -> Mapping[str, str]:
    """The text between the brackets of each macro, and of each generic test by the name that dbt gives it."""
    found = {}
    for path in (*REPOSITORY.glob("macros/**/*.sql"), *REPOSITORY.glob("tests/generic/*.sql")):
        for kind, name, arguments in _SIGNATURE.findall(path.read_text(encoding="utf-8")):
            found[f"test_{name}" if kind == "test" else name] = arguments
    return found


def _names(arguments: str) -> Sequence[str]:
    """The names of a signature's arguments.

    >>> _names("source_name, reads=[]")
    ['source_name', 'reads']
    """
    return [argument.split("=")[0].strip() for argument in arguments.split(",")]


_MACROS_HEAD = """<!-- From `macros/_macros.yml`, by `python -m docs.pages`. -->

# Macros

A model is one line, such as `{{ change_tables.current_state(ref('dedup_shop__orders')) }}`. The macro sets the materialization.
It finds the settings of a table through the refs, so a model that takes one `ref` must lead to one staging model.
`stg`, `dedup`, `current` and `history` are the `ref` of such a model, `source_name` and `table_name` a source and its entry. For generic
tests, see [data tests](data_tests.md)."""

_PLAIN_ARGUMENT = re.compile(r"The source\.|Its entry\.|The `ref` of the \w+ model\.")
"""What the head of the page says of all arguments with such a name."""


# reason codes


def reason_codes_page() -> str:
    """The codes of the seed, by status."""
    with (REPOSITORY / "seeds" / "reference" / "reason_codes.csv").open(encoding="utf-8", newline="") as seed:
        codes = list(csv.DictReader(seed))
    unknown = {code["status"] for code in codes} - set(_STATUSES)
    if unknown:
        raise ValueError(f"reason_codes.csv has statuses that this page does not explain: {sorted(unknown)}")
    parts = [_CODES_HEAD]
    for status, meaning in _STATUSES.items():
        rows = [(f"`{code['code']}`", code["meaning"], code["remedy"]) for code in codes if code["status"] == status]
        parts += [f"## {status}", meaning, _table(("code", "meaning", "what to do"), rows)]
    return "\n\n".join(parts) + "\n"


_CODES_HEAD = """<!-- From `seeds/reference/reason_codes.csv`, by `python -m docs.pages`. -->

# Reason codes

In `_status_reason` and `_report`, the code stands before the colon, place and value after it. `dbt build` also loads this list as the table
`reason_codes`. To *rescan*, [build with `change_tables_rescan`](operations.md#rescan)."""


# decisions


def decisions_page() -> str:
    """The list of the decisions, by their headings."""
    lines = []
    for path in sorted((REPOSITORY / "docs" / "decisions").glob("[0-9]*.md")):
        heading = path.read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("# ")
        lines.append(f"- [{heading}]({path.name})")
    return "\n".join([_DECISIONS_HEAD, *lines, ""])


_DECISIONS_HEAD = """<!-- From the headings, by `python -m docs.pages`. -->

# Decisions

Each says what was decided, why, and what follows from it.
"""


def _line(text: str) -> str:
    return " ".join(text.split())


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown.

    >>> print(_table(("a", "b"), [("1", "2")]))
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join(lines)
