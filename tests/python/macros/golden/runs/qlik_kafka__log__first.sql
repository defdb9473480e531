show tblproperties lake_raw.kafka_shared ('delta.minReaderVersion')
;

with landed as (

    select
        if(`offset` is null, null, struct(topic, `partition`, `offset`)) as _ct_arrival,
        cast(null as bigint) as _ct_hash,
        cast(null as string) as _ct_sequence
    from lake_raw.kafka_shared
    where
        true

),

places as (

    select
        _ct_arrival,
        count(*) as _ct_rows,
        concat_ws(':', count(*), sum(shiftright(_ct_hash, 32)), sum(_ct_hash & 4294967295)) as _ct_fingerprint,
        min(_ct_sequence) as _ct_lowest_seq
    from landed
    group by _ct_arrival

)

select
    cast(_ct_last.topic as string), cast(_ct_last.`partition` as string), cast(_ct_last.`offset` as string),
    looked.* except (_ct_last),
    _ct_all
from (
    select
        max(_ct_arrival) as _ct_last,
        count(_ct_arrival) as _ct_places,
        sum(_ct_rows) as _ct_rows,
        max(if(_ct_arrival is null, 0, _ct_rows)) as _ct_copies,
        sum(if(_ct_arrival is null, _ct_rows, 0)) as _ct_unplaced,
        sum(if(_ct_arrival is null, 0, _ct_rows)) as _ct_settling,
        max_by(_ct_fingerprint, _ct_arrival) as _ct_fingerprint,
        bool_or(false) as _ct_is_same,
        min(if(false, null, _ct_lowest_seq)) as _ct_lowest_seq
    from places
    group by _ct_arrival.topic, _ct_arrival.`partition`
) as looked
right join (select count(*) as _ct_all from lake_raw.kafka_shared)
    on true
;

with landed as (select * from the_model),

metadata_messages as (select * from the_model),

metadata_bodies as (select * from the_model),

schema_versions as (select * from the_model),

-- a schema that is sent again is the same
latest_versions as (select * from the_model),

schemas as (select * from the_model),

-- by explode, so that Spark reads each message once, however many of its columns are used
parsed as (select * from the_model),

bodies as (select * from the_model),

read as (select * from the_model),

messages as (select * from the_model),

-- a transaction is whole when every counter from 1 to that of its last event has landed, of whatever tables
counted as (select * from the_model),

in_transactions as (select * from the_model),

own as (select * from the_model),

unpacked as (select * from the_model),

typed as (select * from the_model),

judged as (select * from the_model),

staged_rows as (select * from the_model),

staged as (select * from the_model) select cast(_ct_first.topic as string), cast(_ct_first.`partition` as string), cast(_ct_first.`offset` as string) from (select min(_ct_arrival) as _ct_first from staged where _ct_holds_back group by _ct_arrival.topic, _ct_arrival.`partition`) where _ct_first is not null
;

create or replace table lake.dedup_feed__kafka__state
    using delta
    tblproperties ('delta.columnMapping.mode' = 'name', 'delta.enableDeletionVectors' = 'false', 'delta.enableTypeWidening' = 'true')
    
    as
    select * from the_model
;

select sum(changes) as changes, min(lowest_seq) as lowest_seq, max(highest_seq) as highest_seq, max(truncate_seq) as truncate_seq, sum(moves) as moves, sum(overruled) as overruled, sum(known) as known, unix_micros(min(first_changed_at)) as first_changed_at, unix_micros(max(last_changed_at)) as last_changed_at, to_json(collect_list(struct(status, code, report, raw_rows, changes, conflicts, kept_rows, kept_raw_rows))) as verdicts from (select _status as status, case when not _status <=> 'accepted' then substring_index(_status_reason, ':', 1) end as code, case when _mark is null then substring_index(_report, ':', 1) end as report, sum(_equal_rows) as raw_rows, count_if(_mark is null) as changes, count_if(_mark is null and _is_conflicting) as conflicts, min(case when _mark is null then _change_seq end) as lowest_seq, max(case when _mark is null then _change_seq end) as highest_seq, max(case when _mark is null and _change_op = 'truncate' then _change_seq end) as truncate_seq, min(case when _mark is null then _changed_at end) as first_changed_at, max(case when _mark is null then _changed_at end) as last_changed_at, count(case when _mark is null then _key_before end) as moves, 0 as overruled, 0 as known, count_if(_mark is not null) as kept_rows, sum(case when _mark is not null then _equal_rows else 0 end) as kept_raw_rows from lake.dedup_feed__kafka__state group by all)
;

