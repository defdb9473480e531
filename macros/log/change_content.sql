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


{#-
    SQL for a value of a delivery, among those that have its identity, which stops the run where these are of different origins
    (`origin` of `format_of`): the numbers of the feed have been used again, and they are not one change. A delivery that lacks a
    column of its origin differs from none.
-#}
{% macro of_one_origin(spec, value) -%}
    {%- set origin = change_tables.format_of(spec.format).origin -%}
    {%- do return(value) if not origin -%}
    {%- set differences = change_tables.each(origin, 'min({name}) over same_change <> max({name}) over same_change') -%}
    {%- set what = "changes that differ in " ~ origin | join(' or ') ~ " have landed" -%}
    {%- set before, after = change_tables.used_again(spec, what, '_change_id') -%}
case
    when
        _change_id is not null
        and ({{ differences | join(' or ') }})
        then raise_error(concat(
            {{ change_tables.text_literal(before) }},
            _change_id,
            {{ change_tables.text_literal(after) }}
        ))
    else
        {{ value | trim | indent(8) }}
end
{%- endmacro %}
