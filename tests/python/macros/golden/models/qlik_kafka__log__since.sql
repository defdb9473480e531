-- change_tables run: {"run": "since", "mark_before": {"layout": 1, "log": "20260130T120000000000_00000001", "batch": "20260130T120000000000_00000001", "extends": null, "changes": 3, "marks_rows": false, "floor": "", "highest_seq": "20260131120000250000000000000000022", "loads": [], "moves": false, "rebuild": "", "snapshot_seq": null, "arrival": "positions:offset", "settled": [{"group": ["orders", "0"], "position": [41], "is_whole": true}, {"group": ["orders", "1"], "position": [7], "is_whole": true}], "edge": null, "key": ["order", "it's"], "order": {}, "columns": {"order": "bigint", "it's": "string", "name with spaces": "string", "amount": "decimal(12,2)", "at": "timestamp", "local": "timestamp_ntz", "day": "date", "small": "smallint", "ratio": "double", "flag": "boolean", "bytes": "binary"}, "form": 0, "added": {}}, "marks": 1, "edge": [{"group": ["orders", "0"], "position": [45], "is_whole": true}, {"group": ["orders", "1"], "position": [7], "is_whole": true}], "until": "(\n            (`offset` is null)\n            or (topic <=> 'orders' and `partition` <=> '0' and `offset` <= 45)\n            or (topic <=> 'orders' and `partition` <=> '1' and `offset` <= 7)\n        )", "is_whole": false, "is_late": true, "arrival": {"kind": "positions", "group": ["topic", "partition"], "columns": ["offset"], "record": ["key", "value"], "only": "topic = 'it\\'s orders'"}, "settled_before": [{"group": ["orders", "0"], "position": [41], "is_whole": true}, {"group": ["orders", "1"], "position": [7], "is_whole": true}]}
with landed as (

    select
        *,
        concat_ws(':', topic, `partition`, `offset`) as _raw_id,
        cast(`offset` as string) as _offset,
        cast(value as string) as _text,
        struct(
            topic, `partition`, `offset`, `timestamp`, if(is_valid_utf8(cast(key as string)), cast(key as string), hex(key)) as key, if(is_valid_utf8(cast(value as string)), cast(value as string), hex(value)) as value
        ) as _landed_row
    from lake_raw.kafka_shared
    where
        (
            (`offset` is null)
            or (topic <=> 'orders' and `partition` <=> '0' and `offset` > 41)
            or (topic <=> 'orders' and `partition` <=> '1' and `offset` > 7)
            or not (
                (topic <=> 'orders' and `partition` <=> '0')
                or (topic <=> 'orders' and `partition` <=> '1')
            )
        )
        and (
            (`offset` is null)
            or (topic <=> 'orders' and `partition` <=> '0' and `offset` <= 45)
            or (topic <=> 'orders' and `partition` <=> '1' and `offset` <= 7)
        )

),

metadata_messages as (

    select
        concat_ws(':', topic, `partition`, `offset`) as _metadata_raw_id,
        struct(`timestamp`, `offset`) as _landed_place,
        from_json(cast(value as string), 'struct<_corrupt: string, magic: string, message: struct<schemaId: string, lineage: struct<server: string, task: string, `schema`: string, `table`: string, tableVersion: string, timestamp: string>, tableStructure: struct<tableColumns: map<string, struct<ordinal: string, type: string, length: string, precision: string, scale: string, primaryKeyPosition: string>>>, dataSchema: string>, schemaId: string, lineage: struct<server: string, task: string, `schema`: string, `table`: string, tableVersion: string, timestamp: string>, tableStructure: struct<tableColumns: map<string, struct<ordinal: string, type: string, length: string, precision: string, scale: string, primaryKeyPosition: string>>>, dataSchema: string>', map('columnNameOfCorruptRecord', '_corrupt')) as _metadata
    from lake_raw.kafka_shared
    where contains(cast(value as string), '"tableStructure"') and contains(cast(value as string), '"lineage"')

),

metadata_bodies as (

    select
        _metadata_raw_id,
        _landed_place,
        case
            when _metadata['magic'] is not null then _metadata['message']
            else struct(
                _metadata['schemaId'] as `schemaId`, _metadata['lineage'] as lineage,
                _metadata['tableStructure'] as `tableStructure`, _metadata['dataSchema'] as `dataSchema`
            )
        end as _version
    from metadata_messages

),

