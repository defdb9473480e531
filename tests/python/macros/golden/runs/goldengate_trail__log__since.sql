select 0 as place, _mark from lake.dedup_feed__trail__state where startswith(_mark, '{')
;

with landed as (

    select
        if(trail_seqno is null or trail_rba is null, null, struct(trail_name, trail_seqno, trail_rba)) as _ct_arrival,
        cast(null as bigint) as _ct_hash,
        cast(null as string) as _ct_sequence
    from lake_raw.trail
    where
        (
            trail_seqno is null or trail_rba is null
            or (trail_name <=> 'it\'s' and (trail_seqno > 3 or (trail_seqno = 3 and trail_rba > 4100)))
            or not (
                (trail_name <=> 'it\'s')
            )
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
    cast(_ct_last.trail_name as string), cast(_ct_last.trail_seqno as string), cast(_ct_last.trail_rba as string),
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
    group by _ct_arrival.trail_name
) as looked
right join (select count(*) as _ct_all from lake_raw.trail)
    on true
;

create table lake.dedup_feed__trail__batch_20260131t120000000000_00000000
    using parquet
    as
select * from the_model
;

select sum(changes) as changes, min(lowest_seq) as lowest_seq, max(highest_seq) as highest_seq, max(truncate_seq) as truncate_seq, sum(moves) as moves, sum(overruled) as overruled, sum(known) as known, unix_micros(min(first_changed_at)) as first_changed_at, unix_micros(max(last_changed_at)) as last_changed_at, to_json(collect_list(struct(status, code, report, raw_rows, changes, conflicts, kept_rows, kept_raw_rows, commit_group, lowest_commit, highest_commit))) as verdicts, to_json(transform(array_sort(collect_list(_ct_first)), place -> array(cast(place.trail_name as string), cast(place.trail_seqno as string), cast(place.trail_rba as string)))) as waiting from (select _status as status, case when not _status <=> 'accepted' then substring_index(_status_reason, ':', 1) end as code, case when _ct_is_accepted then substring_index(_report, ':', 1) end as report, sum(_equal_rows) as raw_rows, count_if(_ct_is_accepted) as changes, count_if(_ct_is_accepted and _is_conflicting) as conflicts, min(case when _ct_is_accepted then _change_seq end) as lowest_seq, max(case when _ct_is_accepted then _change_seq end) as highest_seq, max(case when _ct_is_accepted and _change_op = 'truncate' then _change_seq end) as truncate_seq, min(case when _ct_is_accepted then _changed_at end) as first_changed_at, max(case when _ct_is_accepted then _changed_at end) as last_changed_at, count(case when _ct_is_accepted then _key_before end) as moves, 0 as overruled, 0 as known, count_if(_ct_kept_id is not null) as kept_rows, sum(case when _ct_kept_id is not null then _equal_rows else 0 end) as kept_raw_rows, case when _ct_is_accepted then left(_change_seq, length(_change_seq) - 31) end as commit_group, min(case when _ct_is_accepted then concat(lpad(cast(length(_csn) as string), 4, '0'), _csn) end) as lowest_commit, max(case when _ct_is_accepted then concat(lpad(cast(length(_csn) as string), 4, '0'), _csn) end) as highest_commit, struct(_ct_waiting_since.trail_name) as _ct_group, min(_ct_waiting_since) as _ct_first from lake.dedup_feed__trail__batch_20260131t120000000000_00000000 group by all)
;

create table lake.dedup_feed__trail__batch_20260131t120000000000_00000000l
    using parquet
    as
with deliveries as (

    select
        _change_seq, _change_id, _batch_id, _key_before, _report, _is_conflicting, _change_op, _changed_at, _transaction_id, _present_columns, _changed_columns, _raw_id, _row_hash, _form, _csn, _format_type, _audit_rba, _audit_pos, `order`, `it's`, `name with spaces`, amount, `at`, `local`, day, small, ratio, flag, bytes,
        _ct_kept_id,
        false as _ct_is_logged
    from lake.dedup_feed__trail__batch_20260131t120000000000_00000000
    where _ct_is_accepted
    union all
    select
        logged._change_seq, logged._change_id, logged._batch_id, logged._key_before, logged._report, logged._is_conflicting, logged._change_op, logged._changed_at, logged._transaction_id, logged._present_columns, logged._changed_columns, logged._raw_id, logged._row_hash, logged._form, logged._csn, logged._format_type, logged._audit_rba, logged._audit_pos, logged.`order`, logged.`it's`, logged.`name with spaces`, logged.amount, logged.`at`, logged.`local`, logged.day, logged.small, logged.ratio, logged.flag, logged.bytes,
        null as _ct_kept_id,
        true as _ct_is_logged
    from lake.dedup_feed__trail__state as logged
    left semi join lake.dedup_feed__trail__batch_20260131t120000000000_00000000 as landed
        on logged._change_id = landed._change_id and logged._change_seq = landed._change_seq
    where
        logged._mark is null
        and logged._change_seq between '20260131120000250000000000000000020' and '20260131120000250000000000000000022'

),

told_deliveries as (

    select
        *,
        xxhash64(`order`, `it's`, `name with spaces`, amount, `at`, `local`, day, small, ratio, flag, bytes, _change_op, _present_columns, _changed_columns, _changed_at, _transaction_id, _csn, _format_type, _audit_rba, _audit_pos, array(`order` is null, `it's` is null, `name with spaces` is null, amount is null, `at` is null, `local` is null, day is null, small is null, ratio is null, flag is null, bytes is null, _change_op is null, _present_columns is null, _changed_columns is null, _changed_at is null, _transaction_id is null, _csn is null, _format_type is null, _audit_rba is null, _audit_pos is null)) as _ct_said_hash
    from deliveries

),

-- each delivery with what the log holds of its change; a row that takes a change back is a delivery of it
met_deliveries as (

    select
        *,
        max(case when _ct_is_logged then struct(
            _ct_said_hash, `order`, `it's`, _change_op, _key_before, _report, _is_conflicting, _form, _batch_id
        ) end) over same_change as _ct_logged,
        min(_ct_is_logged) over same_change as _ct_is_logged_alone,
        case
            when
                _change_id is not null
                and (min(_changed_at) over same_change <> max(_changed_at) over same_change or min(_csn) over same_change <> max(_csn) over same_change or min(_transaction_id) over same_change <> max(_transaction_id) over same_change)
                then raise_error(concat(
                    'change_tables: model \'dedup_feed__trail\': source \'feed.trail\': changes that differ in _changed_at or _csn or _transaction_id have landed at one _change_id: ',
                    _change_id,
                    '. The numbers have begun anew, and nothing says which rows are the older ones: either have the new rows land under numbers above the old ones, for which a view over lake_raw.trail will do, or remove the old rows from it, then build the log and the models after it anew with --full-refresh --vars \'{change_tables_allow_loss: true}\''
                ))
            else
                min(_row_hash) over same_change <> max(_row_hash) over same_change
        end as _ct_differs
    from told_deliveries
    window same_change as (partition by _change_seq, _change_id, _ct_kept_id)

),

-- the most complete deliveries
weighed_deliveries as (

    select
        *,
        if(_change_op in ('delete', 'truncate'), xxhash64(_change_op), xxhash64(_change_op, `order`, `it's`, `name with spaces`, amount, `at`, `local`, day, small, ratio, flag, bytes, _present_columns, array(_change_op is null, `order` is null, `it's` is null, `name with spaces` is null, amount is null, `at` is null, `local` is null, day is null, small is null, ratio is null, flag is null, bytes is null, _present_columns is null))) as _ct_content_hash,
        case when _ct_differs then struct(to_json(struct(`order`, `it's`, `name with spaces`, amount, `at`, `local`, day, small, ratio, flag, bytes), map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), _change_op, _present_columns, _changed_columns, _changed_at, _transaction_id, _raw_id, _csn, _format_type, _audit_rba, _audit_pos, _ct_is_logged) end as _ct_rank
    from met_deliveries
    where
        not _ct_is_logged_alone

),

-- what they say together, and which of them is the greatest
compared_deliveries as (

    select
        *,
        count(*) over same_change as _ct_copies,
        count(_report) over same_change as _ct_reports,
        max(_report) over same_change as _ct_known_report,
        max(_key_before) over same_change as _ct_known_key_before,
        max(_is_conflicting) over same_change
        or min(_ct_content_hash) over same_change <> max(_ct_content_hash) over same_change
        or not min(_key_before) over same_change <=> max(_key_before) over same_change as _ct_conflicts,
        max(_ct_rank) over same_change as _ct_highest_rank
    from weighed_deliveries
    window same_change as (partition by _change_seq, _change_id, _ct_kept_id)

),

reduced_changes as (

    select
        * except (_key_before, _report, _is_conflicting),
        _ct_known_key_before as _key_before,
        case when _ct_reports = _ct_copies then _ct_known_report end as _report,
        _ct_conflicts as _is_conflicting,
        if(_ct_differs, _ct_rank = _ct_highest_rank, _ct_is_logged or _ct_logged is null) as _ct_wins
    from compared_deliveries

),

new_changes as (

    select
        cast(null as string) as _mark,
        _change_seq,
        _change_id,
        case
            when
                _ct_said_hash = _ct_logged['_ct_said_hash']
                and struct(_key_before, _is_conflicting) <=> struct(_ct_logged['_key_before'], _ct_logged['_is_conflicting'])
                and (_report is not null or _ct_logged['_report'] is null)
                then _ct_logged['_batch_id']
            else '20260131T120000000000_00000000'
        end as _batch_id,
        _key_before,
        _report,
        _is_conflicting,
        _change_op,
        _changed_at,
        _transaction_id,
        _present_columns,
        _changed_columns,
        _raw_id,
        _row_hash,
        _form,
        _csn,
        _format_type,
        _audit_rba,
        _audit_pos,
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
        _ct_kept_id,
        (_ct_kept_id is null and _ct_logged is not null) as _ct_is_known,
        (
            _ct_kept_id is null
            and _ct_logged is not null
            and not (
                struct(`order`, `it's`, _change_op) <=> struct(_ct_logged['order'], _ct_logged['it\'s'], _ct_logged['_change_op'])
                and (_ct_logged['_key_before'] is null or _key_before <=> _ct_logged['_key_before'])
            )
        ) as _ct_overrules
    from reduced_changes
    where
        _ct_kept_id is not null
        or (
            _ct_wins
            and (
                _ct_logged is null
                or not _ct_is_logged
                or not struct(_key_before, _report, _is_conflicting) <=> struct(_ct_logged['_key_before'], _ct_logged['_report'], _ct_logged['_is_conflicting'])
            )
        )

)

select *
from new_changes
;

select sum(changes) as changes, sum(known) as known, sum(overruled) as overruled, min(lowest_seq) as lowest_seq, max(highest_seq) as highest_seq, unix_micros(min(first_changed_at)) as first_changed_at, unix_micros(max(last_changed_at)) as last_changed_at, to_json(collect_list(struct(report, changes, conflicts))) as reports from (select substring_index(_report, ':', 1) as report, count(*) as changes, count_if(_is_conflicting) as conflicts, count_if(_ct_is_known) as known, count_if(_ct_overrules) as overruled, min(_change_seq) as lowest_seq, max(_change_seq) as highest_seq, min(_changed_at) as first_changed_at, max(_changed_at) as last_changed_at from lake.dedup_feed__trail__batch_20260131t120000000000_00000000l group by 1)
;

merge into lake.dedup_feed__trail__state as target
using (
    select
        _mark,
        _change_seq, _change_id, _batch_id, _key_before, _report, _is_conflicting, _change_op, _changed_at, _transaction_id, _present_columns, _changed_columns, _raw_id, _row_hash, _form, _csn, _format_type, _audit_rba, _audit_pos, `order`, `it's`, `name with spaces`, amount, `at`, `local`, day, small, ratio, flag, bytes
    from lake.dedup_feed__trail__batch_20260131t120000000000_00000000l
    where true
    union all
    select
        '{"layout": 4, "log": "20260130T120000000000_00000001", "batch": "20260131T120000000000_00000000", "extends": null, "changes": 5, "held_changes": 4, "marks_rows": false, "floor": "", "highest_seq": "20260131120000250000000000000000022", "loads": [], "moves": false, "rebuild": "", "snapshot_seq": null, "arrival": "whole_number:trail_name,trail_seqno,trail_rba", "kept": {"rejected": 0, "waiting": 0, "waiting_since": null}, "settled": [{"group": ["it\'s"], "position": [4, 200], "is_whole": true}], "settled_rows": 8, "lookback": 0, "counts_all": true, "rows_below": 9, "key": ["order", "it\'s"], "order": {"trail_order": null}, "columns": {"order": "bigint", "it\'s": "string", "name with spaces": "string", "amount": "decimal(12,2)", "at": "timestamp", "local": "timestamp_ntz", "day": "date", "small": "smallint", "ratio": "double", "flag": "boolean", "bytes": "binary"}, "form": 0, "added": {}, "facts": {"rows": {"accepted": 2, "rejected": 2}, "codes": {"rejected: key_missing": 2}, "reports": {}, "first_changed_at": 1769860800000000, "last_changed_at": 1769860801000000, "batch": "20260131T120000000000_00000000", "kind": "since", "raw_rows": 4, "new": 1, "revised": 1, "first_seq": "20260131120000250000000000000000020", "last_seq": "20260131120000250000000000000000022", "versions": ["0.1.0", "1.11.16"]}}' as _mark,
        null as _change_seq, null as _change_id, null as _batch_id, null as _key_before, null as _report, null as _is_conflicting, null as _change_op, null as _changed_at, null as _transaction_id, null as _present_columns, null as _changed_columns, null as _raw_id, null as _row_hash, null as _form, null as _csn, null as _format_type, null as _audit_rba, null as _audit_pos, null as `order`, null as `it's`, null as `name with spaces`, null as amount, null as `at`, null as `local`, null as day, null as small, null as ratio, null as flag, null as bytes
) as source
    on
        source._change_id <=> target._change_id
        and source._change_seq <=> target._change_seq
        and if(startswith(source._mark, '{'), '{', coalesce(source._mark, '')) = if(startswith(target._mark, '{'), '{', coalesce(target._mark, ''))
        and (startswith(target._mark, '{') or target._change_seq between '20260131120000250000000000000000020' and '20260131120000250000000000000000022')
when matched and source._mark is not null then update set
    _mark = case
        when target._mark = '{"layout": 4, "log": "20260130T120000000000_00000001", "batch": "20260130T120000000000_00000001", "extends": null, "changes": 3, "held_changes": 3, "marks_rows": false, "floor": "", "highest_seq": "20260131120000250000000000000000022", "loads": [], "moves": false, "rebuild": "", "snapshot_seq": null, "arrival": "whole_number:trail_name,trail_seqno,trail_rba", "kept": {"rejected": 0, "waiting": 0, "waiting_since": null}, "settled": [{"group": ["it\'s"], "position": [3, 4100], "is_whole": true}], "settled_rows": 4, "lookback": 0, "counts_all": true, "rows_below": 9, "key": ["order", "it\'s"], "order": {"trail_order": null}, "columns": {"order": "bigint", "it\'s": "string", "name with spaces": "string", "amount": "decimal(12,2)", "at": "timestamp", "local": "timestamp_ntz", "day": "date", "small": "smallint", "ratio": "double", "flag": "boolean", "bytes": "binary"}, "form": 0, "added": {}, "facts": {"rows": {"accepted": 2, "rejected": 2}, "codes": {"rejected: key_missing": 2}, "reports": {}, "first_changed_at": 1769860800000000, "last_changed_at": 1769860801000000, "batch": "20260130T120000000000_00000001", "kind": "first", "raw_rows": null, "new": 3, "revised": 0, "first_seq": "20260131120000250000000000000000020", "last_seq": "20260131120000250000000000000000022", "versions": ["0.1.0", "1.11.16"]}}' then source._mark
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
    _csn = source._csn,
    _format_type = source._format_type,
    _audit_rba = source._audit_rba,
    _audit_pos = source._audit_pos,
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
when not matched then insert (_mark, _change_seq, _change_id, _batch_id, _key_before, _report, _is_conflicting, _change_op, _changed_at, _transaction_id, _present_columns, _changed_columns, _raw_id, _row_hash, _form, _csn, _format_type, _audit_rba, _audit_pos, `order`, `it's`, `name with spaces`, amount, `at`, `local`, day, small, ratio, flag, bytes)
    values (case when source._mark is not null then raise_error('change_tables: this table has lost the mark of its runs, as if it was emptied or replaced by hand; nothing was changed, run again') else source._mark end, source._change_seq, source._change_id, source._batch_id, source._key_before, source._report, source._is_conflicting, source._change_op, source._changed_at, source._transaction_id, source._present_columns, source._changed_columns, source._raw_id, source._row_hash, source._form, source._csn, source._format_type, source._audit_rba, source._audit_pos, source.`order`, source.`it's`, source.`name with spaces`, source.amount, source.`at`, source.`local`, source.day, source.small, source.ratio, source.flag, source.bytes)
;

drop table if exists lake.dedup_feed__trail__batch_20260131t120000000000_00000000
;

drop table if exists lake.dedup_feed__trail__batch_20260131t120000000000_00000000l
;

create or replace view lake.dedup_feed__trail
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
    _is_conflicting comment 'this change was delivered with different contents, of which the greater counts',
    _csn comment 'the commit\'s number',
    _format_type comment 'R (read) or F (fetched)',
    _audit_rba comment 'the place in the source\'s log: which log',
    _audit_pos comment 'the place in the source\'s log: where in it'
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
    _change_op, _change_seq, _changed_at, _transaction_id, _change_id, _present_columns, _changed_columns, _key_before, _raw_id, _batch_id, _report, _is_conflicting, _csn, _format_type, _audit_rba, _audit_pos
from lake.dedup_feed__trail__state
where _mark is null
;

create or replace view lake.dedup_feed__trail__reports

tblproperties ('change_tables.digest' = '…')
as
with changes as (

    select *
    from lake.dedup_feed__trail__state
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
    from lake.dedup_feed__trail__state
    where _mark is null and _report is not null
    union all
    select
        _change_id,
        _change_seq,
        'conflicting_content' as code,
        'delivered with different contents or before images; the greater ones count' as detail
    from lake.dedup_feed__trail__state
    where _mark is null and _is_conflicting
    union all
    select
        _change_id,
        _change_seq,
        'orphan' as code,
        concat('no row lives at key ', to_json(struct(`order`, `it's`), map('ignoreNullFields', 'false')), ', and the update lacks columns') as detail
    from decided_events
    where not _is_deleted and not _ct_lives
    union all
    select
        _ct_first['_change_id'] as _change_id,
        _ct_first['_change_seq'] as _change_seq,
        'csn_out_of_order' as code,
        concat('commit number ', _ct_lowest, ' comes after ', _ct_highest_before, ', which is in the file before: the trail has begun anew, or trails do not sort as they were written') as detail
    from (
        select
            *,
            lag(_ct_highest) over (order by _ct_file) as _ct_highest_before
        from (
            select
                substring_index(_change_seq, '/', 1) as _ct_trail,
                substring_index(_change_seq, '/', 2) as _ct_file,
                min(struct(_change_seq, _change_id)) as _ct_first,
                min(try_cast(_csn as decimal(38, 0))) as _ct_lowest,
                max(try_cast(_csn as decimal(38, 0))) as _ct_highest
            from lake.dedup_feed__trail__state
            where _mark is null and _csn is not null
            group by all
        )
    )
    where _ct_lowest < _ct_highest_before

)

select
    _change_id,
    _change_seq,
    code,
    detail
from reports
;
