{#- What needs a look: raw rows that could not be used, and changes that were accepted all the same. -#}

{#-
    The raw rows of many tables that could not be used, with their place and the reason.

    models   the relations of the tables' deduplicated models, or of their staging models. A deduplicated model has kept its rejected
             rows: they are read, and nothing is staged. It has one row for equal raw rows, those that were healed, and when somebody has
             acknowledged one. Of a staging model, all raw rows are staged: one row a rejected raw row
-#}
{% macro rejected_changes(models) %}
    {{- config(materialized='change_view') -}}
    {%- do return('select 1 as placeholder') if not execute -%}
    {%- set nodes = change_tables.nodes_of_references(models) -%}
    {%- set is_acknowledged = load_cached_relation(change_tables.acknowledgements()) is not none -%}
    {%- set logs = nodes | selectattr('config.materialized', 'equalto', 'change_log') | map(attribute='unique_id') | list -%}
    {%- for relation in models %}
        {%- set node = nodes[loop.index0] -%}
        {%- set spec = change_tables.table_spec_of_model(node) -%}
        {%- set is_log = node.unique_id in logs -%}
        {%- if not is_log and 'change_table_entry' not in (node.config.meta or {}) -%}
            {%- do change_tables.refuse_model("rejected_changes must be given deduplicated or staging models, got '" ~ node.name ~ "'") -%}
        {%- endif %}
select
    {{ change_tables.text_literal(spec.source_name) }} as source_name,
    {{ change_tables.text_literal(spec.table_name) }} as table_name,
    _raw_id,
    {{ change_tables.code_of('_status_reason') }} as reason_code,
    {{ change_tables.detail_of('_status_reason') }} as reason_detail,
    _raw_row as raw_row
        {%- if logs %},
    {{ '_equal_rows' if is_log else 'cast(1 as bigint)' }} as raw_rows,
    {{ '_batch_id' if is_log else 'cast(null as string)' }} as first_seen_batch,
    {{ '_healed_at' if is_log else 'cast(null as timestamp)' }} as healed_at,
    {{ 'acknowledged_at' if is_log and is_acknowledged else 'cast(null as timestamp)' }} as acknowledged_at
        {%- endif %}
from {{ change_tables.quarantine_relation(relation) if is_log else relation.render() }}
        {%- if is_log and is_acknowledged %}
{{ change_tables.join_acknowledged(spec, change_tables.row_id_column(), change_tables.code_of('_status_reason')) }}
        {%- endif %}
where _status = 'rejected'
        {{- '\nunion all' if not loop.last }}
    {%- endfor %}
{%- endmacro %}


{#-
    The changes of many tables that were accepted and still need a look: one row a change and code, with when somebody has acknowledged it.

    dedups   the relations of the tables' deduplicated models
-#}
{% macro reported_changes(dedups) %}
    {{- config(materialized='change_view') -}}
    {%- do return('select 1 as placeholder') if not execute -%}
    {%- set specs = change_tables.table_specs_of_references(dedups) -%}
    {%- set is_acknowledged = load_cached_relation(change_tables.acknowledgements()) is not none -%}
    {%- for dedup in dedups %}
select
    {{ change_tables.text_literal(specs[loop.index0].source_name) }} as source_name,
    {{ change_tables.text_literal(specs[loop.index0].table_name) }} as table_name,
    _change_id,
    _change_seq,
    code,
    detail,
    {{ 'acknowledged_at' if is_acknowledged else 'cast(null as timestamp)' }} as acknowledged_at
from {{ change_tables.reports_relation(dedup) }}
        {%- if is_acknowledged %}
{{ change_tables.join_acknowledged(specs[loop.index0], '_change_id', 'code') }}
        {%- endif %}
        {{- '\nunion all' if not loop.last }}
    {%- endfor %}
{%- endmacro %}


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
