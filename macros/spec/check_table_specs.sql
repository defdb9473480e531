{#- Checks every table spec of the project before a run, and names all mistakes of all of them at once. -#}
{% macro check_table_specs() %}
    {% if execute %}
        {% set mistakes = [] %}
        {% for node in graph.sources.values() if node.config.meta and 'change_table' in node.config.meta %}
            {% do mistakes.extend(change_tables._table_spec_mistakes(node)) %}
        {% endfor %}
        {% if mistakes %}
            {% do exceptions.raise_compiler_error(mistakes | join('\n')) %}
        {% endif %}
    {% endif %}
{% endmacro %}
