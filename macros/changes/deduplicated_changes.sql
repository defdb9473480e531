{#-
    The log of one table's changes: one row an accepted change, however often it was delivered. Incremental: a run adds
    the changes that are new since the runs before, and revises those of which it now knows more.

    stg   the relation of the table's staging model
-#}
{% macro deduplicated_changes(stg) %}
    {{- config(materialized='change_log') -}}
    {%- if execute -%}
        {%- set spec = change_tables.table_spec_of_model(model) -%}
        {%- set state = change_tables.state_relation(this) -%}
        {%- set mark = none if change_tables.is_rebuild() else change_tables.read_mark(state) -%}
        {%- do change_tables._refuse_changed_columns(spec, mark) -%}
        {%- set bound = change_tables._raw_bound(spec, mark) -%}
        {%- set run = {
            'run': 'first' if mark is none else ('everything' if bound.predicate is none else 'since'),
            'mark_before': mark,
            'snapshot_read': bound.snapshot,
        } -%}
{{ change_tables.run_note(run) }}
with {{ change_tables._staging_steps(spec, bound) }},

accepted as (

    select
        *,
        {{ change_tables.hash_of(change_tables._delivery_columns(spec)) }} as _row_hash,
        {{ change_tables.hash_of(change_tables._content_columns(spec)) }} as _content_hash,
        count(*) over same_change as _copies
    from staged
    where _status = 'accepted'
    window same_change as (partition by _change_seq, _change_id)

),

-- copies that differ: the greater text wins, and what only one of them tells (the key before) is kept
ranked as (

    select
        *,
        row_number() over (
            partition by _change_seq, _change_id
            order by
                case when _copies > 1 then {{ change_tables.content_text(spec) }} end desc,
                {{ change_tables.header_columns() | join(' desc, ') }} desc
        ) as _rank,
        count(_report) over same_change as _reports,
        max(_report) over same_change as _known_report,
        max(_key_before) over same_change as _known_key_before,
        min(_content_hash) over same_change <> max(_content_hash) over same_change as _contents_differ
    from accepted
    window same_change as (partition by _change_seq, _change_id)

),

changes as (

    select
        cast(null as string) as _mark,
        _change_seq,
        _change_op,
        _change_id,
        '{{ change_tables.batch_id() }}' as _batch_id,
        _changed_at,
        _transaction_id,
        _present_columns,
        _changed_columns,
        _known_key_before as _key_before,
        _raw_id,
        case when _reports = _copies and not startswith(_known_report, 'conflicting_content') then _known_report end as _report,
        (_contents_differ and _change_op not in ('delete', 'truncate'))
        or coalesce(startswith(_known_report, 'conflicting_content'), false) as _is_conflicting,
        _row_hash,
        {{ change_tables.column_list(spec.column_names) }}
    from ranked
    where _rank = 1

)
        {%- if run.run == 'everything' -%}
,

-- what the log does not hold yet, or holds otherwise
new_changes as (

    select
        changes.*,
        coalesce(changes._key_before > known._key_before, false) as _overrules
    from changes
    left join {{ state }} as known
        on changes._change_id = known._change_id and changes._change_seq = known._change_seq
    where
        known._change_id is null
        or changes._row_hash <> known._row_hash
        or (changes._key_before is not null and not changes._key_before <=> known._key_before)
        or (changes._report is null and known._report is not null)
        or (changes._is_conflicting and not known._is_conflicting)

)

select *
from new_changes
        {%- else %}

select *
from changes
        {%- endif -%}
    {%- else -%}
select 1 as placeholder
    {%- endif -%}
{% endmacro %}


{#- A log whose table has other columns by now cannot go on as it is. -#}
{% macro _refuse_changed_columns(spec, mark) %}
    {% set found = [] %}
    {% if mark is not none %}
        {% set declared = change_tables.column_types(spec) %}
        {% for name, type in declared.items() if mark.columns.get(name) != type %}
            {% do found.append(
                "column '" ~ name ~ "' is " ~ type ~ ", was " ~ (mark.columns[name] if name in mark.columns else 'not declared')
            ) %}
        {% endfor %}
        {% for name in mark.columns if name not in declared %}
            {% do found.append("column '" ~ name ~ "' is no longer declared") %}
        {% endfor %}
        {% if mark.key != spec.key %}
            {% do found.append("`key` is " ~ spec.key | join(', ') ~ ", was " ~ mark.key | join(', ')) %}
        {% endif %}
    {% endif %}
    {% if found %}
        {% do exceptions.raise_compiler_error(
            "change_tables: model '" ~ model.name ~ "': source '" ~ spec.source_name ~ "." ~ spec.table_name
            ~ "' has changed since the log was built: " ~ found | join('; ') ~ "; build it and the models behind it anew with --full-refresh"
        ) %}
    {% endif %}
{% endmacro %}


{#- The declared columns and their types, as a mark bears them. -#}
{% macro column_types(spec) %}
    {% set types = {} %}
    {% for column in spec.columns %}
        {% do types.update({column.name: change_tables._canonical_type(column.data_type)}) %}
    {% endfor %}
    {% do return(types) %}
{% endmacro %}
