select 0 as place, _mark from lake.dedup_feed__full__state where _mark is not null union all select 1 as place, _mark from lake.current_feed__full__state where _mark is not null
;

with changes as (select * from the_model),

events as (select * from the_model), moves_and_deletes as (

    select *
    from lake.dedup_feed__full__state
    where
        _mark is null
        and (_key_before is not null or _change_op = 'delete')
        and _batch_id <= '20260131T110000000000_00000009'

),

entries_and_ends as (

    select
        if(_ct_departs, _key_before['order'], `order`) as `order`,
        if(_ct_departs, _key_before['it\'s'], `it's`) as `it's`,
        if(_ct_departs, null, `name with spaces`) as `name with spaces`,
        _change_op, _change_seq, _changed_at, _transaction_id, _change_id,
        if(_ct_departs, 3, array_position(array('truncate', 'snapshot', 'departure', 'insert', 'update', 'upsert', 'delete'), _change_op)) as _precedence,
        _ct_departs or _change_op = 'delete' as _is_deleted,
        _key_before is not null and not _ct_departs as _ct_enters
    from moves_and_deletes
        lateral view explode(if(_key_before is null, array(false), array(false, true))) as _ct_departs

),

exchanged_keys as (

    select distinct entries.`order`, entries.`it's`
    from entries_and_ends as entries
    left semi join entries_and_ends as ends
        on
            entries._transaction_id = ends._transaction_id
            and ends._is_deleted
            and entries.`order` <=> ends.`order` and entries.`it's` <=> ends.`it's`
    left semi join events
        on entries.`order` <=> events.`order` and entries.`it's` <=> events.`it's`
    where entries._ct_enters
    union distinct
    select ends.`order`, ends.`it's`
    from entries_and_ends as ends
    inner join events
        on
            ends._change_seq >= events._change_seq
            and ends.`order` <=> events.`order` and ends.`it's` <=> events.`it's`
    left anti join events as new_ends
        on ends._change_id = new_ends._change_id and ends._change_seq = new_ends._change_seq
    left semi join entries_and_ends as entries
        on entries._ct_enters and ends.`order` <=> entries.`order` and ends.`it's` <=> entries.`it's`
    where ends._is_deleted

) select (select count(*) from (select 1 from exchanged_keys limit 1))
;

merge into lake.current_feed__full__state as target
using (
    with state_rows as (

select * from the_model

)

select
    _mark,
    _change_seq, _change_op, _change_id, _precedence, _is_deleted, _is_replayed, _changed_at, _transaction_id, `order`, `it's`, `name with spaces`
from state_rows
union all
select
    '{"layout": 1, "log": "20260130T120000000000_00000001", "batch": "20260131T110000000000_00000009", "floor": "", "loads": [], "key": ["order", "it\'s"], "columns": {"order": "bigint", "it\'s": "string", "name with spaces": "string"}, "counted": 0}' as _mark,
    null as _change_seq, null as _change_op, null as _change_id, null as _precedence, null as _is_deleted, null as _is_replayed, null as _changed_at, null as _transaction_id, null as `order`, null as `it's`, null as `name with spaces`
) as source
    on
        source.`order` <=> target.`order` and source.`it's` <=> target.`it's`
        and (source._mark is null) = (target._mark is null)
when matched and source._mark is not null then update set
    _mark = case
        when target._mark = '{"layout": 1, "log": "20260130T120000000000_00000001", "batch": "20260130T120000000000_00000001", "floor": "", "loads": [], "key": ["order", "it\'s"], "columns": {"order": "bigint", "it\'s": "string", "name with spaces": "string"}, "counted": 0}' then source._mark
        else raise_error('change_tables: another run has written to this table at the same time; nothing was changed, run again')
    end
when matched and (
    source._is_replayed
    or struct(source._change_seq, source._precedence, source._change_id)
    >= struct(target._change_seq, target._precedence, target._change_id)
) then update set
    _change_seq = source._change_seq,
    _change_op = source._change_op,
    _change_id = source._change_id,
    _precedence = source._precedence,
    _is_deleted = source._is_deleted,
    _is_replayed = source._is_replayed,
    _changed_at = source._changed_at,
    _transaction_id = source._transaction_id,
    `order` = source.`order`,
    `it's` = source.`it's`,
    `name with spaces` = source.`name with spaces`
when not matched then insert (_mark, _change_seq, _change_op, _change_id, _precedence, _is_deleted, _is_replayed, _changed_at, _transaction_id, `order`, `it's`, `name with spaces`)
    values (source._mark, source._change_seq, source._change_op, source._change_id, source._precedence, source._is_deleted, source._is_replayed, source._changed_at, source._transaction_id, source.`order`, source.`it's`, source.`name with spaces`)
;

create or replace view lake.current_feed__full
(
    `order`,
    `it's`,
    `name with spaces`,
    _change_op comment 'insert, update, upsert, delete, truncate, snapshot; null where the raw row is no change',
    _change_seq comment 'sorts as text in the order of change; of snapshot rows snapshot_seq',
    _changed_at comment 'when the source says it happened, approximate; never an order',
    _transaction_id comment 'null where the feed has none'
)
tblproperties ('change_tables.digest' = '…', 'change_tables.mark' = '…', 'change_tables.mark.0' = '…')
as
select
    `order`, -- bigint
    `it's`, -- string
    `name with spaces`, -- string
    _change_op, _change_seq, _changed_at, _transaction_id
from lake.current_feed__full__state
where _mark is null and not _is_deleted
;
