with landed as (

    select
        record_id as _ct_record_id,
        status as _ct_logged_status,
        event_type as _event_type,
        event_time as _ct_event_time,
        perpetrator as _ct_perpetrator,
        table_key as _table_key,
        column_name as _ct_logged_column,
        old_value as _old_value,
        new_value as _new_value,
        case when event_type not in (4, 5, 6) then map('order', 'order', 'it\'s', 'it\'s', 'name with spaces', 'name with spaces', 'amount', 'amount', 'pk_order', 'order', 'pk_it\'s', 'it\'s')[lower(trim(column_name))] end as _column_name,
        parse_table_key(table_key) as _ct_parsed_key,
        cast(null as string) as _ct_header_misfit,
        struct(record_id, status, event_type, event_time, perpetrator, table_name, table_key, column_name, old_value, new_value) as _ct_landed_row
    from lake_raw.events
    where
        table_name = 'usr'

),

unpacked as (

    select
        *,
        trim(get(filter(_ct_parsed_key['pairs'], pair -> lower(trim(pair['name'])) in ('order', 'pk_order')), 0)['value']) as `order`,
        get(filter(_ct_parsed_key['pairs'], pair -> lower(trim(pair['name'])) in ('it\'s', 'pk_it\'s')), 0)['value'] as `it's`,
        case when _column_name = 'name with spaces' and _event_type in (1, 2, 3) then _new_value end as `name with spaces`,
        case when _column_name = 'amount' and _event_type in (1, 2, 3) then _new_value end as amount,
        transform(_ct_parsed_key['pairs'], pair -> map('order', 'order', 'it\'s', 'it\'s', 'pk_order', 'order', 'pk_it\'s', 'it\'s')[lower(trim(pair['name']))]) as _ct_named_keys
    from landed

),

typed as (

    select
        coalesce(try_cast(`order` as bigint), try_cast(replace(cast(try_cast(regexp_extract(`order`, '^ *[-+]?[0-9]*([.][0-9]{0,18}0*)?([eE][+]?0*[0-9]{1,2})? *$|^ *[-+]?[0-9]*([.][0-9]{0,9}0*)?[eE]-0*[0-9] *$', 0) as decimal(38, 18)) as string), '.000000000000000000', '') as bigint)) as `order`,
        `it's`,
        `name with spaces`,
        try_cast(amount as decimal(12, 2)) as amount,
        coalesce(
            case when `order` is not null and coalesce(try_cast(`order` as bigint), try_cast(replace(cast(try_cast(regexp_extract(`order`, '^ *[-+]?[0-9]*([.][0-9]{0,18}0*)?([eE][+]?0*[0-9]{1,2})? *$|^ *[-+]?[0-9]*([.][0-9]{0,9}0*)?[eE]-0*[0-9] *$', 0) as decimal(38, 18)) as string), '.000000000000000000', '') as bigint)) is null then concat('column order: \'', cast(`order` as string), '\' is not bigint') end,
            null
        ) as _ct_key_misfit,
        coalesce(
            case when amount is not null and (try_cast(amount as decimal(12, 2)) is null or case when cast(amount as string) rlike '[eE]' then try_cast(amount as double) <> cast(try_cast(amount as decimal(12, 2)) as double) else cast(amount as string) rlike '[.][0-9]{2}[0-9]*[1-9]' end) then concat('column amount: \'', cast(amount as string), '\' is not decimal(12, 2)') end,
            null
        ) as _ct_column_misfit,
        case
            when _table_key is null
                then 'table_key is null'
            when _ct_parsed_key['error'] is not null
                then _ct_parsed_key['error']
            when exists(_ct_named_keys, name -> name is null)
                then concat(
                    get(transform(filter(_ct_parsed_key['pairs'], (pair, place) -> _ct_named_keys[place] is null), pair -> pair['name']), 0),
                    ' is no key column'
                )
            when size(array_distinct(_ct_named_keys)) < size(_ct_named_keys)
                then concat(
                    get(filter(_ct_named_keys, (name, place) -> array_position(_ct_named_keys, name) <= place), 0),
                    ' is named twice'
                )
            when size(_ct_named_keys) < 2
                then concat('the key column ', get(array_except(array('order', 'it\'s'), _ct_named_keys), 0), ' is not named')
        end as _ct_key_fault,
        * except (`order`, `it's`, `name with spaces`, amount)
    from unpacked

),

