{#-
    For a current model. Fails for every key whose row is not that of the truth: a full load, or a table that Spark reads over JDBC.
    The values of the truth are read as landed ones are; one that does not fit its declared type is another value.

    truth     the relation that has the rows as they must be, one a key
    columns   the declared columns that are compared, beside the key. By default all that the truth has
-#}
{% test reconciled_with(model, truth, columns=none) %}
{%- do return(change_tables.nothing_to_look_at()) if not change_tables.data_test_looks() -%}
{%- set spec = change_tables.spec_of_data_test('current_state') -%}
{%- if truth is undefined or truth is none or truth is string or truth.identifier is undefined -%}
    {%- do change_tables.refuse_data_test("`truth` must be a relation, as source('…', '…') or ref('…'), got " ~ change_tables.shown_value(truth)) -%}
{%- endif -%}
{%- if columns is not none and not change_tables.is_list_of_names(columns) -%}
    {%- do change_tables.refuse_data_test("`columns` must be a list of names, each once, got " ~ change_tables.shown_value(columns)) -%}
{%- endif -%}
{%- set landed = change_tables.columns_for_data_test(spec, truth, 'the truth') -%}
{%- set wanted = (columns or landed.keys() | list) | map('lower') | list -%}
{%- set compared = [] -%}
{%- set missing = [] -%}
{%- set shown = spec.column_names | reject('in', spec.hidden) | list -%}
{%- for column in spec.columns if column.name in spec.key or (column.name in shown and column.name | lower in wanted) -%}
    {%- do compared.append(column) -%}
    {%- if column.name | lower not in landed -%}
        {%- do missing.append(column.name) -%}
    {%- endif -%}
{%- endfor -%}
{%- for name in columns or [] if name | lower not in shown | map('lower') -%}
    {%- do change_tables.refuse_data_test(
        "`columns` must name declared columns, got '" ~ name ~ "'; declared: " ~ shown | join(', ')
    ) -%}
{%- endfor -%}
{%- if missing -%}
    {%- do change_tables.refuse_data_test("the truth, " ~ truth ~ ", must have the key and the columns that are compared, it lacks " ~ missing | join(', ')) -%}
{%- endif -%}
{%- do change_tables.refuse_landed_types(spec, truth, landed, compared) -%}
{%- set key = change_tables.column_list(spec.key) -%}
{%- set others = compared | rejectattr('name', 'in', spec.key) | list -%}
{%- set values = [] -%}
{%- set misfits = {} -%}
{%- set differences = {} -%}
{%- for column in others -%}
    {%- set name = change_tables.quoted(column.name) -%}
    {%- set value = change_tables.comparable_value(name, column.data_type) -%}
    {%- do values.append(value ~ (' as ' ~ name if value != name else '')) -%}
    {%- do differences.update({
        column.name: 'not ' ~ change_tables.field_of('_ct_here', column.name) ~ ' <=> ' ~ change_tables.field_of('_ct_there', column.name)
    }) -%}
{%- endfor -%}
{%- for column in compared -%}
    {%- set fits = change_tables.fits(spec, [column.name], landed) | trim -%}
    {%- if fits -%}
        {%- do misfits.update({column.name: 'not (' ~ fits ~ ')'}) -%}
    {%- endif -%}
{%- endfor -%}
{%- set row = 'struct(' ~ values | join(', ') ~ ')' if values else 'true' -%}
-- the truth in the declared types, with the columns that have a value which does not fit
with truth as (

    select
    {{- change_tables.typed_columns({'columns': compared}, landed) }}
        {{ change_tables.names_where(misfits, 8) }} as _ct_misfits
    from {{ truth }}

),

-- rows of both go through one aggregate, which reads each once
all_rows as (

    select
        {{ key }},
        true as _ct_is_here,
        {{ row }} as _ct_row,
        {{ change_tables.names_where({}, 8) }} as _ct_misfits
    from {{ model }}
    union all
    select
        {{ key }},
        false as _ct_is_here,
        {{ row }} as _ct_row,
        _ct_misfits
    from truth

),

rows_of_keys as (

    select
        {{ key }},
        count_if(_ct_is_here) as _ct_times_here,
        count_if(not _ct_is_here) as _ct_times_there,
        max(if(_ct_is_here, _ct_row, null)) as _ct_here,
        max(if(_ct_is_here, null, _ct_row)) as _ct_there,
        max(_ct_misfits) as _ct_misfits
    from all_rows
    group by {{ key }}

),

compared as (

    select
        *,
        array_union(
            _ct_misfits,
            {{ change_tables.names_where(differences, 12) }}
        ) as _ct_differences
    from rows_of_keys

)

select
    {{ change_tables.text_literal(spec.source_name) }} as source_name,
    {{ change_tables.text_literal(spec.table_name) }} as table_name,
    case
        when _ct_times_here > 1 or _ct_times_there > 1 then 'more than once'
        when _ct_times_here = 0 then 'missing here'
        when _ct_times_there = 0 then 'missing there'
        else 'different'
    end as `is`,
    to_json(struct({{ key }}), {{ change_tables.json_options() }}) as key,
    if(_ct_times_here = 1 and _ct_times_there = 1, _ct_differences, _ct_misfits) as differing_columns,
    case
        when _ct_times_there > 1 then 'the truth has the key more than once: give one that has a row a key'
        when _ct_times_here > 1 then 'the model has the key more than once: put one_row_per_key on it, and build it with --full-refresh'
        when _ct_times_here = 0 then 'look for its changes in staging and in rejected_changes; if they never landed, load the table again'
        when _ct_times_there = 0 then 'look for its delete in staging and in rejected_changes; if it never landed, load the table again'
        else 'look for its last changes in the log, in staging and in rejected_changes; if one never landed, load the table again'
    end as what_to_do
from compared
where _ct_times_here <> 1 or _ct_times_there <> 1 or size(_ct_differences) > 0
{% endtest %}
