with landed as (

    select
        *,
        concat_ws(':', topic, `partition`, `offset`) as _raw_id,
        cast(`offset` as string) as _ct_offset,
        cast(value as string) as _ct_text,
        struct(
            topic, `partition`, `offset`, `timestamp`, if(is_valid_utf8(cast(key as string)), cast(key as string), hex(key)) as key, if(is_valid_utf8(cast(value as string)), cast(value as string), hex(value)) as value
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

    select *
    from
        landed
        lateral view explode(array(from_json(_ct_text, 'struct<_ct_corrupt: string, magic: string, type: string, messageSchemaId: string, message: struct<data: map<string, string>, beforeData: map<string, string>, headers: struct<operation: string, changeSequence: string, timestamp: string, transactionId: string, changeMask: string, columnMask: string, externalSchemaId: string, transactionEventCounter: string, transactionLastEvent: string, `schema`: string, `table`: string>, schemaId: string, lineage: struct<`schema`: string, `table`: string>>, data: map<string, string>, beforeData: map<string, string>, headers: struct<operation: string, changeSequence: string, timestamp: string, transactionId: string, changeMask: string, columnMask: string, externalSchemaId: string, transactionEventCounter: string, transactionLastEvent: string, `schema`: string, `table`: string>, schemaId: string, lineage: struct<`schema`: string, `table`: string>>', map('columnNameOfCorruptRecord', '_ct_corrupt')))) as _ct_message

),

bodies as (

    select
        *,
        case
            when _ct_message['magic'] is not null then _ct_message['message']
            else struct(
                _ct_message['data'] as data, _ct_message['beforeData'] as `beforeData`, _ct_message['headers'] as headers,
                _ct_message['schemaId'] as `schemaId`, _ct_message['lineage'] as lineage
            )
        end as _ct_body
    from parsed

),

read as (

    select
        * except (_ct_body, _ct_message),
        case
            when _ct_text is null then 'tombstone'
            when
                not is_valid_utf8(_ct_text) or _ct_message is null or _ct_message['_ct_corrupt'] is not null
                or not _ct_text rlike '\\}\\s*$'
                or (
                    _ct_text rlike '\\}\\s*([^\\s,}\\]]|,\\s*[^"\\s])'
                    and (
                        try_parse_json(concat('[', _ct_text, ']')) is null
                        or try_variant_get(try_parse_json(concat('[', _ct_text, ']')), '$[1]', 'variant') is not null
                    )
                )
                then 'unreadable'
            when _ct_message['magic'] is not null and not coalesce(_ct_message['type'] in ('DT', 'MD'), false) then 'unreadable'
            when _ct_message['type'] = 'MD' or (_ct_message['magic'] is null and _ct_body['lineage'] is not null) then 'metadata'
            else 'data'
        end as _ct_kind,
        case
            when not is_valid_utf8(_ct_text) then 'the value is not UTF-8'
            when _ct_message['magic'] is not null and _ct_message['_ct_corrupt'] is null
                then concat('the envelope is of type ', coalesce(concat('\'', _ct_message['type'], '\''), 'null'))
            else 'the value is not a JSON object as messages are'
        end as _ct_error,
        _ct_body['headers'] as _ct_headers,
        nullif(_ct_body['headers']['transactionId'], '') as _transaction_id,
        try_cast(_ct_body['headers']['transactionEventCounter'] as bigint) as _ct_event_counter,
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
    from bodies

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
        coalesce(_ct_headers['table'], _ct_lineage['table'], schemas._ct_table_name) as _ct_message_table_name,
        schemas._ct_column_names,
        read._ct_schema_id is not null and schemas._ct_schema_id is null as _ct_lacks_schema
    from read
    left join schemas
        on read._ct_schema_id = schemas._ct_schema_id

),

others as (

    select
        *,
        nullif(concat_ws('.', _ct_message_schema_name, _ct_message_table_name), '') as _ct_table,
        case
            when _ct_kind = 'unreadable'
                then concat('table_unknown: ', _ct_error)
            when _ct_kind = 'tombstone'
                then 'no_table: the message has no value'
        end as _ct_reason
    from messages
    where
        not coalesce((topic = 'it\'s orders') and (_ct_message_table_name = 'app.orders' or concat(_ct_message_schema_name, '.', _ct_message_table_name) = 'app.orders' or (_ct_message_schema_name is null and _ct_message_table_name = 'orders')), false)

),

judged as (

    select
        *,
        case
            when _ct_reason is not null then _ct_reason
            when _ct_table is not null then concat('table_not_declared: ', _ct_table)
            when topic not in ('it\'s orders')
                then concat('table_not_declared: topic ', topic)
            else 'table_unknown: neither headers nor metadata name the table of the message'
        end as _status_reason
    from others

),

unclaimed as (

    select
        _raw_id,
        _status_reason,
        to_json(_ct_landed_row, map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')) as raw_row
    from judged

)

select
    _raw_id,
    if(startswith(_status_reason, 'table_unknown'), 'rejected', 'ignored') as _status,
    _status_reason,
    raw_row
from unclaimed
