with landed as (

    select
        topic,
        value,
        concat_ws(':', topic, `partition`, `offset`) as _raw_id,
        cast(value as string) as _ct_text,
        struct(
            topic, `partition`, `offset`, `timestamp`, if(is_valid_utf8(cast(key as string)), cast(key as string), hex(cast(key as string))) as key, if(is_valid_utf8(cast(value as string)), cast(value as string), hex(cast(value as string))) as value
        ) as _ct_landed_row
    from lake_raw.kafka_shared

),

metadata_messages as (

    select
        concat_ws(':', topic, `partition`, `offset`) as _ct_metadata_raw_id,
        struct(`timestamp`, `offset`) as _ct_landed_place,
        from_json(cast(value as string), 'struct<_ct_corrupt: string, magic: string, message: struct<schemaId: string, lineage: struct<server: string, task: string, `schema`: string, `table`: string, tableVersion: string, timestamp: string>, tableStructure: struct<tableColumns: map<string, struct<ordinal: string, type: string, length: string, precision: string, scale: string, primaryKeyPosition: string>>>, dataSchema: string>, schemaId: string, lineage: struct<server: string, task: string, `schema`: string, `table`: string, tableVersion: string, timestamp: string>, tableStructure: struct<tableColumns: map<string, struct<ordinal: string, type: string, length: string, precision: string, scale: string, primaryKeyPosition: string>>>, dataSchema: string>', map('columnNameOfCorruptRecord', '_ct_corrupt')) as _ct_metadata
    from lake_raw.kafka_shared
    where contains(cast(value as string), '"tableStructure"') and contains(cast(value as string), '"lineage"')

),

metadata_bodies as (

    select
        _ct_metadata_raw_id,
        _ct_landed_place,
        case
            when _ct_metadata['magic'] is not null then _ct_metadata['message']
            else struct(
                _ct_metadata['schemaId'] as `schemaId`, _ct_metadata['lineage'] as lineage,
                _ct_metadata['tableStructure'] as `tableStructure`, _ct_metadata['dataSchema'] as `dataSchema`
            )
        end as _ct_version
    from metadata_messages

),

schema_versions as (

    select
        *,
        filter(
            transform(
                map_entries(_ct_version['tableStructure']['tableColumns']),
                entry -> struct(
                    try_cast(entry['value']['ordinal'] as int) as ordinal,
                    entry['key'] as name,
                    entry['value']['type'] as type,
                    try_cast(entry['value']['length'] as int) as length,
                    try_cast(entry['value']['precision'] as int) as precision,
                    try_cast(entry['value']['scale'] as int) as scale,
                    try_cast(entry['value']['primaryKeyPosition'] as int) as primary_key_position
                )
            ),
            entry -> entry['ordinal'] is not null
        ) as _ct_columns
    from metadata_bodies

),

-- a schema that is sent again is the same
latest_versions as (

    select max_by(struct(*), _ct_landed_place) as _ct_latest
    from schema_versions
    where _ct_version['schemaId'] is not null
    group by _ct_version['schemaId']

),

schemas as (

    select
        _ct_latest['_ct_version']['schemaId'] as _ct_schema_id,
        _ct_latest['_ct_version']['lineage']['schema'] as _ct_schema_name,
        _ct_latest['_ct_version']['lineage']['table'] as _ct_table_name,
        try_cast(_ct_latest['_ct_version']['lineage']['tableVersion'] as int) as _ct_table_version,
        _ct_latest['_ct_version']['lineage']['server'] as _ct_server,
        _ct_latest['_ct_version']['lineage']['task'] as _ct_task,
        array_sort(_ct_latest['_ct_columns']) as _ct_columns,
        if(
            size(array_distinct(_ct_latest['_ct_columns']['ordinal'])) = size(_ct_latest['_ct_columns']),
            map_from_arrays(_ct_latest['_ct_columns']['ordinal'], _ct_latest['_ct_columns']['name']),
            null
        ) as _ct_column_names,
        _ct_latest['_ct_version']['dataSchema'] as _ct_data_schema,
        _ct_latest['_ct_metadata_raw_id'] as _ct_metadata_raw_id
    from latest_versions

),

