{#-
    The changes of many tables that were accepted and still need a look: one row a change and code.

    dedups   the relations of the tables' deduplicated models
-#}
{% macro reported_changes(dedups) %}
    {{- config(materialized='view') -}}
    {%- if execute -%}
        {%- set specs = change_tables.table_specs_of_references(dedups) -%}
        {%- for dedup in dedups %}
select
    {{ change_tables.text_literal(specs[loop.index0].source_name) }} as source_name,
    {{ change_tables.text_literal(specs[loop.index0].table_name) }} as table_name,
    _change_id,
    _change_seq,
    substring_index(_report, ':', 1) as code,
    trim(substring(_report, instr(_report, ':') + 1)) as detail
from {{ dedup }}
where _report is not null
union all
select
    {{ change_tables.text_literal(specs[loop.index0].source_name) }} as source_name,
    {{ change_tables.text_literal(specs[loop.index0].table_name) }} as table_name,
    _change_id,
    _change_seq,
    'conflicting_content' as code,
    'delivered with different contents or before images; the greater ones stand' as detail
from {{ dedup }}
where _is_conflicting
            {%- if not loop.last %}
union all
            {%- endif %}
        {%- endfor %}
    {%- else -%}
select 1 as placeholder
    {%- endif -%}
{% endmacro %}
