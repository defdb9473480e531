with landed as (

    select
        try_cast(record_id as bigint) as _ct_record_id,
        status as _ct_logged_status,
        event_type as _event_type,
        try_cast(event_time as timestamp) as _ct_event_time,
        perpetrator as _ct_perpetrator,
        table_key as _table_key,
        column_name as _ct_logged_column,
        old_value as _old_value,
        new_value as _new_value,
        case when event_type not in (4, 5, 6) then map('order', 'order', 'it\'s', 'it\'s', 'name with spaces', 'name with spaces', 'amount', 'amount', 'at', 'at', 'local', 'local', 'day', 'day', 'small', 'small', 'ratio', 'ratio', 'flag', 'flag', 'bytes', 'bytes', 'pk_order', 'order', 'pk_it\'s', 'it\'s')[lower(trim(column_name))] end as _column_name,
        parse_table_key(table_key) as _ct_parsed_key,
        if(landed_at is null, null, struct(landed_at)) as _ct_arrival,
        (
            landed_at is null
            or (landed_at >= 500 and landed_at <= 600)
        ) as _ct_is_wanted,
        struct(record_id, status, event_type, event_time, perpetrator, table_name, table_key, column_name, old_value, new_value) as _ct_landed_row
    from lake_raw.events
    where
        table_name = 'usr'

),

keyed as (

    select
        *,
        trim(get(filter(_ct_parsed_key['pairs'], pair -> lower(trim(pair['name'])) in ('order', 'pk_order')), 0)['value']) as _ct_key_1,
        get(filter(_ct_parsed_key['pairs'], pair -> lower(trim(pair['name'])) in ('it\'s', 'pk_it\'s')), 0)['value'] as _ct_key_2,
        transform(_ct_parsed_key['pairs'], pair -> map('order', 'order', 'it\'s', 'it\'s', 'pk_order', 'order', 'pk_it\'s', 'it\'s')[lower(trim(pair['name']))]) as _ct_named_keys
    from landed

),

unpacked as (

    select
        *,
        _ct_key_1 as `order`,
        _ct_key_2 as `it's`,
        case when _column_name = 'name with spaces' and _event_type in (1, 2, 3) then _new_value end as `name with spaces`,
        case when _column_name = 'amount' and _event_type in (1, 2, 3) then _new_value end as amount,
        case when _column_name = 'at' and _event_type in (1, 2, 3) then _new_value end as `at`,
        case when _column_name = 'local' and _event_type in (1, 2, 3) then _new_value end as `local`,
        case when _column_name = 'day' and _event_type in (1, 2, 3) then _new_value end as day,
        case when _column_name = 'small' and _event_type in (1, 2, 3) then _new_value end as small,
        case when _column_name = 'ratio' and _event_type in (1, 2, 3) then _new_value end as ratio,
        case when _column_name = 'flag' and _event_type in (1, 2, 3) then _new_value end as flag,
        case when _column_name = 'bytes' and _event_type in (1, 2, 3) then _new_value end as bytes,
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
        end as _ct_key_fault
    from keyed

),

