select 0 as place, _mark from lake.dedup_feed__full__state where _mark is not null
;

create table lake.dedup_feed__full__batch_20260131t120000000000_00000000
    using parquet
    as
    select * from the_model
;

select count_if(_mark is null) as changes, min(case when _mark is null then _change_seq end) as lowest_seq, max(case when _mark is null then _change_seq end) as highest_seq, max(case when _change_op = 'truncate' then _change_seq end) as truncate_seq, count(_key_before) as moves, count_if(_ct_overrules) as overruled, count_if(_ct_is_known) as known from lake.dedup_feed__full__batch_20260131t120000000000_00000000
;

select count_if(target._change_id is null or ((struct(to_json(struct(source.`order`, source.`it's`, source.`name with spaces`), map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), source._change_op, source._present_columns, source._changed_columns, source._changed_at, source._transaction_id, source._raw_id) > struct(to_json(struct(target.`order`, target.`it's`, target.`name with spaces`), map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), target._change_op, target._present_columns, target._changed_columns, target._changed_at, target._transaction_id, target._raw_id) or target._form < 1)
    or (source._key_before is not null and (target._key_before is null or source._key_before > target._key_before))
    or (source._report is null and target._report is not null)
    or (not target._is_conflicting and (source._is_conflicting
    or (
        (
            not source._change_op <=> target._change_op
            or coalesce(source._key_before <> target._key_before, false)
            or (
                source._change_op not in ('delete', 'truncate')
                and xxhash64(source.`order`, source.`it's`, if(target._form < 1, target.`name with spaces`, source.`name with spaces`), if(target._form < 1, target._present_columns, source._present_columns), array(source.`order` is null, source.`it's` is null, if(target._form < 1, target.`name with spaces`, source.`name with spaces`) is null, if(target._form < 1, target._present_columns, source._present_columns) is null))
                <> xxhash64(target.`order`, target.`it's`, target.`name with spaces`, target._present_columns, array(target.`order` is null, target.`it's` is null, target.`name with spaces` is null, target._present_columns is null))
            )
        )
    ))))) as new_changes, count(target._change_id) as known, count_if((target._key_before is not null and source._key_before is not null and (target._key_before is null or source._key_before > target._key_before)) or (target._change_id is not null and not (source.`order` <=> target.`order` and source.`it's` <=> target.`it's` and source._change_op <=> target._change_op) and (struct(to_json(struct(source.`order`, source.`it's`, source.`name with spaces`), map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), source._change_op, source._present_columns, source._changed_columns, source._changed_at, source._transaction_id, source._raw_id) > struct(to_json(struct(target.`order`, target.`it's`, target.`name with spaces`), map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), target._change_op, target._present_columns, target._changed_columns, target._changed_at, target._transaction_id, target._raw_id) or target._form < 1))) as overruled from (select * from lake.dedup_feed__full__batch_20260131t120000000000_00000000 where _mark is null) as source left join lake.dedup_feed__full__state as target on source._change_id = target._change_id and source._change_seq = target._change_seq and target._change_seq between '20260131120000250000000000000000020' and '20260131120000250000000000000000022'
;

