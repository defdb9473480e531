"""What a careful team writes by hand for the same rows: the statements that the models are compared with.

They know this one table, check no value, keep no record of what they have taken in, and follow no key that moves. But
they are right for the data of the benchmark: their rows are compared with the models' before a time counts.
"""

from __future__ import annotations

from .data import COLUMNS, HEADERS

LARGE = {
    "delta": "using delta tblproperties ('delta.enableDeletionVectors' = 'true')",
    "iceberg": "using iceberg tblproperties ('write.merge.mode' = 'merge-on-read')",
}
"""How a large table is stored, by its format: a merge then does not write the files of its rows again."""
SMALL = {name: f"using {name}" for name in LARGE}
"""Of some hundred thousand rows or fewer: such a table of Delta takes half the time without deletion vectors."""

_DATA = ", ".join(COLUMNS)
_LOGGED = ("change_seq", "oper", "mask", "changed_when", "transaction_id", *COLUMNS, "batch")


def _parsed(raw: str, predicate: str) -> str:
    return f"""
    select
        header__change_seq as change_seq, header__change_oper as oper, header__change_mask as mask,
        header__timestamp as changed_when, header__transaction_id as transaction_id, {_DATA}, batch,
        row_number() over (partition by header__change_seq, id, header__change_oper order by header__timestamp) as copy
    from {raw}
    where header__change_oper in ('I', 'U', 'D') and {predicate}"""


def log_of(raw: str, log: str, stored: str) -> str:
    """The log, whole."""
    return f"""
create or replace table {log} {stored} as
select {", ".join(_LOGGED)}
from ({_parsed(raw, "true")})
where copy = 1"""


def add_to_log(raw: str, log: str, batch: int, lowest: str, highest: str) -> str:
    """The log, a batch more: an insert-only merge over the identity, bounded by the sequences of the batch."""
    return f"""
merge into {log} as target
using (select {", ".join(_LOGGED)} from ({_parsed(raw, f"batch = {batch}")}) where copy = 1) as source
on
    target.change_seq = source.change_seq and target.id = source.id and target.oper = source.oper
    and target.change_seq between '{lowest}' and '{highest}'
when not matched then insert *"""


def _latest(log: str, predicate: str) -> str:
    return f"""
select change_seq, oper = 'D' as is_deleted, {_DATA}
from (
    select *, row_number() over (partition by id order by change_seq desc) as place
    from {log}
    where {predicate}
)
where place = 1"""


def state_of(log: str, state: str, stored: str) -> str:
    """The state of full images, whole; deleted keys are kept as such."""
    return f"create or replace table {state} {stored} as {_latest(log, 'true')}"


def add_to_state(log: str, state: str, batch: int) -> str:
    """The state of full images, a batch more: a merge that lets no older change win."""
    return f"""
merge into {state} as target
using ({_latest(log, f"batch = {batch}")}) as source
on target.id = source.id
when matched and source.change_seq > target.change_seq then update set *
when not matched then insert *"""


def _borne(name: str) -> str:
    ordinal = COLUMNS.index(name) + 1
    return f"oper <> 'U' or array_contains(ordinals, {ordinal}) or {name} is not null"


def _overlaid(changes: str) -> str:
    columns = ",\n        ".join(
        f"last_value(case when {_borne(name)} then struct({name}) end, true) over in_order.{name} as {name}"
        for name in COLUMNS
        if name != "id"
    )
    return f"""
select change_seq, is_deleted, {_DATA}
from (
    select
        change_seq, oper = 'D' as is_deleted, id,
        {columns},
        row_number() over (partition by id order by change_seq desc) as place
    from ({changes})
    window in_order as (partition by id order by change_seq)
)
where place = 1"""


def _decoded(log: str, predicate: str) -> str:
    return f"""
    select change_seq, oper, decode_change_mask(mask, 'most_significant_first', {HEADERS + 1}) as ordinals, {_DATA}
    from {log}
    where {predicate}"""


def partial_state_of(log: str, state: str, stored: str) -> str:
    """The state of partial images, whole."""
    return f"create or replace table {state} {stored} as {_overlaid(_decoded(log, 'true'))}"


def add_to_partial_state(log: str, state: str, batch: int) -> str:
    """The state of partial images, a batch more: its changes laid over the rows that are there."""
    known = f"""
    select change_seq, if(is_deleted, 'D', 'I') as oper, cast(null as array<int>) as ordinals, {_DATA}
    from {state}
    left semi join (select id from {log} where batch = {batch}) as touched using (id)"""
    return f"""
merge into {state} as target
using ({_overlaid(f"{_decoded(log, f'batch = {batch}')} union all {known}")}) as source
on target.id = source.id
when matched and source.change_seq > target.change_seq then update set *
when not matched then insert *"""


def history_of(log: str, history: str, stored: str) -> str:
    """The history of full images, whole; deletes are kept as versions."""
    return f"""
create or replace table {history} {stored} as
select
    {_DATA}, oper = 'D' as is_deleted, change_seq as valid_from_seq, changed_when as valid_from,
    lead(change_seq) over in_order as valid_to_seq, lead(changed_when) over in_order as valid_to
from {log}
window in_order as (partition by id order by change_seq)"""


