{#- A state that is folded from a log: see current_state. -#}
{% materialization change_state, adapter='spark' %}
    {%- set view = this.incorporate(type='view') -%}
    {%- set state = change_tables.state_relation(this) -%}
    {%- set spec = change_tables.table_spec_of_model(model) -%}
    {%- set run = change_tables.read_run_note(sql) -%}

    {%- do change_tables.refuse_foreign_table(view) -%}
    {%- do change_tables._refuse_unfinished_log(run) -%}
    {%- do change_tables.prepare_session() -%}

    {{ run_hooks(pre_hooks) }}

    {%- if run.run == 'first' -%}
        {%- call statement('main') -%}
            {{ change_tables.create_state_table(state, change_tables._with_mark(spec, sql, run.mark)) }}
        {%- endcall -%}
    {%- elif run.run == 'since' -%}
        {%- call statement('main') -%}
            {{ change_tables.merge_state(spec, state, sql, run.mark_before, run.mark) }}
        {%- endcall -%}
    {%- else -%}
        {%- call statement('main') -%} select 1 {%- endcall -%}
    {%- endif -%}

    {%- do change_tables.ensure_view(
        view, state, spec.column_names + ['_change_op', '_change_seq', '_changed_at', '_transaction_id'],
        '_mark is null and not _is_deleted', replace=run.run == 'first'
    ) -%}
    {%- do apply_grants(view, config.get('grants'), should_revoke(view, full_refresh_mode=run.run == 'first')) -%}
    {%- do persist_docs(view, model) -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [view, state]}) }}
{% endmaterialization %}


{#- A log without a mark is not there, or its first build has not come to its end: no state can follow it. -#}
{% macro _refuse_unfinished_log(run) %}
    {% if run.mark.log == '' %}
        {% do exceptions.raise_compiler_error(
            "change_tables: model '" ~ model.name ~ "': the log that it follows has not been built to its end; build that first"
        ) %}
    {% endif %}
{% endmacro %}


{#- The rows of a state that is built whole, with the mark among them. -#}
{% macro _with_mark(spec, sql, mark) -%}
{%- set columns = change_tables._state_columns(spec) -%}
with state_rows as (

{{ sql }}

)

select *
from state_rows
union all
select
    {{ change_tables.text_literal(tojson(mark)) }} as _mark,
    {% for name in columns %}null as {{ change_tables.quoted(name) }}{{ ', ' if not loop.last }}{% endfor %}
{%- endmacro %}


{#-
    Folds the latest event of each key into the state, in one statement with the mark. An event that is older than what
    the state holds of its key changes nothing; the same event again replaces itself, so that its revision counts. A key
    whose whole history was read again is replaced by what that says.
-#}
{% macro merge_state(spec, state, sql, mark_before, mark) -%}
{%- set columns = change_tables._state_columns(spec) -%}
merge into {{ state }} as target
using (
    {{ change_tables._with_mark(spec, sql, mark) }}
) as source
    on
        {{ change_tables.same_key(spec.key, 'source', 'target') }}
        and (source._mark is null) = (target._mark is null)
when matched and source._mark is not null then update set
    _mark = {{ change_tables.guarded_mark(mark_before) }}
when matched and (
    source._is_replayed
    or struct(source._change_seq, source._precedence, source._change_id)
    >= struct(target._change_seq, target._precedence, target._change_id)
) then update set
    {%- for name in columns %}
    {{ change_tables.quoted(name) }} = source.{{ change_tables.quoted(name) }}{{ ',' if not loop.last }}
    {%- endfor %}
when not matched then insert (_mark, {{ change_tables.column_list(columns) }})
    values (source._mark, {{ change_tables.column_list(columns, 'source') }})
{%- endmacro %}


{#- The columns of a state table behind `_mark`, in the order in which its select gives them. -#}
{% macro _state_columns(spec) %}
    {% do return([
        '_change_seq', '_change_op', '_change_id', '_precedence', '_is_deleted', '_is_replayed', '_changed_at',
        '_transaction_id'
    ] + spec.column_names) %}
{% endmacro %}
