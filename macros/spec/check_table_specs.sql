{#-
    Checks every table spec of the project before a run, and server and session where there are any, and names all mistakes of
    all of them at once.

    further_mistakes   a macro that says what else is wrong with the settings of a session (see `table_format_mistakes`)
-#}
{% macro check_table_specs(further_mistakes=none) %}
    {% if execute %}
        {% set mistakes = [] %}
        {% set nodes = graph.sources.values() | selectattr('config.meta') | selectattr('config.meta.change_table', 'defined') | list %}
        {% for node in nodes %}
            {% do mistakes.extend(change_tables.table_spec_mistakes(node)) %}
        {% endfor %}
        {% do mistakes.extend(change_tables._mistakes_of_runs()) %}
        {% do mistakes.extend(change_tables._mistakes_of_tables_schemas()) %}
        {% do mistakes.extend(change_tables.session_mistakes(not mistakes, further_mistakes)) if nodes %}
        {% do exceptions.raise_compiler_error(mistakes | join('\n')) if mistakes %}
    {% endif %}
{% endmacro %}


{#- What is wrong with the names of the table of runs and of its schema, where there is to be one. -#}
{% macro _mistakes_of_runs() %}
    {% set mistakes = [] %}
    {% set table = var('change_tables_runs', 'change_table_runs') %}
    {% set names = [
        ('`change_tables_runs` must be a name, or false for no table of runs', table),
        ('`change_tables_runs_schema` must be a name', var('change_tables_runs_schema', target.schema)),
    ] %}
    {% for wanted, name in names if table is not sameas false and not (name is string and modules.re.match('^\\w+$', name)) %}
        {% do mistakes.append('change_tables: the variable ' ~ wanted ~ ', got ' ~ change_tables.shown_value(name)) %}
    {% endfor %}
    {% do return(mistakes) %}
{% endmacro %}


{#- What is wrong with the schemas that models name for their tables: two would write one table. -#}
{% macro _mistakes_of_tables_schemas() %}
    {% set mistakes, owners = [], {} %}
    {% for node in graph.nodes.values() if node.config.materialized == 'change_state' %}
        {% set schema = change_tables.tables_schema_of_node(node) or node.schema %}
        {% if schema is not string %}
            {% do mistakes.append("change_tables: model '" ~ node.name ~ "': `tables_schema` must be the name of a schema, got " ~ change_tables.shown_value(schema)) %}
        {% else %}
            {% set owner = owners.setdefault((node.database ~ '.' ~ schema ~ '.' ~ node.alias) | lower, node.name) %}
            {% if owner != node.name %}
                {% do mistakes.append(
                    "change_tables: models '" ~ owner ~ "' and '" ~ node.name ~ "' would write one table, " ~ schema ~ '.' ~ node.alias ~ "__state: give one another alias or `tables_schema`"
                ) %}
            {% endif %}
        {% endif %}
    {% endfor %}
    {% do return(mistakes) %}
{% endmacro %}


{#- Settings of a session that change what the SQL means: name -> the right values; messages show the first. -#}
{% macro _settings_of_session() %}
    {% do return({
        'spark.sql.session.timeZone': ['UTC', 'Etc/UTC', 'GMT', 'Etc/GMT', 'Z', '+00:00'],
        'spark.sql.timestampType': ['TIMESTAMP_LTZ'],
        'spark.sql.legacy.timeParserPolicy': ['EXCEPTION', 'CORRECTED'],
        'spark.sql.parser.escapedStringLiterals': ['false'],
        'spark.sql.caseSensitive': ['false'],
    }) %}
{% endmacro %}


{#- What is wrong with the Spark of a server that is not of this package, as a list of texts. Another name for a version is no mistake. -#}
{% macro _mistakes_of_spark() %}
    {% set server = change_tables.version_of_spark() %}
    {% set numbers = modules.re.match('^(\\d+)[.](\\d+)', server) %}
    {#- the oldest that has the syntax and the functions that models use; docs/servers.md says what an older one lacks -#}
    {% set oldest = [4, 0] %}
    {% do return([]) if not numbers or numbers.groups() | map('int') | list >= oldest %}
    {% do return([
        "change_tables: the server is Spark " ~ server ~ ", and models need Spark " ~ oldest | join('.') ~ " or later; see docs/servers.md"
    ]) %}
{% endmacro %}


{#- The version of this package: that of `dbt_project.yml`, which macros cannot read, and of `change_tables/version.py`. -#}
{% macro version_of_package() %}
    {% do return('0.1.0') %}
{% endmacro %}


{#- What the versions of package and server must have in common: the major number, and before 1.0 the minor one, too. -#}
{% macro _compatible_part(version) %}
    {% set numbers = version.split('.') %}
    {% do return(numbers[:2] | join('.') if numbers[0] == '0' else numbers[0]) %}
{% endmacro %}


{#-
    What is wrong with the server or with dbt's sessions there, as a list of texts. What nobody has set is right, apart from the time zone. The
    package does not set them right itself: a view keeps the settings of the session that made it, and dbt makes staging views in sessions of
    its own.

    specs_are_right   whether entries can be read: then also for the functions that the selected models need
-#}
{% macro session_mistakes(specs_are_right, further_mistakes=none) %}
    {% set found = change_tables.settings_of_session() %}
    {% set of_spark = [] if found.get('spark.change_tables.version') else change_tables._mistakes_of_spark() %}
    {% do return(of_spark) if of_spark %}
    {% set mistakes = [] %}
    {% for name, right in change_tables._settings_of_session().items() if name in found %}
        {% do mistakes.append("`" ~ name ~ "` must be " ~ right[0] ~ ", got '" ~ found[name] ~ "'") if found[name] | lower not in right | map('lower') %}
    {% endfor %}
    {#- the server of this package has the version of its functions among its settings; one that says none is another server -#}
    {% set package, server = change_tables.version_of_package(), found.get('spark.change_tables.version') %}
    {% set of_server = further_mistakes(found) if further_mistakes else [] %}
    {% if specs_are_right %}
        {% do of_server.extend(change_tables.function_mistakes(found)) %}
    {% endif %}
    {% if server and change_tables._compatible_part(server) != change_tables._compatible_part(package) %}
        {% do of_server.insert(0,
            "change_tables: the package is version " ~ package ~ ", and the server has the functions of version " ~ server
            ~ ": take version " ~ server ~ " of the package in packages.yml and run `dbt deps`, or install version " ~ package
            ~ " where the server starts, and restart it"
        ) %}
    {% endif %}
    {% if mistakes %}
        {% do return(of_server + [
            "change_tables: the sessions that dbt opens at the server would make other rows: " ~ mistakes | join('; ')
            ~ "; set it " ~ change_tables.place_of_settings()
        ]) %}
    {% endif %}
    {% do return(of_server) %}
{% endmacro %}
