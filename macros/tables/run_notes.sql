{#-
    dbt hands a materialization one text: the SQL of its model. What a model says besides is in comments of that text: the run that
    the SQL is for, and where the steps end that a run keeps in a table of its own. They are written and read here alone. What is done with
    the SQL at these lines needs the names of three steps of `given_event_steps`: `given_events`, `replayed_events`, `all_events`.
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


{% macro kept_to_here() -%}
    -- change_tables: kept in a table of its own, to here
{%- endmacro %}


{% macro read_to_here() -%}
    -- change_tables: where events are kept, what is before this line is read from their table
{%- endmacro %}


{#- The query for the events that a run keeps in the table `kept`. -#}
{% macro kept_events(sql) %}
    {% do return(sql.split(change_tables.kept_to_here(), 1)[0] ~ '\n)\n\nselect *, false as _ct_is_replayed from given_events') %}
{% endmacro %}


{#- The query for the events that it adds to the table where keys are replayed. -#}
{% macro replayed_events(sql, kept) %}
    {% set steps = sql.split(change_tables.kept_to_here(), 1)[1].split('\nall_events as (', 1)[0] %}
    {% do return(
        'with given_events as (\n    select * from ' ~ kept ~ steps.rstrip().rstrip(',')
        ~ '\n\nselect *, false as _ct_is_late, true as _ct_is_replayed from replayed_events'
    ) %}
{% endmacro %}


{#- What is left to do when the table has these events: all steps up to `all_events` are read from there. -#}
{% macro query_over_kept(sql, kept, spec, replays) %}
    {% set note, steps = sql.split('\nwith ', 1) %}
    {% set all_events = 'select kept.* from ' ~ kept ~ ' as kept' %}
    {% if replays %}
        {% set all_events = all_events ~ '\n    left join (' ~ change_tables.replayed_keys(kept, spec) ~ ') as replayed_keys\n        on '
            ~ change_tables.key_hash(spec.key, 'kept') ~ ' = replayed_keys._ct_key\n    where kept._ct_is_replayed or replayed_keys._ct_key is null' %}
    {% endif %}
    {% do return(note ~ '\nwith all_events as (\n    ' ~ all_events ~ steps.split(change_tables.read_to_here(), 1)[1]) %}
{% endmacro %}


{#- The keys that a run has replayed, by their hashes. -#}
{% macro replayed_keys(kept, spec) -%}
    select distinct {{ change_tables.key_hash(spec.key) }} as _ct_key from {{ kept }} where _ct_is_replayed
{%- endmacro %}
