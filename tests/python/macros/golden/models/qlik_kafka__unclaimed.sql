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

others as (

    select
        *,
        nullif(concat_ws('.', _told_schema, _told_table), '') as _table,
        case
            when _kind = 'unreadable'
                then concat('table_unknown: ', _error)
            when _kind = 'tombstone'
                then 'no_table: the message has no value'
        end as _reason
    from messages
    where
        not coalesce((topic = 'it\'s orders') and (_told_table = 'app.orders' or concat(_told_schema, '.', _told_table) = 'app.orders' or (_told_schema is null and _told_table = 'orders')), false)

),

judged as (

    select
        *,
        case
            when _reason is not null then _reason
            when _table is not null then concat('table_not_declared: ', _table)
            when topic not in ('it\'s orders')
                then concat('table_not_declared: topic ', topic)
            else 'table_unknown: neither headers nor metadata tell the table of the message'
        end as _status_reason
    from others

),

unclaimed as (

    select
        _raw_id,
        if(startswith(_status_reason, 'table_unknown'), 'rejected', 'ignored') as _status,
        _status_reason,
        to_json(_landed_row, map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')) as raw_row
    from judged

)

select
    _raw_id,
    _status,
    _status_reason,
    raw_row
from unclaimed
