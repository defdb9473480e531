{#-
    All events that the fold of a run takes, ending in the step that `given_events` names: the new ones, and of a run that adds
    also the last one that the state has folded of each of their keys (`_ct_is_known`).

    Where an event may have come late (`run.looks`), the run keeps these events in a table of its own and looks there for such
    (`_ct_is_late`). Where there are any, the keys that they reach are replayed: all that the log holds of them is added to that
    table, is folded, and replaces what the state has of them (`_is_replayed`). Where there are none, these steps are left out.
-#}
{% macro given_event_steps(spec, run, log, state) -%}
{%- set columns = spec.column_names + change_tables.event_columns(spec, run) -%}
{%- set kept = change_tables.kept_columns(run) -%}
{{ change_tables.new_event_steps(spec, run, log) }},

{% if run.run == 'since' -%}
{{ change_tables._known_event_steps(spec, run, log, state) }},

{% endif -%}
{{ 'met_events' if run.looks else 'given_events' }} as (

    select
        {{ change_tables.column_list(columns) }},
        {%- for name, type in kept.items() %}
        cast(null as {{ type }}) as {{ name }},
        {%- endfor %}
        false as _is_replayed,
        false as _ct_is_known
    from events
    {%- if run.run == 'since' %}
    union all
    select
        {{ change_tables.column_list(columns + kept.keys() | list) }},
        false as _is_replayed,
        true as _ct_is_known
    from known_events
    {%- endif %}
    {%- if run.looks and run.moves and not run.in_time %}
    union all
    select
        {%- for name in spec.column_names %}
        {{ change_tables.quoted(name) if name in spec.key else 'null as ' ~ change_tables.quoted(name) }},
        {%- endfor %}
        {%- for name in columns[spec.column_names | length:] + kept.keys() | list + ['_is_replayed', '_ct_is_known'] %}
        {{ '_change_seq' if name == '_change_seq' else 'null as ' ~ name }}{{ ',' if not loop.last }}
        {%- endfor %}
    from known_ends
    {%- endif %}

)
{%- if run.looks -%}
,

{{ change_tables._late_event_steps(spec, run, columns + kept.keys() | list, log) }}
{%- endif -%}
{%- if run.has_floors -%}
,

{{ change_tables._floor_steps(run, log) }},

{{ change_tables._ended_event_steps(spec, run) }}
{%- endif -%}
{%- endmacro %}


{% macro given_events(run) -%}
    {{- 'ended_events' if run.has_floors else change_tables.unended_events(run) -}}
{%- endmacro %}


{#- The given events without what truncates and loads did. -#}
{% macro unended_events(run) -%}
    {{- 'all_events' if run.looks else 'given_events' -}}
{%- endmacro %}


{#- The columns of a history's rows (name -> type) that its next run goes on from. -#}
{% macro kept_columns(run) %}
    {% do return(
        {'_valid_from': 'timestamp', '_valid_from_seq': 'string', '_latest_at': 'timestamp'} if run.history else {}
    ) %}
{% endmacro %}


{#-
    What the state knows of the keys that the run has events of, and of the keys that a truncate or a load ends. `known_ends` has
    the places where rows left keys by what is folded: one that another row had covered has left no trace in the state.
-#}
{% macro _known_event_steps(spec, run, log, state) -%}
known_keys as (

    select distinct {{ change_tables.column_list(spec.key) }}
    from events

),

last_events as (

    select *
    from {{ state }}
    where {{ '_mark is null and _is_last' if run.history else '_mark is null' }}

),

{% if run.looks and run.has_floors and not run.in_time -%}
new_floors as (

    select _change_seq
    from {{ log }}
    where
        _mark is null
        and _change_op = 'truncate'
        and _batch_id > '{{ run.mark_before.batch }}'
        {{- change_tables.until_mark(run) }}
    {%- for load in run.mark.loads[run.mark_before.loads | length:] %}
    union all
    select {{ change_tables.text_literal(load) }} as _change_seq
    {%- endfor %}

),

{% endif -%}
{%- if run.looks and run.moves and not run.in_time -%}
{%- set keys = change_tables.keys_of(spec) -%}
known_moves_and_deletes as (

    select *
    from {{ log }}
    where
        _mark is null
        and (_key_before is not null or _change_op = 'delete')
        and _batch_id <= '{{ run.mark_before.batch }}'

),

{{ change_tables.event_steps(keys, run, 'known_entries_and_ends', 'known_moves_and_deletes') }},

known_ends as (

    select known_entries_and_ends.*
    from known_entries_and_ends
    left semi join known_keys
        on {{ change_tables.same_key(spec.key, 'known_entries_and_ends', 'known_keys') }}
    where known_entries_and_ends._is_deleted

),

{% endif -%}
known_events as (

    select
        {{ change_tables._known_columns(spec, run) }}
    from last_events
    left semi join known_keys
        on {{ change_tables.same_key(spec.key, 'last_events', 'known_keys') }}
    {%- if run.ends_older_keys or (run.looks and run.has_floors and not run.in_time) %}
    union all
    select
        {{ change_tables._known_columns(spec, run) }}
    from last_events
    left anti join known_keys
        on {{ change_tables.same_key(spec.key, 'last_events', 'known_keys') }}
    where
        {% if run.ends_older_keys -%}
        (not last_events._is_deleted and last_events._change_seq < {{ change_tables.text_literal(run.mark.floor) }})
        {%- endif %}
        {%- if run.looks and not run.in_time %}
        {{ 'or ' if run.ends_older_keys }}last_events._change_seq >= (select min(_change_seq) from new_floors)
        {%- endif %}
    {%- endif %}

)
{%- endmacro %}


{% macro _known_columns(spec, run) -%}
{{ change_tables.column_list(spec.column_names, 'last_events') }},
        {%- set made = {'_present_columns': 'cast(null as array<string>) as _present_columns', '_ct_enters': 'false as _ct_enters', '_form': run.form ~ ' as _form'} -%}
        {%- for name in change_tables.event_columns(spec, run) + change_tables.kept_columns(run).keys() | list %}
        {{ made.get(name, 'last_events.' ~ name) }}{{ ',' if not loop.last }}
        {%- endfor %}
{%- endmacro %}


{#-
    Which events are late: they come before what the state has folded of their key, or have its place, or are that one, revised;
    they are of the transaction in which rows may have exchanged the key, of which the state has but the newest; or a truncate or
    a load comes before them that the state has not folded. Then, in `all_events`, the given events and what is replayed.
    (`_ct_is_known` is null in `known_ends`.)
-#}
{% macro _late_event_steps(spec, run, columns, log) -%}
{%- set flags = ['_is_replayed', '_ct_is_known'] -%}
placed_in_key as (

    select
        *,
        max(case when _ct_is_known is null or _ct_is_known then _change_seq end) over of_key as _ct_known_seq
        {%- if run.moves -%}
        ,
        max(case when _ct_is_known then _transaction_id end) over of_key as _ct_known_transaction
        {%- endif %}
    from met_events
    window of_key as (partition by {{ change_tables.column_list(spec.key) }})

),

given_events as (
{{ change_tables.kept_from_here() }}
    select
        {{ change_tables.column_list(columns + flags) }},
        coalesce(
            {%- if run.has_floors and not run.in_time %}
            (_ct_is_known and _change_seq >= (select min(_change_seq) from new_floors))
            or
            {%- endif %} (
                not _ct_is_known and (_change_seq <= _ct_known_seq{{ ' or _transaction_id = _ct_known_transaction' if run.moves }})
            ),
            false
        ) as _ct_is_late
    from placed_in_key
    where _ct_is_known is not null
{{ change_tables.kept_to_here() }}
),

{{ change_tables.replays_from_here() }}
{{ change_tables.replayed_key_steps(spec, run, log) }},

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

    select
        {{ change_tables.column_list(spec.column_names + change_tables.event_columns(spec, run), 'logged_events') }},
        {%- for name in change_tables.kept_columns(run) %}
        null as {{ name }},
        {%- endfor %}
        true as _is_replayed,
        false as _ct_is_known
    from logged_events
    left semi join replayed_keys
        on {{ change_tables.key_hash(spec.key, 'logged_events') }} = replayed_keys._ct_key

),
{{ change_tables.replays_to_here() }}

all_events as (

    select {{ change_tables.column_list(columns + flags) }}
    from given_events
{{ change_tables.replays_from_here() }}
    left anti join replayed_keys
        on {{ change_tables.key_hash(spec.key, 'given_events') }} = replayed_keys._ct_key
    union all
    select {{ change_tables.column_list(columns + flags) }}
    from replayed_events
{{ change_tables.replays_to_here() }}

)
{%- endmacro %}


{#-
    The keys that late events reach, by their hashes: their own, and where rows move, all that moves connect with these. Two keys
    of one hash are both replayed.
-#}
{% macro replayed_key_steps(spec, run, log) -%}
late_keys as (

    select distinct {{ change_tables.key_hash(spec.key) }} as _ct_key
    from given_events
    where _ct_is_late

),

{% if not run.moves -%}
replayed_keys as (

    select _ct_key
    from late_keys

)
{%- else -%}
moves as (

    select
        {{ change_tables.key_hash(spec.key) }} as _ct_after,
        {{ change_tables.key_hash(spec.key, '_key_before') }} as _ct_before
    from {{ log }}
    where
        _mark is null
        and _key_before is not null
        {{- change_tables.until_mark(run) }}

),

-- one row: two hashes a move
collected_moves as (

    select
        collect_list(cast(moves._ct_after as string)) as _ct_after,
        collect_list(cast(moves._ct_before as string)) as _ct_before,
        collect_set(cast(late_after._ct_key as string)) as _ct_late_after,
        collect_set(cast(late_before._ct_key as string)) as _ct_late_before
    from moves
    left join late_keys as late_after
        on moves._ct_after = late_after._ct_key
    left join late_keys as late_before
        on moves._ct_before = late_before._ct_key

),

reached_keys as (

    select reached_names(concat(_ct_late_after, _ct_late_before), _ct_after, _ct_before) as _ct_reached
    from collected_moves

),

replayed_keys as (

    select _ct_key
    from late_keys
    union distinct
    select cast(_ct_reached_key as bigint) as _ct_key
    from reached_keys
        lateral view explode(_ct_reached) as _ct_reached_key

)
{%- endif -%}
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


{#-
    The given events and, for every key that lived when the table was truncated or loaded again, its end by that: the first
    of `floors` after an event and not after the next.
-#}
{% macro _ended_event_steps(spec, run) -%}
{%- set of_floor = {
    '_change_op': "'truncate'",
    '_change_seq': "_ct_floor['_change_seq']",
    '_changed_at': "_ct_floor['_changed_at']",
    '_transaction_id': "_ct_floor['_transaction_id']",
    '_change_id': "_ct_floor['_change_id']",
    '_precedence': change_tables.precedence_of('truncate'),
    '_is_deleted': 'true',
    '_ct_enters': 'false',
    '_ct_is_known': 'false',
    '_form': run.form,
} -%}
spans as (

    select
        *,
        lead(_change_seq) over (
            partition by {{ change_tables.column_list(spec.key) }}
            order by _change_seq, _precedence, _change_id
        ) as _ct_next_in_span
    from {{ change_tables.unended_events(run) }}

),

floored_events as (

    select
        spans.*,
        {{ 'case when not _is_deleted then ' if spec.images == 'full' }}get(
            filter(
                floors._ct_floors,
                floor -> floor._change_seq > spans._change_seq
                and (spans._ct_next_in_span is null or floor._change_seq <= spans._ct_next_in_span)
            ),
            0
        ){{ ' end' if spec.images == 'full' }} as _ct_floor
    from spans
    cross join floors

),

ended_events as (

    select
        {{ change_tables.column_list(spec.key) }},
        {%- for name in spec.column_names if name not in spec.key %}
        if(_ct_is_floor, null, {{ change_tables.quoted(name) }}) as {{ change_tables.quoted(name) }},
        {%- endfor %}
        {%- for name in change_tables.event_columns(spec, run) + change_tables.kept_columns(run).keys() | list + ['_ct_is_known'] %}
        if(_ct_is_floor, {{ of_floor.get(name, 'null') }}, {{ name }}) as {{ name }},
        {%- endfor %}
        _is_replayed
    from floored_events
        lateral view explode(if(_ct_floor is null, array(false), array(false, true))) as _ct_is_floor

)
{%- endmacro %}
