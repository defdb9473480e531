{#-
    The state of one table now: one row a living key. Incremental: the changes that the log took in since the last run
    are folded into the state; keys that ended are remembered, so that an older change that comes late cannot revive them.

    dedup   the relation of the table's deduplicated model
-#}
{% macro current_state(dedup) %}
    {{- config(materialized='change_state') -}}
    {%- if execute and change_tables.is_empty_run() -%}
        {%- set spec = change_tables.table_spec_of_model(model) -%}
{{ change_tables.empty_run(change_tables.columns_of_table(spec, ['_mark'] + change_tables.state_columns(spec))) }}
    {%- elif execute -%}
        {%- set spec = change_tables.table_spec_of_model(model) -%}
        {%- set log = change_tables.state_relation(dedup) -%}
        {%- set state = change_tables.state_relation(this) -%}
        {%- set run = change_tables.state_run(spec, dedup, folds=spec.images == 'partial') -%}
{{ change_tables.run_note(run) }}
        {%- if run.folds %}
with {{ change_tables.folded_steps(spec, run, log, state) }}

select
    _change_seq,
    _change_op,
    _change_id,
    _precedence,
    _is_deleted,
    _changed_at,
    _transaction_id,
    {{ change_tables.column_list(spec.column_names) }}
from folded
where _ct_next_seq is null{{ ' and not _ct_is_known' if spec.images == 'full' }}
        {%- else %}
with {{ change_tables.new_event_steps(spec, run, log) }},

{% if run.ends_older_keys -%}
-- keys that live and are older than the latest truncate or load
ended_keys as (

    select
        {{ change_tables.column_list(spec.column_names) }},
        {{ change_tables.column_list(change_tables.event_columns(spec, run) | reject('equalto', '_is_deleted') | list) }},
        true as _is_deleted
    from {{ state }}
    where _mark is null and not _is_deleted and _change_seq < {{ change_tables.text_literal(run.mark.floor) }}

),

all_events as (

    select *
    from events
    union all
    select *
    from ended_keys

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
    _change_seq,
    _change_op,
    _change_id,
    _precedence,
    {% if run.mark.floor -%}
    _is_deleted or _change_seq < {{ change_tables.text_literal(run.mark.floor) }} as _is_deleted,
    {%- else -%}
    _is_deleted,
    {%- endif %}
    _changed_at,
    _transaction_id,
    {{ change_tables.column_list(spec.column_names) }}
from ranked
where _ct_rank = 1
        {%- endif -%}
    {%- else -%}
select 1 as placeholder
    {%- endif -%}
{% endmacro %}