merge into lake.dedup_feed__full__state as target
using (
    select
        _mark,
        _change_seq, _change_id, _batch_id, _key_before, _report, _is_conflicting, _change_op, _changed_at, _transaction_id, _present_columns, _changed_columns, _raw_id, _row_hash, _form, `order`, `it's`, `name with spaces`
    from lake.dedup_feed__full__batch_20260131t120000000000_00000000
    where _mark is null
    union all
    select
        '{"layout": 1, "log": "20260130T120000000000_00000001", "batch": "20260131T120000000000_00000000", "extends": null, "changes": 5, "marks_rows": false, "floor": "20260131120000250000000000000000021", "highest_seq": "20260131120000250000000000000000022", "loads": [], "moves": true, "rebuild": "", "snapshot_seq": null, "arrival": null, "settled": null, "edge": null, "key": ["order", "it\'s"], "order": {}, "columns": {"order": "bigint", "it\'s": "string", "name with spaces": "string"}, "form": 1, "added": {"name with spaces": 1}}' as _mark,
        null as _change_seq, null as _change_id, null as _batch_id, null as _key_before, null as _report, null as _is_conflicting, null as _change_op, null as _changed_at, null as _transaction_id, null as _present_columns, null as _changed_columns, null as _raw_id, null as _row_hash, null as _form, null as `order`, null as `it's`, null as `name with spaces`
) as source
    on
        source._change_id <=> target._change_id
        and source._change_seq <=> target._change_seq
        and (source._mark is null) = (target._mark is null)
        and (target._mark is not null or target._change_seq between '20260131120000250000000000000000020' and '20260131120000250000000000000000022')
when matched and source._mark is not null then update set
    _mark = case
        when target._mark = '{"layout": 1, "log": "20260130T120000000000_00000001", "batch": "20260130T120000000000_00000001", "extends": null, "changes": 3, "marks_rows": false, "floor": "", "highest_seq": "20260131120000250000000000000000022", "loads": [], "moves": false, "rebuild": "", "snapshot_seq": null, "arrival": null, "settled": null, "edge": null, "key": ["order", "it\'s"], "order": {}, "columns": {"order": "bigint", "it\'s": "string", "name with spaces": "string"}, "form": 1, "added": {"name with spaces": 1}}' then source._mark
        else raise_error('change_tables: another run has written to this table at the same time; nothing was changed, run again')
    end
when matched and (struct(to_json(struct(source.`order`, source.`it's`, source.`name with spaces`), map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), source._change_op, source._present_columns, source._changed_columns, source._changed_at, source._transaction_id, source._raw_id) > struct(to_json(struct(target.`order`, target.`it's`, target.`name with spaces`), map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), target._change_op, target._present_columns, target._changed_columns, target._changed_at, target._transaction_id, target._raw_id) or target._form < 1) then update set
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
    _batch_id = case
        when
            xxhash64(source.`order`, source.`it's`, source.`name with spaces`, source._change_op, source._present_columns, source._changed_columns, source._changed_at, source._transaction_id, array(source.`order` is null, source.`it's` is null, source.`name with spaces` is null, source._change_op is null, source._present_columns is null, source._changed_columns is null, source._changed_at is null, source._transaction_id is null)) = xxhash64(target.`order`, target.`it's`, target.`name with spaces`, target._change_op, target._present_columns, target._changed_columns, target._changed_at, target._transaction_id, array(target.`order` is null, target.`it's` is null, target.`name with spaces` is null, target._change_op is null, target._present_columns is null, target._changed_columns is null, target._changed_at is null, target._transaction_id is null))
            and not ((source._key_before is not null and (target._key_before is null or source._key_before > target._key_before))
    or (source._report is null and target._report is not null)
    or (not target._is_conflicting and (source._is_conflicting
    or (
        (
            not source._change_op <=> target._change_op
            or coalesce(source._key_before <> target._key_before, false)
            or (
                source._change_op not in ('delete', 'truncate')
                and xxhash64(source.`order`, source.`it's`, if(target._form < 1, target.`name with spaces`, source.`name with spaces`), if(target._form < 1, target._present_columns, source._present_columns), array(source.`order` is null, source.`it's` is null, if(target._form < 1, target.`name with spaces`, source.`name with spaces`) is null, if(target._form < 1, target._present_columns, source._present_columns) is null))
                <> xxhash64(target.`order`, target.`it's`, target.`name with spaces`, target._present_columns, array(target.`order` is null, target.`it's` is null, target.`name with spaces` is null, target._present_columns is null))
            )
        )
    ))))
            then target._batch_id
        else source._batch_id
    end,
    _key_before = case when source._key_before is not null and (target._key_before is null or source._key_before > target._key_before) then source._key_before else target._key_before end,
    _report = case when target._form < 1 then source._report when source._report is not null and target._report is not null then greatest(source._report, target._report) end,
    _is_conflicting = target._is_conflicting or source._is_conflicting
    or (
        (
            not source._change_op <=> target._change_op
            or coalesce(source._key_before <> target._key_before, false)
            or (
                source._change_op not in ('delete', 'truncate')
                and xxhash64(source.`order`, source.`it's`, if(target._form < 1, target.`name with spaces`, source.`name with spaces`), if(target._form < 1, target._present_columns, source._present_columns), array(source.`order` is null, source.`it's` is null, if(target._form < 1, target.`name with spaces`, source.`name with spaces`) is null, if(target._form < 1, target._present_columns, source._present_columns) is null))
                <> xxhash64(target.`order`, target.`it's`, target.`name with spaces`, target._present_columns, array(target.`order` is null, target.`it's` is null, target.`name with spaces` is null, target._present_columns is null))
            )
        )
    )
