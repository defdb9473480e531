{#-
    Prints a line for each model that a statement of this package has stopped, which Spark buries in a stack trace, and for each data
    test of this package that has failed or warns: which table, what was found, and what to do. dbt itself prints how many rows a
    test has. Their rows are read again, which costs something only where there are some.
-#}
{% macro say_what_to_do(results) %}
    {% for result in results if execute and result.status == 'error' %}
        {% set raised = modules.re.search('\\[USER_RAISED_EXCEPTION\\] (change_tables: .*?)(?: SQLSTATE|\n|$)', result.message or '') %}
        {% do print(raised.group(1)) if raised %}
    {% endfor %}
    {% for result in results if execute and result.node.resource_type == 'test' and result.status in ['fail', 'warn'] and result.failures %}
        {% if (result.node.test_metadata or {}).namespace == 'change_tables' %}
            {% set found = run_query('select * from (\n' ~ result.node.compiled_code ~ '\n) limit 1') %}
            {% if found.rows and 'what_to_do' in found.column_names %}
                {% set row = found.rows[0] %}
                {% set facts = [] %}
                {% for name in found.column_names if name not in ['source_name', 'table_name', 'what_to_do'] and row[name] is not none %}
                    {% do facts.append(name ~ ' ' ~ row[name]) %}
                {% endfor %}
                {% set more = ' (and ' ~ (result.failures - 1) ~ ' more)' if result.failures > 1 else '' %}
                {% do print(
                    'change_tables: ' ~ result.status ~ ': ' ~ row['source_name'] ~ '.' ~ row['table_name'] ~ ': ' ~ result.node.test_metadata.name
                    ~ ': ' ~ facts | join(', ') ~ more ~ ': ' ~ row['what_to_do'] | replace('\n', ' ')
                ) %}
            {% endif %}
        {% endif %}
    {% endfor %}
    {% do return('') %}
{% endmacro %}
