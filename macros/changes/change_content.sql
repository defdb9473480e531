{#-
    When two deliveries of one change differ, the one with the greater text of its columns wins; where the texts are
    equal, the greater header. Both are total, so the winner does not depend on which came first.
-#}
{% macro content_text(spec, prefix=none) -%}
    to_json(struct({{ change_tables.column_list(spec.column_names, prefix) }}))
{%- endmacro %}


{#- The same of a delivery that is held against the log. -#}
{% macro comparable_text(spec) -%}
    {%- set values = [] -%}
    {%- for column in change_tables.comparable_columns(spec, spec.columns) -%}
        {%- do values.append(column.value ~ ' as ' ~ change_tables.quoted(column.name)) -%}
    {%- endfor -%}
    to_json(struct({{ values | join(', ') }}))
{%- endmacro %}


{% macro header_columns(spec, prefix=none) %}
    {% set names = [] %}
    {% for column in change_tables._delivered_headers(spec) %}
        {% do names.append((prefix ~ '.' if prefix else '') ~ column.name) %}
    {% endfor %}
    {% do return(names) %}
{% endmacro %}


{#- What makes two deliveries of one change two contents: its values, and which of them it bears. -#}
{% macro _content_columns(spec) %}
    {% do return(spec.columns + [{'name': '_present_columns', 'data_type': 'array<string>'}]) %}
{% endmacro %}


{% macro _delivered_headers(spec) %}
    {% set columns = [] %}
    {% for name in ['_present_columns', '_changed_columns', '_changed_at', '_transaction_id', '_raw_id'] %}
        {% do columns.append({'name': name, 'data_type': change_tables._contract_column_types()[name]}) %}
    {% endfor %}
    {% do return(columns + change_tables.further_columns(spec)) %}
{% endmacro %}


{#- All by which one delivery of a change can differ from another, but for what it tells of the key before. -#}
{% macro _delivery_columns(spec) %}
    {% do return(spec.columns + change_tables._delivered_headers(spec)) %}
{% endmacro %}
