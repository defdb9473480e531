select 0 as place, _mark from lake.dedup_feed__qlik__state where startswith(_mark, '{')
;

select cast(unix_micros(max(`landed at`)) as string) from lake_raw.qlik where `landed at` is not null
;

with landed as (

    select
        if(`landed at` is null, null, struct(`landed at`)) as _ct_arrival,
        xxhash64(header__change_seq, header__change_oper, header__change_mask, header__stream_position, header__operation, header__transaction_id, header__timestamp, `order`, `it's`, `name with spaces`, amount, `at`, `local`, day, small, ratio, flag, bytes, `landed at`, array(header__change_seq is null, header__change_oper is null, header__change_mask is null, header__stream_position is null, header__operation is null, header__transaction_id is null, header__timestamp is null, `order` is null, `it's` is null, `name with spaces` is null, amount is null, `at` is null, `local` is null, day is null, small is null, ratio is null, flag is null, bytes is null, `landed at` is null)) as _ct_hash,
        header__change_seq as _ct_sequence
    from lake_raw.qlik
    where
        (
            `landed at` is null
            or (`landed at` >= timestamp_micros(500))
        )

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
    cast(unix_micros(_ct_last.`landed at`) as string),
    looked.* except (_ct_last),
    _ct_all
from (
    select
        max(_ct_arrival) as _ct_last,
        count(_ct_arrival) as _ct_places,
        sum(_ct_rows) as _ct_rows,
        max(if(_ct_arrival is null, 0, _ct_rows)) as _ct_copies,
        sum(if(_ct_arrival is null, _ct_rows, 0)) as _ct_unplaced,
        sum(if(_ct_arrival is null, 0, _ct_rows)) - coalesce(max_by(_ct_rows, _ct_arrival), 0) as _ct_settling,
        max_by(_ct_fingerprint, _ct_arrival) as _ct_fingerprint,
        bool_or(false) as _ct_is_same,
        min(if(false, null, _ct_lowest_seq)) as _ct_lowest_seq
    from places
) as looked
right join (select count(*) as _ct_all from lake_raw.qlik)
    on true
;

select 1 from lake_raw.qlik where header__change_oper = 'B' limit 1
;

select count_if(not (
            `landed at` is null
            or (`landed at` >= timestamp_micros(600))
        )) as settled_rows, count(*) as all_rows from lake_raw.qlik
;

alter table lake.dedup_feed__qlik__state add columns (`order` bigint, `it's` string, `name with spaces` string, amount decimal(12, 2), `at` timestamp, `local` timestamp_ntz, day date, small smallint, ratio double, flag boolean, bytes binary)
;

create or replace view lake.dedup_feed__qlik
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
tblproperties ('change_tables.digest' = '…')
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
from lake.dedup_feed__qlik__state
where _mark is null
;

create table lake.dedup_feed__qlik__batch_20260131t120000000000_00000000
    using parquet
    as
select * from the_model
;

select sum(changes) as changes, min(lowest_seq) as lowest_seq, max(highest_seq) as highest_seq, max(truncate_seq) as truncate_seq, sum(moves) as moves, sum(overruled) as overruled, sum(known) as known, unix_micros(min(first_changed_at)) as first_changed_at, unix_micros(max(last_changed_at)) as last_changed_at, to_json(collect_list(struct(status, code, report, raw_rows, changes, conflicts, kept_rows, kept_raw_rows))) as verdicts from (select _status as status, case when not _status <=> 'accepted' then substring_index(_status_reason, ':', 1) end as code, case when _ct_kept_id is null then substring_index(_report, ':', 1) end as report, sum(_equal_rows) as raw_rows, count_if(_ct_kept_id is null) as changes, count_if(_ct_kept_id is null and _is_conflicting) as conflicts, min(case when _ct_kept_id is null then _change_seq end) as lowest_seq, max(case when _ct_kept_id is null then _change_seq end) as highest_seq, max(case when _ct_kept_id is null and _change_op = 'truncate' then _change_seq end) as truncate_seq, min(case when _ct_kept_id is null then _changed_at end) as first_changed_at, max(case when _ct_kept_id is null then _changed_at end) as last_changed_at, count(case when _ct_kept_id is null then _key_before end) as moves, count_if(_ct_overrules) as overruled, count_if(_ct_is_known) as known, count_if(_ct_kept_id is not null) as kept_rows, sum(case when _ct_kept_id is not null then _equal_rows else 0 end) as kept_raw_rows from lake.dedup_feed__qlik__batch_20260131t120000000000_00000000 group by all)
;

alter view lake.dedup_feed__qlik set tblproperties ('change_tables.mark' = '')
;

merge into lake.dedup_feed__qlik__state as target
using (
    select
        _mark,
        _change_seq, _change_id, _batch_id, _key_before, _report, _is_conflicting, _change_op, _changed_at, _transaction_id, _present_columns, _changed_columns, _raw_id, _row_hash, _form, `order`, `it's`, `name with spaces`, amount, `at`, `local`, day, small, ratio, flag, bytes
    from lake.dedup_feed__qlik__batch_20260131t120000000000_00000000
    where _ct_kept_id is null
    union all
    select
        '{"layout": 4, "log": "20260130T120000000000_00000001", "batch": "20260131T120000000000_00000000", "extends": null, "changes": 6, "held_changes": 4, "marks_rows": false, "floor": "20260131120000250000000000000000021", "highest_seq": "20260131120000250000000000000000022", "loads": [], "moves": true, "rebuild": "20260131T120000000000_00000000", "snapshot_seq": "", "arrival": "timestamp:landed at", "kept": {"rejected": 0, "waiting": 0, "waiting_since": null}, "settled": [{"group": [], "position": [600], "is_whole": "2:3:4"}], "settled_rows": 7, "lookback": 0, "counts_all": true, "rows_below": 7, "key": ["order", "it\'s"], "order": {}, "columns": {"order": "bigint", "it\'s": "string", "name with spaces": "string", "amount": "decimal(12,2)", "at": "timestamp", "local": "timestamp_ntz", "day": "date", "small": "smallint", "ratio": "double", "flag": "boolean", "bytes": "binary"}, "form": 1, "added": {"name with spaces": 1, "amount": 1, "at": 1, "local": 1, "day": 1, "small": 1, "ratio": 1, "flag": 1, "bytes": 1}, "facts": {"rows": {"accepted": 2, "rejected": 2}, "codes": {"rejected: key_missing": 2}, "reports": {}, "first_changed_at": 1769860800000000, "last_changed_at": 1769860801000000, "batch": "20260131T120000000000_00000000", "kind": "everything", "raw_rows": 9, "new": 1, "revised": 2, "first_seq": "20260131120000250000000000000000020", "last_seq": "20260131120000250000000000000000022", "versions": ["0.1.0", "1.11.16"]}}' as _mark,
        null as _change_seq, null as _change_id, null as _batch_id, null as _key_before, null as _report, null as _is_conflicting, null as _change_op, null as _changed_at, null as _transaction_id, null as _present_columns, null as _changed_columns, null as _raw_id, null as _row_hash, null as _form, null as `order`, null as `it's`, null as `name with spaces`, null as amount, null as `at`, null as `local`, null as day, null as small, null as ratio, null as flag, null as bytes
) as source
    on
        source._change_id <=> target._change_id
        and source._change_seq <=> target._change_seq
        and if(startswith(source._mark, '{'), '{', coalesce(source._mark, '')) = if(startswith(target._mark, '{'), '{', coalesce(target._mark, ''))
        and (startswith(target._mark, '{') or target._change_seq between '20260131120000250000000000000000020' and '20260131120000250000000000000000022')
when matched and source._mark is not null then update set
    _mark = case
        when target._mark = '{"layout": 4, "log": "20260130T120000000000_00000001", "batch": "20260130T120000000000_00000001", "extends": null, "changes": 3, "held_changes": 3, "marks_rows": false, "floor": "", "highest_seq": "20260131120000250000000000000000022", "loads": [], "moves": false, "rebuild": "", "snapshot_seq": "", "arrival": "timestamp:landed at", "kept": {"rejected": 0, "waiting": 0, "waiting_since": null}, "settled": [{"group": [], "position": [500], "is_whole": "1:2:3"}], "settled_rows": 7, "lookback": 0, "counts_all": true, "rows_below": 7, "key": ["order", "it\'s"], "order": {}, "columns": {"order": "bigint", "it\'s": "string"}, "form": 0, "added": {}, "facts": {"rows": {"accepted": 2, "rejected": 2}, "codes": {"rejected: key_missing": 2}, "reports": {}, "first_changed_at": 1769860800000000, "last_changed_at": 1769860801000000, "batch": "20260130T120000000000_00000001", "kind": "first", "raw_rows": 9, "new": 3, "revised": 0, "first_seq": "20260131120000250000000000000000020", "last_seq": "20260131120000250000000000000000022", "versions": ["0.1.0", "1.11.16"]}}' then source._mark
        else raise_error('change_tables: another run has written to this table at the same time; nothing was changed, run again')
    end
when matched then update set
    _change_seq = source._change_seq,
    _change_id = source._change_id,
    _batch_id = source._batch_id,
    _key_before = source._key_before,
    _report = source._report,
    _is_conflicting = source._is_conflicting,
    _change_op = source._change_op,
    _changed_at = source._changed_at,
    _transaction_id = source._transaction_id,
    _present_columns = source._present_columns,
    _changed_columns = source._changed_columns,
    _raw_id = source._raw_id,
    _row_hash = source._row_hash,
    _form = source._form,
    `order` = source.`order`,
    `it's` = source.`it's`,
    `name with spaces` = source.`name with spaces`,
    amount = source.amount,
    `at` = source.`at`,
    `local` = source.`local`,
    day = source.day,
    small = source.small,
    ratio = source.ratio,
    flag = source.flag,
    bytes = source.bytes
when not matched then insert (_mark, _change_seq, _change_id, _batch_id, _key_before, _report, _is_conflicting, _change_op, _changed_at, _transaction_id, _present_columns, _changed_columns, _raw_id, _row_hash, _form, `order`, `it's`, `name with spaces`, amount, `at`, `local`, day, small, ratio, flag, bytes)
    values (case when source._mark is not null then raise_error('change_tables: this table has lost the mark of its runs, as if it was emptied or replaced by hand; nothing was changed, run again') else source._mark end, source._change_seq, source._change_id, source._batch_id, source._key_before, source._report, source._is_conflicting, source._change_op, source._changed_at, source._transaction_id, source._present_columns, source._changed_columns, source._raw_id, source._row_hash, source._form, source.`order`, source.`it's`, source.`name with spaces`, source.amount, source.`at`, source.`local`, source.day, source.small, source.ratio, source.flag, source.bytes)
;

drop table if exists lake.dedup_feed__qlik__batch_20260131t120000000000_00000000
;

alter view lake.dedup_feed__qlik set tblproperties ('change_tables.mark' = '…', 'change_tables.mark.0' = '…')
;

create or replace view lake.dedup_feed__qlik__reports

tblproperties ('change_tables.digest' = '…')
as
with changes as (

    select *
    from lake.dedup_feed__qlik__state
    where
        _mark is null
        and _change_op <> 'truncate'

),

events as (

    select
        if(_ct_departs, _key_before['order'], `order`) as `order`,
        if(_ct_departs, _key_before['it\'s'], `it's`) as `it's`,
        _change_op,
        _change_seq,
        _changed_at,
        _transaction_id,
        _change_id,
        if(_ct_departs, 3, array_position(array('truncate', 'snapshot', 'departure', 'insert', 'update', 'upsert', 'delete'), _change_op)) as _precedence,
        _ct_departs or _change_op = 'delete' as _is_deleted,
        _key_before is not null and not _ct_departs as _ct_enters,
        false as _ct_is_known
    from changes
        lateral view explode(if(_key_before is null, array(false), array(false, true))) as _ct_departs

),

all_events as (

    select `order`, `it's`, _change_op, _change_seq, _changed_at, _transaction_id, _change_id, _precedence, _is_deleted, _ct_enters, _ct_is_known
    from events

),

truncates as (

    select _change_seq, _changed_at, _transaction_id, _change_id
    from lake.dedup_feed__qlik__state
    where
        _mark is null
        and _change_op = 'truncate'

),

floors as (

    select
        array_sort(collect_list(struct(
            _change_seq, _change_id is null as _ct_is_load, _change_id, _changed_at, _transaction_id
        ))) as _ct_floors
    from truncates

),

touched_keys as (

    select distinct `order`, `it's`
    from all_events
    where _ct_enters or _precedence = 3

),

touched_events as (

    select
        given.`order`, given.`it's`,
        collect_list(struct(
            given._change_seq,
            given._precedence,
            given._change_id,
            given._transaction_id,
            case
                when given._precedence = 1 then 'empties'
                when given._precedence in (3, 7) then 'takes'
                when given._ct_enters then 'adds'
                else 'sets'
            end as _ct_effect
        )) as _ct_events
    from all_events as given
    left semi join touched_keys
        on given.`order` <=> touched_keys.`order` and given.`it's` <=> touched_keys.`it's`
    group by given.`order`, given.`it's`

),

ordered_events as (

    select
        `order`, `it's`,
        array_sort(concat(
            _ct_events,
            transform(_ct_floors, floor -> named_struct(
                '_change_seq', floor._change_seq,
                '_precedence', cast(1 as bigint),
                '_change_id', floor._change_id,
                '_transaction_id', floor._transaction_id,
                '_ct_effect', 'empties'
            ))
        )) as _ct_events
    from touched_events
    cross join floors

),

events_with_rows as (

    select
        *,
        rows_at_key(_ct_events['_change_id'], _ct_events['_ct_effect'], _ct_events['_transaction_id']) as _ct_rows
    from ordered_events

),

rows_of_events as (

    select
        `order`, `it's`,
        _ct_pair['_ct_events']['_change_seq'] as _change_seq,
        _ct_pair['_ct_events']['_precedence'] as _precedence,
        _ct_pair['_ct_events']['_change_id'] as _change_id,
        _ct_pair['_ct_events']['_ct_effect'] as _ct_effect,
        _ct_pair['_ct_rows']['row_id'] as _ct_row,
        _ct_pair['_ct_rows']['takes_covered_row'] as _ct_takes_covered_row,
        _ct_pair['_ct_rows']['covered_by'] as _ct_covered_by
    from events_with_rows
        lateral view explode(arrays_zip(_ct_events, _ct_rows)) as _ct_pair

),

reports as (

    select
        _change_id,
        _change_seq,
        substring_index(_report, ':', 1) as code,
        trim(substring(_report, instr(_report, ':') + 1)) as detail
    from lake.dedup_feed__qlik__state
    where _mark is null and _report is not null
    union all
    select
        _change_id,
        _change_seq,
        'conflicting_content' as code,
        'delivered with different contents or before images; the greater ones count' as detail
    from lake.dedup_feed__qlik__state
    where _mark is null and _is_conflicting
    union all
    select
        _change_id,
        _change_seq,
        'key_collision' as code,
        concat('its row at key ', to_json(struct(`order`, `it's`), map('ignoreNullFields', 'false')), ' was covered by that of change ', _ct_covered_by) as detail
    from rows_of_events
    where _ct_covered_by is not null

)

select
    _change_id,
    _change_seq,
    code,
    detail
from reports
;
