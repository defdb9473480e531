{#-
    From Kafka records with Qlik's messages to `staged`. Each message is read once, and its table is found. Its row is unpacked into
    the table's columns as texts, which are then typed and judged.
-#}
{% macro stage_qlik_kafka(spec, bound) %}
{%- set words = change_tables.qlik_kafka_words(spec) -%}
{%- if not bound.shared -%}
{{ change_tables.kafka_put_together_steps([spec], bound) }},

{% endif -%}
own as (

    select
        {{ change_tables.columns_as_matched(spec) }},
        {{ change_tables.kafka_belongs(spec) }} as _ct_is_own,
        {{ change_tables.kafka_may_belong(spec) }} as _ct_may_belong,
        {{ change_tables.mask_words("_ct_headers['changeMask']") }} as _ct_mask_words,
        {{ change_tables.mask_words("_ct_headers['columnMask']") }} as _ct_column_mask_words
    from {{ change_tables.rows_put_together(spec, bound) }}

),

{% set further -%}
        _ct_message_verdict,
        _ct_is_own,
        _ct_is_open,
        _ct_may_belong,
        element_at({{ change_tables.map_of_texts(words) }}, _ct_headers['operation']) as _ct_operation_code,
        _ct_headers['operation'] as _ct_landed_code,
        case
            when {{ change_tables.is_operation("_ct_headers['operation']", words, ['R']) }} then concat(repeat('0', 16), lpad(cast(_ct_landed_row['offset'] as string), 19, '0'))
            else _ct_headers['changeSequence']
        end as _change_seq,
        nullif(_ct_headers['timestamp'], '') as _ct_landed_time,
        {%- if spec.hold_open_transactions %}
        nullif(_ct_headers['transactionEventCounter'], '') as _ct_landed_counter,
        {%- endif %}
        {{ change_tables.read_value("nullif(_ct_headers['timestamp'], '')", change_tables.type_tree('string'), change_tables.type_tree('timestamp')) }} as _changed_at,
        _transaction_id,
        _ct_headers['changeMask'] as _ct_landed_mask,
        {{ change_tables.names_as_declared(spec, change_tables._names_in_mask(spec, '_ct_mask_words')) }} as _ct_masked_names,
        _ct_headers['columnMask'] as _ct_landed_column_mask,
        {{ change_tables.names_as_declared(spec, change_tables._names_in_mask(spec, '_ct_column_mask_words')) }} as _ct_present_names,
        {%- if spec.retired %}
        size({{ change_tables._names_open_in_mask(spec, '_ct_mask_words') }}) = 0 as _ct_knows_changed_names,
        get(array_intersect(
            {{ change_tables.names_as_declared(spec, 'map_keys(map_filter(_ct_row, (name, value) -> value is null))') }},
            {{ change_tables.names_as_declared(spec, change_tables._names_open_in_mask(spec, '_ct_column_mask_words')) }}
        ), 0) as _ct_ambiguous_null,
        {%- endif %}
        _ct_row,
        _ct_row_before is not null as _ct_has_before,
        _raw_id,
        {%- if bound.arrival %}
        _ct_arrival,
        {%- endif %}
        _ct_landed_row
{%- endset -%}
{#- a message that cannot be read yet may be an event of an open transaction, whatever its table is -#}
{%- set unread = ["_ct_message_verdict['status'] = 'waiting'"] if spec.hold_open_transactions else [] -%}
{%- set conditions = ['_ct_is_own'] + (['_ct_is_open', '_ct_may_belong'] + unread if bound.arrival else []) -%}
{{ change_tables.unpacked_and_typed_steps(spec, 'own', further, change_tables.kafka_exact_text, conditions | join(' or ')) }},

judged as (

    select
        *,
        case
            when not _ct_is_own
                then {{ change_tables.not_of_entry() }}
            when _ct_message_verdict is not null
                then _ct_message_verdict
            when _ct_operation_code is null
                then {{ change_tables.rejected('unknown_operation: operation is {_ct_landed_code?}') }}
            when _change_seq is null or _change_seq = ''
                then {{ change_tables.rejected('change_seq_missing: changeSequence is null or empty') }}
            when length(_change_seq) <> 35 or _change_seq rlike '[^0-9]'
                then {{ change_tables.rejected("change_seq_malformed: '{_change_seq}' is not 35 digits") }}
            when {{ change_tables.does_not_fit('_ct_landed_time', 'timestamp') }}
                then {{ change_tables.rejected("value_does_not_fit: header timestamp: '{_ct_landed_time}' is not timestamp") }}
            {%- if spec.hold_open_transactions %}
            when {{ change_tables.does_not_fit('_ct_landed_counter', 'bigint') }}
                then {{ change_tables.rejected("value_does_not_fit: header transactionEventCounter: '{_ct_landed_counter}' is not bigint") }}
            {%- endif %}
            when _ct_row is null
                then {{ change_tables.rejected("data_missing: {if(_ct_operation_code = 'D', 'data and beforeData are null', 'data is null')}") }}
            when _ct_names_fault is not null
                then {{ change_tables.rejected('{_ct_names_fault}') }}
            when _ct_missing_key is not null
                then {{ change_tables.rejected('key_missing: neither data nor beforeData has the key column {_ct_missing_key}') }}
            {{ change_tables.value_verdicts(spec, "_ct_operation_code <> 'D'", 'beforeData') }}
            when _ct_landed_mask is not null and _ct_masked_names is null
                then {{ change_tables.rejected("change_mask_malformed: '{_ct_landed_mask}' is not a hex number") }}
            when _ct_landed_column_mask is not null and _ct_present_names is null
                then {{ change_tables.rejected("column_mask_malformed: '{_ct_landed_column_mask}' is not a hex number") }}
            {%- if spec.retired and spec.images == 'partial' %}
            when _ct_operation_code <> 'D' and _ct_ambiguous_null is not null
                then {{ change_tables.rejected('column_mask_ambiguous: without metadata, and without the retired columns, it is not known which bit {_ct_ambiguous_null} has, which is null') }}
            {%- endif %}
            when _ct_is_open
                then {{ change_tables.waiting('transaction_open: not every event of the transaction has landed') }}
        end as _ct_verdict
    from typed

),

{{ change_tables.staged_rows(spec, bound, {
    'is_change': "coalesce(_ct_verdict['status'] <> 'rejected', true)",
    'operation': "element_at(map('R', 'snapshot', 'I', 'insert', 'U', 'update', 'D', 'delete'), _ct_operation_code)",
    'id': "concat_ws(':', _change_seq, _ct_operation_code, if(_ct_operation_code = 'R', _raw_id, " ~ change_tables.key_text(spec) ~ '))',
    'present_columns': [("_ct_operation_code <> 'D'", change_tables._kafka_present_columns(spec))],
    'changed_columns': [("_ct_operation_code in ('I', 'U')" ~ (' and _ct_knows_changed_names' if spec.retired), 'array_intersect(' ~ change_tables.names_array(spec.column_names) ~ ', _ct_masked_names)')],
    'moves': "_ct_operation_code = 'U' and _ct_has_before",
    'report': [(
        "_ct_operation_code = 'U' and not _ct_has_before and arrays_overlap(_ct_masked_names, " ~ change_tables.names_array(spec.key) ~ ')',
        "'key_move_without_before: the mask says that the key changed, and no beforeData has the key before'",
    )],
    'blocks': "_ct_is_open or _ct_may_belong or coalesce(_ct_message_verdict['status'] = 'waiting', false)",
}) }}
{%- endmacro %}


{#-
    The messages with their transactions, where these are held back. The last step is `put_together`: what `messages` has that later steps
    use, and

    _ct_table       the table of the message; null where it is not known
    _ct_is_of_all   whether every entry needs it: its table may turn out later, or its transaction is open
    _ct_is_open     whether it is
-#}
{% macro kafka_put_together_steps(specs, bound) -%}
{%- set spec = specs[0] -%}
{%- set is_held = spec.hold_open_transactions -%}
{%- set is_open = '_transaction_id is not null and _ct_event_counter is not null and (_ct_last_counter is null or _ct_landed_events < _ct_last_counter)' -%}
{{ change_tables.kafka_message_steps(spec, bound) }},
{%- if is_held %}

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
{%- endif %}

put_together as (

    select
        topic,
        _raw_id,
        {%- if spec.serialization != 'avro' %}
        _ct_text,
        {%- endif %}
        _ct_message_verdict,
        _ct_headers,
        _ct_row,
        _ct_row_before,
        _ct_message_schema_name,
        _ct_table,
        _ct_column_names,
        _ct_lacks_schema,
        _transaction_id,
        {%- if bound.arrival %}
        coalesce(_ct_lacks_schema or _ct_message_verdict['status'] = 'waiting'{{ ' or (' ~ is_open ~ ')' if is_held }}, false) as _ct_is_of_all,
        _ct_arrival,
        {%- endif %}
        {{ 'coalesce(' ~ is_open ~ ', false)' if is_held else 'false' }} as _ct_is_open,
        _ct_landed_row
    from {{ 'in_transactions' if is_held else 'messages' }}

)
{%- endmacro %}


{% macro kafka_likeness(spec) %}
    {% do return([spec.topic, spec.serialization, spec.metadata, spec.registry, spec.operations, spec.hold_open_transactions]) %}
{% endmacro %}


{#- The tables of which messages are put together for an entry, as `_ct_table` has them; none: any. A name may have a schema before it. -#}
{% macro kafka_tables(spec) %}
    {% do return(none) if spec.table is none or spec.table_column is not none %}
    {% set parts = spec.table.split('.') %}
    {% set names = [] %}
    {% for number in range(parts | length) %}
        {% do names.append(parts[number:] | join('.')) %}
    {% endfor %}
    {% do return(names) %}
{% endmacro %}


{% macro qlik_kafka_mistakes(node, given) %}
    {% set found = [] %}
    {% for name in ['topic', 'table', 'table_column'] if given.get(name) == '' %}
        {% do found.append("`" ~ name ~ "` must not be empty; leave it out where messages are not selected by it") %}
    {% endfor %}
    {% if given.get('table_column') is not none and given.get('table') is none %}
        {% do found.append("`table_column` is the column that names the table of a message: it needs `table`, which is not set") %}
    {% endif %}
    {% if given.get('metadata') is not none and change_tables.find_source(node.source_name, given.metadata) is none %}
        {% do found.append(
            "`metadata` must name an entry of source '" ~ node.source_name ~ "', got '" ~ given.metadata ~ "'; its entries: "
            ~ graph.sources.values() | selectattr('source_name', 'equalto', node.source_name) | map(attribute='name') | join(', ')
        ) %}
    {% endif %}
    {% do found.extend(change_tables.other_entry_mistakes(node, given, 'registry')) %}
    {% if given.get('registry') is not none and given.get('serialization', 'json') != 'avro' %}
        {% do found.append("`registry` has the schemas of messages in Avro: it needs `serialization: avro`, got " ~ given.get('serialization', 'json')) %}
    {% endif %}
    {% do found.extend(change_tables.operations_mistakes(given.operations, ['insert', 'update', 'delete', 'snapshot'])) if given.get('operations') is not none %}
    {% do found.extend(change_tables.snapshot_seq_mistakes(given, '^[0-9]{1,35}$', "a changeSequence of at most 35 digits")) %}
    {% if given.get('lookback', 0) != 0 and given.get('hold_open_transactions') %}
        {% do found.append("`lookback` would cut transactions in two, which `hold_open_transactions` then waits for: set one of them, got " ~ given.lookback) %}
    {% endif %}
    {% do return(found + change_tables.nested_column_mistakes(change_tables.declared_columns(node))) %}
{% endmacro %}


{% macro qlik_kafka_words(spec) %}
    {% do return(change_tables.operation_words(spec, {'REFRESH': 'R', 'INSERT': 'I', 'UPDATE': 'U', 'DELETE': 'D'})) %}
{% endmacro %}


{#-
    The feed's natural arrival: the offset in each partition of a topic. One offset is one record. With held transactions an entry
    reads the other topics, too: see `kafka_message_steps`.
-#}
{% macro qlik_kafka_arrival(spec) %}
    {% do return({
        'only': 'topic = ' ~ change_tables.text_literal(spec.topic) if spec.topic and not spec.hold_open_transactions else none,
        'kind': 'whole_number', 'group': ['topic', 'partition'], 'columns': ['offset'], 'record': ['key', 'value'],
    }) %}
{% endmacro %}


{#-
    Raw rows can wait for the rest of their transaction, for an Avro schema, or for metadata that names their table. Runs go back by offsets:
    with another arrival all that waits blocks. As where transactions are held, since to go back into the middle of one would cut it. Metadata
    messages say for ever of which table later messages are. Of transactions that are held back, all records are needed: those of one that is
    read for good can lie before and after the begin of one that is open.
-#}
{% macro qlik_kafka_read_again(spec) %}
    {% set is_held = spec.hold_open_transactions %}
    {% set for_good = change_tables.is_metadata_message(spec.serialization) if spec.metadata is none else 'false' %}
    {% do return({
        'passed': ['schema_missing'] if spec.arrival == 'auto' and not is_held else [],
        'returning': change_tables._first_messages_to_return,
        'for_good': 'true' if is_held else for_good,
    }) %}
{% endmacro %}


{% macro _first_messages_to_return(spec, quarantine) -%}
{{- change_tables.first_rows_with_a_schema(
    quarantine, ['topic', 'partition', 'offset'],
    'with ' ~ change_tables.kafka_schema_steps_of_entry(spec) | trim ~ ' select _ct_schema_id from schemas where _ct_data_schema is not null'
) -}}
{%- endmacro %}


{#- The records of each partition of a topic are numbered one after the other. -#}
{% macro qlik_kafka_numbers(spec) %}
    {% do return({
        'column': 'offset', 'group': ['topic', 'partition'],
        'only': 'topic = ' ~ change_tables.text_literal(spec.topic) if spec.topic else none,
        'remedy': 'look for these offsets in the topic: a compacted topic and transactions leave some without a record; if they have one, land it, then build with change_tables_rescan',
    }) %}
{% endmacro %}


{#- The text of a column of a message, with all its digits: where the text is looked for first, else in the other row. -#}
{% macro kafka_exact_text(spec, column, text, is_before) -%}
    {%- set paths = ['$.message.data', '$.data', '$.message.beforeData', '$.beforeData'] -%}
    {%- set paths = paths[2:] + paths[:2] if is_before else paths -%}
    {{- change_tables.exact_json_text(spec, column, text, '_ct_text', paths, is_before) if spec.serialization != 'avro' else text -}}
{%- endmacro %}


{#- The columns that a mask names, by the ordinals that the metadata has of them, else by those declared. -#}
{% macro _names_in_mask(spec, words) -%}
    {%- if spec.retired -%}
        transform(filter({{ change_tables._bits_of_columns(spec, words) }}, counted -> counted['is_there'] and counted['bits'] = array(true)), counted -> counted['name'])
    {%- else -%}
    if({{ words }} is not null, map_values(map_filter(
            coalesce(_ct_column_names, map({{ change_tables.each(spec.column_names, '{number}, {text}') | join(', ') }})),
            (ordinal, name) -> {{ change_tables.mask_has(words, '(ordinal - 1)') }}
        )), null)
    {%- endif -%}
{%- endmacro %}


{#- The columns of which nothing says whether a mask names them. -#}
{% macro _names_open_in_mask(spec, words) -%}
    transform(filter({{ change_tables._bits_of_columns(spec, words) }}, counted -> size(counted['bits']) > 1 or (not counted['is_there'] and counted['bits'][0])), counted -> counted['name'])
{%- endmacro %}


{#-
    Each column with the bits that can be its own, as an array of structs; null where there is no mask. Without metadata, the source may
    have dropped a retired column that a message lacks, or the message leaves it out: each column after it can be a place further down.

    name, is_there   the column, and whether the message has it, if it is a retired one
    bits             the distinct bits at its places
-#}
{% macro _bits_of_columns(spec, words) -%}
    {%- set lacking = [] -%}
    {%- for name in spec.column_names if name in spec.retired -%}
        {%- set in_row = change_tables.name_in_row(spec, name) -%}
        {%- do lacking.append(
            'if(map_contains_key(_ct_row, ' ~ in_row ~ ') or map_contains_key(_ct_row_before, ' ~ in_row ~ '), null, ' ~ spec.column_names.index(name) ~ ')'
        ) -%}
    {%- endfor -%}
    {%- set lacking = 'array_compact(array(' ~ lacking | join(', ') ~ '))' -%}
    if({{ words }} is not null, transform(
            coalesce(
                transform(map_entries(_ct_column_names), entry -> struct(entry['key'] - 1 as lowest, entry['key'] - 1 as highest, entry['value'] as name, true as is_there)),
                transform({{ change_tables.names_array(spec.column_names) }}, (name, place) -> struct(
                    place - size(filter({{ lacking }}, other -> other < place)) as lowest, place as highest, name,
                    not array_contains({{ lacking }}, place) as is_there
                ))
            ),
            counted -> struct(
                counted['name'] as name, counted['is_there'] as is_there,
                array_distinct(transform(sequence(counted['lowest'], counted['highest']), bit -> coalesce({{ change_tables.mask_has(words, 'bit') }}, false))) as bits
            )
        ), null)
{%- endmacro %}


{#-
    The columns that a message has: those in its row. Where there is a column mask, a null counts only if the mask names its column.
    Null where the message has all columns.
-#}
{% macro _kafka_present_columns(spec) -%}
    {%- set names -%}
    if(
                                coalesce(_ct_landed_column_mask, '') = '',
                                {{ change_tables.names_as_declared(spec, 'map_keys(_ct_row)') }},
                                array_union(
                                    {{ change_tables.names_as_declared(spec, 'map_keys(map_filter(_ct_row, (name, value) -> value is not null))') }},
                                    array_intersect({{ change_tables.names_as_declared(spec, 'map_keys(_ct_row)') }}, _ct_present_names)
                                )
                            )
    {%- endset -%}
    {{- change_tables.present_columns(spec, names) -}}
{%- endmacro %}


{% macro qlik_kafka_unclaimed_steps(specs) %}
    {%- set everything = dict(specs[0], topic=none, table=none, hold_open_transactions=false) -%}
    {%- set topics = specs | map(attribute='topic') | list -%}
    {%- set columns = change_tables.each(specs | map(attribute='table_column') | reject('none'), '_ct_row[{text}]') -%}
{{ change_tables.kafka_message_steps(everything, {'predicate': none, 'arrival': none}) }},

others as (

    select
        *,
        {%- set table = "nullif(concat_ws('.', _ct_message_schema_name, _ct_table), '')" %}
        {{ 'coalesce(' ~ table ~ ', ' ~ columns | join(', ') ~ ')' if columns else table }} as _ct_full_name,
        case
            when _ct_message_verdict['status'] = 'rejected'
                then regexp_replace(_ct_message_verdict['reason'], '^message_malformed', 'table_unknown')
            when value is null
                then 'no_table: the message has no value'
        end as _ct_reason
    from messages
    where
    {%- for spec in specs %}
        {{ 'and ' if not loop.first }}not {{ change_tables.kafka_belongs(spec) }}
    {%- endfor %}

),

unclaimed as (

    select
        _raw_id,
        case
            when _ct_reason is not null then _ct_reason
            when _ct_full_name is not null then concat('table_not_declared: ', _ct_full_name)
            {%- if none not in topics %}
            when topic not in ({{ change_tables.text_literals(topics | unique(case_sensitive=true)) }})
                then concat('table_not_declared: topic ', topic)
            {%- endif %}
            else 'table_unknown: neither headers nor metadata name the table of the message'
        end as _status_reason,
        to_json(_ct_landed_row, {{ change_tables.json_options() }}) as raw_row
    from others

)
{%- endmacro %}


{#-
    The versions of tables, by the metadata messages in a raw table: one row a schema id.

    source_name, table_name   the entry whose raw table has the metadata messages
-#}
{% macro qlik_kafka_schemas(source_name, table_name) %}
    {{- config(materialized='change_view') -}}
    {%- do source(source_name, table_name) -%}
    {%- do return('select 1 as placeholder') if not execute -%}
    {%- set node = change_tables.find_source(source_name, table_name) -%}
    {#- an entry without settings is read as `avro`, by which JSON is read as well -#}
    {%- set settings = (node.config.meta or {}).get('change_table', {'serialization': 'avro'}) -%}
    {%- set rows -%}
with {{ change_tables.kafka_schema_steps(change_tables.relation_of_node(node), settings.get('serialization', 'json')) | trim }}

select
    _ct_schema_id as schema_id,
    _ct_schema_name as schema_name,
    _ct_table_name as table_name,
    _ct_table_version as table_version,
    _ct_server as server,
    _ct_task as task,
    _ct_columns as columns,
    _ct_data_schema as data_schema,
    _ct_metadata_raw_id as _raw_id
from schemas
    {%- endset -%}
{{ change_tables.rows_over_raw(rows, {
    'schema_id': 'string', 'schema_name': 'string', 'table_name': 'string', 'table_version': 'int', 'server': 'string',
    'task': 'string',
    'columns': 'array<struct<ordinal: int, name: string, type: string, length: int, precision: int, scale: int, primary_key_position: int>>',
    'data_schema': 'string', '_raw_id': 'string'
}) }}
{%- endmacro %}


{% macro qlik_kafka_functions(spec) %}
    {% set names = ['read_avro_envelope', 'avro_to_json'] if spec.serialization == 'avro' else [] %}
    {% do return({'staged': names, 'unclaimed': names}) %}
{% endmacro %}


{#-
    What the models must know of this format: see `format_of`. The bits of a mask mean columns by the order in which they are declared,
    where no metadata message has another order.
-#}
{% macro qlik_kafka_format() %}
    {% do return({
        'stage': change_tables.stage_qlik_kafka,
        'settings': dict({
            'topic': {'default': none, 'type': 'text', 'meaning': "the topic with the table's messages; null: any"},
            'table': {
                'default': none, 'type': 'text',
                'meaning': "the table of the messages, as `schema.table` or `table`: found by their headers, else by metadata, else by `table_column`",
            },
            'table_column': {
                'default': none, 'type': 'text',
                'meaning': "the column of `data` that names the table, if neither headers nor metadata do. Needs `table`",
            },
            'serialization': {
                'default': 'json', 'type': 'text', 'values': ['json', 'json_with_prefix', 'avro'],
                'meaning': "how the messages are written: `avro` in the vendor's envelope, or with `registry`; `json_with_prefix` after [a registry's prefix](feeds/qlik_kafka.md#a-schema-registry)",
            },
            'metadata': {
                'default': none, 'type': 'text',
                'meaning': "another entry of this source: the raw table of the metadata messages; null: the entry's own",
            },
            'operations': change_tables.operations_setting(['insert', 'update', 'delete', 'snapshot']),
        }, **change_tables.settings_of_several(['registry', 'column_names', 'images', 'waiting_days'])),
        'time_in_sequence': change_tables.time_in_digits,
        'mistakes': change_tables.qlik_kafka_mistakes,
        'counts_columns': true,
        'other_tables': ['metadata', 'registry'],
        'arrival': change_tables.qlik_kafka_arrival,
        'read_again': change_tables.qlik_kafka_read_again,
        'unclaimed_steps': change_tables.qlik_kafka_unclaimed_steps,
        'numbers': change_tables.qlik_kafka_numbers,
        'functions': change_tables.qlik_kafka_functions,
        'put_together': {
            'steps': change_tables.kafka_put_together_steps, 'alike': change_tables.kafka_likeness, 'tables': change_tables.kafka_tables,
        },
    }) %}
{% endmacro %}
