{#-
    `change-tables remove`: drops what models have made, and their rows of the table of runs. The command calls it before it takes the models out of
    the project, since only a model that is there says where its tables are.

    What reads another relation is dropped before that one, and of a model its views before its tables. So wherever it dies, no view names what is
    gone, but the lists of health models, which the next build makes anew; and the same command again drops the rest. A build in between
    makes the tables anew from what raw has: it is no less than before.
-#}

{#-
    models      their names, those that read others first
    keep_data   leave the relations, and delete the rows of the table of runs alone
-#}
{% macro remove_tables(models, keep_data=false, dry_run=false) %}
    {% set nodes = graph.nodes.values() | selectattr('resource_type', 'eq', 'model') | list %}
    {% set nodes = dict(zip(nodes | map(attribute='name') | map('lower'), nodes)) %}
    {% for name in models if name in nodes %}
        {% set relation = change_tables.relation_of_node(nodes[name]) %}
        {% do change_tables._drop_relations_of(relation, nodes[name], dry_run) if not keep_data %}
        {% if nodes[name].config.materialized == 'change_log' %}
            {#- reports would say that its source has stopped -#}
            {% set of_log = 'log = ' ~ change_tables.text_literal(relation.schema ~ '.' ~ relation.identifier) %}
            {% do change_tables._delete_rows(change_tables.table_of_runs(), of_log, 'its runs', dry_run) %}
            {% if not keep_data %}
                {% set of_entry = change_tables.is_of_entry(change_tables.table_spec_of_model(nodes[name])) %}
                {% do change_tables._delete_rows(change_tables.acknowledgements(), of_entry, 'what was acknowledged of it', dry_run) %}
            {% endif %}
        {% endif %}
    {% endfor %}
{% endmacro %}


{#- Drops the views of a model, then its tables. A table in the place of its view is none of the package. -#}
{% macro _drop_relations_of(relation, node, dry_run) %}
    {% for view in [change_tables.reports_relation(relation), relation] %}
        {% set existing = load_cached_relation(view) %}
        {% if existing is not none and existing.is_view %}
            {% do change_tables._drop('view', view, dry_run) %}
        {% elif existing is not none %}
            {% do print(view ~ ': left, it is a ' ~ existing.type ~ ' that no model of this package has made') %}
        {% endif %}
    {% endfor %}
    {% set tables = [change_tables.state_relation(relation, node), change_tables.quarantine_relation(relation)] %}
    {% for table in tables if load_cached_relation(table) is not none %}
        {% do change_tables._drop('table', table, dry_run) %}
    {% endfor %}
    {#- of whatever run: batch ids begin with a digit -#}
    {% for batch in change_tables.batches_before(relation, 'a', node) %}
        {% do change_tables._drop('table', batch, dry_run) %}
    {% endfor %}
{% endmacro %}


{% macro _drop(type, relation, dry_run) %}
    {% do change_tables.send_or_say(change_tables.drop_of(type, relation), 'of the table that is removed', dry_run) %}
    {% do print(relation ~ ': dropped') if not dry_run %}
{% endmacro %}


{% macro _delete_rows(table, condition, why, dry_run) %}
    {% if table is not none and load_cached_relation(table) is not none %}
        {% do change_tables.send_or_say('delete from ' ~ table ~ ' where ' ~ condition, why, dry_run) %}
    {% endif %}
{% endmacro %}
