{#-
    The state of one table now: one row a living key. Incremental: the changes that the log took in since the last run
    are folded into the state; keys that ended are remembered, so that an older change that comes late cannot revive them.

    dedup     the relation of the table's deduplicated model
    deletes   `drop`: rows whose key has ended are not shown. `keep`: they are, as they were last, with `_is_deleted`. Then older events
              decide a row also where images are full
-#}
{% macro current_state(dedup, deletes='drop') %}
    {{- config(materialized='change_state') -}}
    {%- do change_tables.refuse_model("`deletes` must be one of drop, keep, got " ~ change_tables.shown_value(deletes)) if deletes not in ['drop', 'keep'] -%}
    {%- set keeps_deleted = deletes == 'keep' -%}
    {%- do return('select 1 as placeholder') if not execute -%}
    {%- set spec = change_tables.table_spec_of_model(model) -%}
    {%- if change_tables.is_empty_run() -%}
        {%- set columns = ['_checkpoint'] + change_tables.state_columns(spec, keeps_deleted=keeps_deleted) -%}
        {%- do return(change_tables.empty_run(change_tables.columns_of_table(spec, columns), keeps_deleted=keeps_deleted)) -%}
    {%- endif -%}
    {%- set run = change_tables.state_run(spec, dedup, keeps_deleted=keeps_deleted) -%}
    {%- if keeps_deleted -%}
        {%- call change_tables.folded_query(spec, run) -%}
{{ change_tables._kept_rows(spec) }}
        {%- endcall -%}
    {%- elif run.folds -%}
        {%- call change_tables.folded_query(spec, run) %}

select {{ change_tables.column_list(change_tables.state_columns(spec)) }}
from folded
where _ct_next_seq is null{{ ' and not _ct_is_base' if spec.images == 'full' }}
        {%- endcall -%}
    {%- else -%}
        {%- do change_tables.hand_over(run) -%}
        {%- set reset_seq = change_tables.text_literal(run.checkpoint.reset_seq) -%}
        {%- set columns = change_tables.column_list(change_tables.state_columns(spec)) -%}
with {{ change_tables.event_steps(spec, run) }},

{% if run.ends_older_keys -%}
-- also keys that live and are older than the latest truncate or load
all_events as (

    select {{ columns }}
    from events
    union all
    select {{ columns }}
    from {{ run.state }}
    where _checkpoint is null and not _is_deleted and _change_seq < {{ reset_seq }}

),

{% endif -%}
-- the latest event of a key
ranked as (

    select
        *,
        row_number() over (
            partition by {{ change_tables.column_list(spec.key) }}
            order by _change_seq desc, _precedence desc, _change_id desc
        ) as _ct_rank
    from {{ 'all_events' if run.ends_older_keys else 'events' }}

)

select
    {{ '_is_deleted or _change_seq < ' ~ reset_seq ~ ' as ' if run.checkpoint.reset_seq }}_is_deleted,
    {{ change_tables.column_list(change_tables.state_columns(spec) | reject('equalto', '_is_deleted') | list) }}
from ranked
where _ct_rank = 1
    {%- endif -%}
{% endmacro %}


{#- What follows the fold where rows of ended keys are kept: each event with the last row that its key had, up to it. -#}
{% macro _kept_rows(spec) -%}
,

-- each event with the last row of its key so far
kept_rows as (

    select
        *,
        last_value(
            case when not _is_deleted or _has_row then struct({{ change_tables.column_list(spec.column_names) }}) end,
            true
        ) over (partition by {{ change_tables.column_list(spec.key) }} order by _change_seq) as _ct_last_row
    from folded

)

select
    {%- for name in change_tables.state_columns(spec, keeps_deleted=true) %}
    {% if name == '_has_row' -%}
    _ct_last_row is not null as _has_row
    {%- elif name in spec.column_names and name not in spec.key -%}
    _ct_last_row[{{ change_tables.text_literal(name) }}] as {{ change_tables.quoted(name) }}
    {%- else -%}
    {{ change_tables.quoted(name) }}
    {%- endif -%}
    {{ ',' if not loop.last }}
    {%- endfor %}
from kept_rows
where _ct_next_seq is null{{ ' and not _ct_is_base' if spec.images == 'full' }}
{%- endmacro %}
