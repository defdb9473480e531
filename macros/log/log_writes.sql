{#-
    How many marks a log has at most. A run that only adds puts its mark beside those before; the next merge removes
    these. An insert costs far less than a merge, but to read many marks costs, too.
-#}
{% macro most_marks() %}
    {% do return(30) %}
{% endmacro %}


{#- Adds changes of which the log knows none, with the mark, where the log is still what this run looked at. -#}
{% macro insert_changes(spec, state, reduced, new_changes, run, mark, found) -%}
insert into {{ state }} (_mark, {{ change_tables.column_list(change_tables._written_columns(spec, found)) }})
select * from (
    {{ change_tables._changes_with_mark(spec, state, reduced, new_changes, run, mark, found) }}
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
    Writes what the deliveries of a run have come to, in one statement with the mark (see `reduction_steps`). Kept rows are matched by
    `_mark`; a change has none, and all marks match each other.
-#}
{% macro merge_changes(spec, state, reduced, new_changes, run, mark, found) -%}
{%- set columns = change_tables._written_columns(spec, found) -%}
{%- set withdraws = change_tables.withdraws_changes(spec) -%}
{#- files that only have changes and kept rows are left out where no kept row is written -#}
{%- set is_no_change = 'target._mark is not null' if found.keeps else change_tables.is_mark('target.') -%}
{#- never null: Delta asks it of rows that match nothing, and the guard after it would stop the merge at a kept row -#}
{%- set source_is_mark = 'source._mark is not null' ~ (' and ' ~ change_tables.is_mark('source.') if found.keeps) -%}
merge into {{ state }} as target
using (
    {{ change_tables._changes_with_mark(spec, state, reduced, new_changes, run, mark, found, withdraws) }}
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
when matched and source._ct_withdraws then delete
{%- endif %}
when matched then update set
    {%- for name in change_tables.log_columns(spec) %}
    {{ change_tables.quoted(name) }} = source.{{ change_tables.quoted(name) }}{{ ',' if not loop.last }}
    {%- endfor %}
when not matched then insert (_mark, {{ change_tables.column_list(columns) }})
    values ({{ change_tables.mark_of_new_row(source_is_mark) }}, {{ change_tables.column_list(columns, 'source') }})
{%- endmacro %}


{#- The columns that a run writes; those of kept rows only where it has news of them. -#}
{% macro _written_columns(spec, found) %}
    {% do return(change_tables.log_columns(spec) + (change_tables.kept_columns() if found.keeps else [])) %}
{% endmacro %}


{% macro _kind_of_row(side) -%}
    if({{ change_tables.is_mark(side ~ '.') }}, '{', coalesce({{ side }}._mark, ''))
{%- endmacro %}


{#- What a run writes: what its changes have come to, the kept rows of which it has news, and the mark. -#}
{% macro _changes_with_mark(spec, state, reduced, new_changes, run, mark, found, with_withdrawals=false) -%}
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
    from {{ reduced }}
    where {{ found.is_change }}
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