-- by explode, so that Spark reads each message once, however many of its columns are used
parsed as (

    select
        *,
        case
            when _ct_message['magic'] is not null then _ct_message['message']
            else struct(
                _ct_message['data'] as data, _ct_message['beforeData'] as `beforeData`, _ct_message['headers'] as headers,
                _ct_message['schemaId'] as `schemaId`, _ct_message['lineage'] as lineage
            )
        end as _ct_body
    from
        landed
        lateral view explode(array(from_json(_ct_text, 'struct<_ct_corrupt: string, magic: string, type: string, messageSchemaId: string, message: struct<data: map<string, string>, beforeData: map<string, string>, headers: struct<operation: string, changeSequence: string, timestamp: string, transactionId: string, changeMask: string, columnMask: string, externalSchemaId: string, transactionEventCounter: string, transactionLastEvent: string, `schema`: string, `table`: string>, schemaId: string, lineage: struct<`schema`: string, `table`: string>>, data: map<string, string>, beforeData: map<string, string>, headers: struct<operation: string, changeSequence: string, timestamp: string, transactionId: string, changeMask: string, columnMask: string, externalSchemaId: string, transactionEventCounter: string, transactionLastEvent: string, `schema`: string, `table`: string>, schemaId: string, lineage: struct<`schema`: string, `table`: string>>', map('columnNameOfCorruptRecord', '_ct_corrupt')))) as _ct_message

),

read as (

    select
        * except (_ct_body, _ct_message),
        case
            when _ct_text is null
                then struct('ignored' as status, 'tombstone: the message has no value' as reason)
            when
                not is_valid_utf8(_ct_text) or _ct_message is null or _ct_message['_ct_corrupt'] is not null
                or not (endswith(_ct_text, '}') or _ct_text rlike '\\}\\s*$')
                or (
                    (contains(_ct_text, '\\ud') or contains(_ct_text, '\\uD'))
                    and regexp_replace(_ct_text, '\\\\\\\\|\\\\u[dD][89abAB]..\\\\u[dD][c-fC-F]', ' ') rlike '\\\\u[dD][89a-fA-F]'
                )
                or (
                    _ct_text rlike '\\}\\s*([^\\s,}\\]]|,\\s*[^"\\s])'
                    and (
                        try_parse_json(concat('[', _ct_text, ']')) is null
                        or try_variant_get(try_parse_json(concat('[', _ct_text, ']')), '$[1]', 'variant') is not null
                    )
                )
                or (_ct_message['magic'] is not null and not coalesce(_ct_message['type'] in ('DT', 'MD'), false))
                then case
                    when not is_valid_utf8(_ct_text)
                        then struct('rejected' as status, 'message_malformed: the value is not UTF-8' as reason)
                    when _ct_message['magic'] is not null and _ct_message['_ct_corrupt'] is null
                        then struct('rejected' as status, concat('message_malformed: the envelope is of type ', coalesce(concat('\'', _ct_message['type'], '\''), 'null')) as reason)
                    else struct('rejected' as status, 'message_malformed: the value is not a JSON object as messages are' as reason)
                end
            when _ct_message['type'] = 'MD' or (_ct_message['magic'] is null and _ct_body['lineage'] is not null)
                then struct('ignored' as status, 'metadata: the message says how a table is made' as reason)
        end as _ct_message_verdict,
        _ct_body['headers'] as _ct_headers,
        nullif(_ct_body['headers']['transactionId'], '') as _transaction_id,
        coalesce(try_cast(_ct_body['headers']['transactionEventCounter'] as bigint), try_cast(replace(cast(try_cast(regexp_extract(_ct_body['headers']['transactionEventCounter'], '^ *[-+]?[0-9]*([.][0-9]{0,18}0*)?([eE][+]?0*[0-9]{1,2})? *$|^ *[-+]?[0-9]*([.][0-9]{0,9}0*)?[eE]-0*[0-9] *$', 0) as decimal(38, 18)) as string), '.000000000000000000', '') as bigint)) as _ct_event_counter,
        if(
            _ct_body['headers']['operation'] = 'DELETE',
            coalesce(if(size(_ct_body['data']) > 0, _ct_body['data'], null), _ct_body['beforeData']),
            _ct_body['data']
        ) as _ct_row,
        if(_ct_body['headers']['operation'] in ('UPDATE', 'DELETE'), _ct_body['beforeData'], null) as _ct_row_before,
        coalesce(
            _ct_message['messageSchemaId'],
            _ct_body['headers']['externalSchemaId']
        ) as _ct_schema_id,
        _ct_body['lineage'] as _ct_lineage
    from parsed

),

