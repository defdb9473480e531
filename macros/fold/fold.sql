{#-
    The fold: what the row of a key is after each of its events. It ends in `folded`: the events of `key_events`, one a key
    and sequence, each with the row as it is then in the table's own columns, or `_is_deleted`; of a history, also with the
    latest time of the key's events so far (`_ct_running_at`).

    A run that adds to a state begins with the last event that the state has folded of a key (`_ct_is_known`), so that the
    key's past need not be read again. Of a history, such an event has what is known of its version.
-#}
{% macro folded_steps(spec, run, log, state) -%}
{{ change_tables.given_event_steps(spec, run, log, state) }},

{% if run.follows_rows -%}
{{ change_tables.followed_steps(spec, run) }},

{% endif -%}
{%- if spec.images == 'partial' -%}
{{ change_tables._overlaid_steps(spec, run) }},

{% endif -%}
placed_events as (

    select
        *,
        {%- if run.history %}
        max(coalesce(_latest_at, _changed_at)) over in_order as _ct_running_at,
        {%- endif %}
        lead(_change_seq) over in_order as _ct_next_seq
    from {{ 'overlaid_events' if spec.images == 'partial' else change_tables.given_events(run) }}
    {%- if spec.images == 'partial' %}
    where {{ 'not _ct_ends_covered_row and ' if run.follows_rows }}(_ct_has_lived or _ct_is_known or _change_op <> 'truncate')
    {%- endif %}
    window in_order as (
        partition by {{ change_tables.column_list(spec.key) }}
        order by _change_seq, _precedence, _change_id
    )

),

folded as (

    select *
    from placed_events
    where _ct_next_seq is null or _ct_next_seq <> _change_seq

)
{%- endmacro %}


{#- All events that the fold of a run takes, in the step that `given_events` names. -#}
{% macro given_event_steps(spec, run, log, state) -%}
{%- set columns = spec.column_names + change_tables.event_columns(spec, run) + ['_is_replayed'] -%}
{%- set kept = change_tables._kept_columns(run) -%}
{{ change_tables.key_event_steps(spec, run, log, state) }},

{% if run.run == 'since' -%}
{{ change_tables._known_event_steps(spec, run) }},

{% endif -%}
given_events as (
{% if run.kept_step %}
    {{ change_tables.kept_from_here() }}
{%- endif %}
    select
        {{ change_tables.column_list(columns) }},
        {%- for name, type in kept.items() %}
        cast(null as {{ type }}) as {{ name }},
        {%- endfor %}
        false as _ct_is_known
    from key_events
    {%- if run.run == 'since' %}
    union all
    select
        {{ change_tables.column_list(columns + kept.keys() | list) }},
        true as _ct_is_known
    from known_events
    {%- endif %}
    {%- if run.kept_step %}
    {{ change_tables.kept_to_here() }}
    {%- endif %}

)
{%- if run.has_floors -%}
,

{{ change_tables._ended_event_steps(spec, run) }}
{%- endif -%}
{%- endmacro %}


{% macro given_events(run) -%}
    {{- 'ended_events' if run.has_floors else 'given_events' -}}
{%- endmacro %}


{#- The columns of a history's rows (name -> type) that its next run goes on from. -#}
{% macro _kept_columns(run) %}
    {% do return(
        {'_valid_from': 'timestamp', '_valid_from_seq': 'string', '_latest_at': 'timestamp'} if run.history else {}
    ) %}
{% endmacro %}


{#- The last folded events of the keys that the run has events of, or that a truncate or a load ends. -#}
{% macro _known_event_steps(spec, run) -%}
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
        {{ change_tables._known_columns(spec, run) }}
    from last_events
    left semi join known_keys
        on {{ change_tables.same_key(spec.key, 'last_events', 'known_keys') }}
    {%- if run.ends_older_keys %}
    union all
    select
        {{ change_tables._known_columns(spec, run) }}
    from last_events
    left anti join events
        on {{ change_tables.same_key(spec.key, 'last_events', 'events') }}
    where not last_events._is_deleted and last_events._change_seq < {{ change_tables.text_literal(run.mark.floor) }}
    {%- endif %}

)
{%- endmacro %}


{% macro _known_columns(spec, run) -%}
{{ change_tables.column_list(spec.column_names, 'last_events') }},
        {%- set made = {'_present_columns': 'cast(null as array<string>) as _present_columns', '_ct_enters': 'false as _ct_enters', '_form': run.form ~ ' as _form'} -%}
        {%- for name in change_tables.event_columns(spec, run) %}
        {{ made.get(name, 'last_events.' ~ name) }},
        {%- endfor %}
        false as _is_replayed
        {%- for name in change_tables._kept_columns(run) -%}
        ,
        last_events.{{ name }}
        {%- endfor %}
{%- endmacro %}


{#-
    The given events and, for every key that lived when the table was truncated or loaded again, its end by that: the first
    of `floors` after an event and not after the next.
-#}
{% macro _ended_event_steps(spec, run) -%}
spans as (

    select
        {{ change_tables.column_list(spec.key) }},
        _is_replayed,
        _change_seq as _ct_span_seq,
        {%- if spec.images == 'full' %}
        _is_deleted as _ct_is_ended,
        {%- endif %}
        lead(_change_seq) over (
            partition by {{ change_tables.column_list(spec.key) }}
            order by _change_seq, _precedence, _change_id
        ) as _ct_span_next_seq
    from given_events

),

key_floors as (

    select
        {{ change_tables.column_list(spec.key) }},
        _is_replayed,
        get(
            filter(
                _ct_floors,
                floor -> floor._change_seq > _ct_span_seq and (_ct_span_next_seq is null or floor._change_seq <= _ct_span_next_seq)
            ),
            0
        ) as _ct_floor
    from spans
    cross join floors
    {%- if spec.images == 'full' %}
    where not _ct_is_ended
    {%- endif %}

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
        _ct_floor['_change_seq'] as _change_seq,
        _ct_floor['_changed_at'] as _changed_at,
        _ct_floor['_transaction_id'] as _transaction_id,
        _ct_floor['_change_id'] as _change_id,
        {%- if spec.images == 'partial' %}
        cast(null as array<string>) as _present_columns,
        {%- if run.added %}
        {{ run.form }} as _form,
        {%- endif %}
        {%- endif %}
        {{ change_tables.precedence_of('truncate') }} as _precedence,
        true as _is_deleted,
        {%- if run.follows_rows %}
        false as _ct_enters,
        {%- endif %}
        _is_replayed,
        {%- for name, type in change_tables._kept_columns(run).items() %}
        cast(null as {{ type }}) as {{ name }},
        {%- endfor %}
        false as _ct_is_known
    from key_floors
    where _ct_floor is not null

)
{%- endmacro %}


{#-
    After which events the row of a key lives (`_ct_lives`). The last step is `decided_events`. A change that has every column
    starts a row, as does an insert, a snapshot, or an upsert where none lives: columns that it lacks are null then. An
    update that lacks columns changes a row that lives; where none does, it waits for its base (`orphans: insert` lets it
    start a row).
-#}
{% macro judged_steps(spec, run) -%}
started_events as (

    select
        *,
        not _is_deleted
        {%- if spec.orphans != 'insert' %}
        and (_ct_is_known or _present_columns is null or _change_op in ('insert', 'snapshot', 'upsert'))
        {%- endif %} as _ct_can_start
    from {{ 'followed_events' if run.follows_rows else change_tables.given_events(run) }}

),

judged_events as (

    select
        *,
        coalesce(
            last_value(
                case
                    {%- if run.follows_rows %}
                    when _is_deleted and _ct_lineage is not null and _precedence = {{ change_tables.precedence_of('departure') }} then null
                    {%- endif %}
                    when _is_deleted then false
                    when _ct_can_start then true
                end,
                true
            ) over (
                partition by {{ change_tables._same_row(spec, run) }}
                order by _change_seq, _precedence, _change_id
                rows between unbounded preceding and 1 preceding
            ),
            false
        ) as _ct_has_lived
    from started_events

),

decided_events as (

    select
        *,
        not _is_deleted and (_ct_can_start or _ct_has_lived) as _ct_lives,
        not _ct_has_lived or _ct_is_known or _present_columns is null or _change_op in ('insert', 'snapshot') as _ct_has_all
    from judged_events

)
{%- endmacro %}


{#-
    Partial images laid over each other along the order of a row: see `judged_steps` for which of them change it.
-#}
{% macro _overlaid_steps(spec, run) -%}
{%- set passed_on = change_tables.event_columns(spec, run) + ['_is_replayed'] + change_tables._kept_columns(run).keys() | list -%}
{{ change_tables.judged_steps(spec, run) }},

overlaid_events as (

    select
        {%- for name in spec.column_names %}
        {% if name in spec.key -%}
        {{ change_tables.quoted(name) }},
        {%- else -%}
        if(
            _ct_lives,
            last_value(
                case
                    when _ct_lives and ({{ change_tables._has_all(run, name) }} or array_contains(_present_columns, {{ change_tables.text_literal(name) }}))
                        then named_struct('value', {{ change_tables.quoted(name) }})
                end,
                true
            ) over in_order.value,
            null
        ) as {{ change_tables.quoted(name) }},
        {%- endif %}
        {%- endfor %}
        {%- for name in passed_on if name != '_is_deleted' %}
        {{ name }},
        {%- endfor %}
        not _ct_lives as _is_deleted,
        {%- if run.follows_rows %}
        _ct_ends_covered_row,
        {%- endif %}
        _ct_has_lived,
        _ct_is_known
    from decided_events
    window in_order as (
        partition by {{ change_tables._same_row(spec, run) }}
        order by _change_seq, _precedence, _change_id
    )

)
{%- endmacro %}


{#-
    Whether an event has a column because it has all. One that was logged before the column was added had all that there
    was then: it lacks this one, but where it starts a row.
-#}
{% macro _has_all(run, name) -%}
    {%- if name in run.added -%}
        (_ct_has_all and (_form >= {{ run.added[name] }} or not _ct_has_lived or _change_op in ('insert', 'snapshot')))
    {%- else -%}
        _ct_has_all
    {%- endif -%}
{%- endmacro %}


{#- What the events of one row share: its key, or where rows move from key to key, the row that they all changed. -#}
{% macro _same_row(spec, run) -%}
    {%- if not run.follows_rows -%}
        {{ change_tables.column_list(spec.key) }}
    {%- else -%}
        _ct_lineage
        {%- for name in spec.key -%}
            , if(_ct_lineage is null, {{ change_tables.quoted(name) }}, null)
        {%- endfor -%}
    {%- endif -%}
{%- endmacro %}
