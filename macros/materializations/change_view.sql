{#- A view over raw tables that bears comments: see staged_changes. Made anew by each run, so that it has the types that land. -#}
{% materialization change_view, adapter='spark' %}
    {%- set view = this.incorporate(type='view') -%}
    {%- set spec = change_tables.table_spec_of_model(model) -%}
    {%- set further_columns = change_tables.staged_columns(spec)[spec.columns | length:] -%}
    {%- set existing = load_cached_relation(view) -%}

    {%- do change_tables.refuse_foreign_table(view) -%}
    {%- do change_tables.refuse_other_contract(spec, further_columns) -%}

    {{ run_hooks(pre_hooks) }}

    {%- if existing is not none and not existing.is_view -%}
        {%- do adapter.drop_relation(existing) -%}
    {%- endif -%}
    {%- call statement('main') %}
create or replace view {{ view }}
{{ change_tables.described_columns(spec, further_columns) }}
as
{{ sql }}
    {%- endcall -%}
    {%- do apply_grants(view, config.get('grants'), should_revoke(existing, full_refresh_mode=true)) -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [view]}) }}
{% endmaterialization %}
