show tblproperties lake_raw.qlik ('delta.minReaderVersion')
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

select 1 from lake.dedup_feed__qlik__state where _mark is null or startswith(_mark, 'kept:') limit 1
;

with landed as (select * from the_model),

typed as (

    select
        try_cast(`order` as bigint) as `order`,
        `it's`,
        `name with spaces`,
        try_cast(amount as decimal(12, 2)) as amount,
        coalesce(try_cast(`at` as timestamp), try_cast(regexp_replace(`at`, '^ *([-+]?[0-9]+-[0-9]+-[0-9]+)[: T]([0-9]+:[0-9]+:[0-9]+)(?:[:.]([0-9]+))? *([-+]?) *(.*)$', '$1 $2.$3$4$5') as timestamp)) as `at`,
        coalesce(try_cast(`local` as timestamp_ntz), try_cast(regexp_replace(`local`, '^ *([-+]?[0-9]+-[0-9]+-[0-9]+)[: T]([0-9]+:[0-9]+:[0-9]+)(?:[:.]([0-9]+))? *([-+]?) *(.*)$', '$1 $2.$3$4$5') as timestamp_ntz)) as `local`,
        coalesce(try_cast(day as date), try_cast(regexp_replace(day, '^ *([-+]?[0-9]+-[0-9]+-[0-9]+)[: T]([0-9]+:[0-9]+:[0-9]+)(?:[:.]([0-9]+))? *([-+]?) *(.*)$', '$1 $2.$3$4$5') as date)) as day,
        try_cast(small as smallint) as small,
        try_cast(ratio as double) as ratio,
        try_cast(flag as boolean) as flag,
        bytes,
        header__change_seq as _change_seq,
        case
            when header__operation = 'TRUNCATE' then 'T'
            when header__change_oper in ('I', 'U', 'D', 'B', 'T') then header__change_oper
        end as _ct_operation_code,
        header__change_oper as _ct_landed_code,
        header__timestamp as _changed_at,
        cast(null as string) as _ct_timestamp_misfit,
        cast(header__transaction_id as string) as _transaction_id,
        header__change_mask as _ct_landed_mask,
        transform(array(reverse(hex(header__change_mask))), digits -> if(digits is null, null, array(cast(conv(substr(digits, -16, 16), 16, -10) as bigint))))[0] as _ct_mask_words,
        coalesce(
            case when `order` is not null and try_cast(`order` as bigint) is null then concat('column order: \'', cast(`order` as string), '\' is not bigint') end,
            null
        ) as _ct_key_misfit,
        coalesce(
            case when amount is not null and (try_cast(amount as decimal(12, 2)) is null or case when cast(amount as string) rlike '[eE]' then try_cast(amount as double) <> cast(try_cast(amount as decimal(12, 2)) as double) else cast(amount as string) rlike '[.][0-9]{2}[0-9]*[1-9]' end) then concat('column amount: \'', cast(amount as string), '\' is not decimal(12, 2)') end,
            case when `at` is not null and (coalesce(try_cast(`at` as timestamp), try_cast(regexp_replace(`at`, '^ *([-+]?[0-9]+-[0-9]+-[0-9]+)[: T]([0-9]+:[0-9]+:[0-9]+)(?:[:.]([0-9]+))? *([-+]?) *(.*)$', '$1 $2.$3$4$5') as timestamp)) is null or cast(`at` as string) rlike '^ *T?[0-9]+:') then concat('column at: \'', cast(`at` as string), '\' is not timestamp') end,
            case when `local` is not null and (coalesce(try_cast(`local` as timestamp_ntz), try_cast(regexp_replace(`local`, '^ *([-+]?[0-9]+-[0-9]+-[0-9]+)[: T]([0-9]+:[0-9]+:[0-9]+)(?:[:.]([0-9]+))? *([-+]?) *(.*)$', '$1 $2.$3$4$5') as timestamp_ntz)) is null or cast(`local` as string) rlike '^ *T?[0-9]+:' or cast(`local` as string) rlike '[0-9]:[0-9][0-9.:]* *[-+A-Za-z]') then concat('column local: \'', cast(`local` as string), '\' is not timestamp_ntz') end,
            case when day is not null and (coalesce(try_cast(day as date), try_cast(regexp_replace(day, '^ *([-+]?[0-9]+-[0-9]+-[0-9]+)[: T]([0-9]+:[0-9]+:[0-9]+)(?:[:.]([0-9]+))? *([-+]?) *(.*)$', '$1 $2.$3$4$5') as date)) is null or not coalesce(try_cast(day as timestamp), try_cast(regexp_replace(day, '^ *([-+]?[0-9]+-[0-9]+-[0-9]+)[: T]([0-9]+:[0-9]+:[0-9]+)(?:[:.]([0-9]+))? *([-+]?) *(.*)$', '$1 $2.$3$4$5') as timestamp)) <=> try_cast(coalesce(try_cast(day as date), try_cast(regexp_replace(day, '^ *([-+]?[0-9]+-[0-9]+-[0-9]+)[: T]([0-9]+:[0-9]+:[0-9]+)(?:[:.]([0-9]+))? *([-+]?) *(.*)$', '$1 $2.$3$4$5') as date)) as timestamp)) then concat('column day: \'', cast(day as string), '\' is not date') end,
            case when small is not null and try_cast(small as smallint) is null then concat('column small: \'', cast(small as string), '\' is not smallint') end,
            case when ratio is not null and (try_cast(ratio as double) is null or (abs(try_cast(ratio as double)) = double('infinity') and not cast(ratio as string) rlike '[iI][nN][fF]')) then concat('column ratio: \'', cast(ratio as string), '\' is not double') end,
            case when flag is not null and try_cast(flag as boolean) is null then concat('column flag: \'', cast(flag as string), '\' is not boolean') end,
            null
        ) as _ct_column_misfit,
        lower(hex(xxhash64(header__change_seq, header__change_oper, header__change_mask, header__stream_position, header__operation, header__transaction_id, header__timestamp, `order`, `it's`, `name with spaces`, amount, `at`, `local`, day, small, ratio, flag, bytes, array(header__change_seq is null, header__change_oper is null, header__change_mask is null, header__stream_position is null, header__operation is null, header__transaction_id is null, header__timestamp is null, `order` is null, `it's` is null, `name with spaces` is null, amount is null, `at` is null, `local` is null, day is null, small is null, ratio is null, flag is null, bytes is null)))) as _raw_id,
        _ct_landed_row
    from landed

),