judged as (

    select
        *,
        _ct_key_fault is null and _ct_key_misfit is null as _ct_has_key,
        case
            when _ct_header_misfit is not null
                then struct('rejected' as status, concat('value_does_not_fit: ', _ct_header_misfit) as reason)
            when _ct_record_id is null or _ct_record_id <= 0
                then struct('rejected' as status, concat('position_missing: record_id is ', coalesce(cast(_ct_record_id as string), 'null')) as reason)
            when _ct_event_time is null
                then struct('rejected' as status, 'event_time_missing: event_time is null' as reason)
            when not coalesce(_ct_logged_status in ('N', 'S', 'W', 'E', 'F'), false)
                then struct('rejected' as status, concat('reserved_status: status is ', coalesce(concat('\'', _ct_logged_status, '\''), 'null')) as reason)
            when not coalesce(_event_type between 1 and 8, false)
                then struct('rejected' as status, concat('unknown_operation: event_type is ', coalesce(cast(_event_type as string), 'null')) as reason)
            when _ct_logged_status <> 'N'
                then struct('ignored' as status, concat('already_processed: status is ', _ct_logged_status) as reason)
            when _ct_perpetrator = 'it\'s me'
                then struct('ignored' as status, concat('loopback: the driver itself caused the event, as ', _ct_perpetrator) as reason)
            when _ct_key_fault is not null
                then struct('rejected' as status, concat('key_malformed: ', _ct_key_fault) as reason)
            when _ct_key_misfit is not null
                then struct('rejected' as status, concat('value_does_not_fit: table_key: ', _ct_key_misfit) as reason)
            when _event_type not in (4, 5, 6) and _column_name is null
                then struct('rejected' as status, concat('column_not_declared: column_name is ', coalesce(concat('\'', _ct_logged_column, '\''), 'null')) as reason)
            when _event_type in (2, 3, 8) and _column_name in ('order', 'it\'s')
                then struct('rejected' as status, concat('key_updated: an update of the key column ', _column_name, ' alone does not say which row it makes') as reason)
            when _table_key rlike '[\\x00-\\x08\\x0B\\x0C\\x0E-\\x1F\\uFFFE\\uFFFF]'
                then struct('rejected' as status, concat('xml_forbidden_character: table_key: character ', length(regexp_extract(_table_key, '^[^\\x00-\\x08\\x0B\\x0C\\x0E-\\x1F\\uFFFE\\uFFFF]*', 0)) + 1, ' is not allowed in XML') as reason)
            when _event_type = 2 and _old_value rlike '[\\x00-\\x08\\x0B\\x0C\\x0E-\\x1F\\uFFFE\\uFFFF]'
                then struct('rejected' as status, concat('xml_forbidden_character: old_value: character ', length(regexp_extract(_old_value, '^[^\\x00-\\x08\\x0B\\x0C\\x0E-\\x1F\\uFFFE\\uFFFF]*', 0)) + 1, ' is not allowed in XML') as reason)
            when _event_type in (1, 2, 3) and _new_value rlike '[\\x00-\\x08\\x0B\\x0C\\x0E-\\x1F\\uFFFE\\uFFFF]'
                then struct('rejected' as status, concat('xml_forbidden_character: new_value: character ', length(regexp_extract(_new_value, '^[^\\x00-\\x08\\x0B\\x0C\\x0E-\\x1F\\uFFFE\\uFFFF]*', 0)) + 1, ' is not allowed in XML') as reason)
            when _event_type in (1, 2, 3) and _ct_column_misfit is not null
                then struct('rejected' as status, concat('value_does_not_fit: new_value: ', _ct_column_misfit) as reason)
            when _event_type = 1 and _column_name = 'order' and _new_value is not null and not coalesce(coalesce(try_cast(trim(_new_value) as bigint), try_cast(replace(cast(try_cast(regexp_extract(trim(_new_value), '^ *[-+]?[0-9]*([.][0-9]{0,18}0*)?([eE][+]?0*[0-9]{1,2})? *$|^ *[-+]?[0-9]*([.][0-9]{0,9}0*)?[eE]-0*[0-9] *$', 0) as decimal(38, 18)) as string), '.000000000000000000', '') as bigint)) = `order`, false)
                then struct('rejected' as status, concat('key_contradicted: new_value of the key column ', _column_name, ' is not that of table_key') as reason)
            when _event_type = 1 and _column_name = 'it\'s' and _new_value is not null and not coalesce(_new_value = `it's`, false)
                then struct('rejected' as status, concat('key_contradicted: new_value of the key column ', _column_name, ' is not that of table_key') as reason)
        end as _ct_verdict
    from typed

),

