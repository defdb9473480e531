{#- The type of a column as messages name it: of an extent with its size. -#}
{% macro shown_type(column) -%}
    {{- column.data_type ~ (' of extent ' ~ column.meta.extent if column.meta.extent else '') -}}
{%- endmacro %}


{#- The last step of every staging, `staged`: the rows of `staged_rows`, and those of the snapshot where the run reads it. -#}
{% macro staged_with_snapshot(spec, bound) -%}
{%- if spec.snapshot and bound.snapshot -%}
{{ change_tables.snapshot_steps(spec, bound) }},

{% endif -%}
staged as (

    select {{ '*, false as _ct_is_of_load' if spec.snapshot and bound.snapshot else '*' }}
    from staged_rows
    {%- if spec.snapshot and bound.snapshot %}
    union all
    select *, true as _ct_is_of_load
    from staged_snapshot
    {%- endif %}

)
{%- endmacro %}


{#-
    A number by which rows differ that are the same in all else. It also keeps Spark from computing a row twice: a column that has
    another value at each evaluation stops conditions on staged rows from being pushed below it. After it come the arrival and, where
    the format says it, what blocks the watermark, where the bound has an arrival.
-#}
{% macro place_of_row(bound, arrival='_ct_arrival', blocks=none) -%}
    monotonically_increasing_id() as _ct_place
    {%- for column in [arrival, blocks] if bound.arrival and column %},
        {{ column }}
    {%- endfor -%}
{%- endmacro %}


{#-
    The rows of a table's snapshot (its full load) as changes. The last step is `staged_snapshot`. Each row sets the whole row of
    its key, at the sequence `snapshot_seq`. A snapshot has no header columns, whatever the feed. Where loads have texts for arrays,
    the format says how to read them: `array_of_text` of `format_of`. A column that the load lacks is null: its rows begin rows afresh.
-#}
{% macro snapshot_steps(spec, bound) %}
    {%- set relation = change_tables.source_relation(change_tables.find_source(spec.source_name, spec.snapshot)) -%}
    {%- set landed = change_tables._landed_load(spec, relation) -%}
    {%- set array_of_text = change_tables.format_of(spec.format).array_of_text -%}
    {%- set split = [] -%}
    {%- for column in spec.columns if array_of_text and modules.re.match('array', column.data_type | lower) -%}
        {%- if modules.re.match('(string|varchar|char)', landed.get(column.name | lower, {}).data_type or '') -%}
            {%- do split.append(column) -%}
            {%- do landed.update({column.name | lower: {'name': column.name, 'data_type': 'array<string>'}}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do change_tables.refuse_landed_types(spec, relation, landed) -%}
{%- if split %}
split_texts as (

    select
        * except ({{ change_tables.column_list(split | map(attribute='name') | list) }}),
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
            {%- set text = '_ct_landed_row[' ~ change_tables.text_literal(column.name) ~ ']' %}
            when {{ text }} is not null and {{ change_tables.quoted(column.name) }} is null
                then concat({{ change_tables.text_literal('column ' ~ column.name ~ ": '") }}, {{ text }}, {{ change_tables.text_literal("' is not " ~ change_tables.shown_type(column)) }})
            {%- endfor %}
        end as _ct_extent_misfit,
        {%- endif %}
        lower(hex({{ change_tables.hash_of(change_tables.as_landed(spec.column_names, landed)) }})) as _raw_id,
        {{ '_ct_landed_row' if split else 'struct(*) as _ct_landed_row' }}
    from {{ 'split_texts' if split else relation }}

),

judged_load as (

    select
        *,
        case
            {%- if split %}
            when _ct_extent_misfit is not null
                then concat('value_does_not_fit: ', _ct_extent_misfit)
            {%- endif %}
            when _ct_column_misfit is not null
                then concat('value_does_not_fit: ', _ct_column_misfit)
            when {{ change_tables.key_is_null(spec) }}
                then {{ change_tables.key_missing(spec) }}
        end as _ct_rejection
    from loaded

),

staged_snapshot as (

    select
        {{ change_tables.each(spec.column_names, '{name},') | join('\n        ') }}
        case when _ct_rejection is null then 'snapshot' end as _change_op,
        {{ change_tables.text_literal(spec.snapshot_seq) }} as _change_seq,
        cast(null as timestamp) as _changed_at,
        cast(null as string) as _transaction_id,
        case
            when _ct_rejection is null then concat_ws(':', 'snapshot', {{ change_tables.text_literal(spec.snapshot_seq) }}, {{ change_tables.key_text(spec) }})
        end as _change_id,
        cast(null as array<string>) as _present_columns,
        cast(null as array<string>) as _changed_columns,
        cast(null as {{ change_tables.key_type(spec) }}) as _key_before,
        _raw_id,
        case when _ct_rejection is not null then to_json(_ct_landed_row, {{ change_tables.json_options() }}) end as _raw_row,
        case when _ct_rejection is null then 'accepted' else 'rejected' end as _status,
        _ct_rejection as _status_reason,
        {%- for column in change_tables.further_columns(spec) %}
        cast(null as {{ column.data_type }}) as {{ column.name }},
        {%- endfor %}
        cast(null as string) as _report,
        {{ change_tables.place_of_row(
            bound, 'null as _ct_arrival', 'false as _ct_blocks_watermark' if change_tables.says_what_blocks_watermark(spec)
        ) }}
    from judged_load

)
{%- endmacro %}


{#- The columns of a load, which must have those of the key. -#}
{% macro _landed_load(spec, relation) %}
    {% set landed = change_tables.landed_columns(spec, relation, spec.key, "a snapshot has the table's key") %}
    {% do return(change_tables.with_absent_columns(landed, spec.column_names)) %}
{% endmacro %}


{#- Says which declared columns the load lacks, in a run of the log that reads it. Of retired ones that is no news. -#}
{% macro say_what_load_lacks(spec) %}
    {% set relation = change_tables.source_relation(change_tables.find_source(spec.source_name, spec.snapshot)) %}
    {% set lacks = change_tables.absent_names(change_tables._landed_load(spec, relation)) | reject('in', spec.retired) | list %}
    {% if lacks %}
        {% do log(this ~ ': the load ' ~ relation ~ ' lacks ' ~ lacks | join(', ') ~ ': null in its rows', info=true) %}
    {% endif %}
{% endmacro %}
