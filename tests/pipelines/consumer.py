"""A dbt project that installs the package, made for a test: entries of a sources file and one-line models."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any
from zlib import crc32

import yaml
from dbt.cli.main import dbtRunner, dbtRunnerResult

from change_tables.cli.main import main
from tests.table_format import TABLE_FORMAT

REPOSITORY = Path(__file__).parents[2]

BUILT_AGAIN = ("--exclude-resource-type", "seed")
"""Options of a build after the first: a seed would be written again as it is."""
SEED_OF_TRAILS = "goldengate_io_types"
"""All models that stage refer to it, and the staging of trails alone reads it."""

SETTINGS_OF_ICEBERG: Mapping[str, Any] = {
    "dispatch": [{"macro_namespace": "dbt", "search_order": ["consumer", "change_tables", "dbt"]}],
}
"""What a project needs for tables of Iceberg, as docs/iceberg.md says."""

CALLS = {
    "stg": "{{{{ change_tables.staged_changes('{source}', '{table}') }}}}\n",
    "dedup": "{{{{ change_tables.deduplicated_changes(ref('stg_{source}__{table}')) }}}}\n",
    "current": "{{{{ change_tables.current_state(ref('dedup_{source}__{table}')) }}}}\n",
    "kept": "{{{{ change_tables.current_state(ref('dedup_{source}__{table}'), deletes='keep') }}}}\n",
    "history": "{{{{ change_tables.history(ref('dedup_{source}__{table}')) }}}}\n",
}


@dataclass(frozen=True)
class Entry:
    """One source table: its spec, its columns (name to Spark type), and the models that are made of it."""

    name: str
    change_table: Any
    columns: Mapping[str, str]
    models: Sequence[str] = ("stg", "dedup", "current")
    tests: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    identifier: str | None = None
    column_meta: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def raw_table(self) -> str:
        """The name of the raw table: the entry's, unless it shares one."""
        return self.identifier or self.name


