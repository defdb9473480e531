{#-
    The raw rows of many tables that could not be used: one row a rejected raw row, with its place and the reason.

    stgs   the relations of the tables' staging models
-#}
{% macro rejected_changes(stgs) %}
    {{- config(materialized='change_view') -}}
    {%- if execute -%}
        {%- set specs = change_tables.table_specs_of_references(stgs) -%}
        {%- for stg in stgs %}
select
    {{ change_tables.text_literal(specs[loop.index0].source_name) }} as source_name,
    {{ change_tables.text_literal(specs[loop.index0].table_name) }} as table_name,
    _raw_id,
    substring_index(_status_reason, ':', 1) as reason_code,
    trim(substring(_status_reason, instr(_status_reason, ':') + 1)) as reason_detail,
    _raw_row as raw_row
from {{ stg.render() }}
where _status = 'rejected'
            {%- if not loop.last %}
union all
            {%- endif %}
        {%- endfor %}
    {%- else -%}
select 1 as placeholder
    {%- endif -%}
{% endmacro %}