messages as (

    select /*+ broadcast(schemas) */
        read.*,
        case
            when _ct_headers['table'] is null or _ct_headers['schema'] is not null
                then coalesce(_ct_headers['schema'], _ct_lineage['schema'], schemas._ct_schema_name)
            when _ct_headers['table'] = schemas._ct_table_name
                then schemas._ct_schema_name
        end as _ct_message_schema_name,
        coalesce(_ct_headers['table'], _ct_lineage['table'], schemas._ct_table_name) as _ct_table,
        schemas._ct_column_names,
        read._ct_schema_id is not null and schemas._ct_schema_id is null as _ct_lacks_schema
    from read
    left join schemas
        on read._ct_schema_id = schemas._ct_schema_id

),

-- a transaction is whole when every counter from 1 to that of its last event has landed, of whatever tables
counted as (

    select
        *,
        max(case when _ct_headers['transactionLastEvent'] = 'true' then _ct_event_counter end) over same_transaction as _ct_last_counter,
        row_number() over (
            partition by coalesce(_transaction_id, _raw_id), _ct_event_counter
            order by _raw_id
        ) as _ct_copy
    from messages
    window same_transaction as (partition by coalesce(_transaction_id, _raw_id))

),

in_transactions as (

    select
        *,
        count_if(_ct_copy = 1 and _ct_event_counter between 1 and _ct_last_counter) over same_transaction as _ct_landed_events
    from counted
    window same_transaction as (partition by coalesce(_transaction_id, _raw_id))

),

put_together as (

    select
        topic,
        _raw_id,
        _ct_text,
        _ct_message_verdict,
        _ct_headers,
        _ct_row,
        _ct_row_before,
        _ct_message_schema_name,
        _ct_table,
        _ct_column_names,
        _ct_lacks_schema,
        _transaction_id,
        coalesce(_transaction_id is not null and _ct_event_counter is not null and (_ct_last_counter is null or _ct_landed_events < _ct_last_counter), false) as _ct_is_open,
        _ct_landed_row
    from in_transactions

),

own as (

    select
        *,
        coalesce((topic = 'it\'s orders') and (_ct_table = 'app.orders' or concat(_ct_message_schema_name, '.', _ct_table) = 'app.orders' or (_ct_message_schema_name is null and _ct_table = 'orders')), false) as _ct_is_own,
        _ct_lacks_schema and _ct_table is null and topic = 'it\'s orders' as _ct_may_belong,
        transform(array(hex(unhex(if(lower(left(_ct_headers['changeMask'], 2)) = '0x', substr(_ct_headers['changeMask'], 3), _ct_headers['changeMask'])))), digits -> transform(
            sequence(0, cast((length(digits) - 1) div 16 as int)),
            word -> cast(conv(substr(digits, -16 * (word + 1), 16), 16, -10) as bigint)
        ))[0] as _ct_mask_words,
        transform(array(hex(unhex(if(lower(left(_ct_headers['columnMask'], 2)) = '0x', substr(_ct_headers['columnMask'], 3), _ct_headers['columnMask'])))), digits -> transform(
            sequence(0, cast((length(digits) - 1) div 16 as int)),
            word -> cast(conv(substr(digits, -16 * (word + 1), 16), 16, -10) as bigint)
        ))[0] as _ct_column_mask_words
    from put_together

),