when matched and ((struct(to_json(struct(source.`order`, source.`it's`, source.`name with spaces`), map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), source._change_op, source._present_columns, source._changed_columns, source._changed_at, source._transaction_id, source._raw_id) > struct(to_json(struct(target.`order`, target.`it's`, target.`name with spaces`), map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), target._change_op, target._present_columns, target._changed_columns, target._changed_at, target._transaction_id, target._raw_id) or target._form < 1)
    or (source._key_before is not null and (target._key_before is null or source._key_before > target._key_before))
    or (source._report is null and target._report is not null)
    or (not target._is_conflicting and (source._is_conflicting
    or (
        (
            not source._change_op <=> target._change_op
            or coalesce(source._key_before <> target._key_before, false)
            or (
                source._change_op not in ('delete', 'truncate')
                and xxhash64(source.`order`, source.`it's`, if(target._form < 1, target.`name with spaces`, source.`name with spaces`), if(target._form < 1, target._present_columns, source._present_columns), array(source.`order` is null, source.`it's` is null, if(target._form < 1, target.`name with spaces`, source.`name with spaces`) is null, if(target._form < 1, target._present_columns, source._present_columns) is null))
                <> xxhash64(target.`order`, target.`it's`, target.`name with spaces`, target._present_columns, array(target.`order` is null, target.`it's` is null, target.`name with spaces` is null, target._present_columns is null))
            )
        )
    )))) then update set
    _batch_id = case
        when
            xxhash64(source.`order`, source.`it's`, source.`name with spaces`, source._change_op, source._present_columns, source._changed_columns, source._changed_at, source._transaction_id, array(source.`order` is null, source.`it's` is null, source.`name with spaces` is null, source._change_op is null, source._present_columns is null, source._changed_columns is null, source._changed_at is null, source._transaction_id is null)) = xxhash64(target.`order`, target.`it's`, target.`name with spaces`, target._change_op, target._present_columns, target._changed_columns, target._changed_at, target._transaction_id, array(target.`order` is null, target.`it's` is null, target.`name with spaces` is null, target._change_op is null, target._present_columns is null, target._changed_columns is null, target._changed_at is null, target._transaction_id is null))
            and not ((source._key_before is not null and (target._key_before is null or source._key_before > target._key_before))
    or (source._report is null and target._report is not null)
    or (not target._is_conflicting and (source._is_conflicting
    or (
        (
            not source._change_op <=> target._change_op
            or coalesce(source._key_before <> target._key_before, false)
            or (
                source._change_op not in ('delete', 'truncate')
                and xxhash64(source.`order`, source.`it's`, if(target._form < 1, target.`name with spaces`, source.`name with spaces`), if(target._form < 1, target._present_columns, source._present_columns), array(source.`order` is null, source.`it's` is null, if(target._form < 1, target.`name with spaces`, source.`name with spaces`) is null, if(target._form < 1, target._present_columns, source._present_columns) is null))
                <> xxhash64(target.`order`, target.`it's`, target.`name with spaces`, target._present_columns, array(target.`order` is null, target.`it's` is null, target.`name with spaces` is null, target._present_columns is null))
            )
        )
    ))))
            then target._batch_id
        else source._batch_id
    end,
    _key_before = case when source._key_before is not null and (target._key_before is null or source._key_before > target._key_before) then source._key_before else target._key_before end,
    _report = case when target._form < 1 then source._report when source._report is not null and target._report is not null then greatest(source._report, target._report) end,
    _is_conflicting = target._is_conflicting or source._is_conflicting
    or (
        (
            not source._change_op <=> target._change_op
            or coalesce(source._key_before <> target._key_before, false)
            or (
                source._change_op not in ('delete', 'truncate')
                and xxhash64(source.`order`, source.`it's`, if(target._form < 1, target.`name with spaces`, source.`name with spaces`), if(target._form < 1, target._present_columns, source._present_columns), array(source.`order` is null, source.`it's` is null, if(target._form < 1, target.`name with spaces`, source.`name with spaces`) is null, if(target._form < 1, target._present_columns, source._present_columns) is null))
                <> xxhash64(target.`order`, target.`it's`, target.`name with spaces`, target._present_columns, array(target.`order` is null, target.`it's` is null, target.`name with spaces` is null, target._present_columns is null))
            )
        )
    )
