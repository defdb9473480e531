{#-
    A view of the package. A staging view (see staged_changes) has comments on its columns. A health view is made by dbt's own macro.
    Either is made where it is missing, where what it is made of has changed (see ensure_view), and by a full refresh.
-#}
{% materialization change_view, adapter='spark' %}
    {%- set view = this.incorporate(type='view') -%}
    {%- set existing = load_cached_relation(view) -%}
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

    {{ return({'relations': [view]}) }}
{% endmaterialization %}