def add_to_history(log: str, history: str, batch: int) -> str:
    """The history of full images, a batch more: open versions are closed, new ones added."""
    return f"""
merge into {history} as target
using (
    select
        {_DATA}, is_deleted, valid_from_seq, valid_from,
        lead(valid_from_seq) over in_order as valid_to_seq, lead(valid_from) over in_order as valid_to
    from (
        select {_DATA}, oper = 'D' as is_deleted, change_seq as valid_from_seq, changed_when as valid_from
        from {log}
        where batch = {batch}
        union all
        select {_DATA}, is_deleted, valid_from_seq, valid_from
        from {history}
        left semi join (select id from {log} where batch = {batch}) as touched using (id)
        where valid_to_seq is null
    )
    window in_order as (partition by id order by valid_from_seq)
) as source
on target.id = source.id and target.valid_from_seq = source.valid_from_seq
when matched then update set valid_to_seq = source.valid_to_seq, valid_to = source.valid_to
when not matched then insert *"""


def state_of_messages(raw: str, state: str, stored: str) -> str:
    """The state out of JSON messages that have every column: each read by its own type, the latest of a key kept."""
    types = (
        "id bigint, customer bigint, status string, amount decimal(18, 4), quantity int, ordered_on date,"
        " changed_at timestamp, note string, country string, is_paid boolean, score double"
    )
    headers = "operation string, changeSequence string"
    row = ", ".join(f"message.data.{name} as {name}" for name in COLUMNS)
    return f"""
create or replace table {state} {stored} as
select change_seq, is_deleted, {_DATA}
from (
    select
        message.headers.changeSequence as change_seq, message.headers.operation = 'DELETE' as is_deleted, {row},
        row_number() over (partition by message.data.id order by message.headers.changeSequence desc) as place
    from (
        select from_json(
            cast(value as string), 'data struct<{types}>, headers struct<{headers}>',
            map('timestampFormat', 'yyyy-MM-dd HH:mm:ss[.SSSSSS]')
        ) as message
        from {raw}
    )
)
where place = 1"""


def state_of_trail(raw: str, state: str, stored: str) -> str:
    """The state out of a trail whose records have every column: the latest of a key in transactions that have ended."""
    types = {
        "id": "bigint",
        "customer": "bigint",
        "amount": "decimal(18, 4)",
        "quantity": "int",
        "ordered_on": "date",
        "is_paid": "boolean",
        "score": "double",
    }
    row = ", ".join(
        "to_timestamp(image['changed_at'], 'yyyy-MM-dd:HH:mm:ss') as changed_at"
        if name == "changed_at"
        else f"cast(image['{name}'] as {types.get(name, 'string')}) as {name}"
        for name in COLUMNS
    )
    return f"""
create or replace table {state} {stored} as
select change_seq, is_deleted, {_DATA}
from (
    select
        change_seq, is_deleted, {row},
        row_number() over (partition by image['id'] order by change_seq desc) as place
    from (
        select *, max(trans_ind in (2, 3)) over (partition by trail_name, transaction_number) as has_ended
        from (
            select
                trail_name, trans_ind, coalesce(after_data, before_data) as image, io_type = 3 as is_deleted,
                concat_ws('/', trail_name, lpad(trail_seqno, 10, '0'), lpad(trail_rba, 19, '0')) as change_seq,
                count_if(trans_ind in (0, 3)) over (
                    partition by trail_name order by trail_seqno, trail_rba
                ) as transaction_number
            from {raw}
        )
    )
    where has_ended
)
where place = 1"""


def state_of_events(raw: str, state: str, stored: str) -> str:
    """The state out of an event log of fields: of each key and column the last value after the key's last delete."""
    types = {
        "customer": "bigint",
        "amount": "decimal(18, 4)",
        "quantity": "int",
        "ordered_on": "date",
        "changed_at": "timestamp",
        "is_paid": "boolean",
        "score": "double",
    }
    row = ", ".join(
        f"cast(max_by(new_value, record_id) filter (where column_name = '{name}')"
        f" as {types.get(name, 'string')}) as {name}"
        for name in COLUMNS
        if name != "id"
    )
    return f"""
create or replace table {state} {stored} as
select max(record_id) as change_seq, false as is_deleted, cast(substring(table_key, 4) as bigint) as id, {row}
from (
    select *, max(case when event_type = 4 then record_id end) over (partition by table_key) as deleted_at
    from {raw}
)
where deleted_at is null or record_id > deleted_at
group by table_key"""


def state_of_cdc(changes: str, tracking: str, state: str, stored: str) -> str:
    """The state out of OpenEdge's two tables: of each key and column the last value that is named or set."""
    row = ",\n        ".join(
        f"last_value(case when operation <> 4 or array_contains(named, '{name}') or {name} is not null"
        f" then struct({name}) end, true) over in_order.{name} as {name}"
        for name in COLUMNS
        if name != "id"
    )
    return f"""
create or replace table {state} {stored} as
select change_seq, is_deleted, {_DATA}
from (
    select
        change_seq, operation = 2 as is_deleted, id,
        {row},
        row_number() over (partition by id order by change_seq desc) as place
    from (
        select
            `_Change-Sequence` as change_seq, changes.`_Operation` as operation,
            split(`_Change-FieldMap`, ';') as named, {_DATA}
        from {changes} as changes
        inner join {tracking} using (`_Change-Sequence`)
        where `_Source-Table-Number` = 1
    )
    window in_order as (partition by id order by change_seq)
)
where place = 1"""


def duckdb_state_of(files: str) -> str:
    """The same current rows in DuckDB's words, read from the raw table's files."""
    return f"""
create or replace table state as
with log as (
    select * from (
        select
            *, row_number() over (
                partition by header__change_seq, id, header__change_oper order by header__timestamp
            ) as copy
        from read_parquet('{files}')
        where header__change_oper in ('I', 'U', 'D')
    ) where copy = 1
)
select {_DATA} from (
    select *, row_number() over (partition by id order by header__change_seq desc) as place from log
) where place = 1 and header__change_oper <> 'D'"""
