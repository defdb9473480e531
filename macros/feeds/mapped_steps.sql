{#-
    A mapping says how each part of a change is read from a raw row. SQL is over the columns of the raw table, and over `message`, the
    struct of a message's fields, where there is one.

    message          {column, type}: the raw column that has each change as a JSON object, and its fields as a Spark schema, or as
                     map<string, string>; none: the raw columns have all parts. `envelope`: a field that can have them all in it. `avro`: the
                     schema of the Avro that the column has, `registry`: the raw table with its schemas
    only             SQL for the rows that are this table's; none: all. Rows for which it is null are rejected
    operation        SQL for the word that says what happened
    operations       what the words mean: word -> insert, update, upsert, delete, truncate, snapshot, ignore
    sequence         the parts of the sequence, the first one first: {sql, kind, length}, see `sequence_kinds`
    changed_at       SQL for the time of the change, or none. `counts_millis`: whether a number in it counts the milliseconds since 1970
    transaction_id   SQL, or none
    row              where the row is that a change leaves: a raw column or a field of one (`after`, `message.after`), which is a map of
                     texts, a struct, or a JSON object as text; or the name of each raw column by that of the declared one, as `new_{name}`.
                     none: the raw columns have the names of the declared ones
    row_before       the same of the row before, or none
    not_captured     how a row says that it lacks the value of a column: {absent: true}, {flag: '{name}_isMissing'}, {value: '…'}; none: it
                     always has all
    position         the raw columns of a row's position as messages of a topic have it: those of the group, then the number
    bytes_as         how bytes are written in texts: hex or base64
    columns          SQL of the further columns that a format has, in their types: nothing casts them
-#}
{% macro mapping_of(spec) %}
    {% do return(dict({
        'message': none, 'only': none, 'changed_at': none, 'counts_millis': false, 'transaction_id': none, 'row': none, 'row_before': none, 'not_captured': none,
        'position': none, 'bytes_as': 'hex', 'columns': {},
    }, **change_tables.part_of_format(spec, 'mapping'))) %}
{% endmacro %}


{% macro mapped_steps(spec, bound) %}
    {%- set mapping = change_tables.mapping_of(spec) -%}
    {%- set images = change_tables.mapped_images(spec, mapping) -%}
    {%- do change_tables.refuse_times_as_sequences(spec, mapping) -%}
{{ change_tables.mapped_read_steps(spec, bound, mapping, images) }},

{{ change_tables.mapped_unpacked_step(spec, mapping, images, bound) }},

{{ change_tables.typed_step(spec, images.columns, images.before) }},

judged as (

    select
        *,
        case
            {%- if mapping.message or mapping.only %}
            when _ct_message_verdict is not null
                then _ct_message_verdict
            {%- endif %}
            when _ct_operation is null
                then {{ change_tables.rejected('unknown_operation: operation is {_ct_landed_code?}') }}
            when _ct_operation = 'ignore'
                then {{ change_tables.ignored('operation_ignored: {_ct_landed_code} is no change of a row') }}
            {%- for part in mapping.sequence %}
            {%- set kind = change_tables.sequence_kinds()[part.kind] %}
            {%- set text = '_ct_sequence_' ~ loop.index %}
            when {{ text }} is null
                then {{ change_tables.verdict('rejected', change_tables.text_literal('change_seq_missing: ' ~ part.sql ~ ' is null')) }}
            {%- if part.kind in ['text', 'fixed_text'] %}
            when not is_valid_utf8({{ text }})
                then {{ change_tables.rejected('change_seq_malformed: the bytes {hex(' ~ text ~ ')} are not UTF-8') }}
            {%- endif %}
            {%- if kind.pattern %}
            when not {{ text }} rlike {{ change_tables.text_literal(kind.pattern.format(length=part.length)) }}
                then {{ change_tables.rejected("change_seq_malformed: '{" ~ text ~ "}' is not " ~ kind.what.format(length=part.length)) }}
            {%- endif %}
            {%- endfor %}
            {%- if mapping.changed_at %}
            when {{ '_changed_at is null and _ct_landed_time is not null' if mapping.counts_millis else change_tables.does_not_fit('_ct_landed_time', 'timestamp') }}
                then {{ change_tables.rejected("value_does_not_fit: changed_at: '{_ct_landed_time}' is not timestamp") }}
            {%- endif %}
            when _ct_operation = 'truncate'
                then null
            {%- if images.is_null %}
            when _ct_lacks_row
                then {{ change_tables.rejected('data_missing: the row is null or no object' ~ ("{if(_ct_operation = 'delete', ', and so is the row before', '')}" if images.has_before)) }}
            {%- endif %}
            {%- if images.is_broken_before %}
            when _ct_operation = 'update' and _ct_is_broken_before
                then {{ change_tables.rejected('data_missing: the row before is no object') }}
            {%- endif %}
            {%- if images.kind == 'texts' %}
            when _ct_names_fault is not null
                then {{ change_tables.rejected('{_ct_names_fault}') }}
            when _ct_missing_key is not null
                then {{ change_tables.rejected('key_missing: the row does not have the key column {_ct_missing_key}') }}
            {%- endif %}
            {%- if images.two_values %}
            when _ct_two_values is not null
                then {{ change_tables.rejected('value_does_not_fit: {_ct_two_values}') }}
            {%- endif %}
            {%- if images.written %}
            when _ct_written_misfit is not null
                then {{ change_tables.rejected('value_does_not_fit: {_ct_written_misfit}') }}
            {%- endif %}
            {%- if images.flag_misfit %}
            when _ct_operation <> 'delete' and _ct_flag_misfit is not null
                then {{ change_tables.rejected('value_does_not_fit: {_ct_flag_misfit}') }}
            {%- endif %}
            {{ change_tables.value_verdicts(spec, "_ct_operation <> 'delete'", 'row before' if images.has_before, "_ct_operation = 'update'") }}
        end as _ct_verdict
    from typed

),

{{ change_tables.staged_rows(spec, bound, {
    'operation': '_ct_operation',
    'id': "concat_ws(':', _change_seq, _ct_operation, if(_ct_operation = 'truncate', null, " ~ change_tables.key_text(spec) ~ '))',
    'changed_at': 'cast(null as timestamp)' if not mapping.changed_at,
    'blocks': "coalesce(_ct_message_verdict['status'] = 'waiting', false)" if (mapping.message or {}).registry,
    'present_columns': [("_ct_operation in ('insert', 'update', 'upsert')", change_tables.present_columns(spec, '_ct_captured_names'))],
    'moves': "_ct_operation = 'update' and _ct_has_before and (" ~ change_tables.each(spec.key, '_ct_before_{number} is not null') | join(' or ') ~ ')' if images.has_before,
}) }}
{%- endmacro %}


{#-
    The raw rows of the entry, with the parts of a change that are not columns. The last step is `read_rows`: operation, sequence, time and
    transaction; of rows that are maps the two images, `_ct_row` and `_ct_row_before`.
-#}
{% macro mapped_read_steps(spec, bound, mapping, images) -%}
{%- set message = mapping.message -%}
{%- set registry = (message or {}).registry -%}
{% if bound.shared -%}
parsed as (

    select *
    from {{ change_tables.rows_put_together(spec, bound) }}

),
{%- else -%}
{{ change_tables.mapped_landed_steps(spec, bound, mapping) }},
{%- endif %}

read_rows as (

    select
        *,
        {%- for row in images.exact %}
        {{ row.texts.read }} as {{ row.texts.sql }},
        {%- endfor %}
        {%- if message or mapping.only %}
        case
            {%- if mapping.only and registry %}
            when not ({{ mapping.only }})
                then {{ change_tables.not_of_entry() }}
            {%- endif %}
            {%- if message %}
            when _ct_text is null
                then {{ change_tables.ignored('tombstone: the message has no value') }}
            {%- if registry %}
            when _ct_has_prefix and _ct_schema is null
                then {{ change_tables.waiting('schema_missing: no row of the registry with the schema id {_ct_id_in_prefix?}') }}
            when startswith(_ct_text, 'the schema ')
                then {{ change_tables.rejected('schema_malformed: {_ct_text}') }}
            {%- endif %}
            when
                {{ change_tables.is_no_json_object('_ct_text', '_ct_message') }}
                then {{ change_tables.rejected(
                    "message_malformed: " ~ ("{_ct_text}" if message.avro or registry else "{if(is_valid_utf8(_ct_text), 'the value is not a JSON object of the type that `message` gives', 'the value is not UTF-8')}")
                ) }}
            {%- for row in images.exact %}
            when {{ row.sql }} is not null and {{ row.texts.sql }} is null
                then {{ change_tables.rejected('message_malformed: the value is JSON by lenient rules alone, or has a name twice') }}
            {%- endfor %}
            {%- endif %}
            {%- if mapping.only %}
            when ({{ mapping.only }}) is null
                then {{ change_tables.verdict('rejected', change_tables.text_literal('table_unknown: null is ' ~ mapping.only)) }}
            {%- endif %}
        end as _ct_message_verdict,
        {%- endif %}
        cast({{ mapping.operation }} as string) as _ct_landed_code,
        element_at({{ change_tables.map_of_texts(mapping.operations) }}, cast({{ mapping.operation }} as string)) as _ct_operation,
        {%- for part in mapping.sequence %}
        {{ change_tables.text_of_sequence(part) }} as _ct_sequence_{{ loop.index }},
        {%- endfor %}
        {%- if mapping.changed_at %}
        cast({{ mapping.changed_at }} as string) as _ct_landed_time,
        {%- endif %}
        {%- if images.kind == 'texts' %}
        {%- for name, map in images.maps.items() %}
        {{ map }} as {{ name }},
        {%- endfor %}
        {%- set beside = [mapping.not_captured.flag] if (mapping.not_captured or {}).flag else [] %}
        {{ change_tables.names_as_matched(spec, images.row, beside) }} as _ct_row,
        {{ change_tables.names_as_matched(spec, images.row_before, beside) if images.has_before else 'cast(null as map<string, string>)' }} as _ct_row_before,
        {%- endif %}
        {{ change_tables.readable(mapping.transaction_id) if mapping.transaction_id else 'cast(null as string)' }} as _ct_transaction_id
    from {{ 'parsed' if message else 'landed' }}
    {%- if mapping.only %}
    where {{ change_tables.concerns_entry(mapping) }}
    {%- endif %}

)
{%- endmacro %}


{#-
    Whether an entry with `only` reads a row: also one of which that is not known, and one that has waited for its schema, which may show that
    it is of another table. That heals it.
-#}
{% macro concerns_entry(mapping) -%}
coalesce({{ mapping.only }}, true){{ ' or _ct_has_waited' if (mapping.message or {}).registry }}
{%- endmacro %}


{#- The raw rows, with their messages as `message`: the last step is `parsed`, or `landed` where there are none. -#}
{% macro mapped_landed_steps(spec, bound, mapping) -%}
{%- set message = mapping.message -%}
{%- set expected = (mapping.position or []) + ([message.column] if message else []) -%}
{%- set landed = change_tables.landed_columns(spec, spec.relation, expected, "`position` and the message's column must name some of its columns") -%}
{%- set registry = (message or {}).registry -%}
{%- if message -%}
    {%- do change_tables.refuse_unread_messages(spec, message.column, 'Avro' if registry or message.avro else '') -%}
    {#- the text of a message that is not of the type of the entry is kept. Its fields can be in one field of it, its envelope -#}
    {%- set in_envelope = message.envelope ~ ': struct<' ~ message.type ~ '>, ' if message.envelope -%}
    {%- set type = message.type if change_tables.message_is_map(message) else 'struct<_ct_corrupt: string, ' ~ in_envelope ~ message.type ~ '>' -%}
    {%- set fields = [] -%}
    {%- for field in change_tables.type_tree('struct<' ~ message.type ~ '>').fields if message.envelope -%}
        {%- do fields.append(change_tables.field_of('_ct_message', field.name) ~ ' as ' ~ change_tables.quoted(field.name)) -%}
    {%- endfor -%}
    {%- set body = 'coalesce(' ~ change_tables.field_of('_ct_message', message.envelope) ~ ', struct(' ~ fields | join(', ') ~ '))' if message.envelope else '_ct_message' -%}
    {#- of Avro that its schema does not fit, what is wrong, which is no JSON -#}
    {%- set avro = 'avro_to_json(cast(' ~ change_tables.quoted(message.column) ~ ' as binary), ' ~ change_tables.text_literal(message.avro or '') ~ ')' -%}
{%- endif -%}
landed as (

    select
        *,
        {%- if message and not registry %}
        {{ "coalesce(" ~ avro ~ "['json'], " ~ avro ~ "['error'])" if message.avro else 'cast(' ~ change_tables.quoted(message.column) ~ ' as string)' }} as _ct_text,
        {%- endif %}
        {%- if mapping.position %}
        concat_ws(':', {{ change_tables.each(mapping.position, "coalesce(cast({name} as string), '')") | join(', ') }}) as _ct_raw_id,
        {%- else %}
        {{ change_tables.hash_as_id(change_tables.hashed_columns(spec, landed if mapping.row else change_tables.under_names_of_today(spec, landed))) }} as _ct_raw_id,
        {%- endif %}
        {{- change_tables.arrival_column(bound.arrival) }}
        {{ change_tables.readable_row(landed) }} as _ct_landed_row
    from {{ spec.relation }}
    {{- change_tables.where([bound.predicate, bound.get('until')]) }}

)
{%- if registry %},

{{ change_tables.registry_steps(registry, message.column, bound.waiting if bound.predicate) }}
{%- endif %}
{%- if message %},

-- by explode, so that Spark reads each message once, however many of its fields are used
parsed as (

    select
        {{ '*' if 'message' not in landed else '* except (message)' }},
        {{ body }} as message
    from
        {{ 'decoded' if registry else 'landed' }}
        lateral view explode(array(from_json(_ct_text, '{{ type | replace("'", "\\'") }}', {{ change_tables.json_reading_options() }}))) as _ct_message

)
{%- endif %}
{%- endmacro %}


{#- The columns out of the images, as they land, and what else of a row later steps use. The step is `unpacked`. -#}
{% macro mapped_unpacked_step(spec, mapping, images, bound) -%}
unpacked as (

    select
    {%- for column in (images.columns.values() | list) + (images.before.values() | list) %}
        {%- set name = change_tables.quoted(column.name) %}
        {{ column.sql ~ (' as ' ~ name if column.sql != name else '') }},
    {%- endfor %}
        {%- if images.kind == 'texts' %}
        {{ change_tables.missing_key(spec) }} as _ct_missing_key,
        {{ change_tables.names_fault(spec) }} as _ct_names_fault,
        {%- endif %}
        {%- if images.two_values %}
        coalesce({{ images.two_values | join(', ') }}, null) as _ct_two_values,
        {%- endif %}
        {%- if images.written %}
        case
            {%- for column in images.written %}
            when {{ "_ct_operation <> 'delete' and " if column.name not in spec.key }}{{ column.landed }} is not null and {{ column.sql }} is null
                then concat({{ change_tables.text_literal('column ' ~ column.name ~ ": '") }}, {{ column.landed }}, {{ change_tables.text_literal("' is not " ~ column.written_as) }})
            {%- endfor %}
        end as _ct_written_misfit,
        {%- endif %}
        {%- if images.flag_misfit %}
        {{ images.flag_misfit }} as _ct_flag_misfit,
        {%- endif %}
        {%- if images.is_null %}
        {{ images.is_null }} as _ct_lacks_row,
        {%- endif %}
        {%- if images.is_broken_before %}
        {{ images.is_broken_before }} as _ct_is_broken_before,
        {%- endif %}
        {%- if images.has_before %}
        {{ images.has_before }} as _ct_has_before,
        {%- endif %}
        {%- if spec.images == 'partial' %}
        {{ images.captured }} as _ct_captured_names,
        {%- endif %}
        {%- if mapping.message or mapping.only %}
        _ct_message_verdict,
        {%- endif %}
        _ct_landed_code,
        _ct_operation,
        {%- for part in mapping.sequence %}
        _ct_sequence_{{ loop.index }},
        {%- endfor %}
        {{ change_tables.sequence_of_parts(mapping.sequence) }} as _change_seq,
        {%- if mapping.changed_at %}
        _ct_landed_time,
        {{ change_tables._time_of_change(mapping) }} as _changed_at,
        {%- endif %}
        _ct_transaction_id as _transaction_id,
        {%- for column in spec.columns_of_format %}
        {{ mapping.columns[column.name] }} as {{ column.name }},
        {%- endfor %}
        _ct_raw_id as _raw_id,
        {%- if bound.arrival %}
        _ct_arrival,
        {%- endif %}
        _ct_landed_row
    from read_rows

)
{%- endmacro %}


{#- The time of a change out of the text that has landed, `_ct_landed_time`. -#}
{% macro _time_of_change(mapping) %}
    {% set landed, text = '_ct_landed_time', change_tables.type_tree('string') %}
    {% set time = change_tables.read_value(landed, text, change_tables.type_tree('timestamp')) %}
    {% do return(time) if not mapping.counts_millis %}
    {% set micros = 'try_cast(try_cast(' ~ landed ~ ' as decimal(20, 3)) * 1000 as bigint)' %}
    {% do return('coalesce(timestamp_micros(' ~ micros ~ '), if(' ~ change_tables.names_no_day(landed) ~ ', null, ' ~ time ~ '))') %}
{% endmacro %}


{#-
    The columns by which raw rows differ, as `hash_of` takes them: all but an arrival that the entry has for nothing else, since a row can land
    again later. It takes no variants: of these the JSON counts.
-#}
{% macro hashed_columns(spec, landed) %}
    {% do return(change_tables.as_landed(spec.column_names, {})) if not landed %}
    {% set settings = spec.settings.items() | rejectattr(0, 'equalto', 'arrival') | list | string %}
    {% set read = [settings] %}
    {% for name in spec.column_names + change_tables.names_of_today(spec).keys() | list %}
        {% do read.append(name ~ ' ' ~ modules.re.findall("[^'\"]*\\{name\\}[^'\"]*", settings) | join(' ') | replace('{name}', name)) %}
    {% endfor %}
    {% set is_read = modules.re.search('(?i)(?<!\\w)' ~ modules.re.escape(spec.arrival) ~ '(?!\\w)', read | join(' ')) %}
    {% set columns = [] %}
    {% for column in landed.values() if is_read or column.name | lower != spec.arrival | lower %}
        {% set is_variant = 'variant' in column.data_type %}
        {% do columns.append(
            {'name': column.name, 'data_type': 'string', 'value': 'to_json(' ~ (column.value or change_tables.quoted(column.name)) ~ ')'} if is_variant else column
        ) %}
    {% endfor %}
    {% do return(columns) %}
{% endmacro %}


{#- All columns of a raw row as a struct; bytes as text where they are valid UTF-8, else as hex digits. -#}
{% macro readable_row(landed) -%}
    {%- set binary = landed.values() | selectattr('data_type', 'equalto', 'binary') | map(attribute='name') | list -%}
    {%- do return('struct(*)') if not binary -%}
        struct(
            {%- for column in landed.values() %}
            {{ change_tables.readable(change_tables.quoted(column.name)) ~ ' as ' ~ change_tables.quoted(column.name) if column.name in binary else change_tables.quoted(column.name) }}{{ ',' if not loop.last }}
            {%- endfor %}
        )
{%- endmacro %}


{% macro message_is_map(message) %}
    {% do return(modules.re.match('map *<', message.type) is not none) %}
{% endmacro %}
