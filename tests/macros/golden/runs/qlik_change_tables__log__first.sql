show tblproperties lake_raw.qlik
;

select cast(unix_micros(max(`landed at`)) as string) from lake_raw.qlik where `landed at` is not null
;

with landed as (

    select
        if(`landed at` is null, null, struct(`landed at`)) as _ct_arrival,
        xxhash64(header__change_seq, header__change_oper, header__change_mask, header__stream_position, header__operation, header__transaction_id, header__timestamp, `order`, `it's`, `name with spaces`, amount, `landed at`, array(header__change_seq is null, header__change_oper is null, header__change_mask is null, header__stream_position is null, header__operation is null, header__transaction_id is null, header__timestamp is null, `order` is null, `it's` is null, `name with spaces` is null, amount is null, `landed at` is null)) as _ct_hash,
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
    cast(unix_micros(_ct_last['landed at']) as string),
    looked.* except (_ct_last),
    _ct_all
from (
    select
        max(_ct_arrival) as _ct_last,
        count(_ct_arrival) as _ct_places,
        sum(_ct_rows) as _ct_rows,
        max(if(_ct_arrival is null, 0, _ct_rows)) as _ct_copies,
        sum(if(_ct_arrival is null, _ct_rows, 0)) as _ct_unplaced,
        sum(if(_ct_arrival is null, 0, _ct_rows)) - coalesce(max_by(_ct_rows, _ct_arrival), 0) as _ct_rows_below,
        max_by(_ct_fingerprint, _ct_arrival) as _ct_fingerprint,
        bool_or(false) as _ct_is_same,
        min(if(false, null, _ct_lowest_seq)) as _ct_lowest_seq
    from places
) as looked
right join (select count(*) as _ct_all from lake_raw.qlik)
    on true
;

select 1 from lake_raw.qlik_load limit 1
;

create or replace table lake.dedup_feed__qlik__state
    using delta
    tblproperties ('delta.columnMapping.mode' = 'name', 'delta.enableDeletionVectors' = 'false', 'delta.enableTypeWidening' = 'true', 'delta.dataSkippingStatsColumns' = '_checkpoint,_change_seq,_batch_id,_changed_at')
    
    as
    select * from the_model
;

with summarized as (

    select
        case when _ct_is_change then substring_index(_report, ':', 1) end as report,
        count_if(_ct_is_change and _is_conflicting) as conflicts,
        case when _ct_quarantine_id is not null then _status end as status,
        substring_index(_status_reason, ':', 1) as code,
        count(*) as raw_rows,
        count(_ct_quarantine_id) as quarantined_rows,
        min(_ct_waiting_since) as _ct_first_waiting,
        count_if(_ct_is_change) as changes,
        min(_change_seq) filter (where _ct_is_change) as lowest_seq,
        max(_change_seq) filter (where _ct_is_change) as highest_seq,
        unix_micros(min(_changed_at) filter (where _ct_is_change)) as first_changed_at,
        unix_micros(max(_changed_at) filter (where _ct_is_change)) as last_changed_at,
        count(_key_before) filter (where _ct_is_change) as moves,
        max(_change_seq) filter (where _ct_is_change and _change_op = 'truncate') as truncate_seq
    from (
        select *, _checkpoint is null as _ct_is_change, _ct_row.*, if(_ct_row._ct_texts[0] is null, null, struct(cast(_ct_row._ct_texts[0] as decimal(38,0)) as `landed at`)) as _ct_waiting_since
        from (
            select *, from_json(substring(_checkpoint, 7), '_ct_quarantine_id string, _status string, _status_reason string, _raw_row string, _ct_texts array<string>') as _ct_row
            from lake.dedup_feed__qlik__state
        )
    )
    group by all

)

select
    sum(changes) as changes,
    min(lowest_seq) as lowest_seq,
    max(highest_seq) as highest_seq,
    min(first_changed_at) as first_changed_at,
    max(last_changed_at) as last_changed_at,
    sum(moves) as moves,
    max(truncate_seq) as truncate_seq,
    to_json(transform(array_sort(collect_list(_ct_first_waiting)), place -> array(cast(place['landed at'] as string)))) as waiting,
    to_json(collect_list(struct(report, conflicts, status, code, raw_rows, quarantined_rows, changes))) as verdicts
from summarized
;

create table if not exists lake.dedup_feed__qlik__quarantine (_row_id string, _batch_id string, _raw_id string, _status string, _status_reason string, _raw_row string, _equal_rows bigint, _healed_at timestamp)
    using delta
    tblproperties ('delta.columnMapping.mode' = 'name', 'delta.enableDeletionVectors' = 'false', 'delta.enableTypeWidening' = 'true', 'delta.dataSkippingStatsColumns' = '_row_id')
;

insert into lake.dedup_feed__qlik__state (_checkpoint)
select '{"storage_version": 6, "log": "20260131T120000000000_00000000", "origin": "20260131T120000000000_00000000", "batch": "20260131T120000000000_00000000", "extends": null, "held_changes": 3, "reset_seq": "", "highest_seq": "20260131120000250000000000000000022", "loads": [], "load_times": {}, "commits": {}, "moves": false, "retracted_keys": [], "rebuild": "", "snapshot_seq": "", "arrival": "timestamp:landed at", "quarantined": {"rejected": 0, "waiting": 0, "waiting_since": null}, "watermark": [{"group": [], "position": [600], "is_whole": false, "fingerprint": "2:3:4"}], "watermark_rows": 7, "lookback": 0, "counts_all": true, "rows_below": 7, "key": ["order", "it\'s"], "order": {}, "columns": {"order": "bigint", "it\'s": "string", "name with spaces": "string", "amount": "decimal(12,2)"}, "schema_version": 0, "added": {}, "absent": {}, "renamed": {}, "first_names": ["order", "it\'s"], "forgets": false, "has_reported": false, "facts": {"rows": {"accepted": 2, "rejected": 2}, "codes": {"rejected: key_missing": 2}, "reports": {}, "first_changed_at": 1769860800000000, "last_changed_at": 1769860801000000, "batch": "20260131T120000000000_00000000", "kind": "first", "raw_rows": 9, "new": 3, "revised": 0, "first_seq": "20260131120000250000000000000000020", "last_seq": "20260131120000250000000000000000022", "versions": ["0.1.0", "1.11.16"]}}' as _checkpoint
where
    case
        when (select count_if(_checkpoint is null) = 3 and count_if(_batch_id = '20260131T120000000000_00000000') = count(*) from lake.dedup_feed__qlik__state) then true
        else raise_error('change_tables: another run has built this table at the same time; run again')
    end
;

create or replace view lake.dedup_feed__qlik
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
tblproperties ('change_tables.digest' = '…', 'change_tables.checkpoint' = '…', 'change_tables.checkpoint.0' = '…')
as
select
    `order`, -- bigint
    `it's`, -- string
    `name with spaces`, -- string
    amount, -- decimal(12,2)
    _change_op, _change_seq, _changed_at, _transaction_id, _change_id, _present_columns, _changed_columns, _key_before, _raw_id, _batch_id, _report, _is_conflicting
from lake.dedup_feed__qlik__state
where _checkpoint is null
;

create or replace view lake.dedup_feed__qlik__reports

tblproperties ('change_tables.digest' = '…')
as
with reports as (

    select
        _change_id,
        _change_seq,
        inline(array_compact(array(
            case when _report is not null then struct(substring_index(_report, ':', 1), trim(substring(_report, instr(_report, ':') + 1))) end,
            case when _is_conflicting then struct(
                'conflicting_content', 'delivered with different contents or before images; the greater ones count'
            ) end
        ))) as (code, detail)
    from lake.dedup_feed__qlik__state
    where _checkpoint is null and (_report is not null or _is_conflicting)

)

select *
from reports
;
