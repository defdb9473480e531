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


{#- Around what is left out of a run that replays no keys. -#}
{% macro replays_from_here() -%}
    -- change_tables: where keys are replayed, from here
{%- endmacro %}


{% macro replays_to_here() -%}
    -- change_tables: where keys are replayed, to here
{%- endmacro %}


{#- The query for the events that a run keeps in the table `kept`. -#}
{% macro kept_events(sql) %}
    {% set before, rest = sql.split(change_tables.kept_from_here(), 1) %}
    {% do return(before ~ rest.split(change_tables.kept_to_here(), 1)[0] ~ '\n)\n\nselect * from given_events') %}
{% endmacro %}


{#- The query for the events that it adds to the table where keys are replayed. -#}
{% macro replayed_events(sql, kept) %}
    {% set steps = sql.split(change_tables.replays_from_here(), 1)[1].split(change_tables.replays_to_here(), 1)[0] %}
    {% do return(
        'with given_events as (\n    select * from ' ~ kept ~ '\n),\n' ~ steps.rstrip().rstrip(',')
        ~ '\n\nselect *, false as _ct_is_late, true as _ct_is_replayed from replayed_events'
    ) %}
{% endmacro %}


{#- What is left to do when the table has these events: the steps before are not needed any more. -#}
{% macro query_over_kept(spec, sql, kept, replays) %}
    {% set begin, end = change_tables.replays_from_here(), change_tables.replays_to_here() %}
    {% set note = sql.split('\nwith ', 1)[0] %}
    {% set after = sql.split(change_tables.kept_to_here(), 1)[1].split(end, 1)[1] %}
    {% if not replays %}
        {% set after = modules.re.sub(begin ~ '.*?' ~ end ~ '\n?', '', after, flags=modules.re.DOTALL) %}
        {% do return(note ~ '\nwith given_events as (\n    select * from ' ~ kept ~ '\n),' ~ after) %}
    {% endif %}
    {% do return(
        note ~ '\nwith given_events as (\n    select * from ' ~ kept ~ ' where not _ct_is_replayed\n),\n\nreplayed_events as (\n    select * from ' ~ kept
        ~ ' where _ct_is_replayed\n),\n\nreplayed_keys as (\n    select distinct ' ~ change_tables.key_hash(spec.key)
        ~ ' as _ct_key from replayed_events\n),' ~ after
    ) %}
{% endmacro %}
