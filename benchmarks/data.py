"""The raw rows that the benchmark lands, made by Spark itself: change n is a function of n alone.

The first changes insert each key; the others update keys at random. Keys that are 7 modulo 20 are deleted in the last
tenth of the full load, and inserted again by whatever batch names them, so that no update ever lacks its base. One
change in twenty is delivered twice.
"""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
from pyarrow import parquet

from demo.database import Column, Table
from demo.writers.avro import data_schema, envelope
from demo.writers.qlik_change_tables import hex_mask

COLUMNS = (
    "id",
    "customer",
    "status",
    "amount",
    "quantity",
    "ordered_on",
    "changed_at",
    "note",
    "country",
    "is_paid",
    "score",
)
HEADER_COLUMNS = (
    "header__change_seq",
    "header__change_oper",
    "header__change_mask",
    "header__stream_position",
    "header__operation",
    "header__transaction_id",
    "header__timestamp",
)
HEADERS = len(HEADER_COLUMNS)
_SPARSE = ((2, 6), (3, 4, 6), (9,), (2, 9, 10), (7,), (3, 8), (4,))
"""The columns of an update of partial images besides the key, by place in COLUMNS; change n has those at n modulo 7."""
_CDC_HEADERS = ("n", "operation", "header__timestamp")

TYPES = (
    "bigint",
    "bigint",
    "string",
    "decimal(18,4)",
    "int",
    "date",
    "timestamp",
    "string",
    "string",
    "boolean",
    "double",
)
_TABLE = Table("messages", tuple(map(Column, COLUMNS, TYPES)), ("id",))
_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)

_VALUES = {
    "customer": "pmod(xxhash64(n, 2), 100000)",
    "status": "element_at(array('new', 'paid', 'packed', 'sent', 'returned'), cast(pmod(n, 5) as int) + 1)",
    "amount": "cast(pmod(xxhash64(n, 3), 100000000) / 10000 as decimal(18, 4))",
    "quantity": "cast(pmod(n, 1000003) as int)",
    "ordered_on": "date_add(date '2020-01-01', cast(pmod(xxhash64(n, 4), 2000) as int))",
    "changed_at": "timestamp_seconds(1767225600 + n)",
    "note": "concat('what was said about change ', n)",
    "country": "element_at(array('AT', 'BR', 'CA', 'DE', 'EG', 'FR', 'GB'), cast(pmod(xxhash64(n, 5), 7) as int) + 1)",
    "is_paid": "pmod(n, 2) = 0",
    "score": "pmod(xxhash64(n, 6), 1000000) / 1000.0",
}


_AS_TEXT = ("amount", "ordered_on", "changed_at")
"""Columns that are texts in a JSON message."""


def create_messages(table: str, changes: str, tables: int = 1) -> str:
    """The statement that makes a raw table of Kafka records: each row of a table of changes as a JSON message."""
    return f"create table {table} using parquet as {_messages(changes, 'true', tables)}"


def add_to_messages(table: str, changes: str, batch: int, tables: int = 1) -> str:
    """The statement that lands the messages of a batch after those of the batches before."""
    return f"insert into {table} {_messages(changes, f'batch = {batch}', tables)}"


def _messages(changes: str, predicate: str, tables: int) -> str:
    data = ", ".join(f"cast({name} as string) as {name}" if name in _AS_TEXT else name for name in COLUMNS)
    headers = (
        "element_at(map('I', 'INSERT', 'U', 'UPDATE', 'D', 'DELETE'), header__change_oper) as operation,"
        " header__change_seq as changeSequence, cast(header__timestamp as string) as `timestamp`,"
        " header__transaction_id as transactionId, header__change_mask as changeMask,"
        " cast(null as string) as columnMask"
    ) + (f", {name_of_key(tables)} as `table`" if tables > 1 else "")
    message = (
        f"concat('{{\"data\":', to_json(struct({data}), map('ignoreNullFields', 'false')),"
        f" ',\"beforeData\":null,\"headers\":', to_json(struct({headers})), '}}')"
    )
    return f"""
select
    'bench' as topic, spark_partition_id() as `partition`,
    shiftleft(cast(batch as bigint), 45) + monotonically_increasing_id() as `offset`,
    header__timestamp as `timestamp`, cast(null as binary) as key, cast({message} as binary) as value
from {changes}
where {predicate}"""