-- _ct_counts: the key and the position of an event can be read, and its time has come. Only such events order others
flagged as (

    select
        judged.*,
        judged._ct_has_key and coalesce(judged._ct_record_id > 0, false) as _ct_counts,
        false as _ct_is_logged
    from judged

),

read_keys as (

    select distinct `order`, `it's`
    from flagged
    where _event_type in (5, 6, 7, 8) and _ct_verdict is null and not _ct_is_logged

),

replica_rows as (

    select
        `order`,
        `it's`,
        `name with spaces`,
        amount,
        xxhash64(`order`, `it's`, `name with spaces`, amount, array(`order` is null, `it's` is null, `name with spaces` is null, amount is null)) as _row_hash,
        filter(cast(array() as array<struct<name: string, text: string>>), fault -> fault['text'] is not null) as _ct_misfits,
        filter(cast(array(struct('name with spaces' as name, case when `name with spaces` rlike '[\\x00-\\x08\\x0B\\x0C\\x0E-\\x1F\\uFFFE\\uFFFF]' then concat('column ', 'name with spaces', ': character ', length(regexp_extract(`name with spaces`, '^[^\\x00-\\x08\\x0B\\x0C\\x0E-\\x1F\\uFFFE\\uFFFF]*', 0)) + 1, ' is not allowed in XML') end as text)) as array<struct<name: string, text: string>>), fault -> fault['text'] is not null) as _ct_forbidden
    from lake_raw.replica

),

-- where the replica has a key more than once, one of its rows counts
read_rows as (

    select
        replica_rows.`order`, replica_rows.`it's`,
        max_by(struct(`name with spaces`, amount, _ct_misfits, _ct_forbidden), _row_hash) as _ct_read
    from replica_rows
    left semi join read_keys
        on replica_rows.`order` <=> read_keys.`order` and replica_rows.`it's` <=> read_keys.`it's`
    group by replica_rows.`order`, replica_rows.`it's`

),

placed as (

    select
        *,
        count_if(_event_type = 4) over (
            partition by _ct_counts, `order`, `it's`
            order by _ct_record_id
            rows between unbounded preceding and 1 preceding
        ) as _ct_deletes_before
    from flagged

),

spans as (

    select
        *,
        max(case when not _event_type <=> 4 then struct(_ct_record_id, _ct_event_time) end) over (
            partition by _ct_counts, `order`, `it's`, _ct_deletes_before
        ) as _ct_last_of_span
    from placed

),