typed as (

    select
        coalesce(try_cast(`order` as bigint), try_cast(replace(cast(try_cast(regexp_extract(`order`, '^ *[-+]?[0-9]*([.][0-9]{0,18}0*)?([eE][+]?0*[0-9]{1,2})? *$|^ *[-+]?[0-9]*([.][0-9]{0,9}0*)?[eE]-0*[0-9] *$', 0) as decimal(38, 18)) as string), '.000000000000000000', '') as bigint)) as `order`,
        `it's`,
        `name with spaces`,
        try_cast(amount as decimal(12, 2)) as amount,
        coalesce(try_cast(`at` as timestamp), try_cast(regexp_replace(`at`, '^ *([-+]?[0-9]+-[0-9]+-[0-9]+)[: T]([0-9]+:[0-9]+:[0-9]+)(?:[:.]([0-9]+))? *([-+]?) *(.*)$', '$1 $2.$3$4$5') as timestamp)) as `at`,
        coalesce(try_cast(`local` as timestamp_ntz), try_cast(regexp_replace(`local`, '^ *([-+]?[0-9]+-[0-9]+-[0-9]+)[: T]([0-9]+:[0-9]+:[0-9]+)(?:[:.]([0-9]+))? *([-+]?) *(.*)$', '$1 $2.$3$4$5') as timestamp_ntz)) as `local`,
        coalesce(try_cast(day as date), try_cast(regexp_replace(day, '^ *([-+]?[0-9]+-[0-9]+-[0-9]+)[: T]([0-9]+:[0-9]+:[0-9]+)(?:[:.]([0-9]+))? *([-+]?) *(.*)$', '$1 $2.$3$4$5') as date)) as day,
        coalesce(try_cast(small as smallint), try_cast(replace(cast(try_cast(regexp_extract(small, '^ *[-+]?[0-9]*([.][0-9]{0,18}0*)?([eE][+]?0*[0-9]{1,2})? *$|^ *[-+]?[0-9]*([.][0-9]{0,9}0*)?[eE]-0*[0-9] *$', 0) as decimal(38, 18)) as string), '.000000000000000000', '') as smallint)) as small,
        try_cast(ratio as double) as ratio,
        try_cast(flag as boolean) as flag,
        try_to_binary(bytes, 'base64') as bytes,
        coalesce(
            case when `order` is not null and coalesce(try_cast(`order` as bigint), try_cast(replace(cast(try_cast(regexp_extract(`order`, '^ *[-+]?[0-9]*([.][0-9]{0,18}0*)?([eE][+]?0*[0-9]{1,2})? *$|^ *[-+]?[0-9]*([.][0-9]{0,9}0*)?[eE]-0*[0-9] *$', 0) as decimal(38, 18)) as string), '.000000000000000000', '') as bigint)) is null then concat('column order: \'', cast(`order` as string), '\' is not bigint') end,
            null
        ) as _ct_key_misfit,
        coalesce(
            case when amount is not null and (try_cast(amount as decimal(12, 2)) is null or case when cast(amount as string) rlike '[eE]' then try_cast(amount as double) <> cast(try_cast(amount as decimal(12, 2)) as double) else cast(amount as string) rlike '[.][0-9]{2}[0-9]*[1-9]' end) then concat('column amount: \'', cast(amount as string), '\' is not decimal(12, 2)') end,
            case when `at` is not null and (coalesce(try_cast(`at` as timestamp), try_cast(regexp_replace(`at`, '^ *([-+]?[0-9]+-[0-9]+-[0-9]+)[: T]([0-9]+:[0-9]+:[0-9]+)(?:[:.]([0-9]+))? *([-+]?) *(.*)$', '$1 $2.$3$4$5') as timestamp)) is null or cast(`at` as string) rlike '^ *T?[0-9]+:') then concat('column at: \'', cast(`at` as string), '\' is not timestamp') end,
            case when `local` is not null and (coalesce(try_cast(`local` as timestamp_ntz), try_cast(regexp_replace(`local`, '^ *([-+]?[0-9]+-[0-9]+-[0-9]+)[: T]([0-9]+:[0-9]+:[0-9]+)(?:[:.]([0-9]+))? *([-+]?) *(.*)$', '$1 $2.$3$4$5') as timestamp_ntz)) is null or cast(`local` as string) rlike '^ *T?[0-9]+:' or cast(`local` as string) rlike '[0-9]:[0-9][0-9.:]* *[-+A-Za-z]') then concat('column local: \'', cast(`local` as string), '\' is not timestamp_ntz') end,
            case when day is not null and (coalesce(try_cast(day as date), try_cast(regexp_replace(day, '^ *([-+]?[0-9]+-[0-9]+-[0-9]+)[: T]([0-9]+:[0-9]+:[0-9]+)(?:[:.]([0-9]+))? *([-+]?) *(.*)$', '$1 $2.$3$4$5') as date)) is null or not coalesce(try_cast(day as timestamp), try_cast(regexp_replace(day, '^ *([-+]?[0-9]+-[0-9]+-[0-9]+)[: T]([0-9]+:[0-9]+:[0-9]+)(?:[:.]([0-9]+))? *([-+]?) *(.*)$', '$1 $2.$3$4$5') as timestamp)) <=> try_cast(coalesce(try_cast(day as date), try_cast(regexp_replace(day, '^ *([-+]?[0-9]+-[0-9]+-[0-9]+)[: T]([0-9]+:[0-9]+:[0-9]+)(?:[:.]([0-9]+))? *([-+]?) *(.*)$', '$1 $2.$3$4$5') as date)) as timestamp)) then concat('column day: \'', cast(day as string), '\' is not date') end,
            case when small is not null and coalesce(try_cast(small as smallint), try_cast(replace(cast(try_cast(regexp_extract(small, '^ *[-+]?[0-9]*([.][0-9]{0,18}0*)?([eE][+]?0*[0-9]{1,2})? *$|^ *[-+]?[0-9]*([.][0-9]{0,9}0*)?[eE]-0*[0-9] *$', 0) as decimal(38, 18)) as string), '.000000000000000000', '') as smallint)) is null then concat('column small: \'', cast(small as string), '\' is not smallint') end,
            case when ratio is not null and (try_cast(ratio as double) is null or (abs(try_cast(ratio as double)) = double('infinity') and not cast(ratio as string) rlike '[iI][nN][fF]')) then concat('column ratio: \'', cast(ratio as string), '\' is not double') end,
            case when flag is not null and try_cast(flag as boolean) is null then concat('column flag: \'', cast(flag as string), '\' is not boolean') end,
            case when bytes is not null and try_to_binary(bytes, 'base64') is null then concat('column bytes: \'', cast(bytes as string), '\' is not binary') end,
            null
        ) as _ct_column_misfit,
        * except (`order`, `it's`, `name with spaces`, amount, `at`, `local`, day, small, ratio, flag, bytes)
    from unpacked

),

