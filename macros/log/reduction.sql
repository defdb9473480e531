{#-
    A log is a reduction of deliveries. All deliveries of a change, new or logged, are joined to one by the rule of decisions 4 and 20
    (`reduction.py` of the tests has it in Python). The rule is associative, so a run may join its own deliveries first, and what
    comes of them with the logged ones then.

    These steps take the step `deliveries`, which has the columns of a log and:

    _ct_identity       what deliveries of one change of a sequence have in common: its `_change_id`. A column of its own, since Spark sorts
                       only once by what is one
    _ct_is_delivery    whether the row is a delivery. Other rows pass through
    _ct_is_retraction  whether it is a row that is no change, and names one: then that is none, unless a delivery is more complete. Only
                       where the format retracts changes
    _ct_is_logged      whether it is what the log holds of the change. Only of steps with the log
    _ct_place          a number by which rows differ that are the same in all else

    They end in `reduced_deliveries`, which also has:

    _ct_is_change        whether the row is what the deliveries of its change have come to, and was not retracted. With the log: whether
                         it is to be written, as it differs from what the log holds, also one that deletes that
    _ct_is_revision      whether the log holds the change, so that this one revises it
    _ct_retracts_logged  whether the log is to give it up
    _ct_retracted_keys   where something that states were told is retracted (the change, its key, its operation or its key before): the keys
                         that the logged change was about, by their hashes. Of a truncate one is null: it was about all

    with_log   whether logged changes are among the deliveries; else the last three are not there
-#}
{% macro reduction_steps(spec, with_log) -%}
{%- set lost = change_tables._columns_that_raw_has_lost(spec) if with_log else [] -%}
{{ change_tables._gathered_step(spec, with_log, lost) }},
{%- if lost %}

{{ change_tables._completed_step(spec, lost) }},
{%- endif %}

{{ change_tables._weighed_step(spec, with_log, 'completed_deliveries' if lost else 'gathered_deliveries') }},

{{ change_tables._compared_step(spec, with_log) }},

reduced_deliveries as (

    select
        {%- if not with_log %}
        *,
        _ct_is_greatest{{ ' and not _ct_is_retracted' if change_tables.retracts_changes(spec) }} as _ct_is_change
        {%- else %}
        {{ change_tables._against_log(spec) }}
        {%- endif %}
    from compared_deliveries

)
{%- endmacro %}


{#- The retired columns that the raw table lacks, or the load. -#}
{% macro _columns_that_raw_has_lost(spec) %}
    {% set lost = change_tables.absent_columns(spec) %}
    {% if spec.snapshot and spec.retired %}
        {% set lost = lost + change_tables.columns_that_load_lacks(spec, retired=true) %}
    {% endif %}
    {% do return(lost | unique(case_sensitive=true) | list) %}
{% endmacro %}


{#-
    SQL for how complete a delivery is; none where every delivery is whole, as in most formats. The more complete one counts, whatever the
    contents are, and that is no conflict.
-#}
{% macro _completeness(spec) %}
    {% set columns = spec.columns_of_format | selectattr('completes') | map(attribute='name') | list %}
    {% do return('struct(' ~ columns | join(', ') ~ ')' if columns else none) %}
{% endmacro %}


{#- Whether deliveries can be of several schema versions: what is read from raw is of that of today. -#}
{% macro _has_versions(spec, with_log) %}
    {% do return(with_log and spec.schema_version > 0) %}
{% endmacro %}


{% macro _gathered_step(spec, with_log, lost) -%}
{%- set retracts = change_tables.retracts_changes(spec) -%}
{%- set completeness = change_tables._completeness(spec) -%}
{%- set differs -%}
min(_row_hash) over same_change <> max(_row_hash) over same_change
{%- if change_tables._has_versions(spec, with_log) %} or min(_schema_version) over same_change <> max(_schema_version) over same_change
{%- endif -%}
{%- endset -%}
-- each delivery with what there is of its change
gathered_deliveries as (

    select
        *,
        count_if(_ct_is_delivery) over same_change as _ct_copies,
        {%- if with_log %}
        max(case when _ct_is_logged then struct(
            {{ change_tables._said_hash(spec) }} as _ct_said_hash,
            {{ change_tables.key_hash(spec.key) }} as _ct_key, _change_op, _key_before, _report, _is_conflicting, _schema_version, _batch_id
        ) end) over same_change as _ct_logged,
        {%- if lost %}
        max_by(case when _ct_is_logged then struct({{ change_tables.column_list(lost) }}, _present_columns, _changed_columns) end, _ct_is_logged) over same_change as _ct_logged_values,
        {%- endif %}
        min(_ct_is_logged) over same_change as _ct_is_logged_alone,
        {%- endif %}
        {%- if completeness or retracts %}
        max(case when _ct_is_delivery then {{ completeness or 1 }} end) over same_change as _ct_completeness,
        {%- endif %}
        {%- if retracts %}
        max(case when _ct_is_retraction then {{ completeness or 1 }} end) over same_change as _ct_retracted_at,
        {%- endif %}
        {{ change_tables.stop_if_other_origin(spec, differs) | indent(8) }} as _ct_differs
    from deliveries
    window same_change as (partition by _change_seq, _ct_identity)

)
{%- endmacro %}


{% macro _weighed_step(spec, with_log, deliveries) -%}
{%- set has_versions = change_tables._has_versions(spec, with_log) -%}
{%- set completeness = change_tables._completeness(spec) -%}
{#-
    The contents of deliveries count. But masks count columns by their places: once raw has lost a column, the masks of changes that were logged
    before can no longer be read from it.
-#}
{%- set version = change_tables.places_since(spec) if with_log else 0 -%}
{%- set is_compared = '_ct_is_delivery' ~ (" and coalesce(_ct_is_logged or _ct_logged['_schema_version'] >= " ~ version ~ ', true)' if version > 0) -%}
{%- set conditions = [] -%}
{%- do conditions.append('not _ct_is_logged_alone') if with_log -%}
{%- do conditions.append('(not _ct_is_delivery or ' ~ completeness ~ ' = _ct_completeness)') if completeness -%}
-- the most complete ones, and where they differ, by what
weighed_deliveries as (

    select
        *,
        case when _ct_differs and {{ is_compared }} then {{ change_tables._content_hash(spec, has_versions) }} end as _ct_content_hash,
        {%- if has_versions %}
        {#- what has landed has the columns that the log lacks #}
        case when _ct_differs and _ct_is_delivery and not _ct_is_logged then {{ change_tables._content_hash(spec, false) }} end as _ct_landed_hash,
        {%- endif %}
        {%- if with_log and change_tables.arrival_of_records(spec) %}
        {#- which columns a message has can depend on metadata that land later #}
        {%- set record = change_tables._columns_as_logged(spec, spec.columns) if has_versions else spec.columns %}
        case when _ct_differs and {{ is_compared }} then case when _change_op <> 'delete' then {{ change_tables.hash_of(record) }} end end as _ct_record_hash,
        {%- endif %}
        {#- the greatest delivery wins: by version, content and headers. Of equal ones, the logged one stays #}
        case when _ct_copies > 1 and {{ is_compared }} then struct(
            case when _ct_differs then struct(
                {{ '_schema_version, ' if has_versions }}{{ change_tables.content_text(spec) }}, {{ change_tables.delivered_headers(spec) | map(attribute='name') | join(', ') }}
            ) end,
            {{ '_ct_is_logged, ' if with_log }}_ct_place
        ) end as _ct_rank
    from {{ deliveries }}
    {%- if conditions %}
    where {{ conditions | join(' and ') }}
    {%- endif %}

)
{%- endmacro %}


{#-
    When two deliveries of one change differ, the one with the greater text of its columns wins; where the texts are
    equal, the greater header. Both are total, so the winner does not depend on which came first.
-#}
{% macro content_text(spec) -%}
    {%- set values = [] -%}
    {%- for column in spec.columns -%}
        {%- set value = change_tables.comparable_value(change_tables.quoted(column.name), column.data_type) -%}
        {%- do values.append(change_tables.under_first_name(spec, column.name, value)) -%}
    {%- endfor -%}
    to_json(struct({{ values | join(', ') }}), {{ change_tables.exact_times() }})
{%- endmacro %}


{% macro _compared_step(spec, with_log) -%}
{%- set has_versions = change_tables._has_versions(spec, with_log) -%}
{%- set conflicts -%}
coalesce(
            max(_is_conflicting) over same_change
            or min(_ct_content_hash) over same_change <> max(_ct_content_hash) over same_change
            {%- if has_versions %}
            or min(_ct_landed_hash) over same_change <> max(_ct_landed_hash) over same_change
            {%- endif %}
            or not min(_key_before) over same_change <=> max(_key_before) over same_change,
            false
        )
{%- endset -%}
{#- a report of rows that were read by other columns than those of today does not count; but masks of then are read by the places of then -#}
{%- set is_of_today = '_schema_version = ' ~ spec.schema_version -%}
{%- if change_tables.places_since(spec) > 0 -%}
    {%- set is_of_today = '(' ~ is_of_today ~ ' or _schema_version < ' ~ change_tables.places_since(spec) ~ ')' -%}
{%- endif -%}
{%- set counts = '_ct_is_delivery and ' ~ is_of_today if has_versions else '_ct_is_delivery' -%}
{%- set report = 'case when ' ~ is_of_today ~ ' then _report end' if has_versions else '_report' -%}
-- what they say together, and which of them is the greatest
compared_deliveries as (

    select
        * except (_key_before, _report, _is_conflicting),
        max(_key_before) over same_change as _key_before,
        case
            {%- if has_versions %}
            when count_if({{ counts }}) over same_change = 0 then _report
            {%- endif %}
            when count({{ report }}) over same_change = count_if({{ counts }}) over same_change then max({{ report }}) over same_change
        end as _report,
        {{ change_tables._stop_if_other_record(spec, conflicts) if with_log else conflicts }} as _is_conflicting,
        {%- if change_tables.retracts_changes(spec) %}
        coalesce(_ct_retracted_at >= _ct_completeness, false) as _ct_is_retracted,
        {%- endif %}
        _ct_is_delivery and (_ct_copies = 1 or _ct_rank = max(_ct_rank) over same_change) as _ct_is_greatest
    from weighed_deliveries
    window same_change as (partition by _change_seq, _ct_identity)

)
{%- endmacro %}


{#- What raw has lost is read from the log: a delivery has these columns as the log has them, and names them where that does. -#}
{% macro _completed_step(spec, lost) -%}
{%- set naming = ['_present_columns', '_changed_columns'] if spec.images == 'partial' else ['_changed_columns'] -%}
-- each delivery with the columns that it landed without, as the log has them
completed_deliveries as (

    select
        * except ({{ change_tables.column_list(lost + naming) }}, _ct_logged_values)
        {%- for name in lost %},
        coalesce({{ change_tables.quoted(name) }}, _ct_logged_values[{{ change_tables.text_literal(name) }}]) as {{ change_tables.quoted(name) }}
        {%- endfor %}
        {%- for names in naming %},
        {%- set is_all_if_null = 'true' if names == '_present_columns' else 'false' %}
        {%- set logged = "_ct_logged_values['" ~ names ~ "']" %}
        {%- set completed = 'array_union(' ~ names ~ ', filter(' ~ change_tables.names_array(lost) ~ ', name -> coalesce(array_contains(' ~ logged ~ ', name), ' ~ is_all_if_null ~ ')))' %}
        case
            when _ct_logged is null
                then {{ names }}
            when array_sort({{ completed }}) = array_sort({{ logged }})
                then {{ logged }}
            {%- if names == '_present_columns' %}
            when size({{ completed }}) = {{ spec.columns | length }}
                then null
            {%- endif %}
            else {{ completed }}
        end as {{ names }}
        {%- endfor %}
    from gathered_deliveries

)
{%- endmacro %}


{#- The columns of `reduced_deliveries` with the log: what is to be written, for it is not what the log holds. -#}
{% macro _against_log(spec) -%}
{%- set retracts = change_tables.retracts_changes(spec) -%}
* except (_batch_id),
        case
            {#- it says no more than what was logged: only its place in the raw table is another, and states know the change #}
            when
                _ct_logged['_ct_said_hash'] = {{ change_tables._said_hash(spec) }}
                and struct(_key_before, _is_conflicting) <=> struct(_ct_logged['_key_before'], _ct_logged['_is_conflicting'])
                and (_report is not null or _ct_logged['_report'] is null)
                {%- if spec.images == 'partial' and spec.added %}
                -- an update that has all columns of today has more than one that had all of then
                and not (_ct_logged['_schema_version'] < {{ spec.added.values() | max }} and _present_columns is null and _change_op in ('update', 'upsert'))
                {%- endif %}
                then _ct_logged['_batch_id']
            else '{{ change_tables.batch_id() }}'
        end as _batch_id,
        _ct_is_greatest
        and case
            when _ct_logged is null then {{ 'not _ct_is_retracted' if retracts else 'true' }}
            when {{ '_ct_is_retracted or ' if retracts }}not _ct_is_logged then true
            else not struct(_key_before, _report, _is_conflicting) <=> struct(_ct_logged['_key_before'], _ct_logged['_report'], _ct_logged['_is_conflicting'])
        end as _ct_is_change,
        {%- if retracts %}
        _ct_logged is not null and _ct_is_retracted as _ct_retracts_logged,
        {%- endif %}
        _ct_logged is not null as _ct_is_revision,
        case
            when
                _ct_logged is not null
                and (
                    {{ '_ct_is_retracted or ' if retracts }}{{ change_tables.key_hash(spec.key) }} <> _ct_logged['_ct_key'] or _change_op <> _ct_logged['_change_op']
                    or (_ct_logged['_key_before'] is not null and not _key_before <=> _ct_logged['_key_before'])
                )
                then array(
                    if(_ct_logged['_change_op'] = 'truncate', null, _ct_logged['_ct_key']),
                    if(_ct_logged['_key_before'] is null, _ct_logged['_ct_key'], xxhash64(_ct_logged['_key_before']))
                )
        end as _ct_retracted_keys
{%- endmacro %}


{#-
    What the log holds, as deliveries: columns that it does not have are null.

    passed   columns of the other deliveries
    landed   the table of these, to find what the log holds of them; none: everything
    span     the first and the last sequence of these
-#}
{% macro logged_deliveries(spec, run, passed=[], landed=none, span=none) -%}
{%- set version = change_tables._version_of_logged(spec) -%}
{%- set columns = [] -%}
{%- for name in change_tables.log_columns(spec) -%}
    {%- do columns.append(version ~ ' as _schema_version' if version and name == '_schema_version' else 'logged.' ~ change_tables.quoted(name)) -%}
{%- endfor -%}
select
    {{ columns | join(', ') }},
    logged._change_id as _ct_identity,
    true as _ct_is_delivery,
    {%- if change_tables.retracts_changes(spec) %}
    false as _ct_is_retraction,
    {%- endif %}
    true as _ct_is_logged,
    0 as _ct_place
    {{- change_tables.each(passed, ',\n    null as {name}') | join }}
from {{ run.log }} as logged
{%- if landed %}
left semi join {{ landed }} as landed
    on logged._change_id = landed._change_id and logged._change_seq = landed._change_seq
{%- endif %}
where
    logged._checkpoint is null
    {%- if span %}
    and logged._change_seq between {{ change_tables.text_literal(span[0]) }} and {{ change_tables.text_literal(span[1]) }}
    {%- endif %}
{%- endmacro %}


{#- Of a delivery all that it says, but for its place in the raw table. -#}
{% macro _said_hash(spec) -%}
    {{ change_tables.hash_of(change_tables.delivery_columns(spec) | rejectattr('name', 'equalto', '_raw_id') | list) }}
{%- endmacro %}


{#-
    The content of a delivery: the values, and which of them it has. Also a format's own columns, where they are values of the change and no
    columns of the row (`is_content`: see `format_of`). Of a delete or a truncate the other columns do not count.
-#}
{% macro _content_hash(spec, has_versions) -%}
    {%- set present = {'name': '_present_columns', 'data_type': 'array<string>', 'holds_no_nulls': true} -%}
    {%- set of_format = spec.columns_of_format | selectattr('is_content') | list -%}
    {%- set columns = [{'name': '_change_op', 'data_type': 'string'}] + spec.columns + [present] + of_format -%}
    {%- set columns = change_tables._columns_as_logged(spec, columns) if has_versions else columns -%}
    if(_change_op in ('delete', 'truncate'), xxhash64(_change_op), {{ change_tables.hash_of(columns) }})
{%- endmacro %}


{#-
    The schema version of a logged change where columns were renamed since; empty where none was. A change that has a value in a renamed
    column was read by one of its names, so it is no older for that: another value is a conflict.
-#}
{% macro _version_of_logged(spec) %}
    {% set version = namespace(sql='') %}
    {#- masks of before are read by the places of then, so a change that has some stays one of then -#}
    {% set blocked = spec.added.values() | list + (spec.absent.values() | list if change_tables.part_of_format(spec, 'counts_columns') else []) %}
    {% for number in range(1, spec.schema_version + 1) if spec.renamed_in and number not in blocked %}
        {% set before = version.sql or 'logged._schema_version' %}
        {% set conditions = [before ~ ' = ' ~ (number - 1)] %}
        {% for name, renamed_in in spec.renamed_in.items() if renamed_in == number %}
            {% do conditions.append('logged.' ~ change_tables.quoted(name) ~ ' is not null') %}
        {% endfor %}
        {% set version.sql = 'if(' ~ conditions | join(' and ') ~ ', ' ~ number ~ ', ' ~ before ~ ')' %}
    {% endfor %}
    {% do return(version.sql) %}
{% endmacro %}


{#-
    Columns to be hashed, null where they were declared, or renamed, after the change was logged: the log has nothing of them (see
    `spec_in_version`), so they say nothing of whether a delivery differs from it.
-#}
{% macro _columns_as_logged(spec, columns) %}
    {% set found = [] %}
    {% for column in columns %}
        {#- which columns a delivery has is said of the columns of its schema version -#}
        {% set of_column = [spec.added.get(column.name, 0), spec.renamed_in.get(column.name, 0)] | max %}
        {% set version = spec.schema_version if column.name == '_present_columns' else of_column %}
        {% set name = change_tables.quoted(column.name) %}
        {% do found.append(dict(column, value="if(_ct_logged['_schema_version'] < " ~ version ~ ', null, ' ~ name ~ ')' if version > 0 else name)) %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}


{#- A value, unless the log holds another record of a position that names one: then the run stops. -#}
{% macro _stop_if_other_record(spec, value) -%}
    {%- set arrival = change_tables.arrival_of_records(spec) -%}
    {%- do return(value) if not arrival -%}
    {%- set of_record = '(partition by _change_seq, _ct_identity, _raw_id)' -%}
    {%- set differs = "not startswith(_change_id, 'snapshot:') and min(_ct_record_hash) over " ~ of_record ~ ' <> max(_ct_record_hash) over ' ~ of_record -%}
    {{- change_tables._stop_if_used_again(
        spec, differs, "another record has landed than the log holds", (arrival.group + arrival.columns) | join(', '), '_raw_id', value
    ) | indent(8) -}}
{%- endmacro %}


{#-
    SQL for a value of a delivery, among those that have its identity, which stops the run where these are of different origins
    (`origin` of `format_of`): the numbers of the feed have been used again, and they are not one change. A delivery that lacks a
    column of its origin differs from none.
-#}
{% macro stop_if_other_origin(spec, value) -%}
    {%- set origin = change_tables.format_of(spec.format).origin -%}
    {%- do return(value) if not origin -%}
    {%- set differences = change_tables.each(origin, 'min({name}) over same_change <> max({name}) over same_change') -%}
    {%- set differs = '_change_id is not null and (' ~ differences | join(' or ') ~ ')' -%}
    {{- change_tables._stop_if_used_again(
        spec, differs, "changes that differ in " ~ origin | join(' or ') ~ " have landed", '_change_id', '_change_id', value
    ) -}}
{%- endmacro %}


{#- A value, unless rows of one place differ: see `used_again`. `id`: SQL for the place that the message names. -#}
{% macro _stop_if_used_again(spec, differs, what, place, id, value) -%}
{%- set before, after = change_tables.used_again(spec, what, place) -%}
case
    when {{ differs }}
        then raise_error(concat({{ change_tables.text_literal(before) }}, {{ id }}, {{ change_tables.text_literal(after) }}))
    else
        {{ value | trim }}
end
{%- endmacro %}


{% macro delivered_headers(spec) %}
    {% set types = change_tables.contract_column_types() %}
    {% set columns = [] %}
    {% for name in ['_change_op', '_present_columns', '_changed_columns', '_changed_at', '_transaction_id', '_raw_id'] %}
        {% do columns.append({'name': name, 'data_type': types[name], 'holds_no_nulls': true}) %}
    {% endfor %}
    {% do return(columns + spec.columns_of_format) %}
{% endmacro %}


{#- All by which one delivery of a change can differ from another, but for the key before. -#}
{% macro delivery_columns(spec) %}
    {% do return(spec.columns + change_tables.delivered_headers(spec)) %}
{% endmacro %}


{#-
    Whether what lands later can show that a change which was accepted cannot be used, so that the log must give it up: for the
    format to say. Its staging then gives rejected or ignored rows the `_change_id` that they would have.
-#}
{% macro retracts_changes(spec) %}
    {% do return(change_tables.part_of_format(spec, 'retracts_changes')) %}
{% endmacro %}
