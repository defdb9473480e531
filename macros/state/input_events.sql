{#-
    The events that a run folds, ending in `all_events`: its input. These are the new ones and, of a run that adds, the base event of each
    of their keys: the last one that the state has folded (`_ct_is_base`).

    Where an event may have come late (`run.looks`), the steps end in `input_events`, which says of each whether it has (`_ct_is_late`).
    The run keeps these in a table of its own and looks there for late ones. Where there are any, the keys that they reach are replayed:
    all that the log has of them is added to that table, is folded, and replaces what the state has of them (see `folded_query`).
-#}
{% macro input_event_steps(spec, run) -%}
{%- set columns = change_tables._columns_of_events(spec, run) -%}
{{ change_tables.event_steps(spec, run) }},

{% if run.kind == 'since' -%}
{{ change_tables._base_event_steps(spec, run) }},

{% endif -%}
{{ 'events_and_bases' if run.looks else 'all_events' }} as (

    select {{ columns }}
    from events
    {%- if run.kind == 'since' %}
    union all
    select {{ columns }}
    from base_events
    {%- endif %}

)
{%- if run.looks -%}
,

{{ change_tables._late_event_steps(spec, run, columns) }}
{%- endif -%}
{%- endmacro %}


{#-
    The base events of the keys that the run has events of, and of those that a truncate or a load ends or should have ended
    before. `moved_keys` has, by their hashes, the keys that rows entered or left by what is folded: the end of a row that another
    had covered has left no trace in the state. Where the last event of a key decides, only the places of events are needed.
-#}
{% macro _base_event_steps(spec, run) -%}
{%- set made = {
    '_present_columns': 'cast(null as array<string>)', '_ct_enters': 'false', '_schema_version': run.schema_version, '_ct_is_base': 'true',
} -%}
{%- set needs_places_only = change_tables._last_event_decides(spec, run) -%}
{%- set may_have_new_resets = run.has_resets and not run.in_time -%}
{%- set ended = [] -%}
{%- if run.ends_older_keys -%}
    {%- do ended.append('(not last_events._is_deleted and last_events._change_seq < ' ~ change_tables.text_literal(run.checkpoint.reset_seq) ~ ')') -%}
{%- endif -%}
{%- do ended.append('last_events._change_seq >= (select min(_change_seq) from new_resets)') if may_have_new_resets -%}
input_keys as (

    select distinct {{ change_tables.column_list(spec.key) }}{{ ', true as _ct_has_events' if ended }}
    from events

),

{% if may_have_new_resets -%}
new_resets as (

    select _change_seq
    from {{ run.log }}
    where
        _checkpoint is null
        and _change_op = 'truncate'
        and _batch_id > '{{ run.checkpoint_before.batch }}'
        {{- change_tables.until_checkpoint(run) }}
    {%- for load in run.checkpoint.loads[run.checkpoint_before.loads | length:] %}
    union all
    select {{ change_tables.text_literal(load) }} as _change_seq
    {%- endfor %}

),

{% endif -%}
{%- if run.moves -%}
moved_keys as (

    select
        _ct_key,
        bool_or(_ct_enters) as _ct_was_entered,
        max(if(_ct_enters, null, _change_seq)) as _ct_end_seq
    from {{ run.log }}
        {#- the keys that a move or a delete is about, by their hashes, and whether a row has entered or left them by it #}
        lateral view inline(array(
            struct({{ change_tables.key_hash(spec.key) }}, _key_before is not null),
            struct(if(_key_before is null, null, xxhash64(_key_before)), false)
        )) as _ct_key, _ct_enters
    where
        _checkpoint is null
        and (_key_before is not null or _change_op = 'delete')
        and _batch_id <= '{{ run.checkpoint_before.batch }}'
    group by _ct_key

),

{% endif -%}
base_events as (

    select
        {{ change_tables.column_list(spec.key if needs_places_only else spec.column_names, 'last_events') }},
        {%- for name in spec.column_names if needs_places_only and name not in spec.key %}
        null as {{ change_tables.quoted(name) }},
        {%- endfor %}
        {%- for name in change_tables.event_columns(spec, run) %}
        {{ made[name] ~ ' as ' ~ name if name in made else 'last_events.' ~ name }}{{ ',' if not loop.last }}
        {%- endfor %}
    from {{ run.state }} as last_events
    left {{ 'join' if ended else 'semi join' }} input_keys
        on {{ change_tables.same_key(spec.key, 'last_events', 'input_keys') }}
    where
        last_events._checkpoint is null
        {%- if run.history %}
        and last_events._is_last
        {%- endif %}
        {%- if ended %}
        and (input_keys._ct_has_events or {{ ended | join(' or ') }})
        {%- endif %}

)
{%- endmacro %}


{#- Whether the last event of a key has all that the state shows of it: of full images, where no versions and no ended rows are kept. -#}
{% macro _last_event_decides(spec, run) %}
    {% do return(spec.images == 'full' and not (run.history or run.keeps_deleted)) %}
{% endmacro %}


{#-
    Which events are late:

    - those before the base event of their key, or at its sequence: that one may have been revised
    - those of the transaction of the last event of a key that a row has ever moved to: the state has but the newest row there
    - those that a truncate or a load should have ended

    Where the last event of a key decides, that matters only at keys that a row has ever moved to, and where an event takes the very place of
    the last one.
-#}
{% macro _late_event_steps(spec, run, columns) -%}
{%- set only_at_entered = change_tables._last_event_decides(spec, run) -%}
{%- set entered = '_ct_is_entered' if run.moves else 'false' -%}
{%- set last_seq = 'greatest(_ct_base_seq, _ct_end_seq)' if run.moves else '_ct_base_seq' -%}
{%- set ended_seq = 'greatest(_change_seq, _ct_end_seq)' if run.moves else '_change_seq' -%}
{%- set ended = ended_seq ~ ' >= (select min(_change_seq) from new_resets)' -%}
{%- set of_key = 'over (partition by ' ~ change_tables.column_list(spec.key, 'events_and_bases') ~ ')' -%}
events_by_key as (

    select
        events_and_bases.*,
        {%- if run.moves %}
        moved_keys._ct_end_seq,
        coalesce(moved_keys._ct_was_entered, false) or max(events_and_bases._ct_enters) {{ of_key }} as _ct_is_entered,
        max(case when events_and_bases._ct_is_base then events_and_bases._transaction_id end) {{ of_key }} as _ct_base_transaction,
        {%- endif %}
        max(case when events_and_bases._ct_is_base then events_and_bases._change_seq end) {{ of_key }} as _ct_base_seq
    from events_and_bases
    {%- if run.moves %}
    left join moved_keys
        on {{ change_tables.key_hash(spec.key, 'events_and_bases') }} = moved_keys._ct_key
    {%- endif %}

),

input_events as (

    select
        {{ columns }},
        coalesce(
            case
                {%- if not run.has_resets or run.in_time %}
                when _ct_is_base then false
                {%- else %}
                when _ct_is_base then {{ entered ~ ' and ' if only_at_entered }}{{ ended }}
                {%- endif %}
                {%- if not only_at_entered %}
                when _change_seq <= {{ last_seq }} then true
                {%- else %}
                when _change_seq = _ct_base_seq then true
                {%- if run.moves %}
                when _change_seq <= {{ last_seq }} then _ct_is_entered
                {%- endif %}
                {%- endif %}
                {%- if run.moves %}
                when _transaction_id = _ct_base_transaction then _ct_is_entered
                {%- endif %}
            end,
            false
        ) as _ct_is_late
    from events_by_key

)
{%- endmacro %}


{#-
    All events of the keys that are replayed, ending in `replayed_events`. Such a key is named by its hash: first those of late events
    among `input_events`, and those of which something was retracted (`first_keys`); where partial images move, also all that moves
    connect with these. Two keys of one hash are both replayed.

    A key of which something was retracted may have no event left. The state has it, so it begins with an end before all events.
-#}
{% macro replayed_event_steps(spec, run) -%}
{%- set follows_moves = run.moves and spec.images == 'partial' -%}
{%- set of_end = dict(change_tables.end_of_key(run), _change_op="'delete'", _change_seq="''", _change_id="''") -%}
first_keys as (

    select distinct {{ change_tables.key_hash(spec.key) }} as _ct_key
    from input_events
    where _ct_is_late
    {%- if run.retracted_keys %}
    union distinct
    select explode(from_json('{{ tojson(run.retracted_keys) }}', 'array<bigint>')) as _ct_key
    {%- endif %}

),

{% if follows_moves -%}
-- one row: two hashes a move
collected_moves as (

    select
        collect_list(cast(moves._ct_key as string)) as _ct_keys,
        collect_list(cast(moves._ct_key_before as string)) as _ct_keys_before,
        collect_set(cast(first_keys._ct_key as string)) as _ct_first_keys,
        collect_set(cast(first_keys_before._ct_key as string)) as _ct_first_keys_before
    from (
        select
            {{ change_tables.key_hash(spec.key) }} as _ct_key,
            xxhash64(_key_before) as _ct_key_before
        from {{ run.log }}
        where
            _checkpoint is null
            and _key_before is not null
            {{- change_tables.until_checkpoint(run) | indent }}
    ) as moves
    left join first_keys
        on moves._ct_key = first_keys._ct_key
    left join first_keys as first_keys_before
        on moves._ct_key_before = first_keys_before._ct_key

),

{% endif -%}
replayed_keys as (

    select _ct_key
    from first_keys
    {%- if follows_moves %}
    union distinct
    select cast(_ct_reached_key as bigint) as _ct_key
    from collected_moves
        lateral view explode(
            reached_names(concat(_ct_first_keys, _ct_first_keys_before), _ct_keys, _ct_keys_before)
        ) as _ct_reached_key
    {%- endif %}

),

{{ change_tables.event_steps(spec, run, 'logged_') }},

replayed_events as (

    select {{ change_tables._columns_of_events(spec, run) }}
    from logged_events
    left semi join replayed_keys
        on {{ change_tables.key_hash(spec.key, 'logged_events') }} = replayed_keys._ct_key
    {%- if run.retracted_keys %}
    union all
    select
        {%- for name in spec.column_names %}
        {{ 'last_events.' if name in spec.key else 'null as ' }}{{ change_tables.quoted(name) }},
        {%- endfor %}
        {%- for name in change_tables.event_columns(spec, run) %}
        {{ of_end.get(name, 'null') }} as {{ name }}{{ ',' if not loop.last }}
        {%- endfor %}
    from {{ run.state }} as last_events
    left semi join replayed_keys
        on {{ change_tables.key_hash(spec.key, 'last_events') }} = replayed_keys._ct_key
    where
        last_events._checkpoint is null
        {%- if run.history %}
        and last_events._is_last
        {%- endif %}
    {%- endif %}

)
{%- endmacro %}


{#- The input events, but those of keys that are replayed, and the replayed ones. -#}
{% macro all_events_of_steps(spec, run) -%}
{%- set columns = change_tables._columns_of_events(spec, run) -%}
all_events as (

    select {{ columns }}
    from input_events
    left anti join replayed_keys
        on {{ change_tables.key_hash(spec.key, 'input_events') }} = replayed_keys._ct_key
    union all
    select {{ columns }}
    from replayed_events

)
{%- endmacro %}


{#- The same where a table has both. -#}
{% macro all_events_of_table(spec, kept, replays) -%}
all_events as (

    select kept.*
    from {{ kept }} as kept
    {%- if replays %}
    left join ({{ change_tables.replayed_keys(kept, spec) }}) as replayed_keys
        on {{ change_tables.key_hash(spec.key, 'kept') }} = replayed_keys._ct_key
    where kept._ct_is_replayed or replayed_keys._ct_key is null
    {%- endif %}

)
{%- endmacro %}


{#- The keys of the table that are replayed, by their hashes. -#}
{% macro replayed_keys(kept, spec) -%}
    select distinct {{ change_tables.key_hash(spec.key) }} as _ct_key from {{ kept }} where _ct_is_replayed
{%- endmacro %}


{% macro _columns_of_events(spec, run) -%}
    {{ change_tables.column_list(spec.column_names + change_tables.event_columns(spec, run)) }}
{%- endmacro %}
