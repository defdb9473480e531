{#-
    The fold: what the row of a key is after each of its events. It ends in `folded`: the events of `key_events`, one a key
    and sequence, each with the row as it then stands in the table's own columns, or `_is_deleted`.

    A run that adds to a state begins with the last event that the state has folded of a key (`_is_known`), so that the
    key's past need not be read again. `kept` are further columns of the state (name -> type) that such events bear.
-#}
{% macro _folded_steps(spec, run, log, state, kept={}) -%}
{%- set columns = spec.column_names + change_tables._event_columns(spec) + ['_is_replayed'] -%}
{{ change_tables._key_event_steps(spec, run, log, state) }},

{% if run.run == 'since' -%}
{{ change_tables._known_event_steps(spec, run, kept) }},

{% endif -%}
given_events as (

    select
        {{ change_tables.column_list(columns) }},
        {%- for name, type in kept.items() %}
        cast(null as {{ type }}) as {{ name }},
        {%- endfor %}
        false as _is_known
    from key_events
    {%- if run.run == 'since' %}
    union all
    select
        {{ change_tables.column_list(columns + kept.keys() | list) }},
        true as _is_known
    from known_events
    {%- endif %}

),

{% if run.has_floors -%}
{{ change_tables._ended_event_steps(spec, columns, kept) }},

{% endif -%}
{%- if spec.images == 'partial' -%}
{{ change_tables._overlaid_steps(spec, columns, kept, 'ended_events' if run.has_floors else 'given_events') }},

{% endif -%}
placed_events as (

    select
        *,
        lead(_change_seq) over (
            partition by {{ change_tables.column_list(spec.key) }}
            order by _change_seq, _precedence, _change_id
        ) as _next_seq
    from {{ 'overlaid_events' if spec.images == 'partial' else ('ended_events' if run.has_floors else 'given_events') }}

),

folded as (

    select *
    from placed_events
    where _next_seq is null or _next_seq <> _change_seq

)
{%- endmacro %}


{#- The last folded events of the keys that the run has events of, or that a truncate or a load ends. -#}
{% macro _known_event_steps(spec, run, kept) -%}
known_keys as (

    select distinct {{ change_tables.column_list(spec.key, 'events') }}
    from events
    {%- if run.replays %}
    left anti join replayed_keys
        on {{ change_tables.same_key(spec.key, 'events', 'replayed_keys') }}
    {%- endif %}

),

known_events as (

    select
        {{ change_tables._known_columns(spec, kept) }}
    from last_events
    left semi join known_keys
        on {{ change_tables.same_key(spec.key, 'last_events', 'known_keys') }}
    {%- if run.ends_older_keys %}
    union all
    select
        {{ change_tables._known_columns(spec, kept) }}
    from last_events
    left anti join events
        on {{ change_tables.same_key(spec.key, 'last_events', 'events') }}
    where not last_events._is_deleted and last_events._change_seq < '{{ run.mark.floor }}'
    {%- endif %}

)
{%- endmacro %}


{% macro _known_columns(spec, kept) -%}
{{ change_tables.column_list(spec.column_names, 'last_events') }},
        {%- for name in change_tables._event_columns(spec) %}
        {{ 'cast(null as array<string>) as _present_columns' if name == '_present_columns' else 'last_events.' ~ name }},
        {%- endfor %}
        false as _is_replayed
        {%- for name in kept -%}
        ,
        last_events.{{ name }}
        {%- endfor %}
{%- endmacro %}


{#-
    The given events and, for every key that lived when the table was truncated or loaded again, its end by that: the first
    of `floors` behind an event and not behind the next.
-#}
{% macro _ended_event_steps(spec, columns, kept) -%}
spans as (

    select
        {{ change_tables.column_list(spec.key) }},
        _is_replayed,
        _change_seq as _span_seq,
        _is_deleted as _is_ended,
        lead(_change_seq) over (
            partition by {{ change_tables.column_list(spec.key) }}
            order by _change_seq, _precedence, _change_id
        ) as _span_next_seq
    from given_events

),

key_floors as (

    select
        {{ change_tables.column_list(spec.key) }},
        _is_replayed,
        get(
            filter(
                _floors,
                floor -> floor._change_seq > _span_seq and (_span_next_seq is null or floor._change_seq <= _span_next_seq)
            ),
            0
        ) as _floor
    from spans
    cross join floors
    where not _is_ended

),

ended_events as (

    select *
    from given_events
    union all
    select
        {%- for column in spec.columns %}
        {% if column.name in spec.key -%}
        {{ change_tables.quoted(column.name) }},
        {%- else -%}
        cast(null as {{ column.data_type }}) as {{ change_tables.quoted(column.name) }},
        {%- endif %}
        {%- endfor %}
        'truncate' as _change_op,
        _floor['_change_seq'],
        _floor['_changed_at'],
        _floor['_transaction_id'],
        _floor['_change_id'],
        {%- if spec.images == 'partial' %}
        cast(null as array<string>) as _present_columns,
        {%- endif %}
        {{ change_tables.precedence_of('truncate') }} as _precedence,
        true as _is_deleted,
        _is_replayed,
        {%- for name, type in kept.items() %}
        cast(null as {{ type }}) as {{ name }},
        {%- endfor %}
        false as _is_known
    from key_floors
    where _floor is not null

)
{%- endmacro %}


{#-
    Partial images laid over each other along the order of a key. A change that bears every column starts a row, as does an
    insert, a snapshot, or an upsert where none lives: columns that it does not bear are null then. An update that lacks
    columns changes a row that lives; where none does, it waits for its base (`orphans: insert` lets it start a row).
-#}
{% macro _overlaid_steps(spec, columns, kept, given) -%}
{%- set others = spec.column_names | reject('in', spec.key) | list -%}
started_events as (

    select
        *,
        not _is_deleted
        {%- if spec.orphans != 'insert' %}
        and (_is_known or _present_columns is null or _change_op in ('insert', 'snapshot', 'upsert'))
        {%- endif %} as _can_start
    from {{ given }}

),

judged_events as (

    select
        *,
        coalesce(
            last_value(case when _is_deleted then false when _can_start then true end, true) over (
                partition by {{ change_tables.column_list(spec.key) }}
                order by _change_seq, _precedence, _change_id
                rows between unbounded preceding and 1 preceding
            ),
            false
        ) as _has_lived
    from started_events

),

borne_events as (

    select
        *,
        not _is_deleted and (_can_start or _has_lived) as _lives,
        not _has_lived or _is_known or _present_columns is null or _change_op in ('insert', 'snapshot') as _bears_all
    from judged_events

),

overlaid_events as (

    select
        {%- for name in spec.column_names %}
        {% if name in spec.key -%}
        {{ change_tables.quoted(name) }},
        {%- else -%}
        if(
            _lives,
            last_value(
                case
                    when _lives and (_bears_all or array_contains(_present_columns, {{ change_tables.text_literal(name) }}))
                        then named_struct('value', {{ change_tables.quoted(name) }})
                end,
                true
            ) over in_order.value,
            null
        ) as {{ change_tables.quoted(name) }},
        {%- endif %}
        {%- endfor %}
        {%- for name in columns if name not in spec.column_names and name != '_is_deleted' %}
        {{ name }},
        {%- endfor %}
        not _lives as _is_deleted,
        {%- for name in kept %}
        {{ name }},
        {%- endfor %}
        _is_known
    from borne_events
    window in_order as (
        partition by {{ change_tables.column_list(spec.key) }} order by _change_seq, _precedence, _change_id
    )

)
{%- endmacro %}
