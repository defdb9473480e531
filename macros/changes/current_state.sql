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
{{ change_tables.run_note(run) }}
with changes as (

    select *
    from {{ log }}
    where
        _mark is null
        and _change_op <> 'truncate'
        {%- if run.run == 'since' and not run.moves %}
        and _batch_id > '{{ run.mark_before.batch }}'
        {%- endif %}
        and _batch_id <= '{{ run.mark.batch }}'

),

events as (

    select
        {{ change_tables.column_list(spec.column_names) }},
        {{ change_tables.column_list(change_tables._event_columns()) }},
        {{ change_tables.precedence('_change_op') }} as _precedence,
        _change_op = 'delete' as _is_deleted
        {%- if run.moves %},
        _key_before is not null as _enters,
        {{ change_tables._is_new_to(run) }} as _is_new
        {%- endif %}
    from changes
    {%- if run.moves %}
    union all
    -- a key that moved has left its old place
    select
    {%- for column in spec.columns %}
        {% if column.name in spec.key -%}
        _key_before.{{ change_tables.quoted(column.name) }},
        {%- else -%}
        cast(null as {{ column.data_type }}) as {{ change_tables.quoted(column.name) }},
        {%- endif %}
    {%- endfor %}
        {{ change_tables.column_list(change_tables._event_columns()) }},
        {{ change_tables.precedence_of('departure') }} as _precedence,
        true as _is_deleted,
        false as _enters,
        {{ change_tables._is_new_to(run) }} as _is_new
    from changes
    where _key_before is not null
    {%- endif %}

),

{% if run.moves -%}
{{ change_tables._replay_steps(spec, run) }},

{% endif -%}
key_events as (

    select
        {{ change_tables.column_list(spec.column_names) }},
        {{ change_tables.column_list(change_tables._event_columns()) }},
        _precedence,
        _is_deleted,
        false as _is_replayed,
        false as _is_occupied
    from events
    {%- if run.moves %}
    left anti join occupants
        on {{ change_tables.same_key(spec.key, 'events', 'occupants') }}
    where _is_new
    union all
    select
        {{ change_tables.column_list(spec.column_names, 'replayed_events') }},
        {{ change_tables.column_list(change_tables._event_columns(), 'replayed_events') }},
        replayed_events._precedence,
        replayed_events._is_deleted,
        true as _is_replayed,
        occupants._is_occupied
    from replayed_events
    inner join occupants
        on {{ change_tables.same_key(spec.key, 'replayed_events', 'occupants') }}
    {%- endif %}
    {%- if run.ends_older_keys %}
    union all
    -- keys that live and are older than the latest truncate or load
    select
        {{ change_tables.column_list(spec.column_names) }},
        {{ change_tables.column_list(change_tables._event_columns()) }},
        _precedence,
        true as _is_deleted,
        false as _is_replayed,
        false as _is_occupied
    from {{ state }}
    where _mark is null and not _is_deleted and _change_seq < '{{ run.mark.floor }}'
    {%- endif %}

),

-- the latest event of a key; where the key is occupied, the latest that entered or changed it
ranked as (

    select
        *,
        row_number() over (
            partition by {{ change_tables.column_list(spec.key) }}
            order by _is_occupied and _is_deleted asc, _change_seq desc, _precedence desc, _change_id desc
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


{#- What an event takes over from its change, behind the table's own columns. -#}
{% macro _event_columns() %}
    {% do return(['_change_op', '_change_seq', '_changed_at', '_transaction_id', '_change_id']) %}
{% endmacro %}


{% macro _is_new_to(run) -%}
    {%- if run.run == 'since' -%} _batch_id > '{{ run.mark_before.batch }}' {%- else -%} true {%- endif -%}
{%- endmacro %}


{#-
    Inside one transaction a row may move to a key whose row has not left yet. Whoever entered a key first leaves it first,
    so a departure or a delete need not end the row that entered last: who is there takes the key's whole history to tell.
    These steps read it for the keys that a move has ever entered and that have new events, and end in `occupants`.
-#}
{% macro _replay_steps(spec, run) -%}
{%- if run.run == 'since' -%}
new_events as (

    select *
    from events
    where _is_new

),

{% endif -%}
replayed_keys as (

    select distinct {{ change_tables.column_list(spec.key, 'events') }}
    from events
    {%- if run.run == 'since' %}
    left semi join new_events
        on {{ change_tables.same_key(spec.key, 'events', 'new_events') }}
    {%- endif %}
    where events._enters

),

replayed_events as (

    select events.*
    from events
    left semi join replayed_keys
        on {{ change_tables.same_key(spec.key, 'events', 'replayed_keys') }}
    {%- if run.mark.floor %}
    where events._change_seq >= '{{ run.mark.floor }}'
    {%- endif %}

),

-- how many rows stand at a key: a move adds one, a departure or a delete takes the first, and the end of a transaction
-- leaves the newest; a change without a transaction stands alone
occupants as (

    select
        {{ change_tables.column_list(spec.key) }},
        aggregate(
            array_sort(collect_list(struct(
                _change_seq, _precedence, _change_id, _transaction_id, _enters, _is_deleted
            ))),
            named_struct('transaction_id', cast(null as string), 'rows', 0),
            (held, event) -> named_struct(
                'transaction_id', event._transaction_id,
                'rows', case
                    when event._is_deleted
                        then greatest(if(event._transaction_id = held.transaction_id, held.rows, least(held.rows, 1)) - 1, 0)
                    when event._enters
                        then if(event._transaction_id = held.transaction_id, held.rows, least(held.rows, 1)) + 1
                    else greatest(if(event._transaction_id = held.transaction_id, held.rows, least(held.rows, 1)), 1)
                end
            )
        ).rows > 0 as _is_occupied
    from replayed_events
    group by {{ change_tables.column_list(spec.key) }}

)
{%- endmacro %}


{% macro _check_images_are_full(spec) %}
    {% if spec.images != 'full' %}
        {% do exceptions.raise_compiler_error(
            "change_tables: source '" ~ spec.source_name ~ "." ~ spec.table_name ~ "': current_state takes `images: full` so far, got '"
            ~ spec.images ~ "'"
        ) %}
    {% endif %}
{% endmacro %}
