{#- What the commands for the life of a lake share: which models there are, how they say what they do, and how they send it. -#}

{#-
    The models of a project that have tables of this package, by their names: [{node, relation}]. Stops the command where there are none.

    include   patterns of their names, with `*` and `?`; none: all
-#}
{% macro models_with_tables(command, include) %}
    {% set found = [] %}
    {% for node in change_tables.nodes_with_tables() if not include or change_tables.fits_pattern(node.name, include) %}
        {% do found.append({'node': node, 'relation': change_tables.relation_of_node(node)}) %}
    {% endfor %}
    {% do change_tables.refuse_command(command, 'no model with a table of this package' ~ (' is named ' ~ include | join(', ') if include else ' is there')) if not found %}
    {% do return(found) %}
{% endmacro %}


{#- Those of them that read a log, which is given as its node. -#}
{% macro models_over_log(command, log) %}
    {% set found = [] %}
    {% for model in change_tables.models_with_tables(command, []) if log.unique_id in model.node.depends_on.nodes %}
        {% do found.append(model) %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}


{#- The logs of an entry: [{relation, spec, node}]. Stops where there is none, or where two sources have the entry. -#}
{% macro logs_of_entry(command, source, table) %}
    {% set logs = [] %}
    {% for found in change_tables.models_with_tables(command, []) if found.node.config.materialized == 'change_log' %}
        {% set spec = change_tables.table_spec_of_model(found.node) %}
        {% do logs.append(dict(found, spec=spec)) if spec.table_name == table and (not source or spec.source_name == source) %}
    {% endfor %}
    {% do change_tables.refuse_command(command, "no log of an entry '" ~ table ~ "'" ~ (" of source '" ~ source ~ "'" if source) ~ ' is in the project') if not logs %}
    {% if logs | map(attribute='spec.source_name') | unique | list | length > 1 %}
        {% do change_tables.refuse_command(command, "name the --source: '" ~ table ~ "' is an entry of " ~ logs | map(attribute='spec.source_name') | unique | join(', ')) %}
    {% endif %}
    {% do return(logs) %}
{% endmacro %}


{% macro fits_pattern(name, patterns) %}
    {% for pattern in patterns %}
        {% do return(true) if modules.re.fullmatch(modules.re.escape(pattern | lower).replace('\\*', '.*').replace('\\?', '.'), name | lower) %}
    {% endfor %}
    {% do return(false) %}
{% endmacro %}


{#-
    Sends a statement, or says what would be sent. Its rows are not fetched.

    why   what it is for, for the reader
-#}
{% macro send_or_say(sql, why, dry_run) %}
    {% if dry_run %}
        {% do print(sql ~ '; -- ' ~ why) %}
    {% else %}
        {% call statement('sent') %}
            {{ sql }}
        {% endcall %}
    {% endif %}
{% endmacro %}


{% macro refuse_command(command, mistake) %}
    {% do exceptions.raise_compiler_error('change_tables: ' ~ command ~ ': ' ~ mistake) %}
{% endmacro %}
