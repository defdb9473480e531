{#-
    The messages of a raw table of Kafka records: those of the entry's topic and of the bound, each read once. The last step is
    `messages`:

    _ct_message_verdict    what becomes of a message that has no change; null of a data message
    _ct_headers            the headers of a data message, as texts
    _ct_row                the row that the change leaves; of a delete, the row that it ends: texts by column
    _ct_row_before         of an update or a delete, the row before
    _ct_message_schema_name, _ct_table
                           the table that the message is of, by its headers, else by the metadata of its schema
    _ct_column_names       the table's columns by ordinal, by the metadata of its schema; null where there is none
-#}
{% macro kafka_message_steps(spec, bound) %}
    {%- do change_tables.landed_columns(
        spec, spec.relation, ['topic', 'partition', 'offset', 'timestamp', 'key', 'value'],
        "messages land one row a Kafka record, as Spark's Kafka source reads them", numbers=['offset']
    ) -%}
    {%- do change_tables.refuse_unread_messages(spec, 'value', "`serialization` " ~ spec.serialization if spec.serialization != 'json' else '') -%}
    {%- set words = change_tables.qlik_kafka_words(spec) %}
landed as (

    select
        topic,
        value,
        concat_ws(':', topic, `partition`, `offset`) as _raw_id,
        {{- change_tables.arrival_column(bound.arrival) }}
        {%- if spec.serialization != 'avro' %}
        {{ change_tables._json_of_value(spec.serialization) }} as _ct_text,
        {%- endif %}
        struct(
            topic, `partition`, `offset`, `timestamp`, {{ change_tables.readable('key') }} as key, {{ change_tables.readable('value') }} as value
        ) as _ct_landed_row
    from {{ spec.relation }}
    {{- change_tables.where([change_tables.qlik_kafka_arrival(spec).only, bound.predicate, bound.get('until')]) }}

),

{{ change_tables.kafka_schema_steps_of_entry(spec) }},

{% if spec.serialization == 'avro' -%}
{{ change_tables._avro_text_steps(spec.registry is not none) }},

{% endif -%}
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
        {{ 'decoded' if spec.serialization == 'avro' else 'landed' }}
        lateral view explode(array(from_json(_ct_text, '{{ change_tables._kafka_message_type() }}', {{ change_tables.json_reading_options() }}))) as _ct_message

),

