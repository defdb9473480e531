{#-
    The rows of a shared raw table that no entry stages: one row a raw row, with why.

    source_name, table_names   all entries that share the raw table. In some formats this is another table than their own
-#}
{% macro unclaimed_rows(source_name, table_names) %}
    {{- config(materialized='change_view') -}}
    {%- do change_tables.refer_to_seeds() -%}
    {%- for table_name in table_names -%}
        {%- do source(source_name, table_name) -%}
    {%- endfor -%}
    {%- if execute -%}
        {%- set specs = change_tables.table_specs(source_name, table_names) -%}
        {%- do change_tables._refuse_unlike_entries(specs) -%}
        {%- set rows -%}
with {{ change_tables.format_of(specs[0].format).unclaimed_steps(specs) | trim }}

select
    _raw_id,
    if(startswith(_status_reason, 'table_unknown'), 'rejected', 'ignored') as _status,
    _status_reason,
    raw_row
from unclaimed
        {%- endset -%}
{{ change_tables.rows_over_raw(rows, {
    '_raw_id': 'string', '_status': 'string', '_status_reason': 'string', 'raw_row': 'string'
}) }}
    {%- else -%}
select 1 as placeholder
    {%- endif -%}
{% endmacro %}


{#- Stops unless all entries read one raw table in one way. -#}
{% macro _refuse_unlike_entries(specs) %}
    {% set what = "change_tables: model '" ~ model.name ~ "': unclaimed_rows " %}
    {% if not specs %}
        {% do exceptions.raise_compiler_error(what ~ "must be given the entries that share a raw table, got none") %}
    {% endif %}
    {% if not change_tables.format_of(specs[0].format).unclaimed_steps %}
        {% do exceptions.raise_compiler_error(
            what ~ "is for formats whose raw tables hold many tables; each raw table of format '" ~ specs[0].format ~ "' holds one"
        ) %}
    {% endif %}
    {% for setting in ['relation', 'format', 'serialization', 'metadata'] %}
        {% set found = [] %}
        {% for spec in specs %}
            {% set shared = change_tables.part_of_format(spec, 'shared_relation') if setting == 'relation' %}
            {% set value = shared or spec.get(setting) %}
            {% do found.append(value) if value not in found %}
        {% endfor %}
        {% if found | length > 1 %}
            {% do exceptions.raise_compiler_error(
                what ~ "must be given entries with one " ~ ('raw table' if setting == 'relation' else '`' ~ setting ~ '`')
                ~ ", got " ~ found | join(', ')
            ) %}
        {% endif %}
    {% endfor %}
{% endmacro %}
