"""Rows of the shapes that the vendors' documents show, field by field, with values of our own.

The names of the fields, their types and the forms of their values are those of the documents that the pages name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from demo.writers.debezium import with_schema

from .cases import Case
from .consumer import Entry
from .preset_cases import ALL, DEBEZIUM, KAFKA, MILLIS, POSITION, records

COLUMNS = {"id": "int", "name": "string", "mail": "string"}
CHANGED = (2, "Ann", "new@example.org")


def _event(op: str, source: Mapping[str, Any], **further: Any) -> dict[str, Any]:
    """An event with what the sources of all connectors have; its times are of the connector."""
    common = {
        "version": "3.0.0.Final",
        "name": "shop",
        "ts_ms": MILLIS,
        "ts_us": MILLIS * 1000,
        "ts_ns": MILLIS * 10**6,
    }
    read_at = {"ts_ms": MILLIS + 5, "ts_us": MILLIS * 1000 + 5000, "ts_ns": MILLIS * 10**6 + 5 * 10**6}
    return {**further, "source": {**common, **source}, "op": op, **read_at}


def _row(id_: int, mail: str | None = "a@example.org", name: str | None = "Ann") -> dict[str, Any]:
    return {"id": id_, "name": name, "mail": mail}


def _of_postgresql() -> list[list[list[Any]]]:
    def at(op: str, lsn: int, snapshot: bool = False, table: str = "customers", **further: Any) -> dict[str, Any]:
        source = {
            "connector": "postgresql",
            "snapshot": snapshot,
            "db": "shop",
            "sequence": f'["{lsn - 9}","{lsn}"]',
            "schema": "public",
            "table": table,
            "txId": 555,
            "lsn": lsn,
            "xmin": None,
        }
        return _event(op, source, **further)

    message = {"prefix": "audit", "content": "aGVsbG8="}
    return records(
        [
            with_schema(at("c", 24023128, snapshot=True, before=None, after=_row(1))),
            # without before and after
            with_schema(at("t", 24023200)),
            with_schema(at("c", 24023300, before=None, after=_row(2))),
            with_schema(at("c", 24023400, before=None, after=_row(3))),
            # with REPLICA IDENTITY DEFAULT the row before is the key
            with_schema(at("u", 24023500, before={"id": 2}, after=_row(2, "new@example.org"))),
            with_schema(at("d", 46523128, before={"id": 3}, after=None)),
            None,
            with_schema(at("m", 46523200, table="", message=message)),
        ],
        [],
    )


def _of_mysql() -> list[list[list[Any]]]:
    def at(op: str, pos: int, **further: Any) -> dict[str, Any]:
        source = {
            "connector": "mysql",
            "snapshot": False,
            "db": "shop",
            "table": "customers",
            "server_id": 223344,
            "gtid": None,
            "file": "mysql-bin.000003",
            "pos": pos,
            "row": 0,
            "thread": 7,
            "query": "statement",
        }
        return with_schema(_event(op, source, **further))

    return records(
        [
            at("c", 154, before=None, after=_row(1)),
            at("t", 300),
            at("c", 484, before=None, after=_row(2)),
            at("u", 805, before=_row(2), after=_row(2, "new@example.org")),
            at("c", 900, before=None, after=_row(3)),
            at("d", 1002, before=_row(3), after=None),
            None,
        ],
        [],
    )


def _of_lsns(connector: str, **serials: str) -> list[list[list[Any]]]:
    """SQL Server and Db2, whose documents show the same positions."""

    def at(op: str, change: str | None, commit: str | None, serial: str | None = "1", **further: Any) -> dict[str, Any]:
        source = {
            "connector": connector,
            "snapshot": commit is None,
            "db": "shop",
            "schema": "dbo",
            "table": "customers",
            "change_lsn": change,
        }
        source |= {} if commit is None else {"commit_lsn": commit}
        source |= {"event_serial_no": serial} if serials else {}
        return with_schema(_event(op, source, **further))

    lsn = "00000027:00000{}:000{}".format
    return records(
        [
            # the commit is left out in reads of a snapshot
            at("r", None, None, None, before=None, after=_row(1)),
            at("r", None, None, None, before=None, after=_row(4)),
            at("c", lsn("758", 3), lsn("758", 5), before=None, after=_row(2)),
            at(
                "u",
                lsn("ac0", 2),
                lsn("ac0", 7),
                serials.get("update"),
                before=_row(2),
                after=_row(2, "new@example.org"),
            ),
            at(
                "u",
                lsn("ac1", 2),
                lsn("ac1", 7),
                serials.get("update"),
                before=_row(1),
                after=_row(1, "new@example.org"),
            ),
            at("d", lsn("db0", 5), lsn("db0", 7), before=_row(4), after=None),
            None,
        ],
        [],
    )


def _of_oracle() -> list[list[list[Any]]]:
    def at(op: str, scn: int, rs_id: str | None, snapshot: bool = False, **further: Any) -> dict[str, Any]:
        source = {
            "txId": "6.28.807",
            "scn": str(scn),
            "commit_scn": str(scn + 1),
            "rs_id": rs_id,
            "ssn": 1,
            "redo_thread": 1,
            "user_name": "user",
            "snapshot": snapshot,
            "row_id": "AAASgjAAMAAAACnAAA",
        }
        return _event(op, source, **further)

    return records(
        [
            at("r", 2122100, None, snapshot=True, before=None, after=_row(1)),
            at("t", 2122120, "001234.00012345.0100", before=None, after=None),
            at("c", 2122185, "001234.00012345.0124", before=None, after=_row(2)),
            at("c", 2122186, "001234.00012345.0128", before=None, after=_row(3)),
            at("u", 2125544, " 0x001234.00012346.0010 ", before=_row(2), after=_row(2, "new@example.org")),
            at("d", 2125545, "001234.00012347.0010", before=_row(3), after=None),
            None,
        ],
        [],
    )


def _flattened() -> list[list[list[Any]]]:
    """By `add.fields=op,table,lsn,source.ts_ms` and `delete.tombstone.handling.mode=rewrite`."""

    def at(op: str, lsn: int, row: Mapping[str, Any], deleted: str = "false") -> dict[str, Any]:
        added = {"__op": op, "__table": "customers", "__lsn": lsn, "__source_ts_ms": MILLIS, "__deleted": deleted}
        return dict(row) | added

    return records(
        [
            at("c", 123456789, _row(2)),
            at("c", 123456790, _row(3)),
            at("u", 123456791, _row(2, "new@example.org")),
            at("d", 123456792, _row(3, None, None), deleted="true"),
        ],
        [],
    )


def _operation(op_type: str, pos: int, **further: Any) -> dict[str, Any]:
    told = {
        "table": "SHOP.CUSTOMERS",
        "op_type": op_type,
        "op_ts": "2015-11-05 18:45:36.000000",
        "current_ts": "2016-10-05T10:15:51.267000",
        "pos": f"{pos:020d}",
        "primary_keys": ["id"],
        "tokens": {"R": "AADPkvAAEAAEqL2AAA"},
    }
    return told | further


def _of_goldengate() -> list[list[list[Any]]]:
    return records(
        [
            _operation("I", 1444, after=_row(1)),
            # without rows
            _operation("T", 2000),
            _operation("I", 2928, before=None, after=_row(2)),
            # the columns that did not change are left out
            _operation("U", 4300, before=_row(2), after={"id": 2, "mail": "new@example.org"}),
            _operation("I", 5272, after=_row(3)),
            _operation("U", 5300, before={}, after={"id": 3, "mail": None}),
            _operation("D", 5480, before=_row(3, None)),
        ],
        [],
    )


def _of_goldengate_rows() -> list[list[list[Any]]]:
    return records(
        [
            _operation("I", 1444, **_row(1)),
            _operation("T", 2000),
            _operation("I", 2928, **_row(2)),
            _operation("U", 4300, id=2, mail="new@example.org"),
            _operation("I", 5272, **_row(3)),
            _operation("D", 5480, **_row(3)),
        ],
        [],
    )


def _of_dms() -> list[list[list[Any]]]:
    """The operation is the first column, the columns that rules and settings add are the last ones."""

    def row(op: str | None, id_: int, mail: str, number: int | None) -> list[Any]:
        sequence = "" if number is None else f"20260131120000{number:021d}"
        return [op, id_, "Ann", mail, "2026-01-31 12:00:00.250000", sequence]

    return [
        [
            row("I", 1, "a@example.org", None),
            row("I", 2, "a@example.org", None),
            row("U", 2, "new@example.org", 13),
            row("I", 3, "a@example.org", 14),
            row("D", 3, "a@example.org", 15),
            row("D", 1, "a@example.org", 16),
        ],
        [],
    ]


def _case(
    name: str,
    spec: Mapping[str, Any],
    rows: list[list[list[Any]]],
    accepted: int,
    current: Sequence[tuple[Any, ...]] = (CHANGED,),
    **ignored: int,
) -> Case:
    reasons: dict[tuple[str, str | None], int] = {("accepted", None): accepted}
    reasons |= {("ignored", code): number for code, number in ignored.items()}
    landed = (
        {"Op": "string", **COLUMNS, "committed": "string", "change_seq": "string"} if spec["format"] == "dms" else KAFKA
    )
    return Case(
        Entry(f"sample_{name}", dict(spec), COLUMNS, ALL), landed, rows, reasons, [set(current)] * 2, "id, name, mail"
    )


GOLDENGATE = {"format": "goldengate_messages", "key": ["id"], "position": POSITION, "table": "SHOP.CUSTOMERS"}
CUSTOMERS = DEBEZIUM | {"table": "customers", "position": POSITION}
DMS = {"format": "dms", "key": ["id"], "sequence_column": "change_seq", "time_column": "committed"}
LIVING = [(1, "Ann", "new@example.org"), CHANGED]

CASES: Sequence[Case] = [
    _case("postgresql", DEBEZIUM | {"connector": "postgresql"}, _of_postgresql(), 6, tombstone=1, operation_ignored=1),
    _case("mysql", CUSTOMERS | {"connector": "mysql"}, _of_mysql(), 6, tombstone=1),
    _case("oracle", DEBEZIUM | {"connector": "oracle"}, _of_oracle(), 6, tombstone=1),
    _case(
        "sqlserver", CUSTOMERS | {"connector": "sqlserver"}, _of_lsns("sqlserver", update="2"), 6, LIVING, tombstone=1
    ),
    _case("db2", CUSTOMERS | {"connector": "db2"}, _of_lsns("db2"), 6, LIVING, tombstone=1),
    _case("flattened", CUSTOMERS | {"layout": "flattened_message", "connector": "postgresql"}, _flattened(), 4),
    _case("goldengate", GOLDENGATE, _of_goldengate(), 7),
    _case("goldengate_rows", GOLDENGATE | {"layout": "row"}, _of_goldengate_rows(), 6),
    _case("dms", DMS, _of_dms(), 6),
]
