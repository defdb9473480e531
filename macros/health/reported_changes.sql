{#-
    The changes of many tables that were accepted and still need a look: one row a change and code.

    dedups   the relations of the tables' deduplicated models
-#}
{% macro reported_changes(dedups) %}
    {{- config(materialized='change_view') -}}
    {%- if execute -%}
        {%- set specs = change_tables.table_specs_of_references(dedups) -%}
        {%- for dedup in dedups %}
select
    {{ change_tables.text_literal(specs[loop.index0].source_name) }} as source_name,
    {{ change_tables.text_literal(specs[loop.index0].table_name) }} as table_name,
    _change_id,
    _change_seq,
    code,
    detail
from {{ change_tables.reports_relation(dedup) }}
            {%- if not loop.last %}
union all
            {%- endif %}
        {%- endfor %}
    {%- else -%}
select 1 as placeholder
    {%- endif -%}
{% endmacro %}
