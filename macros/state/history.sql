{#-
    The history of one table: one row a version of a key, from the change that began it to the one that ended it.
    Incremental: the versions of the keys that have new changes are made again, from the last one on, or whole where a
    change came late.

    Consecutive versions that equal each other in the tracked columns (setting `track`, all by default) are one. What ended
    a key is kept as a version that the view does not show, so that an older change that comes late finds its place.

    dedup   the relation of the table's deduplicated model
-#}
{% macro history(dedup) %}
    {{- config(materialized='change_state') -}}
    {%- do return('select 1 as placeholder') if not execute -%}
    {%- set spec = change_tables.table_spec_of_model(model) -%}
    {%- if change_tables.is_empty_run() -%}
        {%- set columns = ['_checkpoint'] + change_tables.state_columns(spec, history=true) -%}
        {%- do return(change_tables.empty_run(change_tables.columns_of_table(spec, columns), history=true)) -%}
    {%- endif -%}
    {%- set run = change_tables.state_run(spec, dedup, history=true) -%}
    {%- set tracked = change_tables._tracked_values(spec) -%}
    {%- set beginning -%}
case
                when _ct_begins
                    then struct(
                        if(_ct_is_base, _valid_from_seq, _change_seq) as seq,
                        if(_ct_is_base, _valid_from, _ct_running_at) as `at`
                    )
            end
    {%- endset -%}
    {%- call change_tables.folded_query(spec, run) -%}
,

-- a version begins where a key begins or ends to live, or a tracked column changes
compared_events as (

    select
        *,
        not coalesce(
            _is_deleted = lag(_is_deleted) over in_order
            and (_is_deleted or {{ tracked }} <=> lag({{ tracked }}) over in_order),
            false
        ) as _ct_begins
    from folded
    window in_order as (partition by {{ change_tables.column_list(spec.key) }} order by _change_seq)

),

-- each event with the beginning of its version; the last of a version also has that of the next, which follows it
begun_events as (

    select
        *,
        lead(_ct_begins, 1, true) over in_order as _ct_ends,
        last_value(
            {{ beginning }},
            true
        ) over in_order as _ct_beginning,
        lead(
            {{ beginning }}
        ) over in_order as _ct_next_beginning
    from compared_events
    window in_order as (partition by {{ change_tables.column_list(spec.key) }} order by _change_seq)

),

versions as (

    select
        false as _ct_is_stale,
        _change_seq,
        _change_op,
        _change_id,
        _precedence,
        _is_deleted,
        _changed_at,
        _transaction_id,
        _ct_next_beginning is null as _is_last,
        _ct_running_at as _latest_at,
        _ct_beginning['at'] as _valid_from,
        _ct_next_beginning['at'] as _valid_to,
        _ct_beginning['seq'] as _valid_from_seq,
        _ct_next_beginning['seq'] as _valid_to_seq,
        _ct_next_beginning is null and not _is_deleted as _is_current,
        {{ change_tables.column_list(spec.column_names) }}
    from begun_events
    where _ct_ends

)

select *
from versions
    {%- endcall -%}
{% endmacro %}


{#- The columns whose change begins a new version, as one value that compares. -#}
{% macro _tracked_values(spec) -%}
    struct(
    {%- for column in spec.columns if spec.track is none or column.name in spec.track -%}
        {{- ', ' if not loop.first -}}
        {{- change_tables.comparable_value(change_tables.quoted(column.name), column.data_type) -}}
    {%- endfor -%}
    )
{%- endmacro %}
