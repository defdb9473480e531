{#-
    Checks every table spec of the project before a run, and server and session where there are any, and names all mistakes of
    all of them at once.
-#}
{% macro check_table_specs() %}
    {% if execute %}
        {% set mistakes = [] %}
        {% set nodes = [] %}
        {% for node in graph.sources.values() if node.config.meta and 'change_table' in node.config.meta %}
            {% do nodes.append(node) %}
            {% do mistakes.extend(change_tables.table_spec_mistakes(node)) %}
        {% endfor %}
        {% do mistakes.extend(change_tables.mistakes_of_runs()) %}
        {% if nodes %}
            {% do mistakes.extend(change_tables.session_mistakes(specs_are_right=not mistakes)) %}
        {% endif %}
        {% if mistakes %}
            {% do exceptions.raise_compiler_error(mistakes | join('\n')) %}
        {% endif %}
    {% endif %}
{% endmacro %}
