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
        {%- if run.run == 'since' %}
        and _batch_id > '{{ run.mark_before.batch }}'
        {%- endif %}
        and _batch_id <= '{{ run.mark.batch }}'

),

key_events as (

    select
        {{ change_tables.column_list(spec.column_names) }},
        _change_op,
        _change_seq,
        _changed_at,
        _transaction_id,
        _change_id,
        {{ change_tables.precedence('_change_op') }} as _precedence,
        _change_op = 'delete' as _is_deleted
    from changes
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
        _change_op,
        _change_seq,
        _changed_at,
        _transaction_id,
        _change_id,
        {{ change_tables.precedence_of('departure') }} as _precedence,
        true as _is_deleted
    from changes
    where _key_before is not null
    {%- if run.ends_older_keys %}
    union all
    -- keys that live and are older than the latest truncate or load
    select
        {{ change_tables.column_list(spec.column_names) }},
        _change_op,
        _change_seq,
        _changed_at,
        _transaction_id,
        _change_id,
        _precedence,
        true as _is_deleted
    from {{ state }}
    where _mark is null and not _is_deleted and _change_seq < '{{ run.mark.floor }}'
    {%- endif %}

),

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
    _changed_at,
    _transaction_id,
    {{ change_tables.column_list(spec.column_names) }}
from ranked
where _rank = 1
    {%- else -%}
select 1 as placeholder
    {%- endif -%}
{% endmacro %}


{% macro _check_images_are_full(spec) %}
    {% if spec.images != 'full' %}
        {% do exceptions.raise_compiler_error(
            "change_tables: source '" ~ spec.source_name ~ "." ~ spec.table_name ~ "': current_state takes `images: full` so far, got '"
            ~ spec.images ~ "'"
        ) %}
    {% endif %}
{% endmacro %}
