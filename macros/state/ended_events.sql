{#- All resets of the table, which are truncates and loads, as one array, in the order of events: of one sequence, truncates come first. -#}
{% macro reset_steps(spec, run) -%}
truncates as (

    select _change_seq, _changed_at, _transaction_id, _change_id
    from {{ run.log }}
    where
        _checkpoint is null
        and _change_op = 'truncate'
        {{- change_tables.until_checkpoint(run) }}
    {%- for load in run.checkpoint.loads %}
    union all
    select
        {{ change_tables.text_literal(load) }} as _change_seq,
        {{ change_tables.timestamp_of_load(spec, load, run.load_times) }} as _changed_at,
        cast(null as string) as _transaction_id,
        cast(null as string) as _change_id
    {%- endfor %}

),

resets as (

    select
        array_sort(collect_list(struct(
            _change_seq, _change_id is null as _ct_is_load, _change_id, _changed_at, _transaction_id
        ))) as _ct_resets
    from truncates

)
{%- endmacro %}


{#-
    The events of a step and, for every key that lived when the table was truncated or loaded again, its end by that: the first
    of `resets` after an event and not after the next.
-#}
{% macro ended_event_steps(spec, run) -%}
{%- set of_reset = dict(
    change_tables.end_of_key(run), _change_op="'truncate'", _change_seq="_ct_reset['_change_seq']", _changed_at="_ct_reset['_changed_at']",
    _transaction_id="_ct_reset['_transaction_id']", _change_id="_ct_reset['_change_id']"
) -%}
spans as (

    select
        *,
        lead(_change_seq) over (
            partition by {{ change_tables.column_list(spec.key) }}
            order by _change_seq, _precedence, _change_id
        ) as _ct_next_in_span
    from {{ 'followed_events' if run.moves else 'all_events' }}

),

events_and_resets as (

    select
        spans.*,
        case when not _is_deleted then get(
            filter(
                resets._ct_resets,
                a_reset -> a_reset._change_seq > spans._change_seq
                and (spans._ct_next_in_span is null or a_reset._change_seq <= spans._ct_next_in_span)
            ),
            0
        ) end as _ct_reset
    from spans
    cross join resets

),

ended_events as (

    select
        {{ change_tables.column_list(spec.key) }},
        {%- for name in spec.column_names if name not in spec.key %}
        if(_ct_is_reset, null, {{ change_tables.quoted(name) }}) as {{ change_tables.quoted(name) }},
        {%- endfor %}
        {%- if spec.images == 'partial' and run.moves %}
        _ct_lineage,
        {%- endif %}
        {%- for name in change_tables.event_columns(spec, run) %}
        if(_ct_is_reset, {{ of_reset.get(name, 'null') }}, {{ name }}) as {{ name }}{{ ',' if not loop.last }}
        {%- endfor %}
    from events_and_resets
        lateral view explode(if(_ct_reset is null, array(false), array(false, true))) as _ct_is_reset

)
{%- endmacro %}