set_aside as (

    select
        *,
        case
            when _ct_record_id is null or _ct_record_id <= 0
                then concat('position_missing: record_id is ', coalesce(cast(_ct_landed_row['record_id'] as string), 'null'))
            when _ct_event_time is null
                then concat('event_time_missing: event_time is ', coalesce(concat('\'', cast(_ct_landed_row['event_time'] as string), '\''), 'null'))
            when not coalesce(_ct_logged_status in ('N', 'S', 'W', 'E', 'F'), false)
                then concat('reserved_status: status is ', coalesce(concat('\'', _ct_logged_status, '\''), 'null'))
            when not coalesce(_event_type between 1 and 8, false)
                then concat('unknown_operation: event_type is ', coalesce(cast(_event_type as string), 'null'))
        end as _ct_header_fault,
        case
            when _ct_logged_status <> 'N'
                then concat('already_processed: status is ', _ct_logged_status)
            when _ct_perpetrator = 'it\'s me'
                then concat('loopback: the driver itself caused the event, as ', _ct_perpetrator)
        end as _ct_set_aside,
        _ct_key_fault is null and _ct_key_misfit is null as _ct_has_key,
        false as _ct_is_ahead
    from typed

),

judged as (

    select
        *,
        case
            when _ct_header_fault is not null
                then _ct_header_fault
            when _ct_set_aside is not null
                then null
            when _ct_key_fault is not null
                then concat('key_malformed: ', _ct_key_fault)
            when _ct_key_misfit is not null
                then concat('value_does_not_fit: table_key: ', _ct_key_misfit)
            when _event_type not in (4, 5, 6) and _column_name is null
                then concat('column_not_declared: column_name is ', coalesce(concat('\'', _ct_logged_column, '\''), 'null'))
            when _event_type in (2, 3, 8) and _column_name in ('order', 'it\'s')
                then concat('key_updated: an update of the key column ', _column_name, ' alone does not say which row it makes')
            when _table_key rlike '[\\x00-\\x08\\x0B\\x0C\\x0E-\\x1F\\uFFFE\\uFFFF]'
                then concat('xml_forbidden_character: table_key: character ', length(regexp_extract(_table_key, '^[^\\x00-\\x08\\x0B\\x0C\\x0E-\\x1F\\uFFFE\\uFFFF]*', 0)) + 1, ' is not allowed in XML')
            when _event_type = 2 and _old_value rlike '[\\x00-\\x08\\x0B\\x0C\\x0E-\\x1F\\uFFFE\\uFFFF]'
                then concat('xml_forbidden_character: old_value: character ', length(regexp_extract(_old_value, '^[^\\x00-\\x08\\x0B\\x0C\\x0E-\\x1F\\uFFFE\\uFFFF]*', 0)) + 1, ' is not allowed in XML')
            when _event_type in (1, 2, 3) and _new_value rlike '[\\x00-\\x08\\x0B\\x0C\\x0E-\\x1F\\uFFFE\\uFFFF]'
                then concat('xml_forbidden_character: new_value: character ', length(regexp_extract(_new_value, '^[^\\x00-\\x08\\x0B\\x0C\\x0E-\\x1F\\uFFFE\\uFFFF]*', 0)) + 1, ' is not allowed in XML')
            when _event_type in (1, 2, 3) and _ct_column_misfit is not null
                then concat('value_does_not_fit: new_value: ', _ct_column_misfit)
            when _event_type = 2 and _column_name in ('bytes') and _old_value is not null and try_to_binary(_old_value, 'base64') is null
                then concat('value_does_not_fit: old_value: column ', _column_name, ': \'', _old_value, '\' is not binary')
            when _event_type = 1 and _column_name = 'order' and _new_value is not null and not coalesce(coalesce(try_cast(trim(_new_value) as bigint), try_cast(replace(cast(try_cast(regexp_extract(trim(_new_value), '^ *[-+]?[0-9]*([.][0-9]{0,18}0*)?([eE][+]?0*[0-9]{1,2})? *$|^ *[-+]?[0-9]*([.][0-9]{0,9}0*)?[eE]-0*[0-9] *$', 0) as decimal(38, 18)) as string), '.000000000000000000', '') as bigint)) = `order`, false)
                then concat('key_contradicted: new_value of the key column ', _column_name, ' is not that of table_key')
            when _event_type = 1 and _column_name = 'it\'s' and _new_value is not null and not coalesce(_new_value = `it's`, false)
                then concat('key_contradicted: new_value of the key column ', _column_name, ' is not that of table_key')
        end as _ct_rejection
    from set_aside

),