unpacked as (

    select
        if(map_contains_key(_ct_row, 'order'), _ct_row['order'], _ct_row_before['order']) as `order`,
        case
            when if(map_contains_key(_ct_row, 'it\'s'), _ct_row['it\'s'], _ct_row_before['it\'s']) rlike '^(-?[0-9]+[.][0-9]+(E-?[0-9]+)?|0|"-?Infinity")$'
                then coalesce(
                    try_element_at(
                        filter(
                            regexp_extract_all(_ct_text, '"\\Qit\'s\\E"\\s*:\\s*(-?[0-9]+(?:[.][0-9]+)?(?:[eE][-+]?[0-9]+)?)\\s*[,}]', 1),
                            number -> try_cast(number as double) = try_cast(replace(if(map_contains_key(_ct_row, 'it\'s'), _ct_row['it\'s'], _ct_row_before['it\'s']), '"', '') as double)
                        ),
                        1
                    ),
                    if(map_contains_key(_ct_row, 'it\'s'), _ct_row['it\'s'], _ct_row_before['it\'s'])
                )
            else if(map_contains_key(_ct_row, 'it\'s'), _ct_row['it\'s'], _ct_row_before['it\'s'])
        end as `it's`,
        case
            when _ct_row['name with spaces'] rlike '^(-?[0-9]+[.][0-9]+(E-?[0-9]+)?|0|"-?Infinity")$'
                then coalesce(
                    try_element_at(
                        filter(
                            regexp_extract_all(_ct_text, '"\\Qname with spaces\\E"\\s*:\\s*(-?[0-9]+(?:[.][0-9]+)?(?:[eE][-+]?[0-9]+)?)\\s*[,}]', 1),
                            number -> try_cast(number as double) = try_cast(replace(_ct_row['name with spaces'], '"', '') as double)
                        ),
                        1
                    ),
                    _ct_row['name with spaces']
                )
            else _ct_row['name with spaces']
        end as `name with spaces`,
        case
            when _ct_row['amount'] is not null and (_ct_row['amount'] rlike 'E' or _ct_text rlike '"\\Qamount\\E"\\s*:\\s*[-0-9.]{16}')
                then coalesce(
                    nullif(array_join(array_distinct(filter(
                        regexp_extract_all(_ct_text, '"\\Qamount\\E"\\s*:\\s*(-?[0-9.]{39,}(?:[eE][-+]?[0-9]+)?)\\s*[,}]', 1),
                        number -> try_cast(number as double) = try_cast(replace(_ct_row['amount'], '"', '') as double)
                    )), ' or '), ''),
                    try_variant_get(try_parse_json(_ct_text), '$.message.data', 'map<string, string>')['amount'], try_variant_get(try_parse_json(_ct_text), '$.data', 'map<string, string>')['amount'], try_variant_get(try_parse_json(_ct_text), '$.message.beforeData', 'map<string, string>')['amount'], try_variant_get(try_parse_json(_ct_text), '$.beforeData', 'map<string, string>')['amount'],
                    _ct_row['amount']
                )
            else _ct_row['amount']
        end as amount,
        if(map_contains_key(_ct_row_before, 'order'), _ct_row_before['order'], _ct_row['order']) as _ct_before_1,
        case
            when if(map_contains_key(_ct_row_before, 'it\'s'), _ct_row_before['it\'s'], _ct_row['it\'s']) rlike '^(-?[0-9]+[.][0-9]+(E-?[0-9]+)?|0|"-?Infinity")$'
                then coalesce(
                    try_element_at(
                        filter(
                            regexp_extract_all(_ct_text, '"\\Qit\'s\\E"\\s*:\\s*(-?[0-9]+(?:[.][0-9]+)?(?:[eE][-+]?[0-9]+)?)\\s*[,}]', 1),
                            number -> try_cast(number as double) = try_cast(replace(if(map_contains_key(_ct_row_before, 'it\'s'), _ct_row_before['it\'s'], _ct_row['it\'s']), '"', '') as double)
                        ),
                        -1
                    ),
                    if(map_contains_key(_ct_row_before, 'it\'s'), _ct_row_before['it\'s'], _ct_row['it\'s'])
                )
            else if(map_contains_key(_ct_row_before, 'it\'s'), _ct_row_before['it\'s'], _ct_row['it\'s'])
        end as _ct_before_2,
        case
            when
                not coalesce(map_contains_key(_ct_row, 'order'), false)
                and not coalesce(map_contains_key(_ct_row_before, 'order'), false)
                then 'order'
            when
                not coalesce(map_contains_key(_ct_row, 'it\'s'), false)
                and not coalesce(map_contains_key(_ct_row_before, 'it\'s'), false)
                then 'it\'s'
        end as _ct_missing_key,
        case
            when size(array_distinct(map_keys(_ct_row))) < size(_ct_row)
                then 'column_names_collide: names in the row are the same'
            when size(array_distinct(map_keys(_ct_row_before))) < size(_ct_row_before)
                then 'column_names_collide: names in the row before are the same'
            else concat(
                'column_not_declared: ',
                get(filter(
                    array_except(concat(map_keys(_ct_row), coalesce(map_keys(_ct_row_before), array())), array('order', 'it\'s', 'name with spaces', 'amount')),
                    name -> array_contains(array('order', 'it\'s', 'name with spaces', 'amount'), lower(name))
                ), 0),
                ' is declared in another case'
            )
        end as _ct_names_fault,
        _ct_message_verdict,
        _ct_is_own,
        _ct_is_open,
        _ct_may_belong,
        element_at(map('REFRESH', 'R', 'INSERT', 'I', 'UPDATE', 'U', 'DELETE', 'D'), _ct_headers['operation']) as _ct_operation_code,
        _ct_headers['operation'] as _ct_landed_code,
        case
            when _ct_headers['operation'] = 'REFRESH' then concat(repeat('0', 16), lpad(cast(_ct_landed_row['offset'] as string), 19, '0'))
            else _ct_headers['changeSequence']
        end as _change_seq,
        nullif(_ct_headers['timestamp'], '') as _ct_landed_time,
        nullif(_ct_headers['transactionEventCounter'], '') as _ct_landed_counter,
        coalesce(try_cast(nullif(_ct_headers['timestamp'], '') as timestamp), try_cast(regexp_replace(nullif(_ct_headers['timestamp'], ''), '^ *([-+]?[0-9]+-[0-9]+-[0-9]+)[: T]([0-9]+:[0-9]+:[0-9]+)(?:[:.]([0-9]+))? *([-+]?) *(.*)$', '$1 $2.$3$4$5') as timestamp)) as _changed_at,
        _transaction_id,
        _ct_headers['changeMask'] as _ct_landed_mask,
        if(_ct_mask_words is not null, map_values(map_filter(
            coalesce(_ct_column_names, map(1, 'order', 2, 'it\'s', 3, 'name with spaces', 4, 'amount')),
            (ordinal, name) -> getbit(get(_ct_mask_words, cast((ordinal - 1) div 64 as int)), (ordinal - 1) % 64) = 1
        )), null) as _ct_masked_names,
        _ct_headers['columnMask'] as _ct_landed_column_mask,
        if(_ct_column_mask_words is not null, map_values(map_filter(
            coalesce(_ct_column_names, map(1, 'order', 2, 'it\'s', 3, 'name with spaces', 4, 'amount')),
            (ordinal, name) -> getbit(get(_ct_column_mask_words, cast((ordinal - 1) div 64 as int)), (ordinal - 1) % 64) = 1
        )), null) as _ct_present_names,
        _ct_row,
        _ct_row_before is not null as _ct_has_before,
        _raw_id,
        _ct_landed_row
    from own
    where _ct_is_own

),