judged as (select * from the_model),

-- only rows that are no change of their own keep what has landed: the others do not carry it through what follows
narrowed as (select * from the_model),

-- each row with the keys of the before images and updates of its change_seq; two keys of either kind are a mistake of the feed
paired as (select * from the_model),

staged_rows as (

    select
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
        case
            when _ct_rejection is null
                then element_at(map('I', 'insert', 'U', 'update', 'D', 'delete', 'T', 'truncate'), _ct_operation_code)
        end as _change_op,
        _change_seq,
        _changed_at,
        _transaction_id,
        case
            when _ct_rejection is null and _ct_operation_code = 'T' then concat_ws(':', _change_seq, 'T')
            when _ct_rejection is null and _ct_operation_code <> 'B'
                then concat_ws(':', _change_seq, _ct_operation_code, to_json(struct(`order`, `it's`), map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')))
        end as _change_id,
        cast(null as array<string>) as _present_columns,
        case
            when _ct_operation_code in ('I', 'U') and _ct_rejection is null and _ct_mask_words is not null
                then array_compact(array(
                    case when getbit(get(_ct_mask_words, 0), 3) = 1 then 'order' end,
                    case when getbit(get(_ct_mask_words, 0), 12) = 1 then 'it\'s' end,
                    case when getbit(get(_ct_mask_words, 0), 13) = 1 then 'name with spaces' end,
                    case when getbit(get(_ct_mask_words, 0), 14) = 1 then 'amount' end,
                    case when getbit(get(_ct_mask_words, 0), 15) = 1 then 'at' end,
                    case when getbit(get(_ct_mask_words, 0), 8) = 1 then 'local' end,
                    case when getbit(get(_ct_mask_words, 0), 9) = 1 then 'day' end,
                    case when getbit(get(_ct_mask_words, 0), 10) = 1 then 'small' end,
                    case when getbit(get(_ct_mask_words, 0), 11) = 1 then 'ratio' end,
                    case when getbit(get(_ct_mask_words, 0), 20) = 1 then 'flag' end,
                    case when getbit(get(_ct_mask_words, 0), 21) = 1 then 'bytes' end
                ))
        end as _changed_columns,
        case
            when _ct_operation_code <> 'U' or _ct_rejection is not null then null
            when not struct(`order`, `it's`) <=> _ct_highest_before_key then _ct_highest_before_key
            when not struct(`order`, `it's`) <=> _ct_lowest_before_key then _ct_lowest_before_key
        end as _key_before,
        _raw_id,
        _raw_row,
        case
            when _ct_rejection is not null then 'rejected'
            when _ct_operation_code <> 'B' then 'accepted'
            when _ct_has_update then 'merged'
            else 'waiting'
        end as _status,
        case
            when _ct_rejection is not null then _ct_rejection
            when _ct_operation_code <> 'B' then null
            when _ct_has_update then 'before_image: part of the update with the same change_seq'
            when _ct_has_landed_update then 'after_image_rejected: the update with the same change_seq is rejected'
            else 'after_image_missing: no update with the same change_seq has landed'
        end as _status_reason,
        case
            when
                _ct_operation_code = 'U' and _ct_rejection is null and _ct_highest_before_key is null
                and (getbit(get(_ct_mask_words, 0), 3) = 1 or getbit(get(_ct_mask_words, 0), 12) = 1)
                then 'key_move_without_before: the mask says that the key changed, and no before image has the key before'
            when _ct_operation_code = 'U' and _ct_rejection is null and not _ct_lowest_before_key <=> _ct_highest_before_key
                then concat(
                    'conflicting_content: two before images with the same change_seq, keys ',
                    to_json(_ct_lowest_before_key), ' and ', to_json(_ct_highest_before_key)
                )
            when
                _ct_operation_code = 'U' and _ct_rejection is null and _ct_highest_before_key is not null
                and not _ct_lowest_update_key <=> _ct_highest_update_key
                then concat(
                    'conflicting_content: a before image and two updates with the same change_seq, keys ',
                    to_json(_ct_lowest_update_key), ' and ', to_json(_ct_highest_update_key)
                )
        end as _report,
        monotonically_increasing_id() as _ct_place
    from paired

),

loaded as (select * from the_model),

judged_load as (select * from the_model),

staged_snapshot as (

    select
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
        case when _ct_rejection is null then 'snapshot' end as _change_op,
        '' as _change_seq,
        cast(null as timestamp) as _changed_at,
        cast(null as string) as _transaction_id,
        case
            when _ct_rejection is null then concat_ws(':', 'snapshot', '', to_json(struct(`order`, `it's`), map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')))
        end as _change_id,
        cast(null as array<string>) as _present_columns,
        cast(null as array<string>) as _changed_columns,
        cast(null as struct<`order`: bigint, `it's`: string>) as _key_before,
        _raw_id,
        case when _ct_rejection is not null then to_json(_ct_landed_row, map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')) end as _raw_row,
        case when _ct_rejection is null then 'accepted' else 'rejected' end as _status,
        _ct_rejection as _status_reason,
        cast(null as string) as _report,
        monotonically_increasing_id() as _ct_place
    from judged_load

),

staged as (select * from the_model) select count_if(known._mark is null) as lost_changes, count_if(known._mark is not null) as lost_rows from lake.dedup_feed__qlik__state as known left anti join (select coalesce(case
    when _status in ('rejected', 'waiting')
        then concat(if(_ct_is_of_load, 'kept:load:', 'kept:'), sha2(to_json(array_sort(map_entries(map_filter(from_json(_raw_row, 'map<string, string>'), (name, value) -> value is not null)))), 256))
end, _change_id) as _ct_id from staged where _status in ('accepted', 'rejected', 'waiting')) as raw_changes on coalesce(known._mark, known._change_id) = raw_changes._ct_id where (known._mark is null or startswith(known._mark, 'kept:'))
;

create or replace table lake.dedup_feed__qlik__state
    using delta
    tblproperties ('delta.columnMapping.mode' = 'name', 'delta.enableDeletionVectors' = 'false', 'delta.enableTypeWidening' = 'true')
    
    as
    select * from the_model
;

select sum(changes) as changes, min(lowest_seq) as lowest_seq, max(highest_seq) as highest_seq, max(truncate_seq) as truncate_seq, sum(moves) as moves, sum(overruled) as overruled, sum(known) as known, unix_micros(min(first_changed_at)) as first_changed_at, unix_micros(max(last_changed_at)) as last_changed_at, to_json(collect_list(struct(status, code, report, raw_rows, changes, conflicts, kept_rows, kept_raw_rows))) as verdicts from (select _status as status, case when not _status <=> 'accepted' then substring_index(_status_reason, ':', 1) end as code, case when _mark is null then substring_index(_report, ':', 1) end as report, sum(_equal_rows) as raw_rows, count_if(_mark is null) as changes, count_if(_mark is null and _is_conflicting) as conflicts, min(case when _mark is null then _change_seq end) as lowest_seq, max(case when _mark is null then _change_seq end) as highest_seq, max(case when _mark is null and _change_op = 'truncate' then _change_seq end) as truncate_seq, min(case when _mark is null then _changed_at end) as first_changed_at, max(case when _mark is null then _changed_at end) as last_changed_at, count(case when _mark is null then _key_before end) as moves, 0 as overruled, 0 as known, count_if(_mark is not null) as kept_rows, sum(case when _mark is not null then _equal_rows else 0 end) as kept_raw_rows from lake.dedup_feed__qlik__state group by all)
;

insert into lake.dedup_feed__qlik__state (_mark)
select '{"layout": 4, "log": "20260131T120000000000_00000000", "batch": "20260131T120000000000_00000000", "extends": null, "changes": 3, "held_changes": 3, "marks_rows": false, "floor": "", "highest_seq": "20260131120000250000000000000000022", "loads": [], "moves": false, "rebuild": "", "snapshot_seq": "", "arrival": "timestamp:landed at", "kept": {"rejected": 0, "waiting": 0, "waiting_since": null}, "settled": [{"group": [], "position": [600], "is_whole": "2:3:4"}], "settled_rows": 7, "lookback": 0, "counts_all": true, "rows_below": 7, "key": ["order", "it\'s"], "order": {}, "columns": {"order": "bigint", "it\'s": "string", "name with spaces": "string", "amount": "decimal(12,2)", "at": "timestamp", "local": "timestamp_ntz", "day": "date", "small": "smallint", "ratio": "double", "flag": "boolean", "bytes": "binary"}, "form": 0, "added": {}, "facts": {"rows": {"accepted": 2, "rejected": 2}, "codes": {"rejected: key_missing": 2}, "reports": {}, "first_changed_at": 1769860800000000, "last_changed_at": 1769860801000000, "batch": "20260131T120000000000_00000000", "kind": "first", "raw_rows": 9, "new": 3, "revised": 0, "first_seq": "20260131120000250000000000000000020", "last_seq": "20260131120000250000000000000000022", "versions": ["0.1.0", "1.11.16"]}}' as _mark
where
    case
        when (select count_if(_batch_id = '20260131T120000000000_00000000') = 3 and count(*) = 3 from lake.dedup_feed__qlik__state) then true
        else raise_error('change_tables: another run has built this table at the same time; run again')
    end
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
from lake.dedup_feed__qlik__state
where _mark is null
;

create or replace view lake.dedup_feed__qlik__reports

tblproperties ('change_tables.digest' = '…')
as
with reports as (

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

)

select
    _change_id,
    _change_seq,
    code,
    detail
from reports
;