def write_avro_messages(folder: Path, records: int) -> None:
    """Writes a raw table of Kafka records as a parquet file: inserts in Avro, and before them the metadata message."""
    schema = data_schema(_TABLE)
    columns = [
        {"name": name, "ordinal": place, "primaryKeyPosition": int(place == 1)}
        for place, name in enumerate(COLUMNS, start=1)
    ]
    metadata = {
        "schemaId": "v1",
        "lineage": {"schema": "bench", "table": "messages"},
        "tableStructure": {"tableColumns": {column.pop("name"): column for column in columns}},
        "dataSchema": json.dumps(schema),
    }
    values = [envelope(json.dumps(metadata).encode(), "MD")]
    parsed = fastavro.parse_schema(schema)
    for number in range(records):
        record = {"data": _row(number), "beforeData": None, "headers": _headers(number)}
        target = io.BytesIO()
        fastavro.schemaless_writer(target, parsed, record)
        values.append(envelope(target.getvalue(), "DT", "v1"))
    offsets = pa.array(range(len(values)), pa.int64())
    table = pa.table(
        {
            "topic": pa.array(["bench"] * len(values)),
            "partition": pa.array([0] * len(values), pa.int32()),
            "offset": offsets,
            "timestamp": pa.array([_BEGIN] * len(values), pa.timestamp("us", "UTC")),
            "key": pa.nulls(len(values), pa.binary()),
            "value": pa.array(values, pa.binary()),
        }
    )
    folder.mkdir(parents=True)
    parquet.write_table(table, folder / "records.parquet", row_group_size=50_000)


def _row(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "customer": number % 100_000,
        "status": "paid",
        "amount": Decimal(number).scaleb(-4),
        "quantity": number % 1_000_003,
        "ordered_on": _BEGIN.date(),
        "changed_at": _BEGIN,
        "note": f"what was said about change {number}",
        "country": "DE",
        "is_paid": number % 2 == 0,
        "score": number / 7,
    }


def _headers(number: int) -> dict[str, Any]:
    return {
        "operation": "INSERT",
        "changeSequence": f"2026010100000000{number:019d}",
        "timestamp": _BEGIN,
        "streamPosition": "0:1",
        "transactionId": f"{number // 20:032X}",
        "changeMask": None,
        "columnMask": None,
    }


_IO_TYPES = "element_at(map('I', 5, 'U', 10, 'D', 3), header__change_oper)"


def create_trail(table: str, changes: str, tables: int = 1) -> str:
    """The statement that makes a raw table of trail records: each change of a table as a record, four a transaction.

    Of several tables, each key is of one of them: see `name_of_key`.
    """
    return f"create table {table} using parquet as {_records(changes, 'true', tables)}"


def add_to_trail(table: str, changes: str, batch: int, tables: int = 1) -> str:
    """The statement that lands the records of a batch after those of the batches before."""
    return f"insert into {table} {_records(changes, f'batch = {batch}', tables)}"


def name_of_table(number: int) -> str:
    """The name of the table of this number, of many."""
    return f"t{number:03}"


def name_of_key(tables: int) -> str:
    """SQL for the name of the table that a key is of."""
    names = ", ".join(f"'{name_of_table(number).upper()}'" for number in range(1, tables + 1))
    return "'ORDERS'" if tables == 1 else f"element_at(array({names}), cast(pmod(id, {tables}) as int) + 1)"


