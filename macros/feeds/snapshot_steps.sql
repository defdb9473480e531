{#- The type of a column as messages name it: of an extent with its size. -#}
{% macro shown_type(column) -%}
    {{- column.data_type ~ (' of extent ' ~ column.meta.extent if column.meta.extent else '') -}}
{%- endmacro %}


{#-
    The rows of a table's snapshot (its full load) as changes. The last step is `staged_snapshot`. Each row sets the whole row of
    its key, at the sequence `snapshot_seq`. A snapshot has no header columns, whatever the feed. Where loads have texts for arrays,
    the format says how to read them: `array_of_text` of `format_of`. A column that the load lacks is null: its rows begin rows afresh.
-#}
{% macro snapshot_steps(spec, bound) %}
    {%- set relation = change_tables.relation_of_setting(spec, 'snapshot') -%}
    {%- set landed = change_tables._landed_load(spec) -%}
    {%- set array_of_text = change_tables.format_of(spec.format).array_of_text -%}
    {%- set split = [] -%}
    {%- for column in spec.columns if array_of_text and change_tables.type_tree(column.data_type).kind == 'array' -%}
        {%- set as_text = landed.get(column.name | lower, {}) -%}
        {%- if change_tables.type_tree(as_text.data_type or '').kind == 'string' -%}
            {%- do change_tables.refuse_entry(spec, "an array must land under one name in " ~ relation ~ ", got " ~ as_text.parts | map(attribute='name') | join(', ')) if as_text.parts -%}
            {%- do split.append(dict(column, landed_as=as_text.name if as_text.value else column.name, value=as_text.value)) -%}
            {%- do landed.update({column.name | lower: {'name': column.name, 'data_type': 'array<string>'}}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do change_tables.refuse_landed_types(spec, relation, landed) -%}
{%- if split %}
split_texts as (

    select
        * except ({{ change_tables.column_list(split | map(attribute='landed_as') | list) }}),
        {%- for column in split %}
        {{ array_of_text(column) }} as {{ change_tables.quoted(column.name) }},
        {%- endfor %}
        struct(*) as _ct_landed_row
    from {{ relation }}

),

{% endif -%}
loaded as (

    select
    {{- change_tables.typed_columns(spec, landed) }}
        {{ change_tables.misfit(spec, spec.column_names, landed) }} as _ct_column_misfit,
        {%- if split %}
        case
            {%- for column in split %}
            {%- set text = '_ct_landed_row[' ~ change_tables.text_literal(column.landed_as) ~ ']' %}
            when {{ text }} is not null and {{ change_tables.quoted(column.name) }} is null
                then concat({{ change_tables.text_literal('column ' ~ column.name ~ ": '") }}, {{ text }}, {{ change_tables.text_literal("' is not " ~ change_tables.shown_type(column)) }})
            {%- endfor %}
        end as _ct_extent_misfit,
        {%- endif %}
        {{ change_tables.hash_as_id(change_tables.as_landed(spec.column_names, landed)) }} as _raw_id,
        {{ '_ct_landed_row' if split else 'struct(*) as _ct_landed_row' }}
    from {{ 'split_texts' if split else relation }}

),

judged_load as (

    select
        *,
        {%- for column in spec.columns_of_format %}
        cast(null as {{ column.data_type }}) as {{ column.name }},
        {%- endfor %}
        {%- if bound.arrival %}
        null as _ct_arrival,
        {%- endif %}
        case
            {%- if split %}
            when _ct_extent_misfit is not null
                then {{ change_tables.rejected('value_does_not_fit: {_ct_extent_misfit}') }}
            {%- endif %}
            when _ct_column_misfit is not null
                then {{ change_tables.rejected('value_does_not_fit: {_ct_column_misfit}') }}
            when {{ change_tables.key_is_null(spec) }}
                then {{ change_tables.verdict('rejected', change_tables.key_missing(spec)) }}
        end as _ct_verdict
    from loaded

),

staged_snapshot as (

    {% set seq = change_tables.text_literal(spec.snapshot_seq) -%}
    {{ change_tables.staged_select(spec, bound, {
        'operation': "'snapshot'",
        'id': "concat_ws(':', 'snapshot', " ~ seq ~ ', ' ~ change_tables.key_text(spec) ~ ')',
        'seq': seq,
        'changed_at': change_tables.timestamp_of_load(spec, spec.snapshot_seq, {spec.snapshot_seq: spec.snapshot_time}),
        'transaction_id': 'cast(null as string)',
    }, 'judged_load') }}

)
{%- endmacro %}


{#- The `_raw_id` of a row of the load, in formats that read its arrays as they are. -#}
{% macro raw_id_of_load(spec) %}
    {% do return(change_tables.hash_as_id(change_tables.as_landed(spec.column_names, change_tables._landed_load(spec)))) %}
{% endmacro %}


{#- The columns of a load, which must have those of the key. -#}
{% macro _landed_load(spec) %}
    {% set landed = change_tables.landed_columns(spec, change_tables.relation_of_setting(spec, 'snapshot'), spec.key, "a snapshot has the table's key", has_row=true) %}
    {% do return(change_tables.with_absent_columns(landed, spec.column_names)) %}
{% endmacro %}


{#- The declared columns that the load of an entry lacks: of `retired` ones that is no news. -#}
{% macro columns_that_load_lacks(spec, retired=false) %}
    {% set absent = change_tables.absent_names(change_tables._landed_load(spec)) %}
    {% do return(absent | select('in', spec.retired) | list if retired else absent | reject('in', spec.retired) | list) %}
{% endmacro %}


{#-
    The time at which a load was taken, as text: what `snapshot_time` said of it, else the time in its sequence, where the format says how
    to find it. Empty where neither is known.

    times   what `snapshot_time` said: sequence -> text
-#}
{% macro time_of_load(spec, sequence, times) %}
    {% set time_in_sequence = change_tables.format_of(spec.format).time_in_sequence %}
    {% do return(times.get(sequence) or (time_in_sequence(sequence) if time_in_sequence else '')) %}
{% endmacro %}


{#- The same as SQL; null where it is not known. -#}
{% macro timestamp_of_load(spec, sequence, times) -%}
    {%- set time = change_tables.time_of_load(spec, sequence, times) -%}
    {{ "timestamp '" ~ time ~ "+00:00'" if time else 'cast(null as timestamp)' }}
{%- endmacro %}


{#- The time in a sequence of 35 digits, of which loads may have the first ones alone: `yyyyMMddHHmmSShh`. Empty where it has none. -#}
{% macro time_in_digits(sequence) %}
    {% do return('') if not modules.re.match('^[0-9]{8,}$', sequence) %}
    {% set digits = (sequence ~ '0' * 16)[:16] %}
    {% set day = digits[:4] ~ '-' ~ digits[4:6] ~ '-' ~ digits[6:8] %}
    {% set time = day ~ ' ' ~ digits[8:10] ~ ':' ~ digits[10:12] ~ ':' ~ digits[12:14] ~ '.' ~ digits[14:] %}
    {% do return(time if change_tables.is_time(time) else '') %}
{% endmacro %}