typed as (

    select
        coalesce(try_cast(`order` as bigint), try_cast(replace(cast(try_cast(regexp_extract(`order`, '^ *[-+]?[0-9]*([.][0-9]{0,18}0*)?([eE][+]?0*[0-9]{1,2})? *$|^ *[-+]?[0-9]*([.][0-9]{0,9}0*)?[eE]-0*[0-9] *$', 0) as decimal(38, 18)) as string), '.000000000000000000', '') as bigint)) as `order`,
        `it's`,
        `name with spaces`,
        try_cast(amount as decimal(12, 2)) as amount,
        coalesce(try_cast(_ct_before_1 as bigint), try_cast(replace(cast(try_cast(regexp_extract(_ct_before_1, '^ *[-+]?[0-9]*([.][0-9]{0,18}0*)?([eE][+]?0*[0-9]{1,2})? *$|^ *[-+]?[0-9]*([.][0-9]{0,9}0*)?[eE]-0*[0-9] *$', 0) as decimal(38, 18)) as string), '.000000000000000000', '') as bigint)) as _ct_before_1,
        _ct_before_2,
        coalesce(
            case when `order` is not null and coalesce(try_cast(`order` as bigint), try_cast(replace(cast(try_cast(regexp_extract(`order`, '^ *[-+]?[0-9]*([.][0-9]{0,18}0*)?([eE][+]?0*[0-9]{1,2})? *$|^ *[-+]?[0-9]*([.][0-9]{0,9}0*)?[eE]-0*[0-9] *$', 0) as decimal(38, 18)) as string), '.000000000000000000', '') as bigint)) is null then concat('column order: \'', cast(`order` as string), '\' is not bigint') end,
            null
        ) as _ct_key_misfit,
        coalesce(
            case when _ct_before_1 is not null and coalesce(try_cast(_ct_before_1 as bigint), try_cast(replace(cast(try_cast(regexp_extract(_ct_before_1, '^ *[-+]?[0-9]*([.][0-9]{0,18}0*)?([eE][+]?0*[0-9]{1,2})? *$|^ *[-+]?[0-9]*([.][0-9]{0,9}0*)?[eE]-0*[0-9] *$', 0) as decimal(38, 18)) as string), '.000000000000000000', '') as bigint)) is null then concat('column order: \'', cast(_ct_before_1 as string), '\' is not bigint') end,
            null
        ) as _ct_key_before_misfit,
        coalesce(
            case when amount is not null and (try_cast(amount as decimal(12, 2)) is null or case when cast(amount as string) rlike '[eE]' then try_cast(amount as double) <> cast(try_cast(amount as decimal(12, 2)) as double) else cast(amount as string) rlike '[.][0-9]{2}[0-9]*[1-9]' end) then concat('column amount: \'', cast(amount as string), '\' is not decimal(12, 2)') end,
            null
        ) as _ct_column_misfit,
        * except (`order`, `it's`, `name with spaces`, amount, _ct_before_1, _ct_before_2)
    from unpacked

),

