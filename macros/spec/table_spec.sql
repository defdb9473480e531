{#-
    The spec of one logical source table, as a dict: every setting under `change_table` with its default filled in, and

    settings                  the same settings alone: some formats have one with the name of a key below
    source_name, table_name   the names of the entry
    relation                  the raw table
    columns                   the declared columns, in order: {name, data_type, meta}. Key columns that the format adds come first,
                              and are then the `key`
    column_names              their names
    columns_of_format         the columns of its own that the format carries through staging and log: see `format_of`
    multi_valued              declared columns of many values, which are no part of a row, and not in `columns`
    retired, hidden           the names of the retired columns, and of those that `current_` does not show
    renamed                   the columns that had other names: name -> these, the latest one first. See `landing_names`

    Stops with every mistake of the entry when the spec is wrong. All models of a run have one spec of an entry.
-#}
{% macro table_spec(source_name, table_name) %}
    {% set specs = change_tables.known_in_run('specs') %}
    {#- which of two entries of the name counts depends on the package of the model: see `find_source` -#}
    {% set key = tojson([source_name, table_name, (model | default({})).package_name]) %}
    {% do specs.update({key: change_tables._read_table_spec(source_name, table_name)}) if key not in specs %}
    {% do return(specs[key]) %}
{% endmacro %}


{% macro _read_table_spec(source_name, table_name) %}
    {% set node = change_tables.find_source(source_name, table_name) %}
    {% do change_tables.refuse_entry({'source_name': source_name, 'table_name': table_name}, "no such entry in any sources file") if node is none %}
    {% set mistakes = change_tables.table_spec_mistakes(node) %}
    {% do exceptions.raise_compiler_error(mistakes | join('\n')) if mistakes %}
    {% set settings = change_tables.format_settings(node.config.meta.change_table.format) %}
    {% set given = dict(zip(settings, settings.values() | map(attribute='default')), **node.config.meta.change_table) %}
    {% set declared = change_tables.declared_columns(node) %}
    {% set has_multi_valued = 'multi_valued' in change_tables.format_of(given.format).column_settings %}
    {% set multi_valued = declared | selectattr('meta.multi_valued') | list if has_multi_valued else [] %}
    {% set own_key = change_tables.key_columns_of_format(given) %}
    {% set columns = own_key + declared | reject('in', multi_valued) | list %}
    {% do return(dict(given, **{
        'key': own_key | map(attribute='name') | list or given.key,
        'settings': given,
        'source_name': node.source_name,
        'table_name': node.name,
        'relation': change_tables.relation_of_node(node),
        'columns': columns,
        'column_names': columns | map(attribute='name') | list,
        'columns_of_format': change_tables.format_of(given.format).columns,
        'multi_valued': multi_valued,
        'retired': columns | selectattr('meta.retired', 'defined') | selectattr('meta.retired') | map(attribute='name') | list,
        'hidden': change_tables._hidden_names(columns),
        'renamed': change_tables._renamed_columns(declared),
    })) %}
{% endmacro %}


{#- The retired columns that `current_` does not show: any more, where an `until` is over. -#}
{% macro _hidden_names(columns) %}
    {% set hidden, today = [], run_started_at.strftime('%Y-%m-%d') %}
    {% for column in columns if column.meta.get('retired') %}
        {% set until = column.meta.get('until') %}
        {% do hidden.append(column.name) if column.meta.retired == 'hide' or until is not none and until | string < today %}
    {% endfor %}
    {% do return(hidden) %}
{% endmacro %}


{% macro _renamed_columns(columns) %}
    {% set renamed = {} %}
    {% for column in columns if column.meta.get('renamed_from') %}
        {% do renamed.update({column.name: [column.meta.renamed_from] if column.meta.renamed_from is string else column.meta.renamed_from | list}) %}
    {% endfor %}
    {% do return(renamed) %}
{% endmacro %}


{#- The names under which a column can land: its own, and those that it had before, the latest one first. -#}
{% macro landing_names(spec, name) %}
    {% do return([name] + spec.renamed.get(name, [])) %}
{% endmacro %}


{#- Every such name -> that of its column. The last one of a column is the first that it had. -#}
{% macro names_of_today(spec) %}
    {% set names = {} %}
    {% for name, others in spec.renamed.items() %}
        {% do names.update(dict.fromkeys(others, name)) %}
    {% endfor %}
    {% do return(names) %}
{% endmacro %}


{#- Every name under which one of these columns can land, in lower case -> that of the column. -#}
{% macro names_by_landing_name(spec, names) %}
    {% set found = {} %}
    {% for name in names %}
        {% do found.update(dict.fromkeys(change_tables.landing_names(spec, name) | map('lower'), name)) %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}


{#- The key columns that a format has of its own, by the settings of an entry. Where there are any, the user declares no key. -#}
{% macro key_columns_of_format(given) %}
    {% set of_format = change_tables.format_of(given.format).key_columns %}
    {% do return(of_format(given) if of_format else []) %}
{% endmacro %}


{#- The entry of that name: the project's own before one of a package. None where there is none. -#}
{% macro find_source(source_name, table_name) %}
    {% set found = change_tables._sources_by_name().get(tojson([source_name, table_name]), []) %}
    {% set own = found | selectattr('package_name', 'equalto', (model or {}).package_name) | list %}
    {% do return((own + found) | first | default(none)) %}
{% endmacro %}


{#- Asked of dbt once: from 1.12 on it makes each of them anew whenever it is asked for them. -#}
{% macro _sources_by_name() %}
    {% set known = change_tables.known_in_run('sources') %}
    {% if not known %}
        {% set sources = {} %}
        {% for node in graph.sources.values() %}
            {% do sources.setdefault(tojson([node.source_name, node.name]), []).append(node) %}
        {% endfor %}
        {% do known.update(sources) %}
    {% endif %}
    {% do return(known) %}
{% endmacro %}


{#- The relation of a model or of a source, with the quotes that dbt gives it. -#}
{% macro relation_of_node(node) %}
    {% set name, identifier = node.relation_name or '', node.identifier or node.alias %}
    {#- users also write the backticks themselves -#}
    {% do return(api.Relation.create(database=node.database, schema=node.schema, identifier=identifier, quote_policy={
        'database': name.startswith('`'), 'schema': name.startswith('`') and not node.schema.startswith('`'),
        'identifier': name.endswith('`') and not identifier.endswith('`'),
    })) %}
{% endmacro %}


{#- The raw table that a setting of an entry names, as its load; none where it names none. -#}
{% macro relation_of_setting(spec, setting) %}
    {% do return(change_tables.relation_of_node(change_tables.find_source(spec.source_name, spec[setting])) if spec.get(setting) else none) %}
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


{% macro refuse_entry(spec, mistake) %}
    {% do exceptions.raise_compiler_error("change_tables: source '" ~ spec.source_name ~ "." ~ spec.table_name ~ "': " ~ mistake) %}
{% endmacro %}


{% macro refuse_model(mistake) %}
    {% do exceptions.raise_compiler_error("change_tables: model '" ~ model.name ~ "': " ~ mistake) %}
{% endmacro %}


{#-
    Stops a model that is about several entries, unless there are some, all of the format, and alike in the settings. `relation` means the
    raw table that they share, by their format.

    what     the macro and the verb: "… must be given "
    wanted   what the model must be given, where it is given none
    format   none: any, but one for all
-#}
{% macro refuse_unlike_entries(what, specs, wanted, format, settings) %}
    {% do change_tables.refuse_model(what ~ wanted ~ ", got none") if not specs %}
    {% for spec in specs if format and spec.format != format %}
        {% do change_tables.refuse_model(
            what ~ "entries of format '" ~ format ~ "', got '" ~ spec.source_name ~ "." ~ spec.table_name ~ "' of format '" ~ spec.format ~ "'"
        ) %}
    {% endfor %}
    {% for setting in settings %}
        {% set found = [] %}
        {% for spec in specs %}
            {% set shared = change_tables.part_of_format(spec, 'shared_relation') if setting == 'relation' %}
            {% set value = shared or spec.get(setting) %}
            {% do found.append(value) if value not in found %}
        {% endfor %}
        {% if found | length > 1 %}
            {% set name = 'raw table' if setting == 'relation' else '`' ~ setting ~ '`' %}
            {% do change_tables.refuse_model(what ~ "entries with one " ~ name ~ ", got " ~ found | join(', ')) %}
        {% endif %}
    {% endfor %}
{% endmacro %}


{% macro table_specs(source_name, table_names) %}
    {% set specs = [] %}
    {% for table_name in table_names %}
        {% do specs.append(change_tables.table_spec(source_name, table_name)) %}
    {% endfor %}
    {% do return(specs) %}
{% endmacro %}


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
    {% do return([own]) if own %}
    {% set entries = [] %}
    {% for unique_id in node.depends_on.nodes if unique_id in graph.nodes %}
        {% for entry in change_tables.staged_entries(graph.nodes[unique_id]) if entry not in entries %}
            {% do entries.append(entry) %}
        {% endfor %}
    {% endfor %}
    {% do return(entries) %}
{% endmacro %}


{#- The schema that a model over a log names for its table, by `config.meta.tables_schema`; none: that of the model. -#}
{% macro tables_schema_of_node(node) %}
    {% do return((node.config.meta or {}).get('tables_schema') if node.config.materialized == 'change_state' else none) %}
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
    {% set found = [] %}
    {% for relation in relations %}
        {% do found.append(change_tables.node_of_relation(relation, nodes) or {}) %}
    {% endfor %}
    {#- under --defer they can have other names: then by their places -#}
    {% do return(nodes if {} in found else found) %}
{% endmacro %}


{#- The node of these that a relation is of, by its name; where several have that, by its schema, which is another one under --defer. -#}
{% macro node_of_relation(relation, nodes) %}
    {% set named = nodes | selectattr('alias', 'equalto', relation.identifier) | list %}
    {% set exact = named | selectattr('schema', 'equalto', relation.schema) | list %}
    {% do return((exact or named)[0] if (exact or named) | length == 1 else none) %}
{% endmacro %}


{#-
    The settings under `change_table`, as data: name -> {default, and what is allowed}.

    required    must be given
    type        text, number, flag or names (a list of texts)
    values      what is allowed; null counts as one where the default is null
    meaning     what it does, as Markdown for docs/settings.md, with links from there. Nothing else reads it

    A format adds its own, and may change a default: see `format_of`. Where it gives no meaning, the general one holds.
-#}
{% macro general_settings() %}
    {% do return({
        'format': {'required': true, 'type': 'text', 'meaning': "one of the formats below"},
        'key': {'required': true, 'type': 'names', 'meaning': "the key columns: declared ones, of simple types"},
        'images': {
            'default': 'full', 'type': 'text', 'values': ['full', 'partial'],
            'meaning': "`full`: every update has every column. `partial`: a column that an update lacks keeps its value",
        },
        'snapshot': {
            'default': none, 'type': 'text',
            'meaning': "another entry of this source: the full load, with the key, without headers. Its rows have null in declared columns that it lacks",
        },
        'snapshot_seq': {
            'default': '', 'type': 'text',
            'meaning': "the sequence of the [load](semantics.md#7-loads-and-truncates), written as `_change_seq` is; `''`: before every change",
        },
        'snapshot_time': {
            'default': '', 'type': 'text',
            'meaning': "when the load was taken, in UTC: `yyyy-mm-dd hh:mm:ss`. `''`: the time in `snapshot_seq` if the feed's sequences have one, else not known",
        },
        'arrival': {
            'default': 'auto', 'type': 'text',
            'meaning': "what says [in which order rows landed](feeds/qlik_change_tables.md#the-arrival-column): a raw column that never decreases, `files` or `none`. `auto`: `position`, Kafka's offsets, a trail's positions, `load_column`, commits of a table that keeps them, else `none`",
        },
        'lookback': {
            'default': 0, 'type': 'number',
            'meaning': "how far below the highest arrival to read again: a number (of offsets, of files of a trail), or days if the arrival is a date or time. Not with `hold_open_transactions` of Kafka messages",
        },
        'orphans': {
            'default': 'report', 'type': 'text', 'values': ['report', 'insert'],
            'meaning': "whether an [orphan](semantics.md#4-orphans) waits for its base (`report`) or starts a row (`insert`)",
        },
        'track': {'default': none, 'type': 'names', 'meaning': "columns whose change begins a version in the history; null: all"},
        'hold_open_transactions': {
            'default': false, 'type': 'flag',
            'meaning': "whether changes wait until their transaction is whole: only `qlik_kafka` and `goldengate_trail`",
        },
    }) %}
{% endmacro %}


{#- The settings that a declared column of any format can have under its `config.meta`, in the same shape. -#}
{% macro general_column_settings() %}
    {% do return({
        'retired': {
            'default': false, 'type': 'flag', 'values': [true, false, 'hide'],
            'meaning': "whether raw may lack the column: the models [keep it](semantics.md#retired-columns), with its values. `hide`: `current_` leaves it out",
        },
        'until': {
            'default': none, 'type': 'text',
            'meaning': "the last day (in UTC, `yyyy-mm-dd`) on which `current_` shows a retired column: from the next one on as `hide`",
        },
        'renamed_from': {
            'default': none, 'type': 'names',
            'meaning': "the former name of the [column](semantics.md#renamed-columns), or a list of such names, the latest first",
        },
    }) %}
{% endmacro %}


{#- The settings of these names that several formats have beside the general ones, or with another default. -#}
{% macro settings_of_several(names) %}
    {% set settings = {
        'column_names': {'default': 'exact', 'type': 'text', 'values': ['exact', 'ignore_case'], 'meaning': "how names in records match declared ones"},
        'images': {'default': 'partial', 'type': 'text', 'values': ['full', 'partial']},
        'position': {
            'default': none, 'type': 'names',
            'meaning': "raw columns that say where a row is, as `[topic, partition, offset]`: see [arrival](feeds/mapped.md#arrival)",
        },
        'registry': {
            'default': none, 'type': 'text',
            'meaning': "of Avro after a registry's prefix, another entry: the raw table with [the schemas](feeds/qlik_kafka.md#a-schema-registry); messages need their `position`",
        },
        'waiting_days': {
            'default': 7, 'type': 'number',
            'meaning': "with an arrival, for how many days runs read again from a [waiting row](operations.md#rows-that-wait) on",
        },
    } %}
    {% do return(dict(settings.items() | selectattr(0, 'in', names))) %}
{% endmacro %}


{% macro format_settings(format) %}
    {% set settings = change_tables.general_settings() %}
    {% do settings.update(change_tables.format_of(format).settings) %}
    {% do return(settings) %}
{% endmacro %}
