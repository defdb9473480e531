{#-
    What the models of a dbt run know of each other, and what was found out once for all: a dict for each name. By the id of the invocation, since
    a program can give one manifest, and so one `graph`, to several. No macros are kept: a macro sees the model that it was got for.

    answers                  see `ask_once`
    begun                    the logs that have begun, by their ids
    landed                   see `landed_columns`
    logs, shared             see `shared_rows`
    format                   see `table_format`
    not_there                see `refuse_tables_not_there`
    quiet                    see `is_quiet`
    relations                see `found_relation`
    sources                  see `find_source`
    specs                    see `table_spec`
    types, canonical_types   see `type_tree`, `column_types`
    views                    see `shown_of_view`
-#}
{% macro known_in_run(name) %}
    {% do return(graph.setdefault('change_tables_known', {}).setdefault(invocation_id, {}).setdefault(name, {})) %}
{% endmacro %}


{% macro drop_known_in_run() %}
    {% do graph.get('change_tables_known', {}).pop(invocation_id, none) %}
    {% do return('') %}
{% endmacro %}


{#- The rows of a query about what the run has not written yet: asked once a run. -#}
{% macro ask_once(sql) %}
    {% set answers = change_tables.known_in_run('answers') %}
    {% if sql not in answers %}
        {#- of two models that ask at the same time both take the answer of the first -#}
        {% do answers.setdefault(sql, run_query(sql).rows) %}
    {% endif %}
    {% do return(answers[sql]) %}
{% endmacro %}


{#-
    A relation as dbt's cache has it; none: it is not there. dbt goes through all relations of the schema to find one, so each is looked for once
    a run. Whoever makes or drops a relation that others may look for says so.
-#}
{% macro found_relation(relation) %}
    {% set known = change_tables.known_in_run('relations') %}
    {% set name = relation | string | lower %}
    {#- what is made meanwhile by another model counts -#}
    {% do known.setdefault(name, load_cached_relation(relation)) if name not in known %}
    {% do return(known[name]) %}
{% endmacro %}


{#- What a materialization returns: dbt's cache has these from then on. -#}
{% macro made_relations(relations) %}
    {% set known = change_tables.known_in_run('relations') %}
    {% for relation in relations if not known.get(relation | string | lower) %}
        {% do known.update({relation | string | lower: relation}) %}
    {% endfor %}
    {% do return({'relations': relations}) %}
{% endmacro %}