def _records(changes: str, predicate: str, tables: int) -> str:
    texts = {name: f"cast({name} as string)" for name in COLUMNS}
    texts["changed_at"] = "date_format(changed_at, 'yyyy-MM-dd:HH:mm:ss')"
    image = ", ".join(f"'{name}', {text}" for name, text in texts.items())
    return f"""
select
    'rt' as trail_name, cast(n div 100000 as int) as trail_seqno, pmod(n, 100000) * 300 + 1000 as trail_rba,
    'E' as hdr_ind, 0 as undo_flag, 300 as rec_length, {_IO_TYPES} as io_type,
    element_at(array(0, 1, 1, 2), cast(pmod(n, 4) as int) + 1) as trans_ind, 0 as syskey_len, n as audit_rba,
    cast(0 as bigint) as audit_pos, 'N' as continued, 4 as partition_ind,
    if(header__change_oper = 'D', 'B', 'A') as before_after, header__timestamp as io_time, 255 as orig_node,
    'R' as format_type, 0 as incomplete, 1 as rec_count, concat('BENCH.', {name_of_key(tables)}) as table_name,
    if(header__change_oper = 'D', map('id', cast(id as string)), null) as before_data,
    if(header__change_oper = 'D', null, map({image})) as after_data,
    if(pmod(n, 4) = 0, map('LOGCSN', cast(n as string), 'TRANID', header__transaction_id), null) as tokens
from (select *, cast(substring(header__change_seq, 17) as bigint) div 2 as n from {changes} where {predicate})"""


def create_events(table: str, changes: str) -> str:
    """The statement that makes a raw event log: an event for each column that a change of a table has.

    An insert has all of them, an update those of its mask, and a delete is one event.
    """
    values = ", ".join(f"struct('{name}' as name, cast({name} as string) as value)" for name in COLUMNS)
    present = ", ".join(f"array({', '.join(map(str, places))})" for places in _SPARSE)
    return f"""
create table {table} using parquet as
select
    n * 16 + place as record_id, 'N' as status,
    element_at(map('I', 1, 'U', 2, 'D', 4), header__change_oper) as event_type, header__timestamp as event_time,
    'hr' as perpetrator, 'usr' as table_name, concat('id=', id) as table_key,
    if(header__change_oper = 'D', null, field.name) as column_name, cast(null as string) as old_value,
    if(header__change_oper = 'D', null, field.value) as new_value
from (select *, cast(substring(header__change_seq, 17) as bigint) div 2 as n from {changes})
lateral view posexplode(array({values})) as place, field
where
    case header__change_oper
        when 'I' then true
        when 'D' then place = 0
        else array_contains(element_at(array({present}), cast(pmod(n, 7) as int) + 1), place)
    end"""


def create_cdc_tables(changes_table: str, tracking: str, changes: str) -> tuple[str, str]:
    """The statements that make OpenEdge's change table and tracking table: each change of a table once, a row in both.

    Updates have the columns that their field map names; five changes are one transaction.
    """
    once = f"""
(
    select distinct {", ".join(_CDC_HEADERS)}, {", ".join(COLUMNS)}
    from (
        select
            *, cast(substring(header__change_seq, 17) as bigint) div 2 as n,
            cast(element_at(map('I', 1, 'U', 4, 'D', 2), header__change_oper) as int) as operation
        from {changes}
    )
)"""
    names = ", ".join(f"'{';'.join(COLUMNS[place] for place in (0, *places))}'" for places in _SPARSE)
    return (
        f"""
create table {changes_table} using parquet as
select
    n div 5 as `_Tran-Id`, header__timestamp as `_Time-Stamp`, n as `_Change-Sequence`, 0 as `_Continuation-Position`,
    0 as `_ArrayIndex`, 0 as `_Fragment`, operation as `_Operation`, {", ".join(COLUMNS)}
from {once}""",
        f"""
create table {tracking} using parquet as
select
    1 as `_Policy-Id`, n div 5 as `_Tran-Id`, header__timestamp as `_Time-Stamp`, n as `_Change-Sequence`,
    operation as `_Operation`, id as `_Recid`, 1 as `_Source-Table-Number`, 0 as `_Partition-Id`,
    if(operation = 4, element_at(array({names}), cast(pmod(n, 7) as int) + 1), null) as `_Change-FieldMap`
from {once}""",
    )


