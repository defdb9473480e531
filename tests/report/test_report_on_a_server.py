"""The report of a server: its statements run there, and find what is in the tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from change_tables.cli.main import main
from change_tables.server.local_server import LocalServer
from demo.landing import literal
from tests.pipelines.landing import Raw
from tests.table_format import TABLE_FORMAT

SCHEMA = "report_of_runs"
NOW = datetime.now(UTC)

RUNS = f"""
create table {SCHEMA}.change_table_runs (
    log string, source_name string, table_name string, batch_id string, started_at timestamp, run_kind string,
    raw_rows bigint, accepted bigint, merged bigint, ignored bigint, rejected bigint, waiting bigint,
    codes map<string, bigint>, new_changes bigint, revised_changes bigint, reports map<string, bigint>,
    first_seq string, last_seq string, first_changed_at timestamp, last_changed_at timestamp,
    kept_rejected bigint, kept_waiting bigint, waiting_since timestamp, settled string, settled_rows bigint,
    seconds double, package_version string, dbt_version string
) using {TABLE_FORMAT}
"""
ROW_ID = "_row_id" if TABLE_FORMAT == "delta" else "_row_hash"
QUARANTINE = (
    f"{ROW_ID} string, _status string, _status_reason string, _raw_row string, _equal_rows bigint,"
    " _healed_at timestamp, _batch_id string"
)


def batch(age: timedelta) -> str:
    return f"{NOW - age:%Y%m%dT%H%M%S}000000_0a1b2c3d"


def time(age: timedelta | None) -> str:
    return "null" if age is None else f"timestamp '{NOW - age:%Y-%m-%d %H:%M:%S}+00:00'"


def run(log: str, age: timedelta, **values: Any) -> str:
    """A row of the table of the runs."""
    given = {
        "log": f"'{SCHEMA}.{log}'",
        "source_name": "'shop'",
        "table_name": f"'{log.rpartition('__')[2]}'",
        "batch_id": f"'{batch(age)}'",
        "started_at": time(age),
        "run_kind": "'since'",
        "last_changed_at": time(age + timedelta(minutes=5)),
        "seconds": "2.5",
    } | {name: str(value) for name, value in values.items()}
    return f"insert into {SCHEMA}.change_table_runs ({', '.join(given)}) values ({', '.join(given.values())})"


def kept(age: timedelta, status: str, reason: str, number: int, healed: bool = False) -> str:
    raw = literal('{"note": "it\'s </script>"}')
    at = time(timedelta()) if healed else "null"
    return f"('{number}', '{status}', '{reason}', {raw}, {number}, {at}, '{batch(age)}')"


@pytest.fixture(scope="module")
def address(server: LocalServer) -> Iterator[list[str]]:
    """Options for a server with three logs: one rejects and waits, one lists updates without their base, one is new."""
    raw = Raw(server.connect())
    hour, day = timedelta(hours=1), timedelta(days=1)
    log = f"{SCHEMA}.dedup_shop__orders"
    for statement in (
        f"create schema {SCHEMA}",
        RUNS,
        run("dedup_shop__orders", 2 * day, accepted=9, merged=1, ignored=0, rejected=0, waiting=0, raw_rows=10),
        run(
            "dedup_shop__orders",
            hour,
            **{"accepted": 6, "merged": 0, "ignored": 0, "rejected": 3, "waiting": 1, "raw_rows": 10, "new_changes": 6},
            **{"kept_rejected": 3, "kept_waiting": 4, "waiting_since": time(2 * day)},
            codes="map('rejected: key_missing', 3L, 'waiting: transaction_open', 1L)",
            reports="map('conflicting_content', 2L)",
        ),
        run("dedup_shop__lines", hour, new_changes=4),
        run("dedup_shop__prices", 9 * hour, seconds="null"),
        f"create table {log}__state (_change_id string, _batch_id string) using {TABLE_FORMAT}",
        f"insert into {log}__state values ('a', '{batch(hour)}')",
        f"create table {log}__quarantine ({QUARANTINE}) using {TABLE_FORMAT}",
        f"insert into {log}__quarantine values {kept(timedelta(), 'rejected', 'key_missing: id', 2)},"
        f" {kept(30 * hour, 'rejected', 'key_missing: no', 1)},"
        f" {kept(2 * day, 'waiting', 'transaction_open: 3 of 9', 4)},"
        f" {kept(day, 'rejected', 'key_missing: id', 7, True)}",
        f"create table {SCHEMA}.dedup_shop__lines__state (_change_id string, _batch_id string) using {TABLE_FORMAT}",
        f"insert into {SCHEMA}.dedup_shop__lines__state values ('a', '{batch(3 * hour)}')",
        f"create view {SCHEMA}.dedup_shop__lines as select * from {SCHEMA}.dedup_shop__lines__state",
        f"create view {SCHEMA}.dedup_shop__lines__reports as select 'a' as _change_id, 's' as _change_seq,"
        " 'orphan' as code, 'no row lives at key 7' as detail",
        f"create view {log} as select * from {log}__state",
        f"create view {log}__reports as select 'a' as _change_id, 's' as _change_seq, 'conflicting_content' as code,"
        " 'y' as detail",
        f"create table {SCHEMA}.change_table_acknowledgements (source_name string, table_name string, code string,"
        f" id string, note string) using {TABLE_FORMAT}",
        # twice, and one of another code
        f"insert into {SCHEMA}.change_table_acknowledgements values ('shop', 'orders', 'key_missing', '1', 'a'),"
        " ('shop', 'orders', 'key_missing', '1', 'b'), ('shop', 'orders', 'value_does_not_fit', '2', 'c')",
    ):
        raw.query(statement)
    yield ["--port", str(server.port), "--schema", SCHEMA]
    raw.drop_schema(SCHEMA)


def test_the_report_has_what_the_tables_of_a_server_have(
    address: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "report.json"
    page = tmp_path / "report.html"
    assert main(["report", *address, "--json", str(file), "--html", str(page), "--exit-code"]) == 1, (
        capsys.readouterr().err
    )
    facts = json.loads(file.read_text())
    assert [(each["kind"], each["subject"].rpartition("__")[2]) for each in facts["to_do"]] == [
        ("run_died", "prices"),
        ("rejected_share", "orders"),
        ("waiting_long", "orders"),
        ("orphans", "lines"),
        ("reported", "orders"),
        ("not_read", "report"),
    ]
    lines, orders, prices = facts["tables"]
    assert [table["state"] for table in facts["tables"]] == ["watch", "act", "act"]
    rejected, waiting, reported = orders["kept"]
    assert {name: rejected[name] for name in ("status", "code", "rows", "acknowledged", "by_age")} == {
        "status": "rejected",
        "code": "key_missing",
        "rows": 2,
        "acknowledged": 1,
        "by_age": {"under an hour": 2},
    }
    assert [(each["detail"], each["rows"]) for each in rejected["samples"]] == [("key_missing: id", 2)]
    assert [reported[name] for name in ("status", "code", "rows")] == ["reported", "conflicting_content", 1]
    assert [orders[name] for name in ("kept_rejected", "kept_waiting", "reported", "acknowledged")] == [2, 4, 1, 1]
    assert (waiting["rows"], waiting["by_age"]) == (4, {"under a week": 4})
    assert waiting["samples"][0]["raw_row"] == '{"note": "it\'s </script>"}'
    assert [each["rows"] for each in lines["kept"]] == [1]
    assert lines["kept"][0]["samples"][0]["detail"] == "orphan: no row lives at key 7"
    assert orders["runs"][-1]["codes"] == {"rejected: key_missing": 3, "waiting: transaction_open": 1}
    assert orders["runs"][-1]["reports"] == {"conflicting_content": 2}
    assert [each["lag"] for each in orders["runs"]] == [300.0, 300.0]
    assert (orders["runs"][0]["accepted"], lines["runs"][0]["accepted"]) == (9, None)
    assert prices["runs"][-1]["seconds"] is None
    assert orders["size"]["files"] > 0
    assert orders["size"]["size_bytes"] > 500
    (not_read,) = facts["not_read"]
    assert not_read.startswith(f"size of {SCHEMA}.dedup_shop__prices: ")
    assert "it's </script>" not in page.read_text()


def test_without_the_table_of_the_runs_it_says_which_one_it_wants(
    address: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", *address, "--runs-table", "none"]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"change_tables: cannot read {SCHEMA}.none: ")
    assert error.endswith("; name it by --schema and --runs-table; the first build of this version makes it\n")


def test_no_samples_and_no_sizes_leave_them_out_and_fewer_runs_are_the_newest(
    address: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "report.json"
    assert main(["report", *address, "--json", str(file), "--samples", "0", "--no-sizes", "--runs", "1"]) == 0
    orders = json.loads(file.read_text())["tables"][1]
    assert [each["samples"] for each in orders["kept"]] == [[], [], []]
    assert [each["rows"] for each in orders["kept"]] == [2, 4, 1]
    assert orders["size"] is None
    assert [each["new_changes"] for each in orders["runs"]] == [6]
