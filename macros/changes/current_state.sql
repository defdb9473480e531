{#-
    The state of one table now: one row a living key. Incremental: the changes that the log took in since the last run
    are folded into the state; keys that ended are remembered, so that an older change that comes late cannot revive them.

    dedup   the relation of the table's deduplicated model
-#}
{% macro current_state(dedup) %}
    {{- config(materialized='change_state') -}}
    {%- if execute -%}
        {%- set spec = change_tables.table_spec_of_model(model) -%}
        {%- do change_tables._check_images_are_full(spec) -%}
        {%- set log = change_tables.state_relation(dedup) -%}
        {%- set state = change_tables.state_relation(this) -%}
        {%- set run = change_tables.state_run(spec, log, state) -%}
        {%- do run.update({'exchanges': change_tables._has_exchanges(spec, run, log)}) -%}
{{ change_tables.run_note(run) }}
with {{ change_tables._new_events_steps(spec, run, log) }},

{% if run.exchanges -%}
{{ change_tables._exchange_steps(spec, run, log) }},

{% endif -%}
key_events as (

    select
        {{ change_tables.column_list(spec.column_names, 'events') }},
        {{ change_tables.column_list(change_tables._event_columns(), 'events') }},
        false as _is_replayed
    from events
    {%- if run.exchanges and run.run == 'first' %}
    left anti join covered_ends
        on
            {{ change_tables.same_key(spec.key, 'events', 'covered_ends') }}
            and events._change_id = covered_ends._change_id
            and events._precedence = covered_ends._precedence
    {%- elif run.exchanges %}
    left anti join exchanged_keys
        on {{ change_tables.same_key(spec.key, 'events', 'exchanged_keys') }}
    union all
    select
        {{ change_tables.column_list(spec.column_names, 'exchanged_events') }},
        {{ change_tables.column_list(change_tables._event_columns(), 'exchanged_events') }},
        true as _is_replayed
    from exchanged_events
    left anti join covered_ends
        on
            {{ change_tables.same_key(spec.key, 'exchanged_events', 'covered_ends') }}
            and exchanged_events._change_id = covered_ends._change_id
            and exchanged_events._precedence = covered_ends._precedence
    {%- endif %}
    {%- if run.ends_older_keys %}
    union all
    -- keys that live and are older than the latest truncate or load
    select
        {{ change_tables.column_list(spec.column_names) }},
        {{ change_tables.column_list(change_tables._event_columns() | reject('equalto', '_is_deleted') | list) }},
        true as _is_deleted,
        false as _is_replayed
    from {{ state }}
    where _mark is null and not _is_deleted and _change_seq < '{{ run.mark.floor }}'
    {%- endif %}

),

-- the latest event of a key
ranked as (

    select
        *,
        row_number() over (
            partition by {{ change_tables.column_list(spec.key) }}
            order by _change_seq desc, _precedence desc, _change_id desc
        ) as _rank
    from key_events

)

select
    cast(null as string) as _mark,
    _change_seq,
    _change_op,
    _change_id,
    _precedence,
    {% if run.mark.floor -%}
    _is_deleted or _change_seq < '{{ run.mark.floor }}' as _is_deleted,
    {%- else -%}
    _is_deleted,
    {%- endif %}
    _is_replayed,
    _changed_at,
    _transaction_id,
    {{ change_tables.column_list(spec.column_names) }}
from ranked
where _rank = 1
    {%- else -%}
select 1 as placeholder
    {%- endif -%}
{% endmacro %}


{#- The events that a run adds to the state, ending in `events`. -#}
{% macro _new_events_steps(spec, run, log) -%}
changes as (

    select *
    from {{ log }}
    where
        _mark is null
        and _change_op <> 'truncate'
        {%- if run.run == 'since' %}
        and _batch_id > '{{ run.mark_before.batch }}'
        {%- endif %}
        and _batch_id <= '{{ run.mark.batch }}'

),

{{ change_tables._event_steps(spec, run, 'events', 'changes') }}
{%- endmacro %}


{#- What an event bears besides the table's own columns. -#}
{% macro _event_columns() %}
    {% do return([
        '_change_op', '_change_seq', '_changed_at', '_transaction_id', '_change_id', '_precedence', '_is_deleted'
    ]) %}
{% endmacro %}


{#-
    What changes do to keys, as a step of that name: a change sets the row of its key or ends it; one that moved its key
    has ended the key before as well, by a departure.
-#}
{% macro _event_steps(spec, run, name, changes) -%}
{%- if not run.moves -%}
{{ name }} as (

    select
        {{ change_tables.column_list(spec.column_names) }},
        {{ change_tables.column_list(change_tables._event_columns()[:-2]) }},
        {{ change_tables.precedence('_change_op') }} as _precedence,
        _change_op = 'delete' as _is_deleted
    from {{ changes }}

)
{%- else -%}
{{ name }} as (

    select
    {%- for name in spec.column_names %}
        {% if name in spec.key -%}
        if(_departs, _key_before[{{ change_tables.text_literal(name) }}], {{ change_tables.quoted(name) }}) as {{ change_tables.quoted(name) }},
        {%- else -%}
        if(_departs, null, {{ change_tables.quoted(name) }}) as {{ change_tables.quoted(name) }},
        {%- endif %}
    {%- endfor %}
        {{ change_tables.column_list(change_tables._event_columns()[:-2]) }},
        if(_departs, {{ change_tables.precedence_of('departure') }}, {{ change_tables.precedence('_change_op') }}) as _precedence,
        _departs or _change_op = 'delete' as _is_deleted,
        _key_before is not null and not _departs as _enters
    from {{ changes }}
        lateral view explode(if(_key_before is null, array(false), array(false, true))) as _departs

)
{%- endif -%}
{%- endmacro %}


{#-
    Inside one transaction a row may move to a key whose row has not left yet. Whoever entered a key first leaves it first,
    so a departure or a delete need not end the row that entered last: who is there takes the key's whole history to tell.
    These steps read it for the keys that a transaction both entered and ended, as far as the run has events of them, and
    end in `covered_ends`: the departures and deletes that ended a row which another had covered already.
-#}
{% macro _exchange_steps(spec, run, log) -%}
{{ change_tables._exchanged_keys_steps(spec, run, log) }},

exchanged_changes as (

    select *
    from {{ log }}
    where
        _mark is null
        and _change_op <> 'truncate'
        {%- if run.mark.floor %}
        and _change_seq >= '{{ run.mark.floor }}'
        {%- endif %}
        and _batch_id <= '{{ run.mark.batch }}'

),

{{ change_tables._event_steps(spec, run, 'logged_events', 'exchanged_changes') }},

exchanged_events as (

    select logged_events.*
    from logged_events
    left semi join exchanged_keys
        on {{ change_tables.same_key(spec.key, 'logged_events', 'exchanged_keys') }}

),

-- a move adds a row, a departure or a delete takes the first, any other change sets the newest; the end of a transaction
-- leaves only that; a change without a transaction stands alone
replays as (

    select
        {{ change_tables.column_list(spec.key) }},
        aggregate(
            array_sort(collect_list(struct(
                _change_seq, _precedence, _change_id, _transaction_id, _enters, _is_deleted
            ))),
            named_struct(
                'transaction_id', cast(null as string),
                'rows', 0,
                'covered', cast(array() as array<struct<_change_id: string, _precedence: bigint>>)
            ),
            (held, event) -> named_struct(
                'transaction_id', event._transaction_id,
                'rows', case
                    when event._is_deleted
                        then greatest(if(event._transaction_id = held.transaction_id, held.rows, least(held.rows, 1)) - 1, 0)
                    when event._enters
                        then if(event._transaction_id = held.transaction_id, held.rows, least(held.rows, 1)) + 1
                    else greatest(if(event._transaction_id = held.transaction_id, held.rows, least(held.rows, 1)), 1)
                end,
                'covered', if(
                    event._is_deleted and event._transaction_id = held.transaction_id and held.rows > 1,
                    concat(held.covered, array(named_struct('_change_id', event._change_id, '_precedence', event._precedence))),
                    held.covered
                )
            )
        ).covered as _covered
    from exchanged_events
    group by {{ change_tables.column_list(spec.key) }}

),

covered_ends as (

    select
        {{ change_tables.column_list(spec.key) }},
        inline(_covered)
    from replays

)
{%- endmacro %}


{#- The keys that a transaction both entered and ended; of a run that adds to a state, those that it has events of. -#}
{% macro _exchanged_keys_steps(spec, run, log) -%}
moves_and_deletes as (

    select *
    from {{ log }}
    where
        _mark is null
        and (_key_before is not null or _change_op = 'delete')
        and _batch_id <= '{{ run.mark.batch }}'

),

{{ change_tables._event_steps(spec, run, 'entries_and_ends', 'moves_and_deletes') }},

exchanged_keys as (

    select distinct {{ change_tables.column_list(spec.key, 'entries') }}
    from entries_and_ends as entries
    left semi join entries_and_ends as ends
        on
            entries._transaction_id = ends._transaction_id
            and ends._is_deleted
            and {{ change_tables.same_key(spec.key, 'entries', 'ends') }}
    {%- if run.run == 'since' %}
    left semi join events
        on {{ change_tables.same_key(spec.key, 'entries', 'events') }}
    {%- endif %}
    where entries._enters

)
{%- endmacro %}


{#- Whether a run of a state has keys to replay (see `_exchange_steps`): looked up, since most runs have none. -#}
{% macro _has_exchanges(spec, run, log) %}
    {% if not run.moves or run.run not in ['first', 'since'] %}
        {% do return(false) %}
    {% endif %}
    {% set found = run_query(
        'with ' ~ change_tables._new_events_steps(spec, run, log) ~ ', ' ~ change_tables._exchanged_keys_steps(spec, run, log)
        ~ ' select count(*) from (select 1 from exchanged_keys limit 1) as found'
    ) %}
    {% do return(found.rows[0][0] | int > 0) %}
{% endmacro %}


{% macro _check_images_are_full(spec) %}
    {% if spec.images != 'full' %}
        {% do exceptions.raise_compiler_error(
            "change_tables: source '" ~ spec.source_name ~ "." ~ spec.table_name ~ "': current_state takes `images: full` so far, got '"
            ~ spec.images ~ "'"
        ) %}
    {% endif %}
{% endmacro %}
