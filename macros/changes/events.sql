{#-
    From the log of a table to what happened to its keys: the steps that every model behind a log begins with.

    An event sets the row of one key or ends it. A change is one event, a change that moved its key is two. Events of a key
    are ordered by `_change_seq`, `_precedence`, `_change_id`.
-#}

{#-
    What an event bears besides the table's own columns; `_enters` where rows must be followed from key to key, `_form` where
    changes may have been logged without a column that they could bear.
-#}
{% macro _event_columns(spec, run) %}
    {% do return(
        ['_change_op', '_change_seq', '_changed_at', '_transaction_id', '_change_id']
        + (['_present_columns'] if spec.images == 'partial' else [])
        + (['_form'] if spec.images == 'partial' and run.added else [])
        + ['_precedence', '_is_deleted'] + (['_enters'] if run.follows_rows else [])
    ) %}
{% endmacro %}


{#-
    What changes do to keys, as a step of that name: a change sets the row of its key or ends it; one that moved its key
    has ended the key before as well, by a departure.
-#}
{% macro _event_steps(spec, run, name, changes) -%}
{%- set taken_over = change_tables._event_columns(spec, run) | reject('in', ['_precedence', '_is_deleted', '_enters']) | list -%}
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
        if(_departs, _key_before[{{ change_tables.text_literal(name) }}], {{ change_tables.quoted(name) }}) as {{ change_tables.quoted(name) }},
        {%- else -%}
        if(_departs, null, {{ change_tables.quoted(name) }}) as {{ change_tables.quoted(name) }},
        {%- endif %}
    {%- endfor %}
        {{ change_tables.column_list(taken_over) }},
        if(_departs, {{ change_tables.precedence_of('departure') }}, {{ change_tables.precedence('_change_op') }}) as _precedence,
        _departs or _change_op = 'delete' as _is_deleted,
        _key_before is not null and not _departs as _enters
    from {{ changes }}
        lateral view explode(if(_key_before is null, array(false), array(false, true))) as _departs

)
{%- endif -%}
{%- endmacro %}


{#- The bound that keeps a run to what its mark says; what is read whenever it is looked at has none. -#}
{% macro _until_mark(run) -%}
    {%- if run.mark.batch %}
        and _batch_id <= '{{ run.mark.batch }}'
    {%- endif -%}
{%- endmacro %}


{#- Changes of multi-valued columns alone bear nothing of the row, and leave it as it is. -#}
{% macro _touches_row(spec) -%}
    {%- if spec.multi_valued %}
        and not coalesce(size(_present_columns) = 0, false)
    {%- endif -%}
{%- endmacro %}


{#- The events that a run adds to a state, ending in `events`. -#}
{% macro _new_event_steps(spec, run, log) -%}
changes as (

    select *
    from {{ log }}
    where
        _mark is null
        and _change_op <> 'truncate'
        {{- change_tables._touches_row(spec) }}
        {%- if run.run == 'since' %}
        and _batch_id > '{{ run.mark_before.batch }}'
        {%- endif %}
        {{- change_tables._until_mark(run) }}

),

{{ change_tables._event_steps(spec, run, 'events', 'changes') }}
{%- endmacro %}


{#-
    All events that decide what a run writes, ending in `key_events`: the new ones, and for keys whose past counts as well
    (`run.replays`) all that the log holds of them. `_is_replayed` tells those.
-#}
{% macro _key_event_steps(spec, run, log, state) -%}
{%- set columns = spec.column_names + change_tables._event_columns(spec, run) -%}
{{ change_tables._new_event_steps(spec, run, log) }},

{% if run.folds and run.run == 'since' -%}
{{ change_tables._last_event_steps(run, state) }},

{% endif -%}
{%- if run.replays -%}
{{ change_tables._replayed_key_steps(spec, run, log, state) }},

{{ change_tables._replayed_event_steps(spec, run, log) }},

{% elif run.exchanges and spec.images == 'full' -%}
{{ change_tables._exchanged_key_steps(spec, run, log) }},

{% endif -%}
{%- if run.folds and run.has_floors -%}
{{ change_tables._floor_steps(run, log) }},

{% endif -%}
{%- if run.exchanges and spec.images == 'full' -%}
{{ change_tables._covered_end_steps(spec, 'replayed_events' if run.replays else 'events', run) }},

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


{#-
    The keys that a run reads the whole past of, ending in `replayed_keys`: those of which it has events that are older than
    what the state has folded already, where older events count; and those that exchanged rows.
-#}
{% macro _replayed_key_steps(spec, run, log, state) -%}
{%- if run.late -%}
{{ change_tables._late_key_steps(spec) }},

{% endif -%}
{%- if run.exchanges -%}
{{ change_tables._exchanged_key_steps(spec, run, log) }},

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


{#-
    Whether a row of a state stands for the last event of its key; of a history, other rows do not, and lie in files of their
    own.
-#}
{% macro _is_last_of_key(run) -%}
    {{- '_mark is null and _is_last' if run.history else '_mark is null' -}}
{%- endmacro %}


{#- The last event that a state has folded of each key. -#}
{% macro _last_event_steps(run, state) -%}
last_events as (

    select *
    from {{ state }}
    where {{ change_tables._is_last_of_key(run) }}

)
{%- endmacro %}


{#- The keys of new events that stand before the last one that the state has folded, beside it, or are that one, revised. -#}
{% macro _late_key_steps(spec) -%}
late_keys as (

    select distinct {{ change_tables.column_list(spec.key, 'events') }}
    from events
    inner join last_events
        on {{ change_tables.same_key(spec.key, 'events', 'last_events') }}
    where events._change_seq <= last_events._change_seq

)
{%- endmacro %}


{% macro _replayed_event_steps(spec, run, log) -%}
logged_changes as (

    select *
    from {{ log }}
    where
        _mark is null
        and _change_op <> 'truncate'
        {{- change_tables._touches_row(spec) }}
        {{- change_tables._until_mark(run) }}

),

{{ change_tables._event_steps(spec, run, 'logged_events', 'logged_changes') }},

replayed_events as (

    select logged_events.*
    from logged_events
    left semi join replayed_keys
        on {{ change_tables.same_key(spec.key, 'logged_events', 'replayed_keys') }}

)
{%- endmacro %}


{#- The events by which rows entered and left keys, out of the whole log. -#}
{% macro _entry_and_end_steps(spec, run, log) -%}
moves_and_deletes as (

    select *
    from {{ log }}
    where
        _mark is null
        and (_key_before is not null or _change_op = 'delete')
        {{- change_tables._until_mark(run) }}

),

{{ change_tables._event_steps(spec, run, 'entries_and_ends', 'moves_and_deletes') }}
{%- endmacro %}


{#-
    The keys that a transaction both entered and ended; of a run that adds to a state, those that it has events of. Where a
    state holds but the last event of a key, also keys that rows ever entered, of which an event came before an end that is
    folded: that end may have taken a row that another had covered, and a revision may have taken the two transactions apart.
-#}
{% macro _exchanged_key_steps(spec, run, log) -%}
{{ change_tables._entry_and_end_steps(spec, run, log) }},

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
    {%- if run.run == 'since' and not run.folds %}
    union distinct
    select {{ change_tables.column_list(spec.key, 'ends') }}
    from entries_and_ends as ends
    inner join events
        on
            ends._change_seq >= events._change_seq
            and {{ change_tables.same_key(spec.key, 'ends', 'events') }}
    left anti join events as new_ends
        on ends._change_id = new_ends._change_id and ends._change_seq = new_ends._change_seq
    left semi join entries_and_ends as entries
        on entries._enters and {{ change_tables.same_key(spec.key, 'ends', 'entries') }}
    where ends._is_deleted
    {%- endif %}

)
{%- endmacro %}


{#-
    Inside one transaction a row may move to a key whose row has not left yet. Whoever entered a key first leaves it first,
    so a departure or a delete need not end the row that entered last: who is there takes the key's whole past to tell.
    These steps end in `covered_ends`: the departures and deletes that ended a row which another had covered already.
-#}
{% macro _covered_end_steps(spec, events, run) -%}
-- a move adds a row, a departure or a delete takes the first, any other change sets the newest; the end of a transaction
-- leaves only that, a truncate none; a change without a transaction stands alone
counted_rows as (

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
    from {{ events }}
    {%- if run.run == 'first' %}
    left semi join exchanged_keys
        on {{ change_tables.same_key(spec.key, events, 'exchanged_keys') }}
    {%- endif %}
    {%- if run.folds and run.has_floors %}
    cross join floors
    group by {{ change_tables.column_list(spec.key) }}, size(filter(_floors, floor -> floor._change_seq <= {{ events }}._change_seq))
    {%- else %}
    {%- if run.mark.floor %}
    where {{ events }}._change_seq >= {{ change_tables.text_literal(run.mark.floor) }}
    {%- endif %}
    group by {{ change_tables.column_list(spec.key) }}
    {%- endif %}

),

covered_ends as (

    select
        {{ change_tables.column_list(spec.key) }},
        _change_id,
        _precedence
    from counted_rows
        lateral view inline(_covered) as _change_id, _precedence

)
{%- endmacro %}


{#- What ended every key of the table, in order, as one array: its truncates and, but for the first, its loads. -#}
{% macro _floor_steps(run, log) -%}
truncates as (

    select _change_seq, _changed_at, _transaction_id, _change_id
    from {{ log }}
    where
        _mark is null
        and _change_op = 'truncate'
        {{- change_tables._until_mark(run) }}
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

    select array_sort(collect_list(struct(_change_seq, _changed_at, _transaction_id, _change_id))) as _floors
    from truncates

)
{%- endmacro %}
