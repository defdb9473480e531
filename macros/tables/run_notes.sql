{#-
    dbt hands a materialization one text: the SQL of its model. What a model says besides is in comments of that text: the run that
    the SQL is for, and where the steps begin and end that a run keeps in a table of its own. They are written and read here alone.
-#}

{#-
    The line in a rendered model that says which run it is for. The materialization reads it there, so that what it
    records as taken in is what this very SQL reads.
-#}
{% macro run_note(run) -%}
-- change_tables run: {{ tojson(run) }}
{%- endmacro %}


{% macro read_run_note(sql) %}
    {% do return(fromjson(modules.re.search('-- change_tables run: (.*)', sql).group(1))) %}
{% endmacro %}


{% macro kept_from_here() -%}
    -- change_tables: kept in a table of its own, from here
{%- endmacro %}


{% macro kept_to_here() -%}
    -- change_tables: to here
{%- endmacro %}


{#- The two statements that a run makes of its SQL: which rows it keeps, and what it makes of them. -#}
{% macro split_at_kept_step(sql, run, kept) %}
    {% set before, rest = sql.split(change_tables.kept_from_here(), 1) %}
    {% set body, after = rest.split(change_tables.kept_to_here(), 1) %}
    {% do return({
        'kept': before ~ body ~ '\n)\n\nselect * from ' ~ run.kept_step,
        'rest': before ~ 'select * from ' ~ kept ~ after,
    }) %}
{% endmacro %}
