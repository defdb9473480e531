{#-
    For a staging model. Fails for every hole in the numbers by which its raw table has landed: offsets of a partition, files of a
    trail, record ids of an event log. What is below the lowest or above the highest number is no hole. Reads the raw table alone.
-#}
{% test sequence_gaps(model) %}
{%- do return(change_tables.nothing_to_look_at()) if not change_tables.data_test_looks() -%}
{%- set spec = change_tables.spec_of_data_test('staged_changes') -%}
{%- do change_tables.table_of_data_test(model, 'the raw table') -%}
{%- set numbers = change_tables.part_of_format(spec, 'numbers') -%}
{%- if not numbers -%}
    {%- do change_tables.refuse_data_test(
        "rows of format '" ~ spec.format ~ "' have no numbers that follow one another, so this test means nothing: take it off"
    ) -%}
{%- endif -%}
{%- set number = 'try_cast(' ~ change_tables.quoted(numbers.column) ~ ' as bigint)' -%}
{%- set group = change_tables.column_list(numbers.group) -%}
{%- set landed = change_tables.columns_for_data_test(spec, spec.relation, 'the raw table') -%}
{%- set missing = (numbers.group + [numbers.column]) | reject('in', landed) | list -%}
{%- do change_tables.refuse_missing_columns(spec, spec.relation, missing, "the test looks for holes in them") -%}
{%- if landed[numbers.column].data_type in ['tinyint', 'smallint', 'int', 'bigint'] -%}
    {%- set number = change_tables.quoted(numbers.column) -%}
{%- endif -%}
-- 64 numbers are the bits of one, so that few rows are sorted
with words as (

    select
        {%- for name in numbers.group %}
        {{ change_tables.quoted(name) }},
        {%- endfor %}
        {{ number }} div 64 as _ct_word,
        bit_or(shiftleft(1L, cast({{ number }} % 64 as int))) as _ct_bits
    from {{ spec.relation }}
    where {{ number }} >= 0{{ ' and ' ~ numbers.only if numbers.only }}
    group by {{ group ~ ', ' if group }}{{ number }} div 64

),

-- a word without a hole is one run, any other number a run of its own
runs as (

    select
        {%- for name in numbers.group %}
        {{ change_tables.quoted(name) }},
        {%- endfor %}
        _ct_word,
        explode(
            if(
                _ct_bits = -1,
                array(struct(0 as first, 63 as last)),
                transform(filter(sequence(0, 63), place -> getbit(_ct_bits, place) = 1), place -> struct(place as first, place as last))
            )
        ) as _ct_run
    from words

),

followed as (

    select
        {%- for name in numbers.group %}
        {{ change_tables.quoted(name) }},
        {%- endfor %}
        _ct_word * 64 + _ct_run['last'] as _ct_number,
        lead(_ct_word * 64 + _ct_run['first']) over ({{ 'partition by ' ~ group ~ ' ' if group }}order by _ct_word, _ct_run['first']) as _ct_next_number
    from runs

)

select
    {{ change_tables.text_literal(spec.source_name) }} as source_name,
    {{ change_tables.text_literal(spec.table_name) }} as table_name,
    {%- for name in numbers.group %}
    {{ change_tables.quoted(name) }},
    {%- endfor %}
    _ct_number + 1 as first_missing,
    _ct_next_number - 1 as last_missing,
    _ct_next_number - _ct_number - 1 as missing,
    {{ change_tables.text_literal(numbers.remedy) }} as what_to_do
from followed
where _ct_next_number > _ct_number + 1
order by {{ group ~ ', ' if group }}first_missing
{% endtest %}