schema_versions as (

    select
        *,
        filter(
            transform(
                map_entries(_version['tableStructure']['tableColumns']),
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
        ) as _columns
    from metadata_bodies

),

-- one that is sent again tells the same
latest_versions as (

    select max_by(struct(*), _landed_place) as _latest
    from schema_versions
    where _version['schemaId'] is not null
    group by _version['schemaId']

),

schemas as (

    select
        _latest['_version']['schemaId'] as _schema_id,
        _latest['_version']['lineage']['schema'] as _schema_name,
        _latest['_version']['lineage']['table'] as _table_name,
        try_cast(_latest['_version']['lineage']['tableVersion'] as int) as _table_version,
        _latest['_version']['lineage']['server'] as _server,
        _latest['_version']['lineage']['task'] as _task,
        array_sort(_latest['_columns']) as _columns,
        if(
            size(array_distinct(_latest['_columns']['ordinal'])) = size(_latest['_columns']),
            map_from_arrays(_latest['_columns']['ordinal'], _latest['_columns']['name']),
            null
        ) as _column_names,
        _latest['_version']['dataSchema'] as _data_schema,
        _latest['_metadata_raw_id'] as _metadata_raw_id
    from latest_versions

),

-- exploded, so that Spark reads each message once, whatever is asked of it
parsed as (

    select *
    from
        landed
        lateral view explode(array(from_json(_text, 'struct<_corrupt: string, magic: string, type: string, messageSchemaId: string, message: struct<data: map<string, string>, beforeData: map<string, string>, headers: struct<operation: string, changeSequence: string, timestamp: string, transactionId: string, changeMask: string, columnMask: string, externalSchemaId: string, transactionEventCounter: string, transactionLastEvent: string, `schema`: string, `table`: string>, schemaId: string, lineage: struct<`schema`: string, `table`: string>>, data: map<string, string>, beforeData: map<string, string>, headers: struct<operation: string, changeSequence: string, timestamp: string, transactionId: string, changeMask: string, columnMask: string, externalSchemaId: string, transactionEventCounter: string, transactionLastEvent: string, `schema`: string, `table`: string>, schemaId: string, lineage: struct<`schema`: string, `table`: string>>', map('columnNameOfCorruptRecord', '_corrupt')))) as _message

),

bodies as (

    select
        *,
        case
            when _message['magic'] is not null then _message['message']
            else struct(
                _message['data'] as data, _message['beforeData'] as `beforeData`, _message['headers'] as headers,
                _message['schemaId'] as `schemaId`, _message['lineage'] as lineage
            )
        end as _body
    from parsed

),

read as (

    select
        * except (_body, _message),
        case
            when _text is null then 'tombstone'
            when
                not is_valid_utf8(_text) or _message is null or _message['_corrupt'] is not null
                or not _text rlike '\\}\\s*$'
                or (
                    _text rlike '\\}\\s*([^\\s,}\\]]|,\\s*[^"\\s])'
                    and (
                        try_parse_json(concat('[', _text, ']')) is null
                        or try_variant_get(try_parse_json(concat('[', _text, ']')), '$[1]', 'variant') is not null
                    )
                )
                then 'unreadable'
            when _message['magic'] is not null and not coalesce(_message['type'] in ('DT', 'MD'), false) then 'unreadable'
            when _message['type'] = 'MD' or (_message['magic'] is null and _body['lineage'] is not null) then 'metadata'
            else 'data'
        end as _kind,
        case
            when not is_valid_utf8(_text) then 'the value is not UTF-8'
            when _message['magic'] is not null and _message['_corrupt'] is null
                then concat('the envelope is of type ', coalesce(concat('\'', _message['type'], '\''), 'null'))
            else 'the value is not a JSON object as messages are'
        end as _error,
        _body['headers'] as _headers,
        nullif(_body['headers']['transactionId'], '') as _transaction_id,
        try_cast(_body['headers']['transactionEventCounter'] as bigint) as _event_counter,
        if(
            _body['headers']['operation'] = 'DELETE',
            coalesce(if(size(_body['data']) > 0, _body['data'], null), _body['beforeData']),
            _body['data']
        ) as _row,
        if(_body['headers']['operation'] in ('UPDATE', 'DELETE'), _body['beforeData'], null) as _row_before,
        coalesce(
            _message['messageSchemaId'],
            _body['headers']['externalSchemaId']
        ) as _schema_id,
        _body['lineage'] as _lineage
    from bodies

),

messages as (

    select /*+ broadcast(schemas) */
        read.*,
        struct(topic, `partition`, struct(`offset`) as _position) as _arrival,
        case
            when _headers['table'] is null or _headers['schema'] is not null
                then coalesce(_headers['schema'], _lineage['schema'], schemas._schema_name)
            when _headers['table'] = schemas._table_name
                then schemas._schema_name
        end as _told_schema,
        coalesce(_headers['table'], _lineage['table'], schemas._table_name) as _told_table,
        schemas._column_names,
        read._schema_id is not null and schemas._schema_id is null as _lacks_schema
    from read
    left join schemas
        on read._schema_id = schemas._schema_id

),

-- a transaction is whole when its counters are in, from 1 to that of its last event, whatever table they are of
counted as (

    select
        *,
        max(case when _headers['transactionLastEvent'] = 'true' then _event_counter end) over same_transaction as _last_counter,
        row_number() over (
            partition by coalesce(_transaction_id, _raw_id), _event_counter
            order by _raw_id
        ) as _copy
    from messages
    window same_transaction as (partition by coalesce(_transaction_id, _raw_id))

),

told as (

    select
        *,
        count_if(_copy = 1 and _event_counter between 1 and _last_counter) over same_transaction as _landed_events
    from counted
    window same_transaction as (partition by coalesce(_transaction_id, _raw_id))

),

own as (

    select
        *,
        coalesce((topic = 'it\'s orders') and (_told_table = 'app.orders' or concat(_told_schema, '.', _told_table) = 'app.orders' or (_told_schema is null and _told_table = 'orders')), false) as _is_own,
        coalesce(
            _transaction_id is not null and _event_counter is not null
            and (_last_counter is null or _landed_events < _last_counter),
            false
        ) as _is_open,
        _lacks_schema and _told_table is null and topic = 'it\'s orders' as _is_untold
    from told

),

unpacked as (

    select
        if(map_contains_key(_row, 'order'), _row['order'], _row_before['order']) as `order`,
        if(map_contains_key(_row, 'it\'s'), _row['it\'s'], _row_before['it\'s']) as `it's`,
        _row['name with spaces'] as `name with spaces`,
        case
            when _row['amount'] is not null and (_row['amount'] rlike 'E' or _text rlike '"\\Qamount\\E"\\s*:\\s*[-0-9.]{16}')
                then coalesce(try_variant_get(try_parse_json(_text), '$.message.data["amount"]', 'string'), try_variant_get(try_parse_json(_text), '$.data["amount"]', 'string'), try_variant_get(try_parse_json(_text), '$.message.beforeData["amount"]', 'string'), try_variant_get(try_parse_json(_text), '$.beforeData["amount"]', 'string'), _row['amount'])
            else _row['amount']
        end as amount,
        _row['at'] as `at`,
        _row['local'] as `local`,
        _row['day'] as day,
        _row['small'] as small,
        _row['ratio'] as ratio,
        _row['flag'] as flag,
        _row['bytes'] as bytes,
        if(map_contains_key(_row_before, 'order'), _row_before['order'], _row['order']) as _before_1,
        if(map_contains_key(_row_before, 'it\'s'), _row_before['it\'s'], _row['it\'s']) as _before_2,
        case
            when
                not coalesce(map_contains_key(_row, 'order'), false)
                and not coalesce(map_contains_key(_row_before, 'order'), false)
                then 'order'
            when
                not coalesce(map_contains_key(_row, 'it\'s'), false)
                and not coalesce(map_contains_key(_row_before, 'it\'s'), false)
                then 'it\'s'
        end as _missing_key,
        _kind,
        _error,
        _is_own,
        _is_open or _is_untold or _kind = 'schema_missing' as _holds_back,
        _is_open,
        element_at(map('REFRESH', 'R', 'INSERT', 'I', 'UPDATE', 'U', 'DELETE', 'D'), _headers['operation']) as _operation_code,
        _headers['operation'] as _landed_code,
        case
            when _headers['operation'] = 'REFRESH' then concat(repeat('0', 16), lpad(_offset, 19, '0'))
            else _headers['changeSequence']
        end as _change_seq,
        nullif(_headers['timestamp'], '') as _landed_time,
        try_cast(nullif(_headers['timestamp'], '') as timestamp) as _changed_at,
        _transaction_id,
        _headers['changeMask'] as _landed_mask,
        decode_change_mask(_headers['changeMask'], 'most_significant_first', 1) as _mask_ordinals,
        _headers['columnMask'] as _landed_column_mask,
        decode_change_mask(_headers['columnMask'], 'most_significant_first', 1) as _column_ordinals,
        coalesce(_column_names, map(1, 'order', 2, 'it\'s', 3, 'name with spaces', 4, 'amount', 5, 'at', 6, 'local', 7, 'day', 8, 'small', 9, 'ratio', 10, 'flag', 11, 'bytes')) as _column_names,
        _row,
        _row_before is not null as _has_before,
        _raw_id,
        _arrival,
        _landed_row
    from own
    where _is_own or _is_open or _is_untold or _kind = 'schema_missing'

),

typed as (

    select
        try_cast(`order` as bigint) as `order`,
        `it's`,
        `name with spaces`,
        try_cast(amount as decimal(12, 2)) as amount,
        try_cast(`at` as timestamp) as `at`,
        try_cast(`local` as timestamp_ntz) as `local`,
        try_cast(day as date) as day,
        try_cast(small as smallint) as small,
        try_cast(ratio as double) as ratio,
        try_cast(flag as boolean) as flag,
        unhex(bytes) as bytes,
        try_cast(_before_1 as bigint) as _before_1,
        _before_2,
        coalesce(
            case when `order` is not null and try_cast(`order` as bigint) is null then concat('column order: \'', cast(`order` as string), '\' is not bigint') end,
            null
        ) as _key_misfit,
        coalesce(
            case when _before_1 is not null and try_cast(_before_1 as bigint) is null then concat('column order: \'', cast(_before_1 as string), '\' is not bigint') end,
            null
        ) as _key_before_misfit,
        coalesce(
            case when amount is not null and (try_cast(amount as decimal(12, 2)) is null or case when cast(amount as string) rlike '[eE]' then try_cast(amount as double) <> cast(try_cast(amount as decimal(12, 2)) as double) else cast(amount as string) rlike '[.][0-9]{2}[0-9]*[1-9]' end) then concat('column amount: \'', cast(amount as string), '\' is not decimal(12, 2)') end,
            case when `at` is not null and (try_cast(`at` as timestamp) is null or cast(`at` as string) rlike '^ *T?[0-9]+:' or cast(`at` as string) rlike '[.][0-9]{6}[0-9]*[1-9]') then concat('column at: \'', cast(`at` as string), '\' is not timestamp') end,
            case when `local` is not null and (try_cast(`local` as timestamp_ntz) is null or cast(`local` as string) rlike '^ *T?[0-9]+:' or cast(`local` as string) rlike '[.][0-9]{6}[0-9]*[1-9]' or cast(`local` as string) rlike '[0-9]:[0-9][0-9.:]* *[-+A-Za-z]') then concat('column local: \'', cast(`local` as string), '\' is not timestamp_ntz') end,
            case when day is not null and (try_cast(day as date) is null or not try_cast(day as timestamp) <=> try_cast(try_cast(day as date) as timestamp)) then concat('column day: \'', cast(day as string), '\' is not date') end,
            case when small is not null and try_cast(small as smallint) is null then concat('column small: \'', cast(small as string), '\' is not smallint') end,
            case when ratio is not null and (try_cast(ratio as double) is null or (abs(try_cast(ratio as double)) = double('infinity') and not cast(ratio as string) rlike '[iI][nN][fF]')) then concat('column ratio: \'', cast(ratio as string), '\' is not double') end,
            case when flag is not null and try_cast(flag as boolean) is null then concat('column flag: \'', cast(flag as string), '\' is not boolean') end,
            case when bytes rlike '[^0-9A-Fa-f]' or length(bytes) % 2 = 1 then concat('column bytes: \'', cast(bytes as string), '\' is not binary') end,
            null
        ) as _column_misfit,
        _missing_key,
        _kind,
        _error,
        _is_own,
        _holds_back,
        _is_open,
        _operation_code,
        _landed_code,
        _change_seq,
        _landed_time,
        _changed_at,
        _transaction_id,
        _landed_mask,
        transform(_mask_ordinals, ordinal -> _column_names[ordinal]) as _masked_names,
        _landed_column_mask,
        transform(_column_ordinals, ordinal -> _column_names[ordinal]) as _borne_names,
        _row,
        _has_before,
        _raw_id,
        _arrival,
        _landed_row
    from unpacked

),

judged as (

    select
        *,
        struct(_before_1 as `order`, _before_2 as `it's`) as _told_key_before,
        case
            when not _is_own
                then null
            when _kind in ('tombstone', 'metadata', 'schema_missing')
                then null
            when _kind = 'unreadable'
                then concat('message_malformed: ', _error)
            when _operation_code is null
                then concat('unknown_operation: operation is ', coalesce(concat('\'', _landed_code, '\''), 'null'))
            when _change_seq is null or _change_seq = ''
                then 'change_seq_missing: changeSequence is null or empty'
            when length(_change_seq) <> 35 or _change_seq rlike '[^0-9]'
                then concat('change_seq_malformed: \'', _change_seq, '\' is not 35 digits')
            when _landed_time is not null and (try_cast(_landed_time as timestamp) is null or cast(_landed_time as string) rlike '^ *T?[0-9]+:' or cast(_landed_time as string) rlike '[.][0-9]{6}[0-9]*[1-9]')
                then concat('value_does_not_fit: header timestamp: \'', _landed_time, '\' is not timestamp')
            when _row is null
                then concat('data_missing: ', if(_operation_code = 'D', 'data and beforeData are null', 'data is null'))
            when _missing_key is not null
                then concat('key_missing: neither data nor beforeData bears the key column ', _missing_key)
            when _key_misfit is not null
                then concat('value_does_not_fit: ', _key_misfit)
            when `order` is null and `it's` is null
                then 'key_missing: every key column is null: order, it\'s'
            when _key_before_misfit is not null
                then concat('value_does_not_fit: beforeData: ', _key_before_misfit)
            when _operation_code <> 'D' and _column_misfit is not null
                then concat('value_does_not_fit: ', _column_misfit)
            when _landed_mask is not null and _masked_names is null
                then concat('change_mask_malformed: \'', _landed_mask, '\' is not a hex number')
            when _landed_column_mask is not null and _borne_names is null
                then concat('column_mask_malformed: \'', _landed_column_mask, '\' is not a hex number')
        end as _rejection
    from typed

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
            when _rejection is null
                then element_at(map('R', 'snapshot', 'I', 'insert', 'U', 'update', 'D', 'delete'), _operation_code)
        end as _change_op,
        _change_seq,
        _changed_at,
        _transaction_id,
        case
            when _rejection is not null or _kind <> 'data' or _is_open or not _is_own then null
            when _operation_code = 'R' then concat_ws(':', _change_seq, 'R', _raw_id)
            else concat_ws(':', _change_seq, _operation_code, to_json(struct(`order`, `it's`), map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')))
        end as _change_id,
        case
            when _rejection is null and _operation_code <> 'D'
                then nullif(
                    array_union(
                        array('order', 'it\'s'),
                        array_intersect(
                            array('order', 'it\'s', 'name with spaces', 'amount', 'at', 'local', 'day', 'small', 'ratio', 'flag', 'bytes'),
                            if(
                                coalesce(_landed_column_mask, '') = '',
                                map_keys(_row),
                                array_union(
                                    map_keys(map_filter(_row, (name, value) -> value is not null)),
                                    array_intersect(map_keys(_row), _borne_names)
                                )
                            )
                        )
                    ),
                    array('order', 'it\'s', 'name with spaces', 'amount', 'at', 'local', 'day', 'small', 'ratio', 'flag', 'bytes')
                )
        end as _present_columns,
        case
            when _rejection is null and _operation_code in ('I', 'U')
                then array_intersect(array('order', 'it\'s', 'name with spaces', 'amount', 'at', 'local', 'day', 'small', 'ratio', 'flag', 'bytes'), _masked_names)
        end as _changed_columns,
        case
            when _rejection is null and _operation_code = 'U' and _has_before and not struct(`order`, `it's`) <=> _told_key_before
                then _told_key_before
        end as _key_before,
        _raw_id,
        case
            when _rejection is not null or _kind <> 'data' or _is_open or not _is_own
                then to_json(_landed_row, map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS'))
        end as _raw_row,
        case
            when _rejection is not null then 'rejected'
            when _kind in ('tombstone', 'metadata') then 'ignored'
            when _kind = 'schema_missing' or _is_open or not _is_own then 'waiting'
            else 'accepted'
        end as _status,
        case
            when _rejection is not null then _rejection
            when _kind = 'tombstone' then 'tombstone: the message has no value'
            when _kind = 'metadata' then 'metadata: the message tells how a table is made'
            when _kind = 'schema_missing' then concat('schema_missing: ', _error)
            when _is_open then 'transaction_open: not every event of the transaction has landed'
            when not _is_own then 'schema_missing: the table of the message is not told yet'
        end as _status_reason,
        case
            when
                _rejection is null and _operation_code = 'U' and not _has_before
                and arrays_overlap(_masked_names, array('order', 'it\'s'))
                then 'key_move_without_before: the mask says that the key changed, and no beforeData tells the key before'
        end as _report,
        monotonically_increasing_id() as _place,
        _arrival,
        _holds_back
    from judged

),

staged as (

    select *
    from staged_rows

),

delivered as (

    select
        *,
        xxhash64(`order`, `it's`, `name with spaces`, amount, `at`, `local`, day, small, ratio, flag, bytes, _change_op, _present_columns, _changed_columns, _changed_at, _transaction_id, _raw_id, array(`order` is null, `it's` is null, `name with spaces` is null, amount is null, `at` is null, `local` is null, day is null, small is null, ratio is null, flag is null, bytes is null, _change_op is null, _present_columns is null, _changed_columns is null, _changed_at is null, _transaction_id is null, _raw_id is null)) as _row_hash,
        if(_change_op in ('delete', 'truncate'), xxhash64(_change_op), xxhash64(_change_op, `order`, `it's`, `name with spaces`, amount, `at`, `local`, day, small, ratio, flag, bytes, _present_columns, array(_change_op is null, `order` is null, `it's` is null, `name with spaces` is null, amount is null, `at` is null, `local` is null, day is null, small is null, ratio is null, flag is null, bytes is null, _present_columns is null))) as _content_hash
    from staged
    where _status <> 'merged'

),

gathered as (

    select
        *,
        count(*) over same_change as _copies,
        count(_report) over same_change as _reports,
        max(_report) over same_change as _known_report,
        max(_key_before) over same_change as _known_key_before,
        min(_content_hash) over same_change <> max(_content_hash) over same_change
        or not min(_key_before) over same_change <=> max(_key_before) over same_change as _contents_differ,
        max(_arrival) over same_change as _last_arrival,
        min(case when _holds_back then _arrival end) over same_change as _waiting_since
    from delivered
    window same_change as (partition by _change_seq, coalesce(_change_id, _raw_id), _change_id is null)

),

-- copies that differ: the greater text wins, and what only one of them tells (the key before) is kept
compared as (

    select
        *,
        max(case when _copies > 1 then struct(to_json(struct(`order`, `it's`, `name with spaces`, amount, `at`, `local`, day, small, ratio, flag, bytes), map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), _change_op, _present_columns, _changed_columns, _changed_at, _transaction_id, _raw_id, _place) end) over (partition by _change_seq, coalesce(_change_id, _raw_id), _change_id is null) as _highest_rank
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
        _known_key_before as _key_before,
        _raw_id,
        case when _reports = _copies and not startswith(_known_report, 'conflicting_content') then _known_report end as _report,
        _contents_differ or coalesce(startswith(_known_report, 'conflicting_content'), false) as _is_conflicting,
        _row_hash,
        0 as _form,
        _status = 'accepted' as _is_accepted,
        _last_arrival,
        _waiting_since,
        `order`, `it's`, `name with spaces`, amount, `at`, `local`, day, small, ratio, flag, bytes
    from compared
    where _copies = 1 or struct(to_json(struct(`order`, `it's`, `name with spaces`, amount, `at`, `local`, day, small, ratio, flag, bytes), map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), _change_op, _present_columns, _changed_columns, _changed_at, _transaction_id, _raw_id, _place) = _highest_rank

)

select *
from changes
