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
