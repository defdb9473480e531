{#- Schema and name of the table of runs (see `record_runs`); none where the variable `change_tables_runs` is false. -#}
{% macro name_of_runs() %}
    {% set name = var('change_tables_runs', 'change_table_runs') %}
    {% do return(none if name is sameas false else [var('change_tables_runs_schema', target.schema), name]) %}
{% endmacro %}


{#- What is wrong with the variables, as a list of texts. -#}
{% macro mistakes_of_runs() %}
    {% set mistakes = [] %}
    {% set schema, name = change_tables.name_of_runs() or ['none', 'none'] %}
    {% for value, variable, what in [(name, 'change_tables_runs', 'a name, or false for no table of runs'), (schema, 'change_tables_runs_schema', 'a name')] %}
        {% if value is not string or not modules.re.match('^\\w+$', value) %}
            {% do mistakes.append("change_tables: the variable `" ~ variable ~ "` must be " ~ what ~ ", got " ~ change_tables.shown_value(value)) %}
        {% endif %}
    {% endfor %}
    {% do return(mistakes) %}
{% endmacro %}
