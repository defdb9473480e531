{#-
    The Python functions that models call, and servers that lack them. The server of this package says its version among its
    settings, and has all of them. Another one may have got them in another way: it is asked, where a run needs one.
-#}

{#-
    Which functions of the selected models a server lacks, as a list of one text.

    found   the settings of the session
-#}
{% macro function_mistakes(found) %}
    {% set models = {} %}
    {% for unique_id in selected_resources | sort if not change_tables._has_all_functions(found) and unique_id in graph.nodes %}
        {% for name in change_tables._functions_of_model(graph.nodes[unique_id]) %}
            {% do models.setdefault(name, []).append(graph.nodes[unique_id].name) %}
        {% endfor %}
    {% endfor %}
    {% set lacks = [] %}
    {% for name in change_tables._functions_that_are_missing(models.keys() | list) %}
        {% set more = ' and ' ~ (models[name] | length - 3) ~ ' more' if models[name] | length > 3 else '' %}
        {% do lacks.append('`' ~ name ~ '`, which ' ~ models[name][:3] | join(', ') ~ more ~ (' calls' if models[name] | length == 1 else ' call')) %}
    {% endfor %}
    {% do return([]) if not lacks %}
    {% do return([
        "change_tables: the server does not have the SQL function " ~ lacks | join('; nor ')
        ~ ": run these models on the server that `change-tables server` starts, or leave them out with --exclude; see docs/servers.md"
    ]) %}
{% endmacro %}


{#- Whether the server is of this package, by the settings of a session. -#}
{% macro _has_all_functions(found) %}
    {% do return(found.get('spark.change_tables.version') not in [none, '<undefined>']) %}
{% endmacro %}


{#- Those of these functions that a server which says no version does not have. -#}
{% macro _functions_that_are_missing(names) %}
    {% do return([]) if not names %}
    {% set there = [] %}
    {% for row in run_query("show functions like '" ~ names | join('|') ~ "'").rows %}
        {% do there.append(row[0].split('.')[-1] | lower) %}
    {% endfor %}
    {% do return(names | reject('in', there) | list) %}
{% endmacro %}


{#- The functions that a model calls, whatever its rows are. Those of rows that have moved: see `refuse_moves_without_functions`. -#}
{% macro _functions_of_model(node) %}
    {% set macros = node.depends_on.macros | default([]) | map('replace', 'macro.change_tables.', '') | list %}
    {% do return([]) if node.resource_type != 'model' %}
    {% do return(['format_association', 'build_xds_document']) if 'xds_documents' in macros %}
    {% set names = [] %}
    {% set part = 'unclaimed' if 'unclaimed_rows' in macros else 'staged' %}
    {% set stages = 'staged_changes' in macros or 'deduplicated_changes' in macros %}
    {% for entry in change_tables.staged_entries(node) if stages %}
        {% do names.extend(change_tables._functions_of_entry(entry.source, entry.table, part)) %}
    {% endfor %}
    {% for unique_id in node.depends_on.nodes if part == 'unclaimed' and unique_id in graph.sources %}
        {% do names.extend(change_tables._functions_of_entry(graph.sources[unique_id].source_name, graph.sources[unique_id].name, part)) %}
    {% endfor %}
    {#- metadata messages of an entry without settings are read as Avro -#}
    {% for unique_id in node.depends_on.nodes if 'qlik_kafka_schemas' in macros and unique_id in graph.sources %}
        {% set settings = (graph.sources[unique_id].config.meta or {}).get('change_table', {'serialization': 'avro'}) %}
        {% do names.extend(change_tables.format_of('qlik_kafka').functions({'serialization': settings.get('serialization', 'json')}).staged) %}
    {% endfor %}
    {% do return(names | unique | list) %}
{% endmacro %}


{% macro _functions_of_entry(source_name, table_name, part) %}
    {% set spec = change_tables.table_spec(source_name, table_name) %}
    {% do return((change_tables.part_of_format(spec, 'functions') or {}).get(part, [])) %}
{% endmacro %}


{#- Those of these functions that the server does not have. A run asks it where only some rows need them, and it has met such rows. -#}
{% macro functions_that_server_lacks(names) %}
    {% do return([]) if not execute or change_tables._has_all_functions(change_tables.settings_of_session('spark.change_tables.version')) %}
    {% do return(change_tables._functions_that_are_missing(names)) %}
{% endmacro %}


{#-
    Stops a run that has found that rows with partial images have moved to other keys, where the server lacks the functions that
    follow them. Before it writes: the rows wait for a server that has them.
-#}
{% macro refuse_moves_without_functions(spec) %}
    {% set missing = change_tables.functions_that_server_lacks(['first_ancestors', 'reached_names', 'rows_at_key']) %}
    {% if missing %}
        {% do change_tables.refuse_model(
            "rows of '" ~ spec.source_name ~ "." ~ spec.table_name
            ~ "' have moved to other keys, and the server does not have the SQL functions that follow rows of partial images: "
            ~ missing | join(', ')
            ~ ". Nothing was taken in: run the model on the server that `change-tables server` starts; see docs/servers.md"
        ) %}
    {% endif %}
{% endmacro %}