when not matched then insert (_mark, _change_seq, _change_id, _batch_id, _key_before, _report, _is_conflicting, _change_op, _changed_at, _transaction_id, _present_columns, _changed_columns, _raw_id, _row_hash, _form, `order`, `it's`, `name with spaces`)
    values (source._mark, source._change_seq, source._change_id, source._batch_id, source._key_before, source._report, source._is_conflicting, source._change_op, source._changed_at, source._transaction_id, source._present_columns, source._changed_columns, source._raw_id, source._row_hash, source._form, source.`order`, source.`it's`, source.`name with spaces`)
;

drop table if exists lake.dedup_feed__full__batch_20260131t120000000000_00000000
;

create or replace view lake.dedup_feed__full
(
    `order`,
    `it's`,
    `name with spaces`,
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
    _change_op, _change_seq, _changed_at, _transaction_id, _change_id, _present_columns, _changed_columns, _key_before, _raw_id, _batch_id, _report, _is_conflicting
from lake.dedup_feed__full__state
where _mark is null
;

create or replace view lake.dedup_feed__full__reports

tblproperties ('change_tables.digest' = '…')
as
with changes as (

    select *
    from lake.dedup_feed__full__state
    where
        _mark is null
        and _change_op <> 'truncate'

),

events as (

    select
        if(_ct_departs, _key_before['order'], `order`) as `order`,
        if(_ct_departs, _key_before['it\'s'], `it's`) as `it's`,
        _change_op, _change_seq, _changed_at, _transaction_id, _change_id, _present_columns,
        if(_ct_departs, 3, array_position(array('truncate', 'snapshot', 'departure', 'insert', 'update', 'upsert', 'delete'), _change_op)) as _precedence,
        _ct_departs or _change_op = 'delete' as _is_deleted,
        _key_before is not null and not _ct_departs as _ct_enters
    from changes
        lateral view explode(if(_key_before is null, array(false), array(false, true))) as _ct_departs

),

truncates as (

    select _change_seq, _changed_at, _transaction_id, _change_id
    from lake.dedup_feed__full__state
    where
        _mark is null
        and _change_op = 'truncate'

),

floors as (

    select array_sort(collect_list(struct(_change_seq, _changed_at, _transaction_id, _change_id))) as _ct_floors
    from truncates

),

key_events as (

    select
        events.`order`, events.`it's`, events._change_op, events._change_seq, events._changed_at, events._transaction_id, events._change_id, events._present_columns, events._precedence, events._is_deleted, events._ct_enters,
        false as _is_replayed
    from events

),

given_events as (

    select
        `order`, `it's`, _change_op, _change_seq, _changed_at, _transaction_id, _change_id, _present_columns, _precedence, _is_deleted, _ct_enters, _is_replayed,
        false as _ct_is_known
    from key_events

),

spans as (

    select
        `order`, `it's`,
        _is_replayed,
        _change_seq as _ct_span_seq,
        lead(_change_seq) over (
            partition by `order`, `it's`
            order by _change_seq, _precedence, _change_id
        ) as _ct_span_next_seq
    from given_events

),

key_floors as (

    select
        `order`, `it's`,
        _is_replayed,
        get(
            filter(
                _ct_floors,
                floor -> floor._change_seq > _ct_span_seq and (_ct_span_next_seq is null or floor._change_seq <= _ct_span_next_seq)
            ),
            0
        ) as _ct_floor
    from spans
    cross join floors

),

ended_events as (

    select *
    from given_events
    union all
    select
        `order`,
        `it's`,
        'truncate' as _change_op,
        _ct_floor['_change_seq'] as _change_seq,
        _ct_floor['_changed_at'] as _changed_at,
        _ct_floor['_transaction_id'] as _transaction_id,
        _ct_floor['_change_id'] as _change_id,
        cast(null as array<string>) as _present_columns,
        1 as _precedence,
        true as _is_deleted,
        false as _ct_enters,
        _is_replayed,
        false as _ct_is_known
    from key_floors
    where _ct_floor is not null

),

-- no join of keys with events: Spark would push it into every branch of the events
marked_events as (

    select
        *,
        max(_ct_enters or _precedence = 3) over (
            partition by `order`, `it's`
        ) as _ct_is_moved
    from ended_events

),

replayed_tenancies as (

    select
        `order`, `it's`,
        aggregate(
            array_sort(collect_list(struct(
                _change_seq, cast(_precedence as int) as _precedence, _change_id, _transaction_id, _ct_enters, _is_deleted
            ))),
            named_struct(
                'transaction_id', cast(null as string),
                'queue', cast(array() as array<string>),
                'tenancies', cast(array() as array<struct<
                    _change_seq: string, _precedence: int, _change_id: string, _ct_enters: boolean,
                    _ct_tenancy: string, _ct_ends_covered_row: boolean
                >>)
            ),
            (held, event) -> named_struct(
                'transaction_id', event._transaction_id,
                'queue', case
                    when event._precedence = 1 then cast(array() as array<string>)
                    when (event._is_deleted and event._precedence in (3, 7)) then slice(if(event._transaction_id = held.transaction_id or size(held.queue) < 2, held.queue, slice(held.queue, -1, 1)), 2, size(held.queue))
                    when event._ct_enters or size(held.queue) = 0 then concat(if(event._transaction_id = held.transaction_id or size(held.queue) < 2, held.queue, slice(held.queue, -1, 1)), array(event._change_id))
                    else if(event._transaction_id = held.transaction_id or size(held.queue) < 2, held.queue, slice(held.queue, -1, 1))
                end,
                'tenancies', concat(held.tenancies, array(named_struct(
                    '_change_seq', event._change_seq,
                    '_precedence', event._precedence,
                    '_change_id', event._change_id,
                    '_ct_enters', event._ct_enters,
                    '_ct_tenancy', case
                        when event._precedence = 1 then get(held.queue, size(held.queue) - 1)
                        when (event._is_deleted and event._precedence in (3, 7)) then get(if(event._transaction_id = held.transaction_id or size(held.queue) < 2, held.queue, slice(held.queue, -1, 1)), 0)
                        when event._ct_enters or size(held.queue) = 0 then event._change_id
                        else get(held.queue, size(held.queue) - 1)
                    end,
                    '_ct_ends_covered_row', (event._is_deleted and event._precedence in (3, 7)) and size(if(event._transaction_id = held.transaction_id or size(held.queue) < 2, held.queue, slice(held.queue, -1, 1))) > 1
                )))
            )
        ).tenancies as _ct_tenancies
    from marked_events
    where _ct_is_moved
    group by `order`, `it's`

),

tenancies as (

    select
        `order`, `it's`,
        _change_seq,
        _precedence,
        _change_id,
        _ct_enters,
        _ct_tenancy,
        _ct_ends_covered_row
    from replayed_tenancies
        lateral view inline(_ct_tenancies) as _change_seq, _precedence, _change_id, _ct_enters, _ct_tenancy, _ct_ends_covered_row

),

links as (

    select
        max(case when _ct_enters then _ct_tenancy end) as _ct_tenancy,
        max(case when _precedence = 3 then _ct_tenancy end) as _ct_tenancy_before
    from tenancies
    group by _change_id
    having _ct_tenancy is not null and _ct_tenancy_before is not null

),

-- one row, of links alone: two ids a move
collected_links as (

    select
        array_agg(_ct_tenancy) as _ct_tenancy,
        array_agg(_ct_tenancy_before) as _ct_tenancy_before
    from links

),

traced_links as (

    select
        _ct_tenancy,
        first_ancestors(_ct_tenancy, _ct_tenancy_before) as _ct_first_tenancy
    from collected_links

),

lineages as (

    select inline(arrays_zip(_ct_tenancy, _ct_first_tenancy))
    from traced_links

),

followed_events as (

    select
        marked_events.*,
        coalesce(lineages._ct_first_tenancy, tenancies._ct_tenancy) as _ct_lineage,
        coalesce(tenancies._ct_ends_covered_row, false) as _ct_ends_covered_row
    from marked_events
    left join tenancies
        on
            marked_events.`order` <=> tenancies.`order` and marked_events.`it's` <=> tenancies.`it's`
            and marked_events._change_seq = tenancies._change_seq
            and marked_events._precedence = tenancies._precedence
            and marked_events._change_id <=> tenancies._change_id
    left join lineages
        on tenancies._ct_tenancy = lineages._ct_tenancy

),

stays as (

    select
        `order`, `it's`,
        _ct_tenancy,
        min(struct(_change_seq, _precedence)) as _ct_began,
        bool_or(_precedence in (
            1, 3, 7
        )) as _ct_is_ended
    from tenancies
    where _ct_tenancy is not null
    group by `order`, `it's`, _ct_tenancy

),

followed_stays as (

    select
        *,
        lead(_ct_tenancy) over (partition by `order`, `it's` order by _ct_began, _ct_tenancy) as _ct_covered_by
    from stays

),

covered_rows as (

    select
        `order`, `it's`,
        _ct_tenancy as _change_id,
        _ct_began['_change_seq'] as _change_seq,
        _ct_covered_by
    from followed_stays
    where not _ct_is_ended and _ct_covered_by is not null

),

reports as (

    select
        _change_id,
        _change_seq,
        substring_index(_report, ':', 1) as code,
        trim(substring(_report, instr(_report, ':') + 1)) as detail
    from lake.dedup_feed__full__state
    where _report is not null
    union all
    select
        _change_id,
        _change_seq,
        'conflicting_content' as code,
        'delivered with different contents or before images; the greater ones count' as detail
    from lake.dedup_feed__full__state
    where _is_conflicting
    union all
    select
        _change_id,
        _change_seq,
        'key_collision' as code,
        concat('its row at key ', to_json(struct(`order`, `it's`), map('ignoreNullFields', 'false')), ' was covered by that of change ', _ct_covered_by) as detail
    from covered_rows

)

select
    _change_id,
    _change_seq,
    code,
    detail
from reports
;
