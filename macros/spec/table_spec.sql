{#-
    The spec of one logical source table, as a dict: every setting under `change_table` with its default filled in, and

    settings                  the same settings alone: some formats have one with the name of a key below
    source_name, table_name   the names of the entry
    relation                  the raw table
    columns                   the declared columns, in order: {name, data_type, meta}. Key columns that the format adds come first,
                              and are then the `key`
    column_names              their names
    columns_of_format         the columns of its own that the format carries: see `further_columns`
    multi_valued              declared columns of many values, which are no part of a row, and not in `columns`
    landed                    what `landed_columns` has found of raw tables, so that it asks once: relation -> columns

    Stops with every mistake of the entry when the spec is wrong.
-#}
{% macro table_spec(source_name, table_name) %}
    {% set node = change_tables.find_source(source_name, table_name) %}
    {% if node is none %}
        {% do exceptions.raise_compiler_error(
            "change_tables: source '" ~ source_name ~ "." ~ table_name ~ "': no such entry in any sources file"
        ) %}
    {% endif %}
    {% set mistakes = change_tables.table_spec_mistakes(node) %}
    {% if mistakes %}
        {% do exceptions.raise_compiler_error(mistakes | join('\n')) %}
    {% endif %}
    {% set settings = change_tables.format_settings(node.config.meta.change_table.format) %}
    {% set given = {} %}
    {% for name, setting in settings.items() %}
        {% do given.update({name: setting.default}) %}
    {% endfor %}
    {% do given.update(node.config.meta.change_table) %}
    {% set columns = change_tables.declared_columns(node) %}
    {% set multi_valued_of_format = change_tables.format_of(given.format).multi_valued %}
    {% set multi_valued = multi_valued_of_format(columns) if multi_valued_of_format else [] %}
    {% set own_key = change_tables.key_columns_of_format(given) %}
    {% set columns = own_key + columns | reject('in', multi_valued) | list %}
    {% set spec = given.copy() %}
    {% do spec.update({
        'key': own_key | map(attribute='name') | list or given.key,
        'settings': given,
        'source_name': node.source_name,
        'table_name': node.name,
        'relation': change_tables.source_relation(node),
        'columns': columns,
        'column_names': columns | map(attribute='name') | list,
        'columns_of_format': change_tables.further_columns(given),
        'multi_valued': multi_valued,
        'landed': {},
    }) %}
    {% do return(spec) %}
{% endmacro %}


{#- The key columns that a format has of its own, by the settings of an entry. Where there are any, the user declares no key. -#}
{% macro key_columns_of_format(given) %}
    {% set of_format = change_tables.format_of(given.format).key_columns %}
    {% do return(of_format(given) if of_format else []) %}
{% endmacro %}


{#- The entry of that name: the project's own before one of a package. None where there is none. -#}
{% macro find_source(source_name, table_name) %}
    {% set found = namespace(node=none) %}
    {% for node in graph.sources.values() if node.source_name == source_name and node.name == table_name %}
        {% if found.node is none or node.package_name == model.package_name %}
            {% set found.node = node %}
        {% endif %}
    {% endfor %}
    {% do return(found.node) %}
{% endmacro %}


{% macro source_relation(node) %}
    {% do return(api.Relation.create(
        database=node.database, schema=node.schema, identifier=node.identifier,
        quote_policy={'database': false, 'schema': node.quoting.schema or false, 'identifier': node.quoting.identifier or false}
    )) %}
{% endmacro %}


{% macro declared_columns(node) %}
    {% set columns = [] %}
    {% for column in node.columns.values() %}
        {% do columns.append({
            'name': column.name,
            'data_type': modules.re.sub('\\s*,\\s*(?=\\d)', ', ', column.data_type or ''),
            'meta': column.config.meta if column.config and column.config.meta else {},
            'description': column.description or '',
        }) %}
    {% endfor %}
    {% do return(columns) %}
{% endmacro %}
