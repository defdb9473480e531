"""The project `tests/consumer_project`, as somebody else has it: in a folder of its own, with raw rows landed."""

from __future__ import annotations

import shutil
from pathlib import Path

from .consumer import REPOSITORY
from .landing import Raw
from .qlik_cases import COLUMNS, HEADERS, full

ROWS = [
    full(10, "I", 7, "new"),
    full(20, "B", 7, "new"),
    full(20, "U", 7, "paid"),
    full(20, "U", 7, "paid"),
    full(30, "X", 7, "what is this"),
]
AUDIT = {"audit_id": "bigint", "action": "string", "item": "string", "pieces": "string"}
AUDIT_ROWS = [
    (1, "I", "bolt", "10"),
    (2, "U", "bolt", "7"),
    (3, "I", "nut", "4"),
    (3, "I", "nut", "4"),
    (4, "D", "nut", "4"),
    (5, "U", "bolt", "many"),
    (None, "U", "bolt", "8"),
    (-6, "U", "bolt", "9"),
    (7, "X", "bolt", "10"),
    (8, "I", None, "11"),
    (9, "I", "pin", "3"),
    (10, "D", "pin", "none left"),
]


def copied(folder: Path) -> Path:
    """A copy of the project in this folder, which installs the package from the checkout."""
    project = folder / "consumer_project"
    shutil.copytree(
        REPOSITORY / "tests" / "consumer_project", project, ignore=shutil.ignore_patterns("dbt_packages", "target")
    )
    (project / "packages.yml").write_text(f"packages: [{{local: {REPOSITORY}}}]\n")
    return project


def land(raw: Raw) -> None:
    """Land the raw rows of its tables from scratch; its models are dropped."""
    for schema in ("consumer_project", "consumer_project_raw"):
        raw.drop_schema(schema)
    names = dict(zip(COLUMNS, ("order_id", "status", "amount"), strict=True))
    columns = {names[name]: data_type for name, data_type in COLUMNS.items()}
    raw.create("consumer_project_raw.orders__ct", {f"header__{name}": kind for name, kind in HEADERS.items()} | columns)
    raw.insert("consumer_project_raw.orders__ct", ROWS)
    raw.create("consumer_project_raw.stock_audit", AUDIT)
    raw.insert("consumer_project_raw.stock_audit", AUDIT_ROWS)
