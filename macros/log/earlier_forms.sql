{#-
    Columns of a delivery, as they compare with what the log holds of the change: of one that was logged in an earlier form,
    the columns that it was logged with, but not what is counted or hashed over the declared columns.
-#}
{% macro comparable_columns(spec, columns, delivered='source', logged='target') %}
    {% set compared = [] %}
    {% for column in columns %}
        {% set name = change_tables.quoted(column.name) %}
        {% set form = spec.form if column.name in ['_present_columns', '_changed_columns', '_raw_id'] else spec.added.get(column.name, 0) %}
        {% set value = delivered ~ '.' ~ name %}
        {% if form > 0 %}
            {% set value = 'if(' ~ logged ~ '._form < ' ~ form ~ ', ' ~ logged ~ '.' ~ name ~ ', ' ~ value ~ ')' %}
        {% endif %}
        {% do compared.append(dict(column, value=value)) %}
    {% endfor %}
    {% do return(compared) %}
{% endmacro %}


{#- Whether a change was logged before a column was added that is declared now. -#}
{% macro lacks_columns(spec, logged='target') -%}
    {{ logged }}._form < {{ spec.added.values() | max }}
{%- endmacro %}


{#-
    Whether a delivery tells what the log holds of a change, and values of columns that it was logged without. Asked by a
    rescan only: runs that read every raw row would otherwise end in other rows than those that read the new ones.
-#}
{% macro completes(spec, delivered='source', logged='target') -%}
    {%- set tells = [] -%}
    {%- for name, form in spec.added.items() -%}
        {%- set value = delivered ~ '.' ~ change_tables.quoted(name) -%}
        {%- set bears = value ~ ' is not null' -%}
        {%- if spec.images == 'partial' -%}
            {%- set bears = '(' ~ bears ~ ' or (' ~ delivered ~ "._change_op in ('update', 'upsert') and coalesce(array_contains("
                ~ delivered ~ '._present_columns, ' ~ change_tables.text_literal(name) ~ '), true)))' -%}
        {%- endif -%}
        {%- do tells.append(logged ~ '._form < ' ~ form ~ ' and ' ~ bears) -%}
    {%- endfor -%}
    {%- set content = change_tables.content_columns(spec) -%}
    ({{ tells | join(' or ') }}) and {{ change_tables.hash_of(change_tables.comparable_columns(spec, content, delivered, logged)) }} = {{ change_tables.hash_of(content, logged) }}
{%- endmacro %}


{% macro completes_old_changes(spec) %}
    {% do return(spec.added | length > 0 and var('change_tables_rescan', false)) %}
{% endmacro %}