known_events as (

    select _change_id
    from lake.dedup_feed__events__state
    where _mark is null and _event_type in (5, 6, 7, 8)

),

-- _ct_counts: the key and the position of an event can be read, and its time has come. Only such events order others
flagged as (

    select
        judged.*,
        judged._ct_has_key and coalesce(judged._ct_record_id > 0, false) as _ct_counts,
        known_events._change_id is not null as _ct_is_known
    from judged
    left join known_events
        on lpad(cast(judged._ct_record_id as string), 19, '0') = known_events._change_id

),

read_keys as (

    select distinct `order`, `it's`
    from flagged
    where _event_type in (5, 6, 7, 8) and _ct_rejection is null and _ct_set_aside is null and not _ct_is_ahead and not _ct_is_known

),

replica_rows as (

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
        xxhash64(`order`, `it's`, `name with spaces`, amount, `at`, `local`, day, small, ratio, flag, bytes, array(`order` is null, `it's` is null, `name with spaces` is null, amount is null, `at` is null, `local` is null, day is null, small is null, ratio is null, flag is null, bytes is null)) as _row_hash,
        filter(cast(array() as array<struct<name: string, text: string>>), fault -> fault['text'] is not null) as _ct_misfits,
        filter(cast(array(struct('name with spaces' as name, case when `name with spaces` rlike '[\\x00-\\x08\\x0B\\x0C\\x0E-\\x1F\\uFFFE\\uFFFF]' then concat('column ', 'name with spaces', ': character ', length(regexp_extract(`name with spaces`, '^[^\\x00-\\x08\\x0B\\x0C\\x0E-\\x1F\\uFFFE\\uFFFF]*', 0)) + 1, ' is not allowed in XML') end as text)) as array<struct<name: string, text: string>>), fault -> fault['text'] is not null) as _ct_forbidden
    from lake_raw.replica

),

