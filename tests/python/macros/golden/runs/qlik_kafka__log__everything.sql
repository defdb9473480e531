select 0 as place, _mark from lake.dedup_feed__kafka_read_whole__state where startswith(_mark, '{')
;

select concat_ws(':', topic, `partition`, `offset`) as place from (select topic, `partition`, `offset`, xxhash64(key, value, array(key is null, value is null)) as _ct_hash from lake_raw.kafka_read_whole where not (`offset` is null) and true) group by topic, `partition`, `offset` having min(_ct_hash) <> max(_ct_hash) order by place limit 3
;

select count_if(true) as settled_rows, count(*) as all_rows from lake_raw.kafka_read_whole
;

create table lake.dedup_feed__kafka_read_whole__batch_20260131t120000000000_00000000
    using parquet
    as
select * from the_model
;

select sum(changes) as changes, min(lowest_seq) as lowest_seq, max(highest_seq) as highest_seq, max(truncate_seq) as truncate_seq, sum(moves) as moves, sum(overruled) as overruled, sum(known) as known, unix_micros(min(first_changed_at)) as first_changed_at, unix_micros(max(last_changed_at)) as last_changed_at, to_json(collect_list(struct(status, code, report, raw_rows, changes, conflicts, kept_rows, kept_raw_rows))) as verdicts from (select _status as status, case when not _status <=> 'accepted' then substring_index(_status_reason, ':', 1) end as code, case when _ct_kept_id is null then substring_index(_report, ':', 1) end as report, sum(_equal_rows) as raw_rows, count_if(_ct_kept_id is null) as changes, count_if(_ct_kept_id is null and _is_conflicting) as conflicts, min(case when _ct_kept_id is null then _change_seq end) as lowest_seq, max(case when _ct_kept_id is null then _change_seq end) as highest_seq, max(case when _ct_kept_id is null and _change_op = 'truncate' then _change_seq end) as truncate_seq, min(case when _ct_kept_id is null then _changed_at end) as first_changed_at, max(case when _ct_kept_id is null then _changed_at end) as last_changed_at, count(case when _ct_kept_id is null then _key_before end) as moves, count_if(_ct_overrules) as overruled, count_if(_ct_is_known) as known, count_if(_ct_kept_id is not null) as kept_rows, sum(case when _ct_kept_id is not null then _equal_rows else 0 end) as kept_raw_rows from lake.dedup_feed__kafka_read_whole__batch_20260131t120000000000_00000000 group by all)
;

select source._raw_id from (select * from lake.dedup_feed__kafka_read_whole__batch_20260131t120000000000_00000000 where _ct_kept_id is null) as source inner join lake.dedup_feed__kafka_read_whole__state as target on source._raw_id = target._raw_id and target._mark is null where not startswith(source._change_id, 'snapshot:') and source._change_id <> target._change_id order by source._raw_id limit 3
;

