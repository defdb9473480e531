{#- The names of the declared columns with these 1-based ordinals; ordinals past the last column are left out. -#}
{% macro names_of_ordinals(spec, ordinals) -%}
    transform(
                    filter({{ ordinals }}, ordinal -> ordinal <= {{ spec.column_names | length }}),
                    ordinal -> element_at({{ change_tables.names_array(spec.column_names) }}, ordinal)
                )
{%- endmacro %}