@dataclass
class Consumer:
    """A project in a folder of its own, that talks to the server at `port` and builds into `schema`."""

    folder: Path
    port: int
    schema: str
    source: str = "feed"
    variables: Mapping[str, Any] = field(default_factory=lambda: {"change_tables_runs": False})
    """By default there is no table of runs, since it takes a commit a run."""
    session: Mapping[str, str] = field(default_factory=dict)
    """What its sessions are set to."""
    keeps_artifacts: bool = False
    """Whether dbt writes its manifest and its results, for `--state` and `retry`: that takes longer than to parse."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Further ones of its `dbt_project.yml`."""
    table_format: str = TABLE_FORMAT
    """Of the server that it builds on."""
    target: Mapping[str, Any] | None = None
    """What its profile says of another server; none: that of this package."""

    def write(self, entries: Sequence[Entry], further_sources: Sequence[str] = ()) -> None:
        """Write the whole project: every entry, every model, and the two health models over all of them."""
        parsed = self._parsed().read_bytes() if self._parsed().exists() else b""
        shutil.rmtree(self.folder, ignore_errors=True)
        models = self.folder / "models"
        models.mkdir(parents=True)
        if parsed:
            self._parsed().parent.mkdir()
            self._parsed().write_bytes(parsed)
        self._dump("packages.yml", {"packages": [{"local": str(REPOSITORY)}]})
        project: dict[str, Any] = {
            "name": "consumer",
            "version": "1.0.0",
            "profile": "consumer",
            "vars": dict(self.variables),
        }
        project |= SETTINGS_OF_ICEBERG if self.table_format == "iceberg" else {}
        for name, value in self.settings.items():
            project[name] = project.get(name, {}) | value if isinstance(value, Mapping) else value
        self._dump("dbt_project.yml", project)
        self.write_profile()
        self.write_sources(entries, further_sources)
        described = []
        for entry in entries:
            for kind in entry.models:
                name = f"{kind}_{self.source}__{entry.name}"
                (models / f"{name}.sql").write_text(CALLS[kind].format(source=self.source, table=entry.name))
                described.append({"name": name, "data_tests": list(entry.tests.get(kind, []))})
        self._dump("models/models.yml", {"version": 2, "models": described})
        for model, macro, kinds in (
            ("rejected", "rejected_changes", ("dedup", "stg")),
            ("reported", "reported_changes", ("dedup",)),
        ):
            found = [(next((kind for kind in kinds if kind in entry.models), None), entry.name) for entry in entries]
            refs = ", ".join(f"ref('{kind}_{self.source}__{name}')" for kind, name in found if kind)
            if refs:
                (models / f"{model}.sql").write_text(f"{{{{ change_tables.{macro}([{refs}]) }}}}\n")
        self.dbt("deps")

    def write_sources(self, entries: Sequence[Entry], further_sources: Sequence[str] = ()) -> None:
        """Write the entries alone; the rest of the project stays as it is."""
        tables: list[dict[str, Any]] = [self._source_table(entry) for entry in entries]
        tables += [{"name": name} for name in further_sources]
        self._dump(
            "models/sources.yml",
            {"version": 2, "sources": [{"name": self.source, "schema": f"{self.schema}_raw", "tables": tables}]},
        )

    def write_profile(self, session: Mapping[str, str] | None = None) -> None:
        """Write where the server is and what its sessions are set to; the rest of the project stays as it is."""
        settings = {**self.session, **(session or {})}
        target = {
            "type": "spark",
            "method": "thrift",
            "host": "127.0.0.1",
            "port": self.port,
            "schema": self.schema,
            "threads": 4,
            "poll_interval": 0,
            "query_retries": 0,
            "server_side_parameters": {f"set:{name}": value for name, value in settings.items()},
        }
        self._dump("profiles.yml", {"consumer": {"target": "test", "outputs": {"test": self.target or target}}})

    def dbt(self, *arguments: str, must_succeed: bool = True, strict: bool = False) -> dbtRunnerResult:
        """Run dbt in this process; fails the test with dbt's messages when it must succeed and does not.

        What is deprecated is an error, and with `strict` every warning is.
        """
        errors = '"all"' if strict else '["Deprecations"]'
        told = [
            "--quiet",
            "--no-use-colors",
            "--log-level-file=none",  # nobody reads it, and writing it takes a tenth of dbt's own time
            "--no-send-anonymous-usage-stats",
            f'--warn-error-options={{"error": {errors}}}',
            *(() if self.keeps_artifacts else ("--no-write-json",)),
            *arguments,
            "--project-dir",
            str(self.folder),
            "--profiles-dir",
            str(self.folder),
        ]
        with self._parsed_with(arguments[arguments.index("--vars") + 1] if "--vars" in arguments else ""):
            result = dbtRunner().invoke(told)
        if must_succeed and not result.success:
            raise AssertionError(f"dbt {' '.join(arguments)} failed:\n{self.errors(result)}")
        return result

    def _parsed(self, variables: str = "") -> Path:
        """What dbt knows of the files that it has parsed, with these variables on the command line."""
        digest = f".{crc32(variables.encode()):08x}" if variables else ""
        return self.folder / f"target/partial_parse.msgpack{digest}"

    @contextmanager
    def _parsed_with(self, variables: str) -> Iterator[None]:
        """Let dbt find what it has parsed with the same variables: it would parse all files, and again without them."""
        others, known = self._parsed(" "), self._parsed(variables)
        if variables and self._parsed().exists():
            self._parsed().replace(others)
        if variables and known.exists():
            known.replace(self._parsed())
        try:
            yield
        finally:
            if variables and self._parsed().exists():
                self._parsed().replace(known)
            if variables and others.exists():
                others.replace(self._parsed())

    def command(self, name: str, *arguments: str) -> tuple[int, str, str]:
        """Run a command of `change-tables` on the project; what it ends with, and what it says on both outputs."""
        folder = str(self.folder)
        with redirect_stdout(StringIO()) as said, redirect_stderr(StringIO()) as complained:
            code = main([name, "--project-dir", folder, "--profiles-dir", folder, *arguments])
        return code, said.getvalue(), complained.getvalue()

    def errors(self, result: dbtRunnerResult) -> str:
        """Everything that dbt said went wrong, in one text."""
        lines = [str(result.exception)] if result.exception else []
        for node in getattr(result.result, "results", None) or []:
            if node.status in ("error", "fail"):
                lines.append(f"{node.node.name}: {node.message}")
        return "\n".join(lines)

    def compiled(self, model: str) -> str:
        """The SQL of a model as dbt rendered it last."""
        return (self.folder / "target/compiled/consumer/models" / f"{model}.sql").read_text()

    def _source_table(self, entry: Entry) -> dict[str, Any]:
        columns: list[dict[str, Any]] = []
        for name, data_type in entry.columns.items():
            columns.append({"name": name, "data_type": data_type})
            if name in entry.column_meta:
                columns[-1]["config"] = {"meta": dict(entry.column_meta[name])}
        return {
            "name": entry.name,
            "identifier": entry.raw_table,
            "config": {"meta": {"change_table": entry.change_table}},
            "columns": columns,
        }

    def _dump(self, name: str, content: Any) -> None:
        (self.folder / name).write_text(yaml.safe_dump(content, sort_keys=False))
