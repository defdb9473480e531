-- change_tables run: {"run": "first", "mark_before": null, "mark": {"layout": 1, "log": "20260130T120000000000_00000001", "batch": "20260130T120000000000_00000001", "floor": "20260131120000250000000000000000015", "loads": ["", "20260131120000250000000000000000015"], "key": ["order", "it's"], "columns": {"order": "bigint", "it's": "string", "name with spaces": "string", "fields": "struct<a:int,b:int>"}, "counted": 0}, "history": true, "folds": true, "moves": true, "has_floors": true, "ends_older_keys": false, "exchanges": false, "late": false, "replays": false, "follows_rows": true, "kept_step": "given_events", "is_to_be_counted": false, "log_is_outdated": false, "form": 0, "added": {}}
with changes as (

    select *
    from lake.dedup_feed__partial__state
    where
        _mark is null
        and _change_op <> 'truncate'
        and _batch_id <= '20260130T120000000000_00000001'

),

events as (

    select
        if(_ct_departs, _key_before['order'], `order`) as `order`,
        if(_ct_departs, _key_before['it\'s'], `it's`) as `it's`,
        if(_ct_departs, null, `name with spaces`) as `name with spaces`,
        if(_ct_departs, null, fields) as fields,
        _change_op, _change_seq, _changed_at, _transaction_id, _change_id, _present_columns,
        if(_ct_departs, 3, array_position(array('truncate', 'snapshot', 'departure', 'insert', 'update', 'upsert', 'delete'), _change_op)) as _precedence,
        _ct_departs or _change_op = 'delete' as _is_deleted,
        _key_before is not null and not _ct_departs as _ct_enters
    from changes
        lateral view explode(if(_key_before is null, array(false), array(false, true))) as _ct_departs

),

truncates as (

    select _change_seq, _changed_at, _transaction_id, _change_id
    from lake.dedup_feed__partial__state
    where
        _mark is null
        and _change_op = 'truncate'
        and _batch_id <= '20260130T120000000000_00000001'
    union all
    select
        '' as _change_seq,
        cast(null as timestamp) as _changed_at,
        cast(null as string) as _transaction_id,
        cast(null as string) as _change_id
    union all
    select
        '20260131120000250000000000000000015' as _change_seq,
        cast(null as timestamp) as _changed_at,
        cast(null as string) as _transaction_id,
        cast(null as string) as _change_id

),

floors as (

    select array_sort(collect_list(struct(_change_seq, _changed_at, _transaction_id, _change_id))) as _ct_floors
    from truncates

),

key_events as (

    select
        events.`order`, events.`it's`, events.`name with spaces`, events.fields, events._change_op, events._change_seq, events._changed_at, events._transaction_id, events._change_id, events._present_columns, events._precedence, events._is_deleted, events._ct_enters,
        false as _is_replayed
    from events

),

