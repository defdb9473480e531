{#-
    What comes first when several changes of one key have the same sequence: the later in this list wins. A departure is
    what a key move leaves at the key before.
-#}
{% macro _precedences() %}
    {% do return(['truncate', 'snapshot', 'departure', 'insert', 'update', 'upsert', 'delete']) %}
{% endmacro %}


{% macro precedence_of(change_op) -%}
    {{- change_tables._precedences().index(change_op) + 1 -}}
{%- endmacro %}


{#- That of a change. -#}
{% macro precedence_of_row() -%}
    array_position({{ change_tables.names_array(change_tables._precedences()) }}, _change_op)
{%- endmacro %}