-- where the replica has a key more than once, one of its rows counts
read_rows as (

    select
        replica_rows.`order`, replica_rows.`it's`,
        max_by(struct(`name with spaces`, amount, `at`, `local`, day, small, ratio, flag, bytes, _ct_misfits, _ct_forbidden), _row_hash) as _ct_read
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
        spans.* except (_ct_rejection, _ct_set_aside, `name with spaces`, amount, `at`, `local`, day, small, ratio, flag, bytes),
        case
            when _event_type in (5, 6, 7, 8) and _ct_rejection is null and _ct_set_aside is null and not _ct_is_ahead and not _ct_is_known and (_event_type in (5, 6) or _column_name = 'name with spaces')
                then _ct_read['name with spaces']
            when _event_type in (1, 2, 3)
                then spans.`name with spaces`
        end as `name with spaces`,
        case
            when _event_type in (5, 6, 7, 8) and _ct_rejection is null and _ct_set_aside is null and not _ct_is_ahead and not _ct_is_known and (_event_type in (5, 6) or _column_name = 'amount')
                then _ct_read['amount']
            when _event_type in (1, 2, 3)
                then spans.amount
        end as amount,
        case
            when _event_type in (5, 6, 7, 8) and _ct_rejection is null and _ct_set_aside is null and not _ct_is_ahead and not _ct_is_known and (_event_type in (5, 6) or _column_name = 'at')
                then _ct_read['at']
            when _event_type in (1, 2, 3)
                then spans.`at`
        end as `at`,
        case
            when _event_type in (5, 6, 7, 8) and _ct_rejection is null and _ct_set_aside is null and not _ct_is_ahead and not _ct_is_known and (_event_type in (5, 6) or _column_name = 'local')
                then _ct_read['local']
            when _event_type in (1, 2, 3)
                then spans.`local`
        end as `local`,
        case
            when _event_type in (5, 6, 7, 8) and _ct_rejection is null and _ct_set_aside is null and not _ct_is_ahead and not _ct_is_known and (_event_type in (5, 6) or _column_name = 'day')
                then _ct_read['day']
            when _event_type in (1, 2, 3)
                then spans.day
        end as day,
        case
            when _event_type in (5, 6, 7, 8) and _ct_rejection is null and _ct_set_aside is null and not _ct_is_ahead and not _ct_is_known and (_event_type in (5, 6) or _column_name = 'small')
                then _ct_read['small']
            when _event_type in (1, 2, 3)
                then spans.small
        end as small,
        case
            when _event_type in (5, 6, 7, 8) and _ct_rejection is null and _ct_set_aside is null and not _ct_is_ahead and not _ct_is_known and (_event_type in (5, 6) or _column_name = 'ratio')
                then _ct_read['ratio']
            when _event_type in (1, 2, 3)
                then spans.ratio
        end as ratio,
        case
            when _event_type in (5, 6, 7, 8) and _ct_rejection is null and _ct_set_aside is null and not _ct_is_ahead and not _ct_is_known and (_event_type in (5, 6) or _column_name = 'flag')
                then _ct_read['flag']
            when _event_type in (1, 2, 3)
                then spans.flag
        end as flag,
        case
            when _event_type in (5, 6, 7, 8) and _ct_rejection is null and _ct_set_aside is null and not _ct_is_ahead and not _ct_is_known and (_event_type in (5, 6) or _column_name = 'bytes')
                then _ct_read['bytes']
            when _event_type in (1, 2, 3)
                then spans.bytes
        end as bytes,
        if(_event_type in (5, 6, 7, 8) and _ct_rejection is null and _ct_set_aside is null and not _ct_is_ahead and not _ct_is_known, _ct_last_of_span, struct(_ct_record_id, _ct_event_time)) as _ct_last_event,
        if(_event_type in (5, 6, 7, 8) and _ct_rejection is null and _ct_set_aside is null and not _ct_is_ahead and not _ct_is_known, '20260131120000000000', '00000000000000000000') as _ct_read_at,
        case
            when _ct_set_aside is not null
                then _ct_set_aside
            when _event_type in (5, 6, 7, 8) and _ct_rejection is null and _ct_set_aside is null and not _ct_is_ahead and not _ct_is_known and _ct_read is null
                then 'row_gone: the replica does not hold the row; it is looked for again while the event is new'
            when _event_type in (5, 6, 7, 8) and _ct_is_known and not _ct_is_ahead and _ct_rejection is null
                then 'read_before: the log holds what the event read'
        end as _ct_set_aside,
        case
            when _ct_rejection is not null
                then _ct_rejection
            when _event_type in (5, 6, 7, 8) and _ct_rejection is null and _ct_set_aside is null and not _ct_is_ahead and not _ct_is_known and get(filter(_ct_read['_ct_misfits'], fault -> _event_type in (5, 6) or fault['name'] = _column_name), 0)['text'] is not null
                then concat('value_does_not_fit: replica: ', get(filter(_ct_read['_ct_misfits'], fault -> _event_type in (5, 6) or fault['name'] = _column_name), 0)['text'])
            when _event_type in (5, 6, 7, 8) and _ct_rejection is null and _ct_set_aside is null and not _ct_is_ahead and not _ct_is_known and get(filter(_ct_read['_ct_forbidden'], fault -> _event_type in (5, 6) or fault['name'] = _column_name), 0)['text'] is not null
                then concat('xml_forbidden_character: replica: ', get(filter(_ct_read['_ct_forbidden'], fault -> _event_type in (5, 6) or fault['name'] = _column_name), 0)['text'])
        end as _ct_rejection
    from spans
    left join read_rows
        on spans.`order` <=> read_rows.`order` and spans.`it's` <=> read_rows.`it's`

),

