{#-
    For a staging or a deduplicated model. Fails for every raw column of the source table that has landed and that the entry does not
    declare. Only for formats whose raw table has a column for each one of the source table.

    except   names of columns that are left out on purpose, such as those that a landing job adds
-#}
{% test undeclared_columns(model, except=[]) %}
{%- set names = ['source_name', 'table_name', 'column_name', 'data_type', 'yaml', 'what_to_do'] -%}
{%- set rows = [] -%}
{%- if change_tables.data_test_looks() -%}
    {%- set spec = change_tables.spec_of_data_test(['staged_changes', 'deduplicated_changes']) -%}
    {%- do change_tables.table_of_data_test(model, 'the raw table') -%}
    {%- if except != [] and not change_tables.is_list_of_names(except) -%}
        {%- do change_tables.refuse_data_test("`except` must be a list of names, each once, got " ~ change_tables.shown_value(except)) -%}
    {%- endif -%}
    {%- do change_tables.columns_for_data_test(spec, spec.relation, 'the raw table') -%}
    {%- set undeclared = change_tables.part_of_format(spec, 'undeclared_columns') -%}
    {%- if undeclared is none -%}
        {%- do change_tables.refuse_data_test(
            "the raw table " ~ spec.relation ~ ", of format '" ~ spec.format
            ~ "', does not have a column for each one of the source table, so this test means nothing: take it off"
        ) -%}
    {%- endif -%}
    {%- set left_out = except | map('lower') | list + [spec.arrival | lower] -%}
    {%- for column in undeclared if column.name | lower not in left_out -%}
        {%- set data_type = column.data_type if change_tables.is_spark_type(column.data_type) else 'string' -%}
        {%- do rows.append([
            spec.source_name, spec.table_name, column.name, column.data_type,
            change_tables.yaml_of_column(column.declared_as or column.name, data_type),
            'add the line of `yaml` to the columns of source ' ~ spec.source_name ~ '.' ~ spec.table_name
            ~ ' where the source table has the column, then build; or name the column in `except`'
        ]) -%}
    {%- endfor -%}
{%- endif -%}
{%- if rows -%}
select {{ names | join(', ') }}
from
    values
    {%- for row in rows %}
    ({{ change_tables.text_literals(row) }}){{ ',' if not loop.last }}
    {%- endfor %}
    as undeclared ({{ names | join(', ') }})
{%- else -%}
select 1 as no_column_is_undeclared
where false
{%- endif %}
{% endtest %}
