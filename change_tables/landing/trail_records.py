"""Turns what Logdump prints of a trail into rows of the raw table that `format: goldengate_trail` reads.

python trail_records.py dump.txt > records.json          # one JSON object a line
python trail_records.py --columns SHOP.ORDERS=order_id,customer,status dump.txt > records.json

In Logdump: `GHDR ON`, `DETAIL DATA`, `GGSTOKEN DETAIL`, `OPEN <file>`, `NEXT 1000`. The names of columns are taken from
the definitions in the trail's metadata records, else from `--columns`. A column whose name is in neither is named
`column_<n>`, as Logdump numbers it. Lines that cannot be read are named on standard error with their number, and make
the exit code 1; the records are written all the same. Then, in PySpark:

    spark.read.schema(SCHEMA).json("records.json").write.mode("append").saveAsTable("raw.trail_records")
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SCHEMA = (
    "trail_name string, trail_seqno int, trail_rba bigint, hdr_ind string, undo_flag int, rec_length int, io_type int,"
    " trans_ind int, syskey_len int, audit_rba bigint, audit_pos bigint, continued string, partition_ind int,"
    " before_after string, io_time timestamp, orig_node int, format_type string, incomplete int, rec_count int,"
    " table_name string, before_data map<string,string>, after_data map<string,string>, tokens map<string,string>"
)
"""The columns of the raw table, as Spark takes them."""

# a field of the header: its name in Logdump -> the raw table's column, and what counts of it
_FIELDS = {
    "Hdr-Ind": ("hdr_ind", "letter"),
    "Partition": ("partition_ind", "hex"),
    "UndoFlag": ("undo_flag", "hex"),
    "BeforeAfter": ("before_after", "letter"),
    "RecLength": ("rec_length", "number"),
    "IO Time": ("io_time", "time"),
    "IOType": ("io_type", "number"),
    "OrigNode": ("orig_node", "number"),
    "TransInd": ("trans_ind", "hex"),
    "FormatType": ("format_type", "letter"),
    "SyskeyLen": ("syskey_len", "number"),
    "Incomplete": ("incomplete", "hex"),
    "AuditRBA": ("audit_rba", "number"),
    "AuditPos": ("audit_pos", "number"),
    "Continued": ("continued", "letter"),
    "RecCount": ("rec_count", "number"),
}
_NAMES = "|".join(re.escape(name) for name in _FIELDS)
_TIME = r"\d{4}/\d{2}/\d{2} \d{2}:\d{2}:\d{2}\.\d{3}\.\d{3}"
_FIELD = re.compile(rf"({_NAMES})\s*:\s*({_TIME}|\S+)\s*(?:\(x([0-9a-fA-F]+)\))?\s*")
_TRAIL = re.compile(r"(?:Current )?LogTrail (?:is )?\S*?([^/\\\s]{2})(\d{6,9})\b")
_PLACE = re.compile(rf"(?:{_TIME}|\S+ \S+) .*\bLen\s+\d+ RBA (\d+)\s*$")
_NAME = re.compile(r"Name:\s+(\S.*?)\s*(?:\(TDR Index: *\d+\))?\s*$")
_IMAGE = re.compile(r"(Before|After)\s+Image\b")
_COLUMN = re.compile(r"Column\s+(\d+)\s+\(0?x[0-9a-fA-F]+\), Len(?:gth:)?\s+\d+")
_TOKEN = re.compile(r"TokenID x[0-9a-fA-F]{2} '(.)' (\S+)\s+Info x[0-9a-fA-F]+\s+Length\s+\d+")
_HEX = re.compile(r"((?:[0-9a-fA-F]{4} )*[0-9a-fA-F]{2,4})\s+\|")
_DEFINED = re.compile(r"Definition for table\s+(\S+)")
_DEFINED_COLUMN = re.compile(r"\S+(?:\s+-?\d+){5,}$")
_OF_NO_ACCOUNT = re.compile(
    r"\s*$|_{10,}|Logdump \d+ ?>|Reading (?:forward|in reverse)|(?:GGS|User) tokens?:|Record Length:|Columns:"
    r"|(?:Before|After)ColumnLen|LogTrail .* (?:closed|opened)"
)
_METADATA = 170
_TEXT = re.compile(rb"[\x20-\x7e]+")


@dataclass
class _Record:
    """A record while it is read: its fields, the bytes of its parts by (part, name), what the next lines are of."""

    fields: dict[str, Any] = field(default_factory=dict)
    bytes_of: dict[tuple[str, str], bytearray] = field(default_factory=dict)
    image: str = "after_data"
    target: tuple[str, str] | None = None
    defined: str | None = None

    def begin(self, part: str, name: str) -> None:
        """The bytes of a column or a token follow."""
        self.target = (part, name)
        self.bytes_of[self.target] = bytearray()


@dataclass
class LogdumpText:
    """Reads the text line by line.

    Attributes:
        trail: the name of the trail, two characters; used where the text has none
        seqno: the number of its file; used where the text has none
        columns: the names of columns by table; used where the text has no definition
        unread: the lines that could not be read: (number from 1, text)
    """

    trail: str | None = None
    seqno: int | None = None
    columns: dict[str, Sequence[str]] = field(default_factory=dict)
    unread: list[tuple[int, str]] = field(default_factory=list)

    def records(self, lines: Iterable[str]) -> Iterator[Mapping[str, Any]]:
        """The records of a text, by column of the raw table.

        >>> text = '''
        ... Hdr-Ind    :     E  (x45)     Partition  :     .  (x04)
        ... IOType     :     5  (x05)     TransInd   :     .  (x03)
        ... 2026/01/31 12:00:00.000.000 Insert               Len    37 RBA 1116
        ... Name: APP.ORDERS
        ... After  Image:                                             Partition 4   G  s
        ... Column     0 (x0000), Len     5 (x0005)
        ...  0000 0001 37                                      | ....7
        ... Column     1 (x0001), Len     2 (x0002)
        ...  ffff                                              | ..
        ... '''
        >>> reader = LogdumpText("rt", 0, {"APP.ORDERS": ["id", "name"]})
        >>> (record,) = reader.records(text.splitlines())
        >>> record["io_type"], record["trans_ind"], record["trail_rba"], record["after_data"]
        (5, 3, 1116, {'id': '7', 'name': None})
        """
        record: _Record | None = None
        for number, line in enumerate(lines, start=1):
            if trail := _TRAIL.search(line):
                self.trail, self.seqno = trail[1], int(trail[2])
                continue
            header = list(_FIELD.finditer(line))
            if any(found[1] == "Hdr-Ind" for found in header):
                if record is not None:
                    yield self._made(record)
                record = _Record()
            if record is not None and header:
                record.fields.update(_field(found) for found in header)
            elif not (record is not None and self._takes(record, line)) and not _OF_NO_ACCOUNT.match(line):
                self.unread.append((number, line.strip()))
        if record is not None:
            yield self._made(record)

    def _takes(self, record: _Record, line: str) -> bool:
        """Reads a line after the header into its record; whether the line has anything of the record."""
        text = line.strip()
        if record.defined is not None:
            return self._takes_definition(record, text)
        if definition := _DEFINED.match(text):
            record.defined = definition[1]
            self.columns[record.defined] = []
        elif place := _PLACE.match(text):
            record.fields["trail_rba"] = int(place[1])
        elif name := _NAME.match(text):
            record.fields["table_name"] = name[1]
        elif side := _IMAGE.match(text):
            record.image, record.target = f"{side[1].lower()}_data", None
            record.fields.setdefault(record.image, {})
        elif column := _COLUMN.match(text):
            record.begin(record.image, column[1])
        elif token := _TOKEN.match(text):
            record.begin("tokens", token[2] if token[2] != "-" else token[1])
        elif digits := _HEX.match(text):
            if record.target is not None:  # else the bytes of the whole record, which come again column by column
                record.bytes_of[record.target] += bytes.fromhex(digits[1].replace(" ", ""))
        else:
            return record.fields.get("io_type") == _METADATA
        return True

    def _takes_definition(self, record: _Record, text: str) -> bool:
        assert record.defined is not None
        if text == "End of definition":
            record.defined = None
        elif _DEFINED_COLUMN.match(text):
            self.columns[record.defined] = [*self.columns[record.defined], text.split()[0]]
        else:
            return False
        return True

    def _made(self, record: _Record) -> Mapping[str, Any]:
        row = dict.fromkeys(column.split()[0] for column in SCHEMA.split(", ")) | record.fields
        names = self.columns.get(row["table_name"] or "", [])
        for (part, name), found in record.bytes_of.items():
            if part == "tokens":
                row[part] = (row[part] or {}) | {name: found.decode("ascii", "replace").rstrip("\0")}
            else:
                place = int(name)
                known = names[place] if place < len(names) else f"column_{place}"
                row[part] = (row[part] or {}) | {known: column_text(bytes(found))}
        return row | {"trail_name": self.trail, "trail_seqno": self.seqno}


def _field(found: re.Match[str]) -> tuple[str, Any]:
    column, kind = _FIELDS[found[1]]
    if kind == "hex" and found[3]:
        return column, int(found[3], 16)
    if kind == "letter":
        return column, chr(int(found[3], 16)) if found[2] == "." and found[3] else found[2]
    if kind == "time":
        day, _, clock = found[2].partition(" ")
        return column, f"{day.replace('/', '-')} {clock[:12]}{clock[13:]}"
    return column, int(found[2]) if found[2].lstrip("-").isdigit() else None


def column_text(data: bytes) -> str | None:
    """The value in the bytes of a column, as text.

    After the null indicator there is a text with its length before it, a text of fixed width, or a whole number.
    Anything else becomes hex digits.

    >>> column_text(bytes.fromhex("ffff")) is None
    True
    >>> column_text(bytes.fromhex("0000000131")), column_text(bytes.fromhex("0000") + b"2026-01-31:12:00:00")
    ('1', '2026-01-31:12:00:00')
    >>> column_text(bytes.fromhex("0000ffffffffffffffff")), column_text(bytes.fromhex("000000021b80"))
    ('-1', '1B80')
    """
    if data[:2] == b"\xff\xff":
        return None
    value = data[2:]
    if len(value) >= 2 and int.from_bytes(value[:2]) == len(value) - 2:
        value = value[2:]
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value.hex().upper()
    if _TEXT.fullmatch(value):
        return value.decode("ascii")
    if len(value) in (2, 4, 8):
        return str(int.from_bytes(value, signed=True))
    return value.hex().upper()


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the records of a text; the exit code, 1 where a line could not be read."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path, help="what Logdump printed")
    parser.add_argument("--trail", help="the trail's name, if the text does not have it")
    parser.add_argument("--seqno", type=int, help="the number of the trail's file, if the text does not have it")
    parser.add_argument(
        "--columns", action="append", default=[], metavar="TABLE=NAME,…", help="the columns of a table, in its order"
    )
    options = parser.parse_args(arguments)
    columns: dict[str, Sequence[str]] = {}
    for given in options.columns:
        table, equals, names = given.partition("=")
        if not equals:
            parser.error(f"--columns must be TABLE=NAME,…, got '{given}'")
        columns[table] = names.split(",")
    reader = LogdumpText(options.trail, options.seqno, columns)
    try:
        lines = options.text.read_text(errors="replace").splitlines()
    except OSError as error:
        parser.error(f"{options.text}: {error.strerror}")
    for record in reader.records(lines):
        print(json.dumps(record, ensure_ascii=False))
    for number, line in reader.unread:
        print(f"{options.text}:{number}: not understood: {line}", file=sys.stderr)
    return 1 if reader.unread else 0


if __name__ == "__main__":
    sys.exit(main())