decided as (

    select
        *,
        case
            when _ct_rejection is not null then 'rejected'
            when _ct_set_aside is not null then 'ignored'
            when _ct_is_ahead then 'waiting'
            else 'accepted'
        end as _status,
        case
            when _ct_rejection is not null then _ct_rejection
            when _ct_set_aside is not null then _ct_set_aside
            when _ct_is_ahead then 'future_event: event_time is yet to come'
        end as _status_reason
    from answered

),

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
            when _status <> 'accepted' then null
            when _event_type = 4 then 'delete'
            when _event_type = 5 then 'insert'
            when _event_type in (1, 6, 7) then 'upsert'
            else 'update'
        end as _change_op,
        concat(lpad(cast(_ct_last_event['_ct_record_id'] as string), 19, '0'), '/', _ct_read_at, '/', lpad(cast(_ct_record_id as string), 19, '0')) as _change_seq,
        _ct_event_time as _changed_at,
        cast(null as string) as _transaction_id,
        case when _status = 'accepted' then lpad(cast(_ct_record_id as string), 19, '0') end as _change_id,
        case
            when _status = 'accepted' and _event_type not in (4, 5, 6)
                then nullif(
                    array_union(
                        array('order', 'it\'s'),
                        array_intersect(
                            array('order', 'it\'s', 'name with spaces', 'amount', 'at', 'local', 'day', 'small', 'ratio', 'flag', 'bytes'),
                            array(_column_name)
                        )
                    ),
                    array('order', 'it\'s', 'name with spaces', 'amount', 'at', 'local', 'day', 'small', 'ratio', 'flag', 'bytes')
                )
        end as _present_columns,
        case when _status = 'accepted' and _event_type not in (4, 5, 6) then array(_column_name) end as _changed_columns,
        cast(null as struct<`order`: bigint, `it's`: string>) as _key_before,
        coalesce(cast(_ct_record_id as string), lower(hex(xxhash64(to_json(_ct_landed_row))))) as _raw_id,
        case when _status <> 'accepted' then to_json(_ct_landed_row, map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')) end as _raw_row,
        _status,
        _status_reason,
        _event_type,
        _column_name,
        _old_value,
        _new_value,
        _table_key,
        cast(null as string) as _report,
        monotonically_increasing_id() as _ct_place,
        _ct_arrival
    from decided
    where _ct_is_wanted

),

staged as (

    select *
    from staged_rows

),

