{#-
    The keys that a run reads the whole past of, ending in `replayed_keys`: those of which it has events that are older than
    what the state has folded already, where older events count; and those that exchanged rows.
-#}
{% macro replayed_key_steps(spec, run, log, state) -%}
{%- if run.late -%}
{{ change_tables._late_key_steps(spec) }},

{% endif -%}
{%- if run.exchanges -%}
{{ change_tables.exchanged_key_steps(spec, run, log) }},

{% endif -%}
replayed_keys as (

    {% if run.late -%}
    select {{ change_tables.column_list(spec.key) }}
    from late_keys
    {%- endif %}
    {%- if run.late and run.exchanges %}
    union distinct
    {% endif %}
    {%- if run.exchanges -%}
    select {{ change_tables.column_list(spec.key) }}
    from exchanged_keys
    {%- endif %}

)
{%- endmacro %}


{#- The keys of new events that come before the last one that the state has folded or have its place, or are that one, revised. -#}
{% macro _late_key_steps(spec) -%}
late_keys as (

    select distinct {{ change_tables.column_list(spec.key, 'events') }}
    from events
    inner join last_events
        on {{ change_tables.same_key(spec.key, 'events', 'last_events') }}
    where events._change_seq <= last_events._change_seq

)
{%- endmacro %}


{% macro replayed_event_steps(spec, run, log) -%}
logged_changes as (

    select *
    from {{ log }}
    where
        _mark is null
        and _change_op <> 'truncate'
        {{- change_tables.touches_row(spec) }}
        {{- change_tables.until_mark(run) }}

),

{{ change_tables.event_steps(spec, run, 'logged_events', 'logged_changes') }},

replayed_events as (

    select logged_events.*
    from logged_events
    left semi join replayed_keys
        on {{ change_tables.same_key(spec.key, 'logged_events', 'replayed_keys') }}

)
{%- endmacro %}