def create_raw_table(table: str, stored: str = "parquet") -> str:
    """The statement that makes a raw table: seven headers, the columns, and the batch as a column of arrival."""
    return f"""
create table {table} (
    header__change_seq string, header__change_oper string, header__change_mask string, header__stream_position string,
    header__operation string, header__transaction_id string, header__timestamp timestamp,
    id bigint, customer bigint, status string, amount decimal(18, 4), quantity int, ordered_on date,
    changed_at timestamp, note string, country string, is_paid boolean, score double, batch int
) using {stored}"""


def insert_changes(
    table: str,
    batch: int,
    first: int,
    last: int,
    *,
    keys: int,
    all_changes: int,
    partial: bool = False,
    late: float = 0.0,
    of_one_key: int = 0,
) -> str:
    """The statement that lands the changes from `first` to before `last`.

    Args:
        table: the raw table
        batch: the batch they land in
        first: number of the first change
        last: number of the first change that is not in it
        keys: how many keys the table has
        all_changes: how many changes the full load has
        partial: updates have three columns or fewer, and a mask that says which
        late: the share of changes whose sequence is among those of the full load
        of_one_key: how many changes, of those that come after the inserts, are of the key 0
    """
    sparse = [hex_mask([HEADERS + place for place in (0, *places)], 3) for places in _SPARSE]
    present = {
        name: " or ".join(f"pmod(n, 7) = {number}" for number, places in enumerate(_SPARSE) if place in places)
        or "false"
        for place, name in enumerate(COLUMNS)
    }
    values = ",\n        ".join(
        f"if(oper = 'D' or (oper = 'U' and not ({present[name]})), null, {value}) as {name}"
        if partial
        else f"if(oper = 'D', null, {value}) as {name}"
        for name, value in _VALUES.items()
    )
    masks = ", ".join(f"'{mask}'" for mask in sparse)
    mask = f"if(oper = 'U', element_at(array({masks}), cast(pmod(n, 7) as int) + 1), null)" if partial else "null"
    late_place = f"2 * pmod(xxhash64(n, 8), {all_changes}) + 1"
    return f"""
insert into {table}
select
    concat('2026010100000000', lpad(cast(place as string), 19, '0')),
    oper,
    {mask},
    '0000:1',
    null,
    lpad(hex(n div 20), 32, '0'),
    timestamp_seconds(1767225600 + n),
    id,
    {", ".join(_VALUES)},
    {batch}
from (
    select
        *,
        {values}
    from (
        select
            n,
            id,
            if(pmod(xxhash64(n, 7), 1000) < {int(late * 1000)}, {late_place}, 2 * n) as place,
            case
                when n < {keys} then 'I'
                when pmod(id, 20) <> 7 or n < {all_changes} * 0.9 then 'U'
                when n < {all_changes} then 'D'
                else 'I'
            end as oper
        from (
            select
                id as n,
                case
                    when id < {keys} then id
                    when id < {keys + of_one_key} then 0
                    else pmod(xxhash64(id, 1), {keys})
                end as id
            from range({first}, {last})
        )
    )
)
lateral view explode(if(pmod(xxhash64(n, 9), 20) = 0, array(1, 2), array(1))) as delivery"""


def insert_moves(table: str, batch: int, first: int, last: int) -> str:
    """The statement that lands moves: change n, from `first` to before `last`, takes key n - first to a new one.

    Each is a before image with the old key and an update with the new one.
    """
    return f"""
insert into {table}
select
    concat('2026010100000000', lpad(cast(2 * n as string), 19, '0')), oper, null, '0000:1', null,
    lpad(hex(n div 20), 32, '0'), timestamp_seconds(1767225600 + n), id, {", ".join(_VALUES.values())}, {batch}
from (select id as n from range({first}, {last}))
lateral view stack(2, 'B', n - {first}, 'U', n + 1000000000) as oper, id"""
