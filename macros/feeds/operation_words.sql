{#- Words for operations that entries add to those of a format: of a transformation, or of the job that lands rows. -#}

{#- The words for operations, word -> code. `own`: those of the format. Added words say a meaning. -#}
{% macro operation_words(spec, own) %}
    {% set codes = {'insert': 'I', 'update': 'U', 'delete': 'D', 'snapshot': 'R', 'before_image': 'B', 'truncate': 'T'} %}
    {% set words = own.copy() %}
    {% for word, meaning in (spec.operations or {}).items() %}
        {% do words.update({word: codes[meaning]}) %}
    {% endfor %}
    {% do return(words) %}
{% endmacro %}


{#- Whether a column has one of the words that stand for these codes, as SQL. -#}
{% macro is_operation(column, words, codes) -%}
    {%- set found = words.items() | selectattr(1, 'in', codes) | map(attribute=0) | list -%}
    {{- column }} {{ 'in (' ~ change_tables.text_literals(found) ~ ')' if found | length > 1 else '= ' ~ change_tables.text_literal(found[0]) -}}
{%- endmacro %}


{#- The setting for such words, by what they can mean. -#}
{% macro operations_setting(meanings) %}
    {% do return({'default': none, 'type': 'mapping', 'meaning': "further words for operations: word → `" ~ meanings | join('`, `') ~ '`'}) %}
{% endmacro %}
