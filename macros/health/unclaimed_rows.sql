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
    {%- do return('select 1 as placeholder') if not execute -%}
    {%- set specs = change_tables.table_specs(source_name, table_names) -%}
    {%- do change_tables.refuse_unlike_entries(
        'unclaimed_rows must be given ', specs, 'the entries that share a raw table', none, ['relation', 'format', 'serialization', 'metadata', 'registry']
    ) -%}
    {%- set unclaimed_steps = change_tables.format_of(specs[0].format).unclaimed_steps -%}
    {%- if not unclaimed_steps -%}
        {%- set shared = [] -%}
        {%- for name in change_tables.known_formats() if change_tables.format_of(name).unclaimed_steps -%}
            {%- do shared.append(name) -%}
        {%- endfor -%}
        {%- do change_tables.refuse_model("unclaimed_rows does not read format '" ~ specs[0].format ~ "': it is for " ~ shared | join(', ')) -%}
    {%- endif -%}
    {%- set rows -%}
with {{ unclaimed_steps(specs) | trim }}

select
    _raw_id,
    if(startswith(_status_reason, 'table_unknown'), 'rejected', 'ignored') as _status,
    _status_reason,
    raw_row
from unclaimed
    {%- endset -%}
{{ change_tables.rows_over_raw(rows, {'_raw_id': 'string', '_status': 'string', '_status_reason': 'string', 'raw_row': 'string'}) }}
{%- endmacro %}