judged as (

    select
        *,
        case
            when not _ct_is_own
                then struct(cast(null as string) as status, cast(null as string) as reason)
            when _ct_message_verdict is not null
                then _ct_message_verdict
            when _ct_operation_code is null
                then struct('rejected' as status, concat('unknown_operation: operation is ', coalesce(concat('\'', _ct_landed_code, '\''), 'null')) as reason)
            when _change_seq is null or _change_seq = ''
                then struct('rejected' as status, 'change_seq_missing: changeSequence is null or empty' as reason)
            when length(_change_seq) <> 35 or _change_seq rlike '[^0-9]'
                then struct('rejected' as status, concat('change_seq_malformed: \'', _change_seq, '\' is not 35 digits') as reason)
            when _ct_landed_time is not null and (coalesce(try_cast(_ct_landed_time as timestamp), try_cast(regexp_replace(_ct_landed_time, '^ *([-+]?[0-9]+-[0-9]+-[0-9]+)[: T]([0-9]+:[0-9]+:[0-9]+)(?:[:.]([0-9]+))? *([-+]?) *(.*)$', '$1 $2.$3$4$5') as timestamp)) is null or cast(_ct_landed_time as string) rlike '^[^0-9A-Za-z]*T?[0-9]+:|^[^0-9A-Za-z]*[0-9]+[^0-9A-Za-z]*$')
                then struct('rejected' as status, concat('value_does_not_fit: header timestamp: \'', _ct_landed_time, '\' is not timestamp') as reason)
            when _ct_landed_counter is not null and coalesce(try_cast(_ct_landed_counter as bigint), try_cast(replace(cast(try_cast(regexp_extract(_ct_landed_counter, '^ *[-+]?[0-9]*([.][0-9]{0,18}0*)?([eE][+]?0*[0-9]{1,2})? *$|^ *[-+]?[0-9]*([.][0-9]{0,9}0*)?[eE]-0*[0-9] *$', 0) as decimal(38, 18)) as string), '.000000000000000000', '') as bigint)) is null
                then struct('rejected' as status, concat('value_does_not_fit: header transactionEventCounter: \'', _ct_landed_counter, '\' is not bigint') as reason)
            when _ct_row is null
                then struct('rejected' as status, concat('data_missing: ', if(_ct_operation_code = 'D', 'data and beforeData are null', 'data is null')) as reason)
            when _ct_names_fault is not null
                then struct('rejected' as status, _ct_names_fault as reason)
            when _ct_missing_key is not null
                then struct('rejected' as status, concat('key_missing: neither data nor beforeData has the key column ', _ct_missing_key) as reason)
            when _ct_key_misfit is not null
                then struct('rejected' as status, concat('value_does_not_fit: ', _ct_key_misfit) as reason)
            when `order` is null and `it's` is null
                then struct('rejected' as status, 'key_missing: every key column is null: order, it\'s' as reason)
            when _ct_key_before_misfit is not null
                then struct('rejected' as status, concat('value_does_not_fit: beforeData: ', _ct_key_before_misfit) as reason)
            when _ct_operation_code <> 'D' and _ct_column_misfit is not null
                then struct('rejected' as status, concat('value_does_not_fit: ', _ct_column_misfit) as reason)
            when _ct_landed_mask is not null and _ct_masked_names is null
                then struct('rejected' as status, concat('change_mask_malformed: \'', _ct_landed_mask, '\' is not a hex number') as reason)
            when _ct_landed_column_mask is not null and _ct_present_names is null
                then struct('rejected' as status, concat('column_mask_malformed: \'', _ct_landed_column_mask, '\' is not a hex number') as reason)
            when _ct_is_open
                then struct('waiting' as status, 'transaction_open: not every event of the transaction has landed' as reason)
        end as _ct_verdict
    from typed

),