insert into lake.dedup_feed__kafka__state (_mark)
select '{"layout": 4, "log": "20260131T120000000000_00000000", "batch": "20260131T120000000000_00000000", "extends": null, "changes": 3, "held_changes": 3, "marks_rows": false, "floor": "", "highest_seq": "20260131120000250000000000000000022", "loads": [], "moves": false, "rebuild": "", "snapshot_seq": null, "arrival": "whole_number:topic,partition,offset", "kept": {"rejected": 0, "waiting": 0, "waiting_since": null}, "settled": [{"group": ["orders", "0"], "position": [41], "is_whole": true}, {"group": ["orders", "1"], "position": [7], "is_whole": true}], "settled_rows": 8, "lookback": 0, "counts_all": true, "rows_below": 9, "key": ["order", "it\'s"], "order": {}, "columns": {"order": "bigint", "it\'s": "string", "name with spaces": "string", "amount": "decimal(12,2)", "at": "timestamp", "local": "timestamp_ntz", "day": "date", "small": "smallint", "ratio": "double", "flag": "boolean", "bytes": "binary"}, "form": 0, "added": {}, "facts": {"rows": {"accepted": 2, "rejected": 2}, "codes": {"rejected: key_missing": 2}, "reports": {}, "first_changed_at": 1769860800000000, "last_changed_at": 1769860801000000, "batch": "20260131T120000000000_00000000", "kind": "first", "raw_rows": null, "new": 3, "revised": 0, "first_seq": "20260131120000250000000000000000020", "last_seq": "20260131120000250000000000000000022", "versions": ["0.1.0", "1.11.16"]}}' as _mark
where
    case
        when (select count_if(_batch_id = '20260131T120000000000_00000000') = 3 and count(*) = 3 from lake.dedup_feed__kafka__state) then true
        else raise_error('change_tables: another run has built this table at the same time; run again')
    end
;

create or replace view lake.dedup_feed__kafka
(
    `order`,
    `it's`,
    `name with spaces`,
    amount,
    `at`,
    `local`,
    day,
    small,
    ratio,
    flag,
    bytes,
    _change_op comment 'insert, update, upsert, delete, truncate, snapshot; null where the raw row is no change',
    _change_seq comment 'sorts as text in the order of change; of snapshot rows snapshot_seq',
    _changed_at comment 'when the source says it happened, approximate; never an order',
    _transaction_id comment 'null where the feed has none',
    _change_id comment 'identity of the change within its table: raw rows with one id are one change delivered again',
    _present_columns comment 'columns whose value this change has; null = all that were declared when it was logged',
    _changed_columns comment 'columns that the mask says were changed; null = it does not say',
    _key_before comment 'the key before this change moved it; else null',
    _raw_id comment 'where the raw row is: topic, partition and offset, the position in a trail, the record id of an event, or the place in OpenEdge\'s index; of Qlik change tables a hash of the raw row, so that equal rows have the same',
    _batch_id comment 'the run that took the change in or last revised it; sorts by the start of the run',
    _report comment 'null, or code: detail of an accepted change that needs a look',
    _is_conflicting comment 'this change was delivered with different contents, of which the greater counts'
)
tblproperties ('change_tables.digest' = '…', 'change_tables.mark' = '…', 'change_tables.mark.0' = '…')
as
select
    `order`, -- bigint
    `it's`, -- string
    `name with spaces`, -- string
    amount, -- decimal(12,2)
    `at`, -- timestamp
    `local`, -- timestamp_ntz
    day, -- date
    small, -- smallint
    ratio, -- double
    flag, -- boolean
    bytes, -- binary
    _change_op, _change_seq, _changed_at, _transaction_id, _change_id, _present_columns, _changed_columns, _key_before, _raw_id, _batch_id, _report, _is_conflicting
from lake.dedup_feed__kafka__state
where _mark is null
;

create or replace view lake.dedup_feed__kafka__reports

tblproperties ('change_tables.digest' = '…')
as
with changes as (

    select *
    from lake.dedup_feed__kafka__state
    where
        _mark is null
        and _change_op <> 'truncate'

),

events as (

    select
        `order`,
        `it's`,
        _change_op,
        _change_seq,
        _changed_at,
        _transaction_id,
        _change_id,
        _present_columns,
        array_position(array('truncate', 'snapshot', 'departure', 'insert', 'update', 'upsert', 'delete'), _change_op) as _precedence,
        _change_op = 'delete' as _is_deleted,
        false as _ct_is_known
    from changes

),

all_events as (

    select `order`, `it's`, _change_op, _change_seq, _changed_at, _transaction_id, _change_id, _present_columns, _precedence, _is_deleted, _ct_is_known
    from events

),

started_events as (

    select
        *,
        not _is_deleted
        and (_ct_is_known or _present_columns is null or _change_op in ('insert', 'snapshot', 'upsert')) as _ct_can_start
    from all_events

),

judged_events as (

    select
        *,
        coalesce(
            last_value(
                case
                    when _is_deleted then false
                    when _ct_can_start then true
                end,
                true
            ) over (
                partition by `order`, `it's`
                order by _change_seq, _precedence, _change_id
                rows between unbounded preceding and 1 preceding
            ),
            false
        ) as _ct_has_lived
    from started_events

),

decided_events as (

    select
        *,
        not _is_deleted and (_ct_can_start or _ct_has_lived) as _ct_lives,
        not _ct_has_lived or _ct_is_known or _present_columns is null or _change_op in ('insert', 'snapshot') as _ct_has_all
    from judged_events

),

reports as (

    select
        _change_id,
        _change_seq,
        substring_index(_report, ':', 1) as code,
        trim(substring(_report, instr(_report, ':') + 1)) as detail
    from lake.dedup_feed__kafka__state
    where _mark is null and _report is not null
    union all
    select
        _change_id,
        _change_seq,
        'conflicting_content' as code,
        'delivered with different contents or before images; the greater ones count' as detail
    from lake.dedup_feed__kafka__state
    where _mark is null and _is_conflicting
    union all
    select
        _change_id,
        _change_seq,
        'orphan' as code,
        concat('no row lives at key ', to_json(struct(`order`, `it's`), map('ignoreNullFields', 'false')), ', and the update lacks columns') as detail
    from decided_events
    where not _is_deleted and not _ct_lives

)

select
    _change_id,
    _change_seq,
    code,
    detail
from reports
;
