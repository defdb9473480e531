"""`change-tables functions`: the SQL functions as statements, for Databricks.

Each statement has the source of the function's module and of those that it imports, as it is. A row is a batch of one,
since batches there are pandas', whose data frames have no null struct.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import version
from importlib.resources import files

import click

from change_tables.generator.names import quoted
from change_tables.udfs.catalog import CATALOG, SqlFunction, sql_literal
from change_tables.version import __version__

ARROW_TYPES = {"string": "string()", "binary": "binary()", "int": "int32()", "array<string>": "list_(pyarrow.string())"}
_NOT_THERE = ("fastavro", "lxml")
"""What functions import and Databricks does not have."""
_STATEMENT = """\
create or replace function {name} ({parameters})
returns {return_type}
language python
deterministic
comment {comment}{environment}
as $$
import sys
from textwrap import dedent
from types import ModuleType

import pyarrow

package = "change_tables_udfs_{version}"
for name, source in (
{sources}
):
    if f"{{package}}.{{name}}" not in sys.modules:
        module = ModuleType(f"{{package}}.{{name}}")
        module.__package__ = package
        exec(dedent(source), module.__dict__)
        sys.modules[module.__name__] = module
function = sys.modules[f"{{package}}.{{name}}"].{function}
return function({arguments})[0].as_py()
$$;
"""


def statement_of(entry: SqlFunction, schema: str) -> str:
    """The statement that makes a function in a schema. An argument has the first of its types."""
    module = entry.function.__module__.rpartition(".")[2]
    sources = dict(_with_what_it_imports(module))
    types = [(argument.name, argument.sql_types[0]) for argument in entry.arguments]
    imported = [name for name in _NOT_THERE if re.search(rf"(?m)^(import|from) {name}\b", "\n".join(sources.values()))]
    dependencies = ", ".join(f'"{name}=={version(name)}"' for name in imported)
    return _STATEMENT.format(
        name=f"{schema}.{entry.name}",
        parameters=", ".join(f"{name} {sql_type}" for name, sql_type in types),
        return_type=entry.return_type,
        comment=sql_literal(f"{entry.description} {entry.null_behaviour}"),
        environment=f"\nenvironment (dependencies = '[{dependencies}]', environment_version = 'None')"
        if imported
        else "",
        version=re.sub(r"\W", "_", __version__),
        sources="\n".join(f"    ({name!r}, r'''\n{source}''')," for name, source in sources.items()),
        function=entry.function.__name__,
        arguments=", ".join(f"pyarrow.array([{name}], pyarrow.{ARROW_TYPES[sql_type]})" for name, sql_type in types),
    )


def _with_what_it_imports(module: str) -> Iterator[tuple[str, str]]:
    """A module of the functions with its source, after those that it imports; one can come twice."""
    source = files("change_tables.udfs").joinpath(f"{module}.py").read_text(encoding="utf-8")
    for imported in re.findall(r"(?m)^from \.(\w+) import", source):
        yield from _with_what_it_imports(imported)
    yield module, source


@click.command()
@click.option("--catalog", required=True, help="The catalog of the functions.")
@click.option("--schema", required=True, help="Their schema: that of the profile, where models look for them.")
@click.help_option(allow_from_autoenv=False)
def functions(catalog: str, schema: str) -> None:
    """Print the statements that make the SQL functions in Databricks' Unity Catalog.

    Nothing is sent. They have run on no warehouse.
    """
    for entry in CATALOG:
        click.echo(statement_of(entry, f"{quoted(catalog)}.{quoted(schema)}"))