staged_rows as (

    select
        `order`,
        cast(`it's` as string) as `it's`,
        cast(`name with spaces` as string) as `name with spaces`,
        amount,
        case when coalesce(_ct_verdict['status'] <> 'rejected', true) then element_at(map('R', 'snapshot', 'I', 'insert', 'U', 'update', 'D', 'delete'), _ct_operation_code) end as _change_op,
        _change_seq,
        _changed_at,
        _transaction_id,
        case when _ct_verdict is null then concat_ws(':', _change_seq, _ct_operation_code, if(_ct_operation_code = 'R', _raw_id, to_json(struct(`order`, `it's`), map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')))) end as _change_id,
        case
            when coalesce(_ct_verdict['status'] <> 'rejected', true) and _ct_operation_code <> 'D'
                then nullif(
                    array_union(
                        array('order', 'it\'s'),
                        array_intersect(
                            array('order', 'it\'s', 'name with spaces', 'amount'),
                            if(
                                coalesce(_ct_landed_column_mask, '') = '',
                                map_keys(_ct_row),
                                array_union(
                                    map_keys(map_filter(_ct_row, (name, value) -> value is not null)),
                                    array_intersect(map_keys(_ct_row), _ct_present_names)
                                )
                            )
                        )
                    ),
                    array('order', 'it\'s', 'name with spaces', 'amount')
                )
        end as _present_columns,
        case
            when coalesce(_ct_verdict['status'] <> 'rejected', true) and _ct_operation_code in ('I', 'U')
                then array_intersect(array('order', 'it\'s', 'name with spaces', 'amount'), _ct_masked_names)
        end as _changed_columns,
        case
            when coalesce(_ct_verdict['status'] <> 'rejected', true) and _ct_operation_code = 'U' and _ct_has_before and not struct(`order`, `it's`) <=> struct(_ct_before_1 as `order`, _ct_before_2 as `it's`)
                then struct(_ct_before_1 as `order`, _ct_before_2 as `it's`)
        end as _key_before,
        _raw_id,
        case when _ct_verdict['status'] is not null then to_json(_ct_landed_row, map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')) end as _raw_row,
        if(_ct_verdict is null, 'accepted', _ct_verdict['status']) as _status,
        _ct_verdict['reason'] as _status_reason,
        case
            when coalesce(_ct_verdict['status'] <> 'rejected', true) and _ct_operation_code = 'U' and not _ct_has_before and arrays_overlap(_ct_masked_names, array('order', 'it\'s'))
                then 'key_move_without_before: the mask says that the key changed, and no beforeData has the key before'
        end as _report,
        monotonically_increasing_id() as _ct_place
    from judged

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
    _report
from staged
