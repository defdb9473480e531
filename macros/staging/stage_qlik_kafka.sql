{#-
    Staging of Qlik's Kafka messages, from the raw records to `staged`: each message is read once, told its table, and laid
    out as the table's columns in text, which are then typed and judged.
-#}
{% macro stage_qlik_kafka(spec, bound) %}
    {%- set texts = change_tables.texts_of_rows(spec) -%}
    {%- set key = 'struct(' ~ change_tables.column_list(spec.key) ~ ')' -%}
    {%- set others = spec.column_names | reject('in', spec.key) | list -%}
    {%- set key_names = [] -%}
    {%- for name in spec.key -%}
        {%- do key_names.append(change_tables.text_literal(name)) -%}
    {%- endfor -%}
{{ change_tables.kafka_message_steps(spec, bound) }},
{%- if spec.hold_open_transactions %}

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
{%- endif %}

own as (

    select
        *,
        {{ change_tables.kafka_belongs(spec) }} as _is_own,
        {%- if spec.hold_open_transactions %}
        coalesce(
            _transaction_id is not null and _event_counter is not null
            and (_last_counter is null or _landed_events < _last_counter),
            false
        ) as _is_open
        {%- else %}
        false as _is_open
        {%- endif %},
        {{ change_tables.kafka_may_belong(spec) }} as _is_untold
    from {{ 'told' if spec.hold_open_transactions else 'messages' }}

),

unpacked as (

    select
    {%- for column in spec.columns %}
        {{ change_tables._kafka_text(spec, column) }} as {{ change_tables.quoted(column.name) }},
    {%- endfor %}
    {%- for name in spec.key %}
        {{ change_tables._kafka_text_before(spec, name) }} as {{ change_tables.quoted('_before_' ~ loop.index) }},
    {%- endfor %}
        {{ change_tables.missing_key_column(spec) }} as _missing_key,
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
        coalesce(_column_names, {{ change_tables._declared_ordinals(spec) }}) as _column_names,
        _row,
        _row_before is not null as _has_before,
        _raw_id,
        {%- if bound.arrival %}
        _arrival,
        {%- endif %}
        _landed_row
    from own
    {#- what cannot be read yet may be an event of a transaction that is open, whatever its table is #}
    where _is_own{{ ' or _is_open or _is_untold' if bound.arrival }}{{ " or _kind = 'schema_missing'" if bound.arrival and spec.hold_open_transactions }}

),

typed as (

    select
    {{- change_tables.typed_columns(spec, texts) }}
    {%- for name in spec.key %}
        {{ change_tables.typed_value(change_tables.column_before(spec, name, loop.index), texts) }},
    {%- endfor %}
        {{ change_tables.misfit(spec, spec.key, texts) }} as _key_misfit,
        {{ change_tables.misfit_before(spec, texts) }} as _key_before_misfit,
        {{ change_tables.misfit(spec, others, texts) }} as _column_misfit,
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
        {%- if bound.arrival %}
        _arrival,
        {%- endif %}
        _landed_row
    from unpacked

),

judged as (

    select
        *,
        {{ change_tables.key_before(spec) }} as _told_key_before,
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
            when {{ change_tables.does_not_fit('_landed_time', 'timestamp') }}
                then concat('value_does_not_fit: header timestamp: \'', _landed_time, '\' is not timestamp')
            when _row is null
                then concat('data_missing: ', if(_operation_code = 'D', 'data and beforeData are null', 'data is null'))
            when _missing_key is not null
                then concat('key_missing: neither data nor beforeData bears the key column ', _missing_key)
            when _key_misfit is not null
                then concat('value_does_not_fit: ', _key_misfit)
            when {{ change_tables.key_is_null(spec) }}
                then {{ change_tables.key_missing(spec) }}
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
    {%- for name in spec.column_names %}
        {{ change_tables.quoted(name) }},
    {%- endfor %}
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
            else concat_ws(':', _change_seq, _operation_code, {{ change_tables.key_text(spec) }})
        end as _change_id,
        {%- if spec.images == 'partial' %}
        case
            when _rejection is null and _operation_code <> 'D'
                then {{ change_tables._kafka_present_columns(spec) }}
        end as _present_columns,
        {%- else %}
        cast(null as array<string>) as _present_columns,
        {%- endif %}
        case
            when _rejection is null and _operation_code in ('I', 'U')
                then array_intersect({{ change_tables.names_array(spec.column_names) }}, _masked_names)
        end as _changed_columns,
        case
            when _rejection is null and _operation_code = 'U' and _has_before and not {{ key }} <=> _told_key_before
                then _told_key_before
        end as _key_before,
        _raw_id,
        case
            when _rejection is not null or _kind <> 'data' or _is_open or not _is_own
                then to_json(_landed_row, {{ change_tables.json_options() }})
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
                and arrays_overlap(_masked_names, array({{ key_names | join(', ') }}))
                then 'key_move_without_before: the mask says that the key changed, and no beforeData tells the key before'
        end as _report,
        {{ change_tables.place_of_row() }}
        {%- if bound.arrival %},
        _arrival,
        _holds_back
        {%- endif %}
    from judged

),

{{ change_tables.staged_with_snapshot(spec, bound) }}
{%- endmacro %}


{#- Mistakes that only this format knows. -#}
{% macro qlik_kafka_mistakes(node, given) %}
    {% set found = [] %}
    {% for name in ['topic', 'table', 'table_column'] if given.get(name) == '' %}
        {% do found.append("`" ~ name ~ "` must not be empty; leave it out where it does not tell the table's messages") %}
    {% endfor %}
    {% if given.get('table_column') is not none and given.get('table') is none %}
        {% do found.append("`table_column` tells the table of a message: it needs `table`, which is not set") %}
    {% endif %}
    {% if given.get('metadata') is not none and change_tables.find_source(node.source_name, given.metadata) is none %}
        {% do found.append(
            "`metadata` must name an entry of source '" ~ node.source_name ~ "', got '" ~ given.metadata ~ "'; its entries: "
            ~ graph.sources.values() | selectattr('source_name', 'equalto', node.source_name) | map(attribute='name') | join(', ')
        ) %}
    {% endif %}
    {% if given.get('snapshot_seq', '') != '' and not modules.re.match('^[0-9]{1,35}$', given.snapshot_seq) %}
        {% do found.append(
            "`snapshot_seq` must be empty or a changeSequence of at most 35 digits, got " ~ change_tables.shown_value(given.snapshot_seq)
        ) %}
    {% endif %}
    {% if given.get('lookback', 0) != 0 and given.get('hold_open_transactions') %}
        {% do found.append("`lookback` would cut transactions in two, which `hold_open_transactions` then waits for: set one of them, got " ~ given.lookback) %}
    {% endif %}
    {% for column in change_tables.declared_columns(node) if modules.re.match('^(array|map|struct)', column.data_type | lower) %}
        {% do found.append("`columns` must be of simple types, got '" ~ column.name ~ "' of type " ~ column.data_type) %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}


{#- The feed's natural arrival: the offset, topic by topic and partition by partition. It names one record. -#}
{% macro qlik_kafka_arrival(spec) %}
    {% do return({
        'kind': 'positions', 'group': ['topic', 'partition'], 'columns': ['offset'], 'record': ['key', 'value'],
        'only': 'topic = ' ~ change_tables.text_literal(spec.topic) if spec.topic else none,
    }) %}
{% endmacro %}


{#- Which raw rows may wait: those of open transactions, Avro messages for their schema, and any to be told their table. -#}
{% macro qlik_kafka_may_wait(spec) %}
    {% do return('true' if spec.hold_open_transactions or spec.serialization == 'avro' or spec.table is not none else 'false') %}
{% endmacro %}


{#- The bits of a mask are counted by the order of the declared columns where no metadata message tells another. -#}
{% macro qlik_kafka_counts_columns(spec) %}
    {% do return(true) %}
{% endmacro %}


{#- The text of a column in a message. -#}
{% macro _kafka_text(spec, column) -%}
    {{- change_tables._kafka_exact_text(spec, column, change_tables.text_of_column(spec, column), ['data', 'beforeData']) -}}
{%- endmacro %}


{#- The text of a key column before. -#}
{% macro _kafka_text_before(spec, name) -%}
    {{- change_tables._kafka_exact_text(
        spec, change_tables.column_of(spec, name), change_tables.text_before(spec, name), ['beforeData', 'data']
    ) -}}
{%- endmacro %}


{#-
    A text out of a message. A number that stands for a decimal is read again where Spark's JSON reader has made a double of it:
    from the message itself, digit by digit, in the first of these places that holds it. A null is none.
-#}
{% macro _kafka_exact_text(spec, column, text, places) -%}
    {%- if spec.serialization == 'json' and change_tables.canonical_type(column.data_type).startswith('decimal') -%}
        case
            when {{ text }} is not null and ({{ text }} rlike 'E' or _text rlike {{ change_tables._long_number_pattern(column.name) }})
                then coalesce({{ change_tables._exact_texts(column.name, places) | join(', ') }}, {{ text }})
            else {{ text }}
        end
    {%- else -%}
        {{ text }}
    {%- endif -%}
{%- endmacro %}


{#- A number in a JSON text, under this name, of more digits than a double keeps. -#}
{% macro _long_number_pattern(name) -%}
    {{- change_tables.text_literal('"\\Q' ~ name ~ '\\E"\\s*:\\s*[-0-9.]{16}') -}}
{%- endmacro %}


{#- Where a number can stand in a message, as its exact digits. None for a name that no path can spell. -#}
{% macro _exact_texts(name, places) %}
    {% set quote = '"' if '"' not in name else "'" %}
    {% set texts = [] %}
    {% for place in places if quote not in name %}
        {% for path in ['$.message.' ~ place, '$.' ~ place] %}
            {% do texts.append(
                'try_variant_get(try_parse_json(_text), ' ~ change_tables.text_literal(path ~ '[' ~ quote ~ name ~ quote ~ ']') ~ ", 'string')"
            ) %}
        {% endfor %}
    {% endfor %}
    {% do return(texts or ['null']) %}
{% endmacro %}


{#- The declared columns by their ordinal, as metadata tells them. -#}
{% macro _declared_ordinals(spec) -%}
    map({% for name in spec.column_names %}{{ loop.index }}, {{ change_tables.text_literal(name) }}{{ ', ' if not loop.last }}{% endfor %})
{%- endmacro %}


{#-
    Names of the columns that a message bears: those in its row, but for nulls that the column mask does not tell of. Null
    where it bears all.
-#}
{% macro _kafka_present_columns(spec) -%}
    {%- set names -%}
    if(
                                coalesce(_landed_column_mask, '') = '',
                                map_keys(_row),
                                array_union(
                                    map_keys(map_filter(_row, (name, value) -> value is not null)),
                                    array_intersect(map_keys(_row), _borne_names)
                                )
                            )
    {%- endset -%}
    {{- change_tables.columns_borne(spec, names) -}}
{%- endmacro %}


{#- The messages that none of these entries stages, ending in `unclaimed`: see unclaimed_rows. -#}
{% macro qlik_kafka_unclaimed_steps(specs) %}
    {%- set everything = dict(specs[0], topic=none, table=none, hold_open_transactions=false) -%}
    {%- set topics = [] -%}
    {%- set columns = [] -%}
    {%- for spec in specs -%}
        {%- do topics.append(spec.topic) -%}
        {%- if spec.table_column is not none -%}
            {%- do columns.append('_row[' ~ change_tables.text_literal(spec.table_column) ~ ']') -%}
        {%- endif -%}
    {%- endfor -%}
{{ change_tables.kafka_message_steps(everything, {'predicate': none, 'arrival': none}) }},

others as (

    select
        *,
        {%- if columns %}
        coalesce(nullif(concat_ws('.', _told_schema, _told_table), ''), {{ columns | join(', ') }}) as _table,
        {%- else %}
        nullif(concat_ws('.', _told_schema, _told_table), '') as _table,
        {%- endif %}
        case
            when _kind = 'unreadable'
                then concat('table_unknown: ', _error)
            when _kind = 'tombstone'
                then 'no_table: the message has no value'
        end as _reason
    from messages
    where
    {%- for spec in specs %}
        {{ 'and ' if not loop.first }}not {{ change_tables.kafka_belongs(spec) }}
    {%- endfor %}

),

judged as (

    select
        *,
        case
            when _reason is not null then _reason
            when _table is not null then concat('table_not_declared: ', _table)
            {%- if none not in topics %}
            when topic not in ({% for topic in topics | unique(case_sensitive=true) %}{{ change_tables.text_literal(topic) }}{{ ', ' if not loop.last }}{% endfor %})
                then concat('table_not_declared: topic ', topic)
            {%- endif %}
            else 'table_unknown: neither headers nor metadata tell the table of the message'
        end as _status_reason
    from others

),

unclaimed as (

    select
        _raw_id,
        if(startswith(_status_reason, 'table_unknown'), 'rejected', 'ignored') as _status,
        _status_reason,
        to_json(_landed_row, {{ change_tables.json_options() }}) as raw_row
    from judged

)
{%- endmacro %}


{#-
    The versions of tables that the metadata messages in a raw table tell of: one row a schema id.

    source_name, table_name   the entry whose raw table holds the metadata messages
-#}
{% macro qlik_kafka_schemas(source_name, table_name) %}
    {{- config(materialized='change_view') -}}
    {%- do source(source_name, table_name) -%}
    {%- if execute -%}
        {%- set relation = change_tables.source_relation(change_tables.find_source(source_name, table_name)) -%}
        {%- set rows -%}
with {{ change_tables.kafka_schema_steps(relation, change_tables._serialization_of_metadata(source_name, table_name)) | trim }}

select
    _schema_id as schema_id,
    _schema_name as schema_name,
    _table_name as table_name,
    _table_version as table_version,
    _server as server,
    _task as task,
    _columns as columns,
    _data_schema as data_schema,
    _metadata_raw_id as _raw_id
from schemas
        {%- endset -%}
{{ change_tables.rows_over_raw(rows, {
    'schema_id': 'string', 'schema_name': 'string', 'table_name': 'string', 'table_version': 'int', 'server': 'string',
    'task': 'string',
    'columns': 'array<struct<ordinal: int, name: string, type: string, length: int, precision: int, scale: int, primary_key_position: int>>',
    'data_schema': 'string', '_raw_id': 'string'
}) }}
    {%- else -%}
select 1 as placeholder
    {%- endif -%}
{% endmacro %}


{#- What metadata messages are written in, by their entry; either where that has no settings of its own. -#}
{% macro _serialization_of_metadata(source_name, table_name) %}
    {% set settings = (change_tables.find_source(source_name, table_name).config.meta or {}).get('change_table', {'serialization': 'avro'}) %}
    {% do return(settings.get('serialization', 'json')) %}
{% endmacro %}


{#- What the models must know of this format: see `format_of`. -#}
{% macro qlik_kafka_format() %}
    {% do return({
        'stage': change_tables.stage_qlik_kafka,
        'settings': {
            'topic': {'default': none, 'type': 'text'},
            'table': {'default': none, 'type': 'text'},
            'table_column': {'default': none, 'type': 'text'},
            'serialization': {'default': 'json', 'type': 'text', 'values': ['json', 'avro']},
            'metadata': {'default': none, 'type': 'text'},
            'images': {'default': 'partial', 'type': 'text', 'values': ['full', 'partial']},
        },
        'mistakes': change_tables.qlik_kafka_mistakes,
        'counts_columns': change_tables.qlik_kafka_counts_columns,
        'other_tables': ['metadata'],
        'arrival': change_tables.qlik_kafka_arrival,
        'may_wait': change_tables.qlik_kafka_may_wait,
        'unclaimed_steps': change_tables.qlik_kafka_unclaimed_steps,
    }) %}
{% endmacro %}
