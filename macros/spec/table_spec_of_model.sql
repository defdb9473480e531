{#-
    The spec of the table that a model is about, found through the graph: a staging model says itself which entry it
    stages (in its `config.meta`), and every other model leads to one by what it depends on.
-#}
{% macro table_spec_of_model(node) %}
    {% set entries = change_tables.staged_entries(node) %}
    {% if entries | length != 1 %}
        {% do exceptions.raise_compiler_error(
            "change_tables: model '" ~ node.name ~ "' must lead to one model of staged_changes(…) through what it refers to, got "
            ~ (entries | length) ~ (': ' ~ entries | map(attribute='table') | join(', ') if entries else '')
        ) %}
    {% endif %}
    {% do return(change_tables.table_spec(entries[0].source, entries[0].table)) %}
{% endmacro %}


{#- The entries that the staging models at the root of a model stage, each once. -#}
{% macro staged_entries(node) %}
    {% set own = (node.config.meta or {}).get('change_table_entry') %}
    {% if own %}
        {% do return([own]) %}
    {% endif %}
    {% set entries = [] %}
    {% for unique_id in node.depends_on.nodes if unique_id in graph.nodes %}
        {% for entry in change_tables.staged_entries(graph.nodes[unique_id]) if entry not in entries %}
            {% do entries.append(entry) %}
        {% endfor %}
    {% endfor %}
    {% do return(entries) %}
{% endmacro %}


{#-
    The specs of the tables that a list of relations is about, in the order of the list. The model refers to each of them, and to
    nothing else that comes from a change table.
-#}
{% macro table_specs_of_references(relations) %}
    {% set specs = [] %}
    {% for node in change_tables.nodes_of_references(relations) %}
        {% do specs.append(change_tables.table_spec_of_model(node)) %}
    {% endfor %}
    {% do return(specs) %}
{% endmacro %}


{#- The models of such a list, from the graph. -#}
{% macro nodes_of_references(relations) %}
    {% set nodes = [] %}
    {% for unique_id in model.depends_on.nodes if unique_id in graph.nodes and change_tables.staged_entries(graph.nodes[unique_id]) %}
        {% do nodes.append(graph.nodes[unique_id]) %}
    {% endfor %}
    {% if nodes | length != relations | length %}
        {% do exceptions.raise_compiler_error(
            "change_tables: model '" ~ model.name ~ "' must give the macro every model that it refers to, each once, got "
            ~ (relations | length) ~ " of " ~ (nodes | length)
        ) %}
    {% endif %}
    {% do return(nodes) %}
{% endmacro %}
