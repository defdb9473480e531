{#-
    The staging model of one source table: one row a raw row of its entry (and of its snapshot), decoded and judged.

    source_name, table_name   the entry in the sources file, which has the spec
    reads                     further entries of the source that the table reads; only for the lineage graph

    The view holds every raw row; `_status` says what became of it.
-#}
{% macro staged_changes(source_name, table_name, reads=[]) %}
    {{- config(materialized='change_view', meta={'change_table_entry': {'source': source_name, 'table': table_name}}) -}}
    {%- do change_tables.refer_to_seeds() -%}
    {%- do source(source_name, table_name) -%}
    {%- for entry in reads -%}
        {%- do source(source_name, entry) -%}
    {%- endfor -%}
    {%- do return('select 1 as placeholder') if not execute -%}
    {%- set spec = change_tables.table_spec(source_name, table_name) -%}
    {%- set rows -%}
with {{ change_tables.staging_steps(spec) }}

select
    {{ change_tables.each(change_tables.staged_columns(spec), '{name}') | join(',\n    ') }}
from staged
    {%- endset -%}
{{ change_tables.rows_over_raw(rows, change_tables.columns_of_table(spec, change_tables.staged_columns(spec))) }}
{%- endmacro %}


{% macro staged_columns(spec) %}
    {% do return(
        spec.column_names
        + [
            '_change_op', '_change_seq', '_changed_at', '_transaction_id', '_change_id', '_present_columns',
            '_changed_columns', '_key_before', '_raw_id', '_raw_row', '_status', '_status_reason'
        ]
        + spec.columns_of_format | map(attribute='name') | list
        + ['_report']
    ) %}
{% endmacro %}


{#-
    Refers to the seeds that staging reads in some formats, so that dbt builds them first. Every model that stages refers to them:
    its format is not known while dbt parses.
-#}
{% macro refer_to_seeds() %}
    {% do ref('goldengate_io_types') %}
{% endmacro %}


{#-
    The steps (CTEs) of a table's staging, by the macro of its format. The last one is `staged`.

    bound   which raw rows are read: see `raw_bound`. By default all of them, and the snapshot. With `with_forgotten`, rows of forgotten keys
            are as they landed: `forget` itself looks for them

    Where the bound has an arrival, rows of other entries can be among them, which only move the watermark. They
    have no `_status`.
-#}
{% macro staging_steps(spec, bound={'predicate': none, 'snapshot': true, 'arrival': none}) -%}
    {{- change_tables.format_of(spec.format).stage(spec, bound) | trim -}}
{%- endmacro %}


{#- The rows that were put together: by this run, or of those for several logs, the ones that the entry needs. -#}
{% macro rows_put_together(spec, bound) -%}
    {%- set tables = change_tables.part_of_format(spec, 'put_together').tables(spec) if bound.shared else none -%}
    {{- bound.shared or 'put_together' -}}
    {{- change_tables.where(['(_ct_partition in (' ~ change_tables.text_literals(tables) ~ ') or _ct_partition is null)']) if tables is not none -}}
{%- endmacro %}


{#-
    A view of the package. A staging view (see staged_changes) has comments on its columns. A health view is made by dbt's own macro.
    Either is made where it is missing, where what it is made of has changed (see ensure_view), and by a full refresh.
-#}
{% materialization change_view, adapter='spark' %}
    {%- set view = this.incorporate(type='view') -%}
    {%- set existing = change_tables.found_relation(view) -%}
    {%- set is_staging = 'change_table_entry' in (config.get('meta') or {}) -%}
    {%- if is_staging -%}
        {%- set spec = change_tables.table_spec_of_model(model) -%}
        {%- set further_columns = change_tables.staged_columns(spec)[spec.columns | length:] -%}
        {%- do change_tables.refuse_foreign_table(view) -%}
        {%- do change_tables.refuse_other_contract(spec, further_columns) -%}
    {%- endif -%}

    {{ run_hooks(pre_hooks) }}

    {%- if is_staging -%}
        {%- do change_tables.ensure_view(view, sql, change_tables.described_columns(spec, further_columns), anew=should_full_refresh()) -%}
    {%- else -%}
        {%- do change_tables.ensure_view_of_dbt(view, sql, anew=should_full_refresh()) -%}
    {%- endif -%}
    {%- call noop_statement('main', 'OK') -%} {{ sql }} {%- endcall -%}
    {%- do apply_grants(view, config.get('grants'), should_revoke(existing, full_refresh_mode=true)) -%}

    {{ run_hooks(post_hooks) }}

    {{ return(change_tables.made_relations([view])) }}
{% endmaterialization %}
