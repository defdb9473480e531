{#-
    The query of a model that folds, with its run and its statements handed over. Where the run looks for late events, it sends these
    statements. They have the same steps as the query, but that the input events are in the table `kept`:

    input      the events to keep
    replayed   the events to add where some are late
    rows       the steps from `all_events` (see `all_events_of_table`) to the rows that they make

    caller   what follows the steps that end in `folded`
-#}
{% macro folded_query(spec, run) -%}
{%- set rows = change_tables.folded_steps(spec, run) ~ caller() -%}
{%- set input = 'with ' ~ change_tables.input_event_steps(spec, run) -%}
{%- set statements = {} -%}
{%- if run.looks -%}
    {%- set kept = change_tables.batch_relation(this, change_tables.batch_id()) -%}
    {%- set replayed = change_tables.replayed_event_steps(spec, run) -%}
    {%- set statements = {
        'input': input ~ '\n\nselect *, false as _ct_is_replayed from input_events',
        'replayed': 'with input_events as (\n\n    select * from ' ~ kept ~ '\n\n),\n\n' ~ replayed
            ~ '\n\nselect *, false as _ct_is_late, true as _ct_is_replayed from replayed_events',
        'rows': rows,
    } -%}
    {%- set input = [input, replayed, change_tables.all_events_of_steps(spec, run)] | join(',\n\n') -%}
{%- endif -%}
{%- do change_tables.hand_over(run, statements) -%}
{{ input }},

{{ rows }}
{%- endmacro %}


{#-
    The fold: what the row of a key is after each of its events. It ends in `folded`: the input events, one a key
    and sequence, each with the row as it is then in the table's own columns, or `_is_deleted`; of a history, also with the
    latest time of the key's events so far (`_ct_running_at`).

    A run that adds to a state begins with the base event of a key, the last one that the state has folded (`_ct_is_base`), so that the
    key's past need not be read again. Of a history, a base event has what is known of its version.
-#}
{% macro folded_steps(spec, run) -%}
{{ change_tables.row_event_steps(spec, run) }}
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
    from {{ 'overlaid_events' if spec.images == 'partial' else change_tables._row_events(run) }}
    {%- if spec.images == 'partial' %}
    where _ct_has_lived or _ct_is_base or _change_op <> 'truncate'
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


{#-
    All events without the ends of covered rows, which are no ends of their keys, where rows may have covered others; then also with
    what truncates and loads ended. Where neither can be, these are no steps; each has a comma after it.
-#}
{% macro row_event_steps(spec, run) -%}
{%- if run.has_resets -%}
{{ change_tables.reset_steps(spec, run) }},

{% endif -%}
{%- if run.moves -%}
{{ change_tables.followed_steps(spec, run) }},

{% endif -%}
{%- if run.has_resets -%}
{{ change_tables.ended_event_steps(spec, run) }},

{% endif -%}
{%- endmacro %}


{#- The step at which they are then. -#}
{% macro _row_events(run) -%}
    {%- if run.has_resets -%}
        ended_events
    {%- elif run.moves -%}
        followed_events
    {%- else -%}
        all_events
    {%- endif -%}
{%- endmacro %}


{#-
    After which events the row of a key lives (`_ct_lives`). The last step is `decided_events`. A change that has every column
    starts a row, as does an insert, a snapshot, or an upsert where none lives: columns that it lacks are as they were staged
    then, null unless the format knows the row around them. An update that lacks columns changes a row that lives; where none does,
    it waits for its base (`orphans: insert` lets it start a row).
-#}
{% macro judged_steps(spec, run) -%}
started_events as (

    select
        *,
        {%- if run.moves %}
        {{ change_tables.each(spec.key, 'if(_ct_lineage is null, {name}, null) as _ct_unmoved_{number},') | join('\n        ') }}
        {%- endif %}
        not _is_deleted
        {%- if spec.orphans != 'insert' %}
        and (_ct_is_base or _present_columns is null or _change_op in ('insert', 'snapshot', 'upsert'))
        {%- endif %} as _ct_can_start
    from {{ change_tables._row_events(run) }}

),

judged_events as (

    select
        *,
        coalesce(
            last_value(
                case
                    {%- if run.moves %}
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
        not _ct_has_lived or _ct_is_base or _present_columns is null or _change_op in ('insert', 'snapshot') as _ct_has_all
    from judged_events

)
{%- endmacro %}


{#-
    Partial images laid over each other along the order of a row: see `judged_steps` for which of them change it.
-#}
{% macro _overlaid_steps(spec, run) -%}
{{ change_tables.judged_steps(spec, run) }},

overlaid_events as (

    select
        {%- for name in spec.column_names %}
        {% if name in spec.key -%}
        {{ change_tables.quoted(name) }},
        {%- else -%}
        {#- one that was logged before the column was added had all that there was then: it lacks this one, unless it starts a row -#}
        {%- set is_later = ' and (_schema_version >= ' ~ run.added[name] ~ " or not _ct_has_lived or _change_op in ('insert', 'snapshot'))" if name in run.added -%}
        if(
            _ct_lives,
            last_value(
                case
                    when _ct_lives and ({{ '(_ct_has_all' ~ is_later ~ ')' if is_later else '_ct_has_all' }} or array_contains(_present_columns, {{ change_tables.text_literal(name) }}))
                        then named_struct('value', {{ change_tables.quoted(name) }})
                end,
                true
            ) over in_order.value,
            {{ 'if(_ct_is_base, ' ~ change_tables.quoted(name) ~ ', null)' if run.keeps_deleted else 'null' }}
        ) as {{ change_tables.quoted(name) }},
        {%- endif %}
        {%- endfor %}
        {{ change_tables.each(change_tables.event_columns(spec, run) | reject('equalto', '_is_deleted'), '{name},') | join('\n        ') }}
        not _ct_lives as _is_deleted,
        _ct_has_lived
    from decided_events
    window in_order as (
        partition by {{ change_tables._same_row(spec, run) }}
        order by _change_seq, _precedence, _change_id
    )

)
{%- endmacro %}


{#-
    What the events of one row share: its key, or where rows move from key to key, the row that they all changed. Columns, since Spark
    sorts only once by these.
-#}
{% macro _same_row(spec, run) -%}
    {%- do return(change_tables.column_list(spec.key)) if not run.moves -%}
    {{- (['_ct_lineage'] + change_tables.each(spec.key, '_ct_unmoved_{number}')) | join(', ') -}}
{%- endmacro %}
