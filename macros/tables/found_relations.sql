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


{% macro drop_found_relation(relation) %}
    {% do adapter.drop_relation(relation) %}
    {% do change_tables.known_in_run('relations').update({relation | string | lower: none}) %}
{% endmacro %}
