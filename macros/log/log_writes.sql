{#-
    How many marks a log has at most. A run that only adds puts its mark beside those before; the next merge removes
    these. An insert costs far less than a merge, but to read many marks costs, too.
-#}
{% macro most_marks() %}
    {% do return(30) %}
{% endmacro %}


{#- Adds changes of which the log knows none, with the mark, where the log is still what this run looked at. -#}
{% macro insert_changes(spec, state, new_changes, run, mark, found) -%}
insert into {{ state }} (_mark, {{ change_tables.column_list(change_tables._written_columns(spec, found)) }})
select * from (
    {{ change_tables._changes_with_mark(spec, state, new_changes, run, mark, found) }}
)
where
    case
        when
            (select max_by(_mark, get_json_object(_mark, '$.batch')) from {{ state }} where {{ change_tables.is_mark() }})
            = {{ change_tables.text_literal(tojson(run.mark_before)) }}
            then true
        else {{ change_tables.refuse_meeting() }}
    end
{%- endmacro %}


{#-
    Adds new changes to the log and revises known ones, in one statement with the mark. A revised change takes the
    greater content, and the key before that either delivery has. It counts as new to the models downstream. Kept rows
    are matched by `_mark`; a change has none, and all marks match each other.
-#}
{% macro merge_changes(spec, state, new_changes, run, mark, found) -%}
{%- set columns = change_tables._written_columns(spec, found) -%}
{%- set withdraws = change_tables.withdraws_changes(spec) -%}
{#- files that only have changes and kept rows are left out where no kept row is written -#}
{%- set is_no_change = 'target._mark is not null' if found.keeps else change_tables.is_mark('target.') -%}
{#- never null: Delta asks it of rows that match nothing, and the guard after it would stop the merge at a kept row -#}
{%- set source_is_mark = 'source._mark is not null' ~ (' and ' ~ change_tables.is_mark('source.') if found.keeps) -%}
merge into {{ state }} as target
using (
    {{ change_tables._changes_with_mark(spec, state, new_changes, run, mark, found, withdraws) }}
) as source
    on
        source._change_id <=> target._change_id
        and source._change_seq <=> target._change_seq
        and {{ change_tables._kind_of_row('source') }} = {{ change_tables._kind_of_row('target') }}
        {%- if found.lowest_seq is not none %}
        and ({{ is_no_change }} or target._change_seq between {{ change_tables.text_literal(found.lowest_seq) }} and {{ change_tables.text_literal(found.highest_seq) }})
        {%- else %}
        and {{ is_no_change }}
        {%- endif %}
{%- if run.marks > 1 %}
when
    matched and {{ source_is_mark }}
    and case
        when get_json_object(target._mark, '$.batch') < '{{ run.mark_before.batch }}' then true
        when target._mark <> {{ change_tables.text_literal(tojson(run.mark_before)) }} then {{ change_tables.refuse_meeting() }}
    end
    then delete
{%- endif %}
when matched and {{ source_is_mark }} then update set
    _mark = {{ change_tables.guarded_mark(run.mark_before) }}
{%- if found.keeps %}
when matched and source._mark is not null then update set
    {%- for name in change_tables.kept_columns() %}
    {{ name }} = source.{{ name }}{{ ',' if not loop.last }}
    {%- endfor %}
{%- endif %}
{%- if withdraws %}
when matched and source._ct_withdraws and {{ change_tables.is_as_complete(spec) }} then delete
{%- endif %}
when matched and ({{ change_tables.content_wins(spec) }}) then update set
    {%- for name in change_tables.columns_taken_by_content(spec) %}
    {{ change_tables.quoted(name) }} = source.{{ change_tables.quoted(name) }},
    {%- endfor %}
    {{ change_tables._set_what_adds_up(spec) }}
when matched and ({{ change_tables.revises(spec) }}) then update set
    {{ change_tables._set_what_adds_up(spec) }}
when not matched{{ ' and not source._ct_withdraws' if withdraws }} then insert (_mark, {{ change_tables.column_list(columns) }})
    values ({{ change_tables.mark_of_new_row(source_is_mark) }}, {{ change_tables.column_list(columns, 'source') }})
{%- endmacro %}


{#- The columns that a run writes; those of kept rows only where it has news of them. -#}
{% macro _written_columns(spec, found) %}
    {% do return(change_tables.log_columns(spec) + (change_tables.kept_columns() if found.keeps else [])) %}
{% endmacro %}


{% macro _kind_of_row(side) -%}
    if({{ change_tables.is_mark(side ~ '.') }}, '{', coalesce({{ side }}._mark, ''))
{%- endmacro %}


{#- What a run writes: its new changes, the kept rows of which it has news, and the mark. -#}
{% macro _changes_with_mark(spec, state, new_changes, run, mark, found, with_withdrawals=false) -%}
    {%- set columns = change_tables._written_columns(spec, found) -%}
    {%- set of_kept_rows = ['_batch_id', '_raw_id'] + change_tables.kept_columns() -%}
    select
        _mark,
        {%- if with_withdrawals %}
        _ct_withdraws,
        {%- endif %}
        {{ change_tables.column_list(change_tables.log_columns(spec)) }}
        {%- if found.keeps %}
            {%- for name in change_tables.kept_columns() %}, null as {{ name }}{% endfor %}
        {%- endif %}
    from {{ new_changes }}
    where {{ found.is_change }}{{ ' or _ct_withdraws' if with_withdrawals }}
    {%- if found.keeps %}
    union all
    select
        _mark,
        {%- if with_withdrawals %}
        false as _ct_withdraws,
        {%- endif %}
        {% for name in columns %}{{ 'null as ' if name not in of_kept_rows }}{{ change_tables.quoted(name) }}{{ ', ' if not loop.last }}{% endfor %}
    from (
    {{ change_tables.kept_rows_of_run(state, new_changes, run) }}
    )
    where _ct_has_news
    {%- endif %}
    union all
    select
        {{ change_tables.text_literal(tojson(mark)) }} as _mark,
        {%- if with_withdrawals %}
        false as _ct_withdraws,
        {%- endif %}
        {% for name in columns %}null as {{ change_tables.quoted(name) }}{{ ', ' if not loop.last }}{% endfor %}
{%- endmacro %}


{#- What two deliveries of a change say together, whichever content wins. -#}
{% macro _set_what_adds_up(spec) -%}
    _batch_id = {{ change_tables._batch_of_revision(spec) }},
    _key_before = case when {{ change_tables.key_before_wins(spec) }} then source._key_before else target._key_before end,
    _report = {{ change_tables._report_together(spec) }},
    _is_conflicting = target._is_conflicting or {{ change_tables._conflicts(spec) }}
{%- endmacro %}


{% macro revises(spec) -%}
    ({{ change_tables.content_wins(spec) }})
    or {{ change_tables._adds_to_logged(spec) }}
{%- endmacro %}


{#- Whether a delivery says something of a change that counts whichever content wins. -#}
{% macro _adds_to_logged(spec) -%}
    ({{ change_tables.key_before_wins(spec) }})
    or ({{ change_tables._removes_report(spec) }})
    or (not target._is_conflicting and ({{ change_tables._conflicts(spec) }}))
{%- endmacro %}


{% macro _conflicts(spec) -%}
    source._is_conflicting
    or (
        {%- if change_tables.completeness_columns(spec) %}
        {{ change_tables.compares_completeness(spec, 'source', '=', 'target') }} and
        {%- endif %}
        (
            not source._change_op <=> target._change_op
            or coalesce(source._key_before <> target._key_before, false)
            or (
                source._change_op not in ('delete', 'truncate')
                and {{ change_tables.hash_as_logged(spec, change_tables.content_columns(spec)) }}
                <> {{ change_tables.hash_of(change_tables.content_columns(spec), 'target') }}
            )
        )
    )
{%- endmacro %}


{#-
    The run that a revised change counts as new of. Where only the place in the raw table is another one, the models
    downstream know the change already.
-#}
{% macro _batch_of_revision(spec) -%}
    {%- set columns = change_tables.delivery_columns(spec) | rejectattr('name', 'equalto', '_raw_id') | list -%}
    case
        when
            {{ change_tables.hash_of(columns, 'source') }} = {{ change_tables.hash_of(columns, 'target') }}
            and not ({{ change_tables._adds_to_logged(spec) }})
            {%- if spec.images == 'partial' and spec.added %}
            -- an update that has all columns of today has more than one that had all of then
            and not (
                target._form < {{ spec.added.values() | max }}
                and target._present_columns is null
                and source._change_op in ('update', 'upsert')
            )
            {%- endif %}
            then target._batch_id
        else source._batch_id
    end
{%- endmacro %}


{#- Whether a delivery has no report where the log has one. -#}
{% macro _removes_report(spec) -%}
    source._report is null and target._report is not null
    {%- if change_tables.completeness_columns(spec) %}
    and not {{ change_tables.compares_completeness(spec, 'target', '>', 'source') }}
    {%- endif -%}
{%- endmacro %}


{#- A report stays while every delivery has one; that of the more complete delivery counts, and that of the present form. -#}
{% macro _report_together(spec) -%}
    {%- set present_form = 'when ' ~ change_tables.is_of_earlier_form(spec, 'target') ~ ' then source._report ' if spec.form > 0 else '' -%}
    {%- set together -%}
        case {{ present_form }}when source._report is not null and target._report is not null then greatest(source._report, target._report) end
    {%- endset -%}
    {%- if not change_tables.completeness_columns(spec) -%}
        {{ together }}
    {%- else -%}
        case
        when {{ change_tables.compares_completeness(spec, 'source', '>', 'target') }} then source._report
        when {{ change_tables.compares_completeness(spec, 'target', '>', 'source') }} then target._report
        else {{ together }}
    end
    {%- endif -%}
{%- endmacro %}
