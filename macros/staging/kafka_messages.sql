{#-
    The messages of a raw table of Kafka records, ending in `messages`: each record that the entry's topic and the bound let
    through, read once.

    _kind               data, metadata, tombstone (no value), unreadable, or schema_missing (an Avro message that waits)
    _error              what is wrong with an unreadable one, or which schema is missing
    _headers            the headers of a data message, as texts
    _row, _row_before   what the change leaves (of a delete: what it ends) and, of an update, what stood before: texts by column
    _told_schema, _told_table   the table that the message tells, by its headers or by the metadata of its schema
    _column_names       the table's columns by ordinal, by the metadata of its schema; null where there is none
-#}
{% macro kafka_message_steps(spec, bound) %}
    {%- set landed = change_tables.landed_columns(
        spec, spec.relation, ['topic', 'partition', 'offset', 'timestamp', 'key', 'value'],
        "messages land one row a Kafka record, as Spark's Kafka source reads them"
    ) -%}
    {%- do change_tables._refuse_avro_as_text(spec, landed) -%}
    {%- set conditions = [] -%}
    {%- if spec.topic is not none and not spec.hold_open_transactions -%}
        {%- do conditions.append('topic = ' ~ change_tables.text_literal(spec.topic)) -%}
    {%- endif -%}
    {%- for condition in [bound.predicate, bound.get('until')] if condition is not none -%}
        {%- do conditions.append(condition) -%}
    {%- endfor %}
landed as (

    select
        *,
        concat_ws(':', topic, `partition`, `offset`) as _raw_id,
        cast(`offset` as string) as _offset,
        {%- if spec.serialization == 'json' %}
        cast(value as string) as _text,
        {%- endif %}
        struct(
            topic, `partition`, `offset`, `timestamp`, {{ change_tables._readable('key') }} as key, {{ change_tables._readable('value') }} as value
        ) as _landed_row
    from {{ spec.relation }}
    {%- if conditions %}
    where
        {{ conditions | join('\n        and ') }}
    {%- endif %}

),

{{ change_tables.kafka_schema_steps(change_tables._metadata_relation(spec), spec.serialization) }},

{% if spec.serialization == 'avro' -%}
{{ change_tables._avro_text_steps() }},

{% endif -%}
-- exploded, so that Spark reads each message once, whatever is asked of it
parsed as (

    select *
    from
        {{ 'decoded' if spec.serialization == 'avro' else 'landed' }}
        lateral view explode(array(from_json(_text, '{{ change_tables._kafka_message_type() }}', {{ change_tables._kafka_json_options() }}))) as _message

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
        {%- if spec.serialization == 'avro' %}
        case
            when value is null then 'tombstone'
            when _envelope['error'] is not null or not coalesce(_envelope['type'] in ('DT', 'MD'), false) then 'unreadable'
            when _envelope['type'] = 'MD' then 'metadata'
            when _schema is null then 'schema_missing'
            when _text is null or _message is null or _message['_corrupt'] is not null then 'unreadable'
            else 'data'
        end as _kind,
        case
            when _envelope['error'] is not null then _envelope['error']
            when not coalesce(_envelope['type'] in ('DT', 'MD'), false)
                then concat('the envelope is of type ', coalesce(concat('\'', _envelope['type'], '\''), 'null'))
            when _schema is null
                then concat('no metadata message with the schema id ', coalesce(concat('\'', _envelope['schema_id'], '\''), 'null'))
            else coalesce(_decoding_error, 'the record is not made as data messages are')
        end as _error,
        {%- else %}
        case
            when _text is null then 'tombstone'
            when
                not is_valid_utf8(_text) or _message is null or _message['_corrupt'] is not null
                or not _text rlike '\\}\\s*$'
                {#- text behind the object, or what looks like it inside a text #}
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
        {%- endif %}
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
            {{ "_envelope['schema_id']" if spec.serialization == 'avro' else "_message['messageSchemaId']" }},
            _body['headers']['externalSchemaId']
        ) as _schema_id,
        _body['lineage'] as _lineage
    from bodies

),

messages as (

    select /*+ broadcast(schemas) */
        read.*,
        {%- if bound.arrival %}
        {{ change_tables.arrival_of_row(bound.arrival) }} as _arrival,
        {%- endif %}
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

)
{%- endmacro %}


{#- Avro messages as the JSON texts that they would be, each read with the schema that it was written with. -#}
{% macro _avro_text_steps() -%}
envelopes as (

    select
        *,
        read_avro_envelope(value) as _envelope
    from landed

),

with_schemas as (

    select /*+ broadcast(schemas) */
        envelopes.*,
        coalesce(envelopes._envelope['schema'], schemas._data_schema) as _schema
    from envelopes
    left join schemas
        on envelopes._envelope['schema_id'] = schemas._schema_id

),

read_records as (

    select
        *,
        avro_to_json(_envelope['message'], _schema) as _record
    from with_schemas

),

-- a metadata message that bears no schema is JSON in an Avro envelope
decoded as (

    select
        *,
        _record['error'] as _decoding_error,
        if(_schema is null and _envelope['type'] = 'MD', cast(_envelope['message'] as string), _record['json']) as _text
    from read_records

)
{%- endmacro %}


{#- Avro cannot land as text: bytes that are no UTF-8 would be lost. -#}
{% macro _refuse_avro_as_text(spec, landed) %}
    {% if spec.serialization == 'avro' and landed and landed['value'].data_type != 'binary' %}
        {% do exceptions.raise_compiler_error(
            "change_tables: source '" ~ spec.source_name ~ "." ~ spec.table_name ~ "': `serialization` avro needs the column value of "
            ~ spec.relation ~ " to be binary, it is " ~ landed['value'].data_type
        ) %}
    {% endif %}
{% endmacro %}


{#-
    The metadata messages of a raw table, ending in `schemas`: one row a schema id. Told apart before they are read, by what
    only they bear, so that data messages are not read for it.
-#}
{% macro kafka_schema_steps(relation, serialization) -%}
{%- set is_json = "contains(cast(value as string), '\"tableStructure\"') and contains(cast(value as string), '\"lineage\"')" -%}
{%- if serialization == 'avro' -%}
-- in Avro, by the envelope's magic and its type MD
metadata_envelopes as (

    select
        *,
        read_avro_envelope(cast(value as binary)) as _envelope
    from {{ relation }}
    where startswith(cast(value as binary), X'61744D5347044D44') or ({{ is_json }})

),

metadata_records as (

    select
        *,
        avro_to_json(_envelope['message'], _envelope['schema'])['json'] as _record_text
    from metadata_envelopes

),

{% endif -%}
metadata_messages as (

    select
        concat_ws(':', topic, `partition`, `offset`) as _metadata_raw_id,
        struct(`timestamp`, `offset`) as _landed_place,
        {%- if serialization == 'avro' %}
        from_json(
            coalesce(_record_text, cast(coalesce(_envelope['message'], cast(value as binary)) as string)),
            '{{ change_tables._kafka_metadata_type() }}', {{ change_tables._kafka_json_options() }}
        ) as _metadata
    from metadata_records
        {%- else %}
        from_json(cast(value as string), '{{ change_tables._kafka_metadata_type() }}', {{ change_tables._kafka_json_options() }}) as _metadata
    from {{ relation }}
    where {{ is_json }}
        {%- endif %}

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

)
{%- endmacro %}


{#- Whether a message may turn out to be one of the entry's, when the metadata that it refers to has landed. -#}
{% macro kafka_may_belong(spec) -%}
    {%- if spec.table is none -%}
        false
    {%- else -%}
        _lacks_schema and {{ change_tables._kafka_told_table(spec) }} is null
        {{- ' and topic = ' ~ change_tables.text_literal(spec.topic) if spec.topic is not none }}
    {%- endif -%}
{%- endmacro %}


{#- The table that a message tells. -#}
{% macro _kafka_told_table(spec) -%}
    {%- if spec.table_column is none -%}
        _told_table
    {%- else -%}
        coalesce(_told_table, _row[{{ change_tables.text_literal(spec.table_column) }}])
    {%- endif -%}
{%- endmacro %}


{#- Whether a message is one of the entry's: by its topic, and by the table that it tells. -#}
{% macro kafka_belongs(spec) -%}
    {%- set conditions = [] -%}
    {%- if spec.topic is not none -%}
        {%- do conditions.append('topic = ' ~ change_tables.text_literal(spec.topic)) -%}
    {%- endif -%}
    {%- if spec.table is not none -%}
        {%- set wanted = change_tables.text_literal(spec.table) -%}
        {%- set bare = change_tables.text_literal(spec.table.split('.', 1) | last) -%}
        {%- set told = change_tables._kafka_told_table(spec) -%}
        {%- do conditions.append(
            told ~ " = " ~ wanted ~ " or concat(_told_schema, '.', _told_table) = " ~ wanted
            ~ (" or (_told_schema is null and " ~ told ~ " = " ~ bare ~ ")" if bare != wanted)
        ) -%}
    {%- endif -%}
    {%- if not conditions -%}
        true
    {%- else -%}
        coalesce(({{ conditions | join(') and (') }}), false)
    {%- endif -%}
{%- endmacro %}


{#- The raw table with the metadata messages: that of the entry's `metadata`, else its own. -#}
{% macro _metadata_relation(spec) %}
    {% if spec.metadata is none %}
        {% do return(spec.relation) %}
    {% endif %}
    {% do return(change_tables.source_relation(change_tables.find_source(spec.source_name, spec.metadata))) %}
{% endmacro %}


{#- Bytes or text as a JSON text can hold them: text where it is one, else hex digits. -#}
{% macro _readable(name) -%}
    if(is_valid_utf8(cast({{ name }} as string)), cast({{ name }} as string), hex({{ name }}))
{%- endmacro %}


{% macro _kafka_json_options() -%}
    map('columnNameOfCorruptRecord', '_corrupt')
{%- endmacro %}


{#- What is read of a message, with and without envelope. -#}
{% macro _kafka_message_type() -%}
    {%- set headers -%}
        struct<operation: string, changeSequence: string, timestamp: string, transactionId: string, changeMask: string, columnMask: string, externalSchemaId: string, transactionEventCounter: string, transactionLastEvent: string, `schema`: string, `table`: string>
    {%- endset -%}
    {%- set body -%}
        data: map<string, string>, beforeData: map<string, string>, headers: {{ headers }}, schemaId: string, lineage: struct<`schema`: string, `table`: string>
    {%- endset -%}
    struct<_corrupt: string, magic: string, type: string, messageSchemaId: string, message: struct<{{ body }}>, {{ body }}>
{%- endmacro %}


{% macro _kafka_metadata_type() -%}
    {%- set lineage = 'struct<server: string, task: string, `schema`: string, `table`: string, tableVersion: string, timestamp: string>' -%}
    {%- set column = 'struct<ordinal: string, type: string, length: string, precision: string, scale: string, primaryKeyPosition: string>' -%}
    {%- set body = 'schemaId: string, lineage: ' ~ lineage ~ ', tableStructure: struct<tableColumns: map<string, ' ~ column ~ '>>, dataSchema: string' -%}
    struct<_corrupt: string, magic: string, message: struct<{{ body }}>, {{ body }}>
{%- endmacro %}
