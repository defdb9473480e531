select 0 as place, _mark from lake.dedup_feed__full__state where startswith(_mark, '{') union all select 1 as place, _mark from lake.history_feed__full__state where startswith(_mark, '{')
;

create table lake.history_feed__full__batch_20260131t120000000000_00000000
    using parquet
    as
with changes as (select * from the_model),

events as (select * from the_model),

known_keys as (select * from the_model),

new_floors as (select * from the_model),

moved_keys as (select * from the_model),

known_events as (select * from the_model),

met_events as (select * from the_model),

events_by_key as (select * from the_model),

given_events as (select * from the_model)

select *, false as _ct_is_replayed from given_events
;

select count(*) as late from lake.history_feed__full__batch_20260131t120000000000_00000000 where _ct_is_late
;

insert into lake.history_feed__full__batch_20260131t120000000000_00000000
                with given_events as (

    select * from lake.history_feed__full__batch_20260131t120000000000_00000000

),

late_keys as (select * from the_model),

replayed_keys as (select * from the_model),

logged_changes as (select * from the_model),

logged_events as (select * from the_model),

replayed_events as (select * from the_model)

select *, false as _ct_is_late, true as _ct_is_replayed from replayed_events
;

merge into lake.history_feed__full__state as target
using (
    with state_rows as (

with all_events as (

    select kept.*
    from lake.history_feed__full__batch_20260131t120000000000_00000000 as kept
    left join (select distinct xxhash64(`order`, `it's`) as _ct_key from lake.history_feed__full__batch_20260131t120000000000_00000000 where _ct_is_replayed) as replayed_keys
        on xxhash64(kept.`order`, kept.`it's`) = replayed_keys._ct_key
    where kept._ct_is_replayed or replayed_keys._ct_key is null

),

truncates as (select * from the_model),

floors as (select * from the_model),

touched_keys as (select * from the_model),

touched_events as (select * from the_model),

ordered_events as (select * from the_model),

events_with_rows as (select * from the_model),

rows_of_events as (select * from the_model),

followed_events as (select * from the_model),

spans as (select * from the_model),

floored_events as (select * from the_model),

ended_events as (select * from the_model),

placed_events as (select * from the_model),

folded as (select * from the_model),

-- a version begins where a key begins or ends to live, or a tracked column changes
compared_events as (select * from the_model),

-- each event with the beginning of its version; the last of a version also has that of the next, which follows it
begun_events as (select * from the_model),

versions as (select * from the_model)

select *
from versions

),

ranked_rows as (

    select
        *,
        row_number() over (
            partition by `order`, `it's`, _valid_from_seq
            order by _ct_is_withdrawn
        ) as _ct_rank
    from (
        select _ct_is_withdrawn, _change_seq, _change_op, _change_id, _precedence, _is_deleted, _changed_at, _transaction_id, _is_last, _latest_at, _valid_from, _valid_to, _valid_from_seq, _valid_to_seq, _is_current, `order`, `it's`, `name with spaces`
        from state_rows
        union all
        select
            true as _ct_is_withdrawn,
            stale_versions._change_seq, stale_versions._change_op, stale_versions._change_id, stale_versions._precedence, stale_versions._is_deleted, stale_versions._changed_at, stale_versions._transaction_id, stale_versions._is_last, stale_versions._latest_at, stale_versions._valid_from, stale_versions._valid_to, stale_versions._valid_from_seq, stale_versions._valid_to_seq, stale_versions._is_current, stale_versions.`order`, stale_versions.`it's`, stale_versions.`name with spaces`
        from lake.history_feed__full__state as stale_versions
        left semi join (select distinct xxhash64(`order`, `it's`) as _ct_key from lake.history_feed__full__batch_20260131t120000000000_00000000 where _ct_is_replayed) as replayed_keys
            on xxhash64(stale_versions.`order`, stale_versions.`it's`) = replayed_keys._ct_key
        where stale_versions._mark is null
    )

)

select
    cast(null as string) as _mark,
    _ct_is_withdrawn, _change_seq, _change_op, _change_id, _precedence, _is_deleted, _changed_at, _transaction_id, _is_last, _latest_at, _valid_from, _valid_to, _valid_from_seq, _valid_to_seq, _is_current, `order`, `it's`, `name with spaces`
from ranked_rows
where _ct_rank = 1
union all
select
    '{"layout": 4, "log": "20260130T120000000000_00000001", "batch": "20260131T110000000000_00000009", "floor": "20260131120000250000000000000000015", "loads": ["", "20260131120000250000000000000000015"], "key": ["order", "it\'s"], "columns": {"order": "bigint", "it\'s": "string", "name with spaces": "string"}, "counted": 0}' as _mark,
    null as _ct_is_withdrawn, null as _change_seq, null as _change_op, null as _change_id, null as _precedence, null as _is_deleted, null as _changed_at, null as _transaction_id, true as _is_last, null as _latest_at, null as _valid_from, null as _valid_to, null as _valid_from_seq, null as _valid_to_seq, null as _is_current, null as `order`, null as `it's`, null as `name with spaces`
) as source
    on
        source.`order` <=> target.`order` and source.`it's` <=> target.`it's`
        and source._valid_from_seq <=> target._valid_from_seq
        and (source._mark is null) = (target._mark is null)