insert into lake.dedup_feed__kafka_read_whole__state (_mark, _change_seq, _change_id, _batch_id, _key_before, _report, _is_conflicting, _change_op, _changed_at, _transaction_id, _present_columns, _changed_columns, _raw_id, _row_hash, _form, `order`, `it's`, `name with spaces`, amount)
select * from (
    select
        _mark,
        _change_seq, _change_id, _batch_id, _key_before, _report, _is_conflicting, _change_op, _changed_at, _transaction_id, _present_columns, _changed_columns, _raw_id, _row_hash, _form, `order`, `it's`, `name with spaces`, amount
    from lake.dedup_feed__kafka_read_whole__batch_20260131t120000000000_00000000
    where _ct_kept_id is null
    union all
    select
        '{"layout": 4, "log": "20260130T120000000000_00000001", "batch": "20260131T120000000000_00000000", "extends": null, "changes": 6, "held_changes": 6, "marks_rows": false, "floor": "", "highest_seq": "20260131120000250000000000000000022", "loads": [], "moves": false, "rebuild": "", "snapshot_seq": null, "arrival": null, "kept": {"rejected": 0, "waiting": 0, "waiting_since": null}, "settled": null, "settled_rows": 7, "lookback": 0, "counts_all": null, "rows_below": null, "key": ["order", "it\'s"], "order": {}, "columns": {"order": "bigint", "it\'s": "string", "name with spaces": "string", "amount": "decimal(12,2)"}, "form": 0, "added": {}, "facts": {"rows": {"accepted": 2, "rejected": 2}, "codes": {"rejected: key_missing": 2}, "reports": {}, "first_changed_at": 1769860800000000, "last_changed_at": 1769860801000000, "batch": "20260131T120000000000_00000000", "kind": "everything", "raw_rows": null, "new": 3, "revised": 0, "first_seq": "20260131120000250000000000000000020", "last_seq": "20260131120000250000000000000000022", "versions": ["0.1.0", "1.11.16"]}}' as _mark,
        null as _change_seq, null as _change_id, null as _batch_id, null as _key_before, null as _report, null as _is_conflicting, null as _change_op, null as _changed_at, null as _transaction_id, null as _present_columns, null as _changed_columns, null as _raw_id, null as _row_hash, null as _form, null as `order`, null as `it's`, null as `name with spaces`, null as amount
)
where
    case
        when
            (select max_by(_mark, get_json_object(_mark, '$.batch')) from lake.dedup_feed__kafka_read_whole__state where startswith(_mark, '{'))
            = '{"layout": 4, "log": "20260130T120000000000_00000001", "batch": "20260130T120000000000_00000001", "extends": null, "changes": 3, "held_changes": 3, "marks_rows": false, "floor": "", "highest_seq": "20260131120000250000000000000000022", "loads": [], "moves": false, "rebuild": "", "snapshot_seq": null, "arrival": null, "kept": {"rejected": 0, "waiting": 0, "waiting_since": null}, "settled": null, "settled_rows": 7, "lookback": 0, "counts_all": null, "rows_below": null, "key": ["order", "it\'s"], "order": {}, "columns": {"order": "bigint", "it\'s": "string", "name with spaces": "string", "amount": "decimal(12,2)"}, "form": 0, "added": {}, "facts": {"rows": {"accepted": 2, "rejected": 2}, "codes": {"rejected: key_missing": 2}, "reports": {}, "first_changed_at": 1769860800000000, "last_changed_at": 1769860801000000, "batch": "20260130T120000000000_00000001", "kind": "first", "raw_rows": null, "new": 3, "revised": 0, "first_seq": "20260131120000250000000000000000020", "last_seq": "20260131120000250000000000000000022", "versions": ["0.1.0", "1.11.16"]}}'
            then true
        else raise_error('change_tables: another run has written to this table at the same time; nothing was changed, run again')
    end
;

drop table if exists lake.dedup_feed__kafka_read_whole__batch_20260131t120000000000_00000000
;

create or replace view lake.dedup_feed__kafka_read_whole
(
    `order`,
    `it's`,
    `name with spaces`,
    amount,
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
    _change_op, _change_seq, _changed_at, _transaction_id, _change_id, _present_columns, _changed_columns, _key_before, _raw_id, _batch_id, _report, _is_conflicting
from lake.dedup_feed__kafka_read_whole__state
where _mark is null
;

create or replace view lake.dedup_feed__kafka_read_whole__reports

tblproperties ('change_tables.digest' = '…')
as
with reports as (

    select
        _change_id,
        _change_seq,
        substring_index(_report, ':', 1) as code,
        trim(substring(_report, instr(_report, ':') + 1)) as detail
    from lake.dedup_feed__kafka_read_whole__state
    where _mark is null and _report is not null
    union all
    select
        _change_id,
        _change_seq,
        'conflicting_content' as code,
        'delivered with different contents or before images; the greater ones count' as detail
    from lake.dedup_feed__kafka_read_whole__state
    where _mark is null and _is_conflicting

)

select
    _change_id,
    _change_seq,
    code,
    detail
from reports
;
