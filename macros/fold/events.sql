{#-
    From the log of a table to what happened to its keys: the steps that every model downstream of a log begins with.

    An event sets the row of one key or ends it. A change is one event, a change that moved its key is two. Events of a key
    are ordered by `_change_seq`, `_precedence`, `_change_id`.
-#}

{#-
    What an event has besides the table's own columns; `_ct_enters` where rows must be followed from key to key, `_form` where
    changes may have been logged without a column that they could have.
-#}
{% macro event_columns(spec, run) %}
    {% do return(
        ['_change_op', '_change_seq', '_changed_at', '_transaction_id', '_change_id']
        + (['_present_columns'] if spec.images == 'partial' else [])
        + (['_form'] if spec.images == 'partial' and run.added else [])
        + ['_precedence', '_is_deleted'] + (['_ct_enters'] if run.follows_rows else [])
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


{#-
    All events that decide what a run writes, ending in `key_events`: the new ones, and for keys whose past counts as well
    (`run.replays`) all that the log holds of them. `_is_replayed` is true for those.
-#}
{% macro key_event_steps(spec, run, log, state) -%}
{%- set columns = spec.column_names + change_tables.event_columns(spec, run) -%}
{{ change_tables.new_event_steps(spec, run, log) }},

{% if run.folds and run.run == 'since' -%}
{{ change_tables.last_event_steps(run, state) }},

{% endif -%}
{%- if run.replays -%}
{{ change_tables.replayed_key_steps(spec, run, log, state) }},

{{ change_tables.replayed_event_steps(spec, run, log) }},

{% elif run.exchanges and spec.images == 'full' -%}
{{ change_tables.exchanged_key_steps(spec, run, log) }},

{% endif -%}
{%- if run.folds and run.has_floors -%}
{{ change_tables._floor_steps(run, log) }},

{% endif -%}
{%- if run.exchanges and spec.images == 'full' -%}
{{ change_tables.covered_end_steps(spec, 'replayed_events' if run.replays else 'events', run) }},

{% endif -%}
key_events as (
{% if run.kept_step == 'key_events' %}
    {{ change_tables.kept_from_here() }}
{%- endif %}
    select
        {{ change_tables.column_list(columns, 'events') }},
        false as _is_replayed
    from events
    {%- if run.replays %}
    left anti join replayed_keys
        on {{ change_tables.same_key(spec.key, 'events', 'replayed_keys') }}
    union all
    select
        {{ change_tables.column_list(columns, 'replayed_events') }},
        true as _is_replayed
    from replayed_events
    {%- endif %}
    {%- if run.exchanges and spec.images == 'full' %}
    {%- set ended = 'replayed_events' if run.replays else 'events' %}
    left anti join covered_ends
        on
            {{ change_tables.same_key(spec.key, ended, 'covered_ends') }}
            and {{ ended }}._change_id = covered_ends._change_id
            and {{ ended }}._precedence = covered_ends._precedence
    {%- endif %}
    {%- if run.kept_step == 'key_events' %}
{{ change_tables.kept_to_here() }}
    {%- endif %}

)
{%- endmacro %}


{#- The last event that a state has folded of each key. -#}
{% macro last_event_steps(run, state) -%}
last_events as (

    select *
    from {{ state }}
    where {{ change_tables._is_last_of_key(run) }}

)
{%- endmacro %}


{#-
    Whether a row of a state is that of the last event of its key. In a history other rows are not, and are in files of their
    own.
-#}
{% macro _is_last_of_key(run) -%}
    {{- '_mark is null and _is_last' if run.history else '_mark is null' -}}
{%- endmacro %}


{#- What ended every key of the table, in order, as one array: its truncates and, but for the first, its loads. -#}
{% macro _floor_steps(run, log) -%}
truncates as (

    select _change_seq, _changed_at, _transaction_id, _change_id
    from {{ log }}
    where
        _mark is null
        and _change_op = 'truncate'
        {{- change_tables.until_mark(run) }}
    {%- for load in run.mark.loads %}
    union all
    select
        {{ change_tables.text_literal(load) }} as _change_seq,
        cast(null as timestamp) as _changed_at,
        cast(null as string) as _transaction_id,
        cast(null as string) as _change_id
    {%- endfor %}

),

floors as (

    select array_sort(collect_list(struct(_change_seq, _changed_at, _transaction_id, _change_id))) as _ct_floors
    from truncates

)
{%- endmacro %}