when matched and source._mark is not null then update set
    _mark = case
        when target._mark = '{"layout": 4, "log": "20260130T120000000000_00000001", "batch": "20260130T120000000000_00000001", "floor": "", "loads": [], "key": ["order", "it\'s"], "columns": {"order": "bigint", "it\'s": "string", "name with spaces": "string"}, "counted": 0}' then source._mark
        else raise_error('change_tables: another run has written to this table at the same time; nothing was changed, run again')
    end
when matched and source._ct_is_withdrawn then delete
when
    matched
    then update set
    _change_seq = source._change_seq,
    _change_op = source._change_op,
    _change_id = source._change_id,
    _precedence = source._precedence,
    _is_deleted = source._is_deleted,
    _changed_at = source._changed_at,
    _transaction_id = source._transaction_id,
    _is_last = source._is_last,
    _latest_at = source._latest_at,
    _valid_from = source._valid_from,
    _valid_to = source._valid_to,
    _valid_from_seq = source._valid_from_seq,
    _valid_to_seq = source._valid_to_seq,
    _is_current = source._is_current,
    `order` = source.`order`,
    `it's` = source.`it's`,
    `name with spaces` = source.`name with spaces`
when not matched then insert (_mark, _change_seq, _change_op, _change_id, _precedence, _is_deleted, _changed_at, _transaction_id, _is_last, _latest_at, _valid_from, _valid_to, _valid_from_seq, _valid_to_seq, _is_current, `order`, `it's`, `name with spaces`)
    values (case when source._mark is not null then raise_error('change_tables: this table has lost the mark of its runs, as if it was emptied or replaced by hand; nothing was changed, run again') else source._mark end, source._change_seq, source._change_op, source._change_id, source._precedence, source._is_deleted, source._changed_at, source._transaction_id, source._is_last, source._latest_at, source._valid_from, source._valid_to, source._valid_from_seq, source._valid_to_seq, source._is_current, source.`order`, source.`it's`, source.`name with spaces`)
;

select count(*) as written_rows from lake.history_feed__full__state
;

drop table if exists lake.history_feed__full__batch_20260131t120000000000_00000000
;

create or replace view lake.history_feed__full
(
    `order`,
    `it's`,
    `name with spaces`,
    _change_op comment 'insert, update, upsert, delete, truncate, snapshot; null where the raw row is no change',
    _change_seq comment 'sorts as text in the order of change; of snapshot rows snapshot_seq',
    _changed_at comment 'when the source says it happened, approximate; never an order',
    _transaction_id comment 'null where the feed has none',
    _valid_from comment 'when the version began, UTC; null = since ever',
    _valid_to comment 'when the version ended, UTC, that instant not included; null = it has not',
    _valid_from_seq comment 'the sequence at which the version began',
    _valid_to_seq comment 'the sequence at which the version ended; null = it has not',
    _is_current comment 'whether this is what the key has now'
)
tblproperties ('change_tables.digest' = '…', 'change_tables.mark' = '…', 'change_tables.mark.0' = '…')
as
select
    `order`, -- bigint
    `it's`, -- string
    `name with spaces`, -- string
    _change_op, _change_seq, _changed_at, _transaction_id, _valid_from, _valid_to, _valid_from_seq, _valid_to_seq, _is_current
from lake.history_feed__full__state
where _mark is null and not _is_deleted
;
