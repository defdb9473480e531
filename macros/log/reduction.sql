{#-
    A log is a reduction of deliveries. What it holds of a change is one more delivery of it: all deliveries of a change, logged or new, are
    joined to one by the rule of decisions 4 and 20 (`reduction.py` of the tests has it in Python). These steps take the changes of a run,
    each joined within the run, and the logged ones. They end in `new_changes`: what the log does not hold, or holds otherwise, as it is to
    be there. Rejected rows that come along pass through.

    _ct_is_known    whether the log holds the change
    _ct_withdraws   of a rejected row that names the change, whether it takes it back: no delivery of the change is more complete
    _ct_overrules   whether what states were told is taken back: the change, its key, its operation or its key before

    changes     the changes of the run: a table, or a step, which can be read once alone. With a step all kept rows come along, and what they
                keep
    condition   which rows of a table are taken
    span        the first and the last sequence of a table
-#}
{% macro reduction_steps(spec, log, changes, condition=none, span=none) -%}
{%- set withdraws = change_tables.withdraws_changes(spec) -%}
{%- set completeness = change_tables.completeness_columns(spec) -%}
{%- set columns = change_tables.log_columns(spec) -%}
{%- set kept = ['_ct_kept_id'] + (change_tables.kept_columns()[:-1] if span is none else []) -%}
{%- set said = change_tables.hash_of(change_tables.delivery_columns(spec) | rejectattr('name', 'equalto', '_raw_id') | list) -%}
{#- last, what is logged wins among deliveries that are equal but for their hashes -#}
{%- set rank -%}
    struct({{ '_form, ' if spec.form > 0 }}{{ change_tables.content_text(spec) }}, {{ change_tables.header_columns(spec) | join(', ') }}, _ct_is_logged)
{%- endset -%}
{#- what was logged by other columns is logged anew, even if its hash is the same -#}
{%- set differs = 'min(_row_hash) over same_change <> max(_row_hash) over same_change'
    ~ (' or min(_form) over same_change <> max(_form) over same_change' if spec.form > 0) -%}
{#- of a delete or a truncate the other columns do not count -#}
{%- set content = "if(_change_op in ('delete', 'truncate'), xxhash64(_change_op), "
    ~ change_tables.hash_of(change_tables._columns_as_logged(spec, [{'name': '_change_op', 'data_type': 'string'}] + change_tables.content_columns(spec))) ~ ')' -%}
{%- set natural = change_tables.natural_arrival(spec) -%}
{%- set names_records = natural and change_tables.names_records(spec, natural) -%}
{#- which columns a message has can depend on metadata that land later -#}
{%- set record = "if(_change_op = 'delete', null, " ~ change_tables.hash_of(change_tables._columns_as_logged(spec, spec.columns)) ~ ')' -%}
{%- set conflicts -%}
max(_is_conflicting) over same_change
or min(_ct_content_hash) over same_change <> max(_ct_content_hash) over same_change
or not min(_key_before) over same_change <=> max(_key_before) over same_change
{%- endset -%}
{%- set level = 'struct(' ~ completeness | join(', ') ~ ')' if completeness else '1' -%}
{%- set is_retracted = '_ct_retracted_at >= _ct_completeness' -%}
{%- set takes_back = '(_ct_withdraws and _ct_logged is not null and ' ~ is_retracted ~ ')' -%}
{%- set key_as_logged = [] -%}
{%- for name in spec.key -%}
    {%- do key_as_logged.append(change_tables.field_of('_ct_logged', name)) -%}
{%- endfor -%}
{#- a report of rows that were read by other columns than those of today does not count -#}
{%- set report = 'case when _form = ' ~ spec.form ~ ' then _report end' if spec.form > 0 else '_report' -%}
deliveries as (

    select
        {{ change_tables.column_list(columns) }},
        {{ kept | join(', ') }},
        {%- if withdraws %}
        _ct_withdraws,
        {%- endif %}
        false as _ct_is_logged
    from {{ changes }}
    {%- if condition %}
    where {{ condition }}
    {%- endif %}
    union all
    select
        {{ change_tables.column_list(columns, 'logged') }},
        {{ 'null as ' ~ kept | join(', null as ') }},
        {%- if withdraws %}
        false as _ct_withdraws,
        {%- endif %}
        true as _ct_is_logged
    from {{ log }} as logged
    {%- if span %}
    left semi join {{ changes }} as landed
        on logged._change_id = landed._change_id and logged._change_seq = landed._change_seq
    {%- endif %}
    where
        logged._mark is null
        {%- if span %}
        and logged._change_seq between {{ change_tables.text_literal(span[0]) }} and {{ change_tables.text_literal(span[1]) }}
        {%- endif %}

),

told_deliveries as (

    select
        *,
        {{ said }} as _ct_said_hash
    from deliveries

),

-- each delivery with what the log holds of its change; a row that takes a change back is a delivery of it
met_deliveries as (

    select
        *,
        max(case when _ct_is_logged then struct(
            _ct_said_hash, {{ change_tables.column_list(spec.key) }}, _change_op, _key_before, _report, _is_conflicting, _form, _batch_id
        ) end) over same_change as _ct_logged,
        {%- if completeness or withdraws %}
        max(case when _ct_kept_id is null then {{ level }} end) over same_change as _ct_completeness,
        {%- endif %}
        {%- if withdraws %}
        max(case when _ct_withdraws then {{ level }} end) over same_change as _ct_retracted_at,
        {%- endif %}
        min(_ct_is_logged) over same_change as _ct_is_logged_alone,
        {{ change_tables.of_one_origin(spec, differs, 'same_change') | indent(8) }} as _ct_differs
    from told_deliveries
    window same_change as (partition by _change_seq, _change_id, {{ 'if(_ct_withdraws, null, _ct_kept_id)' if withdraws else '_ct_kept_id' }})

),

-- the most complete deliveries
weighed_deliveries as (

    select
        *,
        {{ content }} as _ct_content_hash,
        {%- if names_records %}
        {{ record }} as _ct_record_hash,
        {%- endif %}
        case when _ct_differs then {{ rank }} end as _ct_rank
    from met_deliveries
    where
        not _ct_is_logged_alone
        {%- if completeness %}
        and (_ct_kept_id is not null or {{ level }} = _ct_completeness)
        {%- endif %}

),

-- what they say together, and which of them is the greatest
compared_deliveries as (

    select
        *,
        {{ 'count_if(_form = ' ~ spec.form ~ ')' if spec.form > 0 else 'count(*)' }} over same_change as _ct_copies,
        count({{ report }}) over same_change as _ct_reports,
        max({{ report }}) over same_change as _ct_known_report,
        max(_key_before) over same_change as _ct_known_key_before,
        {{ (change_tables._unless_other_record(spec, conflicts, natural) if names_records else conflicts) | indent(8) }} as _ct_conflicts,
        max(_ct_rank) over same_change as _ct_highest_rank
    from weighed_deliveries
    window same_change as (partition by _change_seq, _change_id, _ct_kept_id)

),

reduced_changes as (

    select
        * except (_key_before, _report, _is_conflicting),
        _ct_known_key_before as _key_before,
        case {{ 'when _ct_copies = 0 then _report ' if spec.form > 0 }}when _ct_reports = _ct_copies then _ct_known_report end as _report,
        _ct_conflicts as _is_conflicting,
        {#- of equal deliveries, the logged one is as it is to be #}
        if(_ct_differs, _ct_rank = _ct_highest_rank, _ct_is_logged or _ct_logged is null)
        {%- if withdraws %}
        and not coalesce({{ is_retracted }}, false)
        {%- endif %} as _ct_wins
    from compared_deliveries

),

new_changes as (

    select
        cast(null as string) as _mark,
        {%- for name in columns %}
        {%- if name == '_batch_id' %}
        case
            when
                {{ change_tables._says_nothing_new(spec) | indent(16) }}
                then _ct_logged['_batch_id']
            else '{{ change_tables.batch_id() }}'
        end as _batch_id,
        {%- else %}
        {{ change_tables.quoted(name) }},
        {%- endif %}
        {%- endfor %}
        {{ kept | join(', ') }},
        {%- if withdraws %}
        {{ takes_back }} as _ct_withdraws,
        {%- endif %}
        {{ takes_back ~ ' or ' if withdraws }}(_ct_kept_id is null and _ct_logged is not null) as _ct_is_known,
        {{ takes_back ~ ' or ' if withdraws }}(
            _ct_kept_id is null
            and _ct_logged is not null
            and not (
                struct({{ change_tables.column_list(spec.key) }}, _change_op) <=> struct({{ key_as_logged | join(', ') }}, _ct_logged['_change_op'])
                and (_ct_logged['_key_before'] is null or _key_before <=> _ct_logged['_key_before'])
            )
        ) as _ct_overrules
    from reduced_changes
    where
        _ct_kept_id is not null
        or (
            _ct_wins
            and (
                _ct_logged is null
                or not _ct_is_logged
                or not struct(_key_before, _report, _is_conflicting) <=> struct(_ct_logged['_key_before'], _ct_logged['_report'], _ct_logged['_is_conflicting'])
            )
        )

)
{%- endmacro %}


{#- Whether what is to be logged says no more than what was: only its place in the raw table is another, and states know the change. -#}
{% macro _says_nothing_new(spec) -%}
_ct_said_hash = _ct_logged['_ct_said_hash']
and struct(_key_before, _is_conflicting) <=> struct(_ct_logged['_key_before'], _ct_logged['_is_conflicting'])
and (_report is not null or _ct_logged['_report'] is null)
{%- if spec.images == 'partial' and spec.added %}
-- an update that has all columns of today has more than one that had all of then
and not (_ct_logged['_form'] < {{ spec.added.values() | max }} and _present_columns is null and _change_op in ('update', 'upsert'))
{%- endif %}
{%- endmacro %}


{#-
    Columns to be hashed, null where they were declared after the change was logged: the log has nothing of them (see `spec_in_form`), so
    they say nothing of whether a delivery differs from it.
-#}
{% macro _columns_as_logged(spec, columns) %}
    {% set found = [] %}
    {% for column in columns %}
        {#- which columns a delivery has is said of the columns of its form -#}
        {% set form = spec.form if column.name == '_present_columns' else spec.added.get(column.name, 0) %}
        {% set name = change_tables.quoted(column.name) %}
        {% do found.append(dict(column, value="if(_ct_logged['_form'] < " ~ form ~ ', null, ' ~ name ~ ')' if form > 0 else name)) %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}


{#- A value, unless the log holds another record of a position that names one (see `names_records`): then the run stops. -#}
{% macro _unless_other_record(spec, value, arrival) -%}
    {%- set before, after = change_tables.used_again(spec, "another record has landed than the log holds", (arrival.group + arrival.columns) | join(', ')) -%}
    {%- set of_record = '(partition by _change_seq, _change_id, _ct_kept_id, _raw_id)' -%}
case
    when
        not startswith(_change_id, 'snapshot:')
        and min(_ct_record_hash) over {{ of_record }} <> max(_ct_record_hash) over {{ of_record }}
        then raise_error(concat(
            {{ change_tables.text_literal(before) }},
            _raw_id,
            {{ change_tables.text_literal(after) }}
        ))
    else
        {{ value | indent(8) }}
end
{%- endmacro %}