read as (

    select
        * except (_ct_body, _ct_message),
        {%- set no_value = change_tables.ignored('tombstone: the message has no value') %}
        {%- set is_metadata = change_tables.ignored('metadata: the message says how a table is made') %}
        case
            {%- if spec.serialization == 'avro' %}
            when value is null
                then {{ no_value }}
            when _ct_envelope['error'] is not null
                then {{ change_tables.rejected("message_malformed: {_ct_envelope['error']}") }}
            when not coalesce(_ct_envelope['type'] in ('DT', 'MD'), false)
                then {{ change_tables.rejected("message_malformed: the envelope is of type {_ct_envelope['type']?}") }}
            when _ct_envelope['type'] = 'MD'
                then {{ is_metadata }}
            {%- set place = "{if(startswith(_ct_envelope['schema_id'], 'registry:'), 'row of the registry', 'metadata message')}" if spec.registry else 'metadata message' %}
            when _ct_schema is null
                then {{ change_tables.waiting("schema_missing: no " ~ place ~ " with the schema id {_ct_envelope['schema_id']?}") }}
            {%- if spec.registry %}
            when startswith(_ct_decoding_error, 'the schema ')
                then {{ change_tables.rejected("schema_malformed: {_ct_decoding_error}") }}
            {%- endif %}
            when _ct_text is null or _ct_message is null or _ct_message['_ct_corrupt'] is not null
                then {{ change_tables.rejected("message_malformed: {coalesce(_ct_decoding_error, 'the record is not made as data messages are')}") }}
            {%- else %}
            when _ct_text is null
                then {{ no_value }}
            when
                {{ change_tables.is_no_json_object('_ct_text', '_ct_message') }}
                or (_ct_message['magic'] is not null and not coalesce(_ct_message['type'] in ('DT', 'MD'), false))
                then case
                    when not is_valid_utf8(_ct_text)
                        then {{ change_tables.rejected('message_malformed: the value is not UTF-8') }}
                    when _ct_message['magic'] is not null and _ct_message['_ct_corrupt'] is null
                        then {{ change_tables.rejected("message_malformed: the envelope is of type {_ct_message['type']?}") }}
                    else {{ change_tables.rejected('message_malformed: the value is not a JSON object as messages are') }}
                end
            when _ct_message['type'] = 'MD' or (_ct_message['magic'] is null and _ct_body['lineage'] is not null)
                then {{ is_metadata }}
            {%- endif %}
        end as _ct_message_verdict,
        _ct_body['headers'] as _ct_headers,
        nullif(_ct_body['headers']['transactionId'], '') as _transaction_id,
        {{ change_tables.read_value("_ct_body['headers']['transactionEventCounter']", change_tables.type_tree('string'), change_tables.type_tree('bigint')) }} as _ct_event_counter,
        if(
            {{ change_tables.is_operation("_ct_body['headers']['operation']", words, ['D']) }},
            coalesce(if(size(_ct_body['data']) > 0, _ct_body['data'], null), _ct_body['beforeData']),
            _ct_body['data']
        ) as _ct_row,
        if({{ change_tables.is_operation("_ct_body['headers']['operation']", words, ['U', 'D']) }}, _ct_body['beforeData'], null) as _ct_row_before,
        coalesce(
            {{ "_ct_envelope['schema_id']" if spec.serialization == 'avro' else "_ct_message['messageSchemaId']" }},
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

)
{%- endmacro %}


{#- The JSON of a record, where it is no Avro: after a registry's prefix, if it has one. -#}
{% macro _json_of_value(serialization) -%}
    {{- "cast(if(startswith(value, X'00'), substring(value, 6), value) as string)" if serialization == 'json_with_prefix' else 'cast(value as string)' -}}
{%- endmacro %}


{#-
    Avro messages as JSON texts, each read with the schema that it was written with. The last step is `decoded`.

    has_registry   whether messages can begin with a registry's prefix, a zero byte and the schema's id in four bytes, instead of an envelope
-#}
{% macro _avro_text_steps(has_registry) -%}
envelopes as (

    select
        *,
        {%- if has_registry %}
        if(
            {{ change_tables.has_registry_prefix('value') }},
            named_struct(
                'type', 'DT', 'schema_id', concat('registry:', {{ change_tables.id_in_prefix('value') }}), 'schema', cast(null as string),
                'message', substring(value, 6), 'error', cast(null as string)
            ),
            read_avro_envelope(value)
        ) as _ct_envelope
        {%- else %}
        read_avro_envelope(value) as _ct_envelope
        {%- endif %}
    from landed

),

with_schemas as (

    select /*+ broadcast(schemas) */
        envelopes.*,
        coalesce(envelopes._ct_envelope['schema'], schemas._ct_data_schema) as _ct_schema
    from envelopes
    left join schemas
        on envelopes._ct_envelope['schema_id'] = schemas._ct_schema_id

),

read_records as (

    select
        *,
        avro_to_json(_ct_envelope['message'], _ct_schema) as _ct_record
    from with_schemas

),

-- a metadata message without a schema is JSON in an Avro envelope
decoded as (

    select
        *,
        _ct_record['error'] as _ct_decoding_error,
        if(_ct_schema is null and _ct_envelope['type'] = 'MD', cast(_ct_envelope['message'] as string), _ct_record['json']) as _ct_text
    from read_records

)
{%- endmacro %}


{% macro is_metadata_message(serialization) -%}
    {%- set is_json = "contains(cast(value as string), '\"tableStructure\"') and contains(cast(value as string), '\"lineage\"')" -%}
    {{- "startswith(cast(value as binary), X'61744D5347044D44') or (" ~ is_json ~ ')' if serialization == 'avro' else is_json -}}
{%- endmacro %}


{#- The steps to the schemas of an entry: of its metadata messages, and of its registry. -#}
{% macro kafka_schema_steps_of_entry(spec) -%}
    {%- set metadata = change_tables.relation_of_setting(spec, 'metadata') or spec.relation -%}
    {{- change_tables.kafka_schema_steps(metadata, spec.serialization, change_tables.registry_of(spec)) -}}
{%- endmacro %}


{#-
    The metadata messages of a raw table. The last step is `schemas`: one row a schema id. They are found by bytes that only they
    have, before they are parsed: so data messages are not parsed for it.

    registry   a raw table with schemas by the ids of a registry, or none. Bits of masks count the fields of `data` in such a schema
-#}
{% macro kafka_schema_steps(relation, serialization, registry=none) -%}
{%- if serialization == 'avro' -%}
-- in Avro, by the envelope's magic and its type MD
metadata_envelopes as (

    select
        *,
        read_avro_envelope(cast(value as binary)) as _ct_envelope
    from {{ relation }}
    where {{ change_tables.is_metadata_message(serialization) }}

),

metadata_records as (

    select
        *,
        avro_to_json(_ct_envelope['message'], _ct_envelope['schema'])['json'] as _ct_record_text
    from metadata_envelopes

),

{% endif -%}
metadata_messages as (

    select
        concat_ws(':', topic, `partition`, `offset`) as _ct_metadata_raw_id,
        struct(`timestamp`, `offset`) as _ct_landed_place,
        {%- if serialization == 'avro' %}
        from_json(
            coalesce(_ct_record_text, cast(coalesce(_ct_envelope['message'], cast(value as binary)) as string)),
            '{{ change_tables._kafka_metadata_type() }}', {{ change_tables.json_reading_options() }}
        ) as _ct_metadata
    from metadata_records
        {%- else %}
        from_json({{ change_tables._json_of_value(serialization) }}, '{{ change_tables._kafka_metadata_type() }}', {{ change_tables.json_reading_options() }}) as _ct_metadata
    from {{ relation }}
    where {{ change_tables.is_metadata_message(serialization) }}
        {%- endif %}

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

{{ 'metadata_schemas' if registry else 'schemas' }} as (

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

)
{%- if registry %},

{{ change_tables._registry_steps(registry) }}
{%- endif %}
{%- endmacro %}


{#- The schemas of a registry beside those of metadata messages. The type of `data` is a record, or a union of null and a record. -#}
{% macro _registry_steps(registry) -%}
registered as (

    select
        concat('registry:', try_cast(id as bigint)) as _ct_schema_id,
        max(`schema`) as _ct_data_schema,
        get(filter(
            from_json(max(`schema`), 'struct<fields: array<struct<name: string, type: string>>>')['fields'], field -> field['name'] = 'data'
        ), 0)['type'] as _ct_data_type
    from {{ registry }}
    where `schema` is not null
    group by 1

),

registry_schemas as (

    select
        *,
        from_json(
            coalesce(get(filter(from_json(_ct_data_type, 'array<string>'), part -> startswith(part, '{')), 0), _ct_data_type),
            'struct<fields: array<struct<name: string>>>'
        )['fields']['name'] as _ct_names
    from registered

),

schemas as (

    select *
    from metadata_schemas
    union all
    select
        _ct_schema_id,
        {%- for name in ['schema_name', 'table_name', 'table_version', 'server', 'task', 'columns'] %}
        null as _ct_{{ name }},
        {%- endfor %}
        map_from_entries(transform(_ct_names, (name, place) -> struct(place + 1, name))) as _ct_column_names,
        _ct_data_schema,
        null as _ct_metadata_raw_id
    from registry_schemas

)
{%- endmacro %}


{#- Whether a message can turn out to be of the entry's table, once the metadata that it refers to has landed. -#}
{% macro kafka_may_belong(spec) -%}
    {%- set of_topic = ' and topic = ' ~ change_tables.text_literal(spec.topic) if spec.topic is not none -%}
    {{- 'false' if spec.table is none else '_ct_lacks_schema and ' ~ change_tables._kafka_table_of_message(spec) ~ ' is null' ~ of_topic -}}
{%- endmacro %}


{#- The table that a message is of: by headers or metadata, else by `table_column`. Null where it is not known. -#}
{% macro _kafka_table_of_message(spec) -%}
    {{- '_ct_table' if spec.table_column is none else 'coalesce(_ct_table, _ct_row[' ~ change_tables.text_literal(spec.table_column) ~ '])' -}}
{%- endmacro %}


{% macro kafka_belongs(spec) -%}
    {%- set conditions = change_tables.each([spec.topic] | reject('none'), 'topic = {text}') -%}
    {%- if spec.table is not none -%}
        {%- set wanted = change_tables.text_literal(spec.table) -%}
        {%- set bare = change_tables.text_literal(spec.table.split('.', 1) | last) -%}
        {%- set table = change_tables._kafka_table_of_message(spec) -%}
        {%- do conditions.append(
            table ~ " = " ~ wanted ~ " or concat(_ct_message_schema_name, '.', _ct_table) = " ~ wanted
            ~ (" or (_ct_message_schema_name is null and " ~ table ~ " = " ~ bare ~ ")" if bare != wanted)
        ) -%}
    {%- endif -%}
    {{- 'coalesce((' ~ conditions | join(') and (') ~ '), false)' if conditions else 'true' -}}
{%- endmacro %}


{#- What is read of a message, with and without envelope. -#}
{% macro _kafka_message_type() -%}
    {%- set headers -%}
        struct<operation: string, changeSequence: string, timestamp: string, transactionId: string, changeMask: string, columnMask: string, externalSchemaId: string, transactionEventCounter: string, transactionLastEvent: string, `schema`: string, `table`: string>
    {%- endset -%}
    {%- set body -%}
        data: map<string, string>, beforeData: map<string, string>, headers: {{ headers }}, schemaId: string, lineage: struct<`schema`: string, `table`: string>
    {%- endset -%}
    struct<_ct_corrupt: string, magic: string, type: string, messageSchemaId: string, message: struct<{{ body }}>, {{ body }}>
{%- endmacro %}


{% macro _kafka_metadata_type() -%}
    {%- set lineage = 'struct<server: string, task: string, `schema`: string, `table`: string, tableVersion: string, timestamp: string>' -%}
    {%- set column = 'struct<ordinal: string, type: string, length: string, precision: string, scale: string, primaryKeyPosition: string>' -%}
    {%- set body = 'schemaId: string, lineage: ' ~ lineage ~ ', tableStructure: struct<tableColumns: map<string, ' ~ column ~ '>>, dataSchema: string' -%}
    struct<_ct_corrupt: string, magic: string, message: struct<{{ body }}>, {{ body }}>
{%- endmacro %}