given_events as (

    -- change_tables: kept in a table of its own, from here
    select
        `order`, `it's`, `name with spaces`, fields, _change_op, _change_seq, _changed_at, _transaction_id, _change_id, _present_columns, _precedence, _is_deleted, _ct_enters, _is_replayed,
        cast(null as timestamp) as _valid_from,
        cast(null as string) as _valid_from_seq,
        cast(null as timestamp) as _latest_at,
        false as _ct_is_known
    from key_events
    -- change_tables: to here

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
        cast(null as string) as `name with spaces`,
        cast(null as struct<a: int, b: int>) as fields,
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
        cast(null as timestamp) as _valid_from,
        cast(null as string) as _valid_from_seq,
        cast(null as timestamp) as _latest_at,
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

started_events as (

    select
        *,
        not _is_deleted
        and (_ct_is_known or _present_columns is null or _change_op in ('insert', 'snapshot', 'upsert')) as _ct_can_start
    from followed_events

),

judged_events as (

    select
        *,
        coalesce(
            last_value(
                case
                    when _is_deleted and _ct_lineage is not null and _precedence = 3 then null
                    when _is_deleted then false
                    when _ct_can_start then true
                end,
                true
            ) over (
                partition by _ct_lineage, if(_ct_lineage is null, `order`, null), if(_ct_lineage is null, `it's`, null)
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

overlaid_events as (

    select
        `order`,
        `it's`,
        if(
            _ct_lives,
            last_value(
                case
                    when _ct_lives and (_ct_has_all or array_contains(_present_columns, 'name with spaces'))
                        then named_struct('value', `name with spaces`)
                end,
                true
            ) over in_order.value,
            null
        ) as `name with spaces`,
        if(
            _ct_lives,
            last_value(
                case
                    when _ct_lives and (_ct_has_all or array_contains(_present_columns, 'fields'))
                        then named_struct('value', fields)
                end,
                true
            ) over in_order.value,
            null
        ) as fields,
        _change_op,
        _change_seq,
        _changed_at,
        _transaction_id,
        _change_id,
        _present_columns,
        _precedence,
        _ct_enters,
        _is_replayed,
        _valid_from,
        _valid_from_seq,
        _latest_at,
        not _ct_lives as _is_deleted,
        _ct_ends_covered_row,
        _ct_has_lived,
        _ct_is_known
    from decided_events
    window in_order as (
        partition by _ct_lineage, if(_ct_lineage is null, `order`, null), if(_ct_lineage is null, `it's`, null)
        order by _change_seq, _precedence, _change_id
    )

),

placed_events as (

    select
        *,
        max(coalesce(_latest_at, _changed_at)) over in_order as _ct_running_at,
        lead(_change_seq) over in_order as _ct_next_seq
    from overlaid_events
    where not _ct_ends_covered_row and (_ct_has_lived or _ct_is_known or _change_op <> 'truncate')
    window in_order as (
        partition by `order`, `it's`
        order by _change_seq, _precedence, _change_id
    )

),

folded as (

    select *
    from placed_events
    where _ct_next_seq is null or _ct_next_seq <> _change_seq

),

-- a version begins where a key begins or ends to live, or a tracked column changes
compared_events as (

    select
        *,
        not coalesce(
            _is_deleted = lag(_is_deleted) over in_order
            and (_is_deleted or struct(`name with spaces`) <=> lag(struct(`name with spaces`)) over in_order),
            false
        ) as _ct_begins
    from folded
    window in_order as (partition by `order`, `it's` order by _change_seq)

),

-- each event with the beginning of its version; the last of a version also has that of the next, which follows it
begun_events as (

    select
        *,
        lead(_ct_begins, 1, true) over in_order as _ct_ends,
        last_value(
            case
                when _ct_begins
                    then struct(
                        if(_ct_is_known, _valid_from_seq, _change_seq) as seq,
                        if(_ct_is_known, _valid_from, _ct_running_at) as `at`
                    )
            end,
            true
        ) over in_order as _ct_beginning,
        lead(
            case
                when _ct_begins
                    then struct(
                        if(_ct_is_known, _valid_from_seq, _change_seq) as seq,
                        if(_ct_is_known, _valid_from, _ct_running_at) as `at`
                    )
            end
        ) over in_order as _ct_next_beginning
    from compared_events
    window in_order as (partition by `order`, `it's` order by _change_seq)

),

versions as (

    select
        cast(null as string) as _mark,
        false as _ct_is_withdrawn,
        _change_seq,
        _change_op,
        _change_id,
        _precedence,
        _is_deleted,
        _is_replayed,
        _changed_at,
        _transaction_id,
        _ct_next_beginning is null as _is_last,
        _ct_running_at as _latest_at,
        _ct_beginning['at'] as _valid_from,
        _ct_next_beginning['at'] as _valid_to,
        _ct_beginning['seq'] as _valid_from_seq,
        _ct_next_beginning['seq'] as _valid_to_seq,
        _ct_next_beginning is null and not _is_deleted as _is_current,
        `order`, `it's`, `name with spaces`, fields
    from begun_events
    where _ct_ends

)

select *
from versions