answered as (

    select
        spans.* except (_ct_verdict, `name with spaces`, amount),
        case
            when _event_type in (5, 6, 7, 8) and _ct_verdict is null and not _ct_is_logged and (_event_type in (5, 6) or _column_name = 'name with spaces' or _event_type = 7 and not exists(concat(_ct_read['_ct_misfits'], _ct_read['_ct_forbidden']), fault -> fault['name'] = 'name with spaces'))
                then _ct_read['name with spaces']
            when _event_type in (1, 2, 3)
                then spans.`name with spaces`
        end as `name with spaces`,
        case
            when _event_type in (5, 6, 7, 8) and _ct_verdict is null and not _ct_is_logged and (_event_type in (5, 6, 7) or _column_name = 'amount')
                then _ct_read['amount']
            when _event_type in (1, 2, 3)
                then spans.amount
        end as amount,
        if(_event_type in (5, 6, 7, 8) and _ct_verdict is null and not _ct_is_logged, _ct_last_of_span, struct(_ct_record_id, _ct_event_time)) as _ct_last_event,
        if(_event_type in (5, 6, 7, 8) and _ct_verdict is null and not _ct_is_logged, '99999999999999999999', '00000000000000000000') as _ct_read_at,
        case
            when _ct_verdict is not null
                then _ct_verdict
            when _event_type in (5, 6, 7, 8) and _ct_is_logged
                then struct('ignored' as status, 'read_before: the log holds what the event read' as reason)
            when _event_type in (5, 6, 7, 8) and _ct_verdict is null and not _ct_is_logged and _ct_read is null
                then struct('ignored' as status, 'row_gone: the replica does not hold the row; it is looked for again while the event is new' as reason)
            when _event_type in (5, 6, 7, 8) and _ct_verdict is null and not _ct_is_logged and get(filter(_ct_read['_ct_misfits'], fault -> _event_type in (5, 6) or fault['name'] = _column_name), 0)['text'] is not null
                then struct('rejected' as status, concat('value_does_not_fit: replica: ', get(filter(_ct_read['_ct_misfits'], fault -> _event_type in (5, 6) or fault['name'] = _column_name), 0)['text']) as reason)
            when _event_type in (5, 6, 7, 8) and _ct_verdict is null and not _ct_is_logged and get(filter(_ct_read['_ct_forbidden'], fault -> _event_type in (5, 6) or fault['name'] = _column_name), 0)['text'] is not null
                then struct('rejected' as status, concat('xml_forbidden_character: replica: ', get(filter(_ct_read['_ct_forbidden'], fault -> _event_type in (5, 6) or fault['name'] = _column_name), 0)['text']) as reason)
        end as _ct_verdict
    from spans
    left join read_rows
        on spans.`order` <=> read_rows.`order` and spans.`it's` <=> read_rows.`it's`

),

staged_rows as (

    select
        `order`,
        cast(`it's` as string) as `it's`,
        cast(`name with spaces` as string) as `name with spaces`,
        amount,
        case
            when _ct_verdict is null and _event_type = 4
                then 'delete'
            when _ct_verdict is null and _event_type = 5
                then 'insert'
            when _ct_verdict is null and _event_type in (1, 6, 7)
                then 'upsert'
            when _ct_verdict is null and _event_type in (2, 3, 8)
                then 'update'
        end as _change_op,
        concat(lpad(cast(_ct_last_event['_ct_record_id'] as string), 19, '0'), '/', _ct_read_at, '/', lpad(cast(_ct_record_id as string), 19, '0')) as _change_seq,
        _ct_event_time as _changed_at,
        cast(null as string) as _transaction_id,
        case when _ct_verdict is null then lpad(cast(_ct_record_id as string), 19, '0') end as _change_id,
        case
            when _ct_verdict is null and _event_type not in (4, 5, 6)
                then nullif(
                    array_union(
                        array('order', 'it\'s'),
                        array_intersect(
                            array('order', 'it\'s', 'name with spaces', 'amount'),
                            array(_column_name)
                        )
                    ),
                    array('order', 'it\'s', 'name with spaces', 'amount')
                )
        end as _present_columns,
        case
            when _ct_verdict is null and _event_type not in (4, 5, 6)
                then array(_column_name)
        end as _changed_columns,
        cast(null as struct<`order`: bigint, `it's`: string>) as _key_before,
        coalesce(cast(_ct_record_id as string), lower(hex(xxhash64(to_json(_ct_landed_row))))) as _raw_id,
        case when _ct_verdict['status'] is not null then to_json(_ct_landed_row, map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')) end as _raw_row,
        if(_ct_verdict is null, 'accepted', _ct_verdict['status']) as _status,
        _ct_verdict['reason'] as _status_reason,
        _event_type,
        cast(_column_name as string) as _column_name,
        cast(_old_value as string) as _old_value,
        cast(_new_value as string) as _new_value,
        cast(_table_key as string) as _table_key,
        cast(null as string) as _report,
        monotonically_increasing_id() as _ct_place
    from answered

),

staged as (

    select *
    from staged_rows

)

select
    `order`,
    `it's`,
    `name with spaces`,
    amount,
    _change_op,
    _change_seq,
    _changed_at,
    _transaction_id,
    _change_id,
    _present_columns,
    _changed_columns,
    _key_before,
    _raw_id,
    _raw_row,
    _status,
    _status_reason,
    _event_type,
    _column_name,
    _old_value,
    _new_value,
    _table_key,
    _report
from staged
