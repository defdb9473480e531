{#-
    From the log of a table to what happened to its keys: the steps that every model downstream of a log begins with.

    An event sets the row of one key or ends it. A change is one event, a change that moved its key is two. Events of a key
    are ordered by `_change_seq`, `_precedence`, `_change_id`.
-#}

{#-
    What an event has besides the table's own columns; `_ct_enters` where rows have moved from key to key, `_form` where
    changes may have been logged without a column that they could have.
-#}
{% macro event_columns(spec, run) %}
    {% do return(
        ['_change_op', '_change_seq', '_changed_at', '_transaction_id', '_change_id']
        + (['_present_columns'] if spec.images == 'partial' else [])
        + (['_form'] if spec.images == 'partial' and run.added else [])
        + ['_precedence', '_is_deleted'] + (['_ct_enters'] if run.moves else [])
    ) %}
{% endmacro %}


{#-
    What changes do to keys, as a step of that name: a change sets the row of its key or ends it; one that moved its key
    has ended the key before as well, by a departure.
-#}
{% macro event_steps(spec, run, name, changes) -%}
{%- set taken_over = change_tables.event_columns(spec, run) | reject('in', ['_precedence', '_is_deleted', '_ct_enters']) | list -%}
{%- if not run.moves -%}
{{ name }} as (

    select
        {{ change_tables.column_list(spec.column_names) }},
        {{ change_tables.column_list(taken_over) }},
        {{ change_tables.precedence('_change_op') }} as _precedence,
        _change_op = 'delete' as _is_deleted
    from {{ changes }}

)
{%- else -%}
{{ name }} as (

    select
    {%- for name in spec.column_names %}
        {% if name in spec.key -%}
        if(_ct_departs, _key_before[{{ change_tables.text_literal(name) }}], {{ change_tables.quoted(name) }}) as {{ change_tables.quoted(name) }},
        {%- else -%}
        if(_ct_departs, null, {{ change_tables.quoted(name) }}) as {{ change_tables.quoted(name) }},
        {%- endif %}
    {%- endfor %}
        {{ change_tables.column_list(taken_over) }},
        if(_ct_departs, {{ change_tables.precedence_of('departure') }}, {{ change_tables.precedence('_change_op') }}) as _precedence,
        _ct_departs or _change_op = 'delete' as _is_deleted,
        _key_before is not null and not _ct_departs as _ct_enters
    from {{ changes }}
        lateral view explode(if(_key_before is null, array(false), array(false, true))) as _ct_departs

)
{%- endif -%}
{%- endmacro %}


{#- The bound that keeps a run to what its mark says; what is read whenever it is looked at has none. -#}
{% macro until_mark(run) -%}
    {%- if run.mark.batch %}
        and _batch_id <= '{{ run.mark.batch }}'
    {%- endif -%}
{%- endmacro %}


{#- Changes of multi-valued columns alone have nothing of the row, and leave it as it is. -#}
{% macro touches_row(spec) -%}
    {%- if spec.multi_valued %}
        and not coalesce(size(_present_columns) = 0, false)
    {%- endif -%}
{%- endmacro %}


{#- The events that a run adds to a state, ending in `events`. -#}
{% macro new_event_steps(spec, run, log) -%}
changes as (

    select *
    from {{ log }}
    where
        _mark is null
        and _change_op <> 'truncate'
        {{- change_tables.touches_row(spec) }}
        {%- if run.run == 'since' %}
        and _batch_id > '{{ run.mark_before.batch }}'
        {%- endif %}
        {{- change_tables.until_mark(run) }}

),

{{ change_tables.event_steps(spec, run, 'events', 'changes') }}
{%- endmacro %}