delivered as (

    select
        *,
        case
            when _status in ('rejected', 'waiting')
                then concat('kept:', sha2(to_json(array_sort(map_entries(map_filter(from_json(_raw_row, 'map<string, string>'), (name, value) -> value is not null)))), 256))
        end as _ct_kept_id,
        xxhash64(`order`, `it's`, `name with spaces`, amount, `at`, `local`, day, small, ratio, flag, bytes, _change_op, _present_columns, _changed_columns, _changed_at, _transaction_id, _raw_id, _event_type, _column_name, _old_value, _new_value, _table_key, array(`order` is null, `it's` is null, `name with spaces` is null, amount is null, `at` is null, `local` is null, day is null, small is null, ratio is null, flag is null, bytes is null, _change_op is null, _present_columns is null, _changed_columns is null, _changed_at is null, _transaction_id is null, _raw_id is null, _event_type is null, _column_name is null, _old_value is null, _new_value is null, _table_key is null)) as _row_hash,
        if(_change_op in ('delete', 'truncate'), xxhash64(_change_op), xxhash64(_change_op, `order`, `it's`, `name with spaces`, amount, `at`, `local`, day, small, ratio, flag, bytes, _present_columns, _new_value, array(_change_op is null, `order` is null, `it's` is null, `name with spaces` is null, amount is null, `at` is null, `local` is null, day is null, small is null, ratio is null, flag is null, bytes is null, _present_columns is null, _new_value is null))) as _ct_content_hash
    from staged

),

gathered as (

    select
        *,
        count(*) over same_change as _ct_copies,
        count(_report) over same_change as _ct_reports,
        max(_report) over same_change as _ct_known_report,
        max(_key_before) over same_change as _ct_known_key_before,
        case
            when
                _change_id is not null
                and (min(_changed_at) over same_change <> max(_changed_at) over same_change)
                then raise_error(concat(
                    'change_tables: model \'dedup_feed__events\': source \'feed.events\': changes that differ in _changed_at have landed at one _change_id: ',
                    _change_id,
                    '. The numbers have begun anew, and nothing says which rows are the older ones: either have the new rows land under numbers above the old ones, for which a view over lake_raw.events will do, or remove the old rows from it, then build the log and the models after it anew with --full-refresh --vars \'{change_tables_allow_loss: true}\''
                ))
            else
                min(_ct_content_hash) over same_change <> max(_ct_content_hash) over same_change
                or not min(_key_before) over same_change <=> max(_key_before) over same_change
        end as _ct_contents_differ,
        min(case when (_status = 'waiting' or coalesce(startswith(_status_reason, 'row_gone'), false)) then _ct_arrival end) over same_change as _ct_waiting_since
    from delivered
    window same_change as (partition by _change_seq, coalesce(_change_id, _raw_id), _change_id is null)

),

-- copies that differ: the greater text wins, and the key before is kept that only one of them has
compared as (

    select
        *,
        max(case when _ct_copies > 1 then struct(to_json(struct(`order`, `it's`, `name with spaces`, amount, `at`, `local`, day, small, ratio, flag, bytes), map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), _change_op, _present_columns, _changed_columns, _changed_at, _transaction_id, _raw_id, _event_type, _column_name, _old_value, _new_value, _table_key, _ct_place) end) over (partition by _change_seq, coalesce(_change_id, _raw_id), _change_id is null) as _ct_highest_rank
    from gathered

),

changes as (

    select
        cast(null as string) as _mark,
        _change_seq,
        _change_op,
        _change_id,
        '20260131T120000000000_00000000' as _batch_id,
        _changed_at,
        _transaction_id,
        _present_columns,
        _changed_columns,
        _ct_known_key_before as _key_before,
        _raw_id,
        case when _ct_reports = _ct_copies and not startswith(_ct_known_report, 'conflicting_content') then _ct_known_report end as _report,
        _ct_contents_differ or coalesce(startswith(_ct_known_report, 'conflicting_content'), false) as _is_conflicting,
        _row_hash,
        0 as _form,
        _event_type,
        _column_name,
        _old_value,
        _new_value,
        _table_key,
        _status <=> 'accepted' and (_ct_copies = 1 or struct(to_json(struct(`order`, `it's`, `name with spaces`, amount, `at`, `local`, day, small, ratio, flag, bytes), map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), _change_op, _present_columns, _changed_columns, _changed_at, _transaction_id, _raw_id, _event_type, _column_name, _old_value, _new_value, _table_key, _ct_place) = _ct_highest_rank) as _ct_is_accepted,
        _ct_waiting_since,
        `order`, `it's`, `name with spaces`, amount, `at`, `local`, day, small, ratio, flag, bytes,
        _ct_kept_id,
        _status,
        _status_reason,
        case when _ct_kept_id is not null then _raw_row end as _raw_row,
        cast(1 as bigint) as _equal_rows
    from compared

)

select *
from changes
