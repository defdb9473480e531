{#-
    A Spark type, taken apart:

    kind      tinyint, decimal, string, array, map, struct … (`char` and `varchar` are `string`; `other` where it cannot be read)
    text      as it is written
    type      of one value: in the one spelling that all spellings of a type have
    digits, places   of a decimal
    element   of an array, the tree of its elements; of a map, that of its values
    key       of a map
    fields    of a struct, a list of {name, tree}
-#}
{% macro type_tree(data_type) %}
    {#- asked for each column, many times: the run's dict is found by way of the model's own context -#}
    {% set trees = context.get('change_tables_types') or context.setdefault('change_tables_types', change_tables.known_in_run('types')) %}
    {% do trees.update({data_type: change_tables._parsed_type(data_type)}) if data_type not in trees %}
    {% do return(trees[data_type]) %}
{% endmacro %}


{% macro _parsed_type(data_type) %}
    {% set text = data_type | trim %}
    {% set nested = modules.re.match('(?is)^(array|map|struct)\\s*<(.*)>$', text) %}
    {% if not nested %}
        {% set type = modules.re.sub('\\s+', '', text | lower) %}
        {% set type = modules.re.sub('^(dec|numeric)(?=\\(|$)', 'decimal', type) %}
        {% set type = modules.re.sub('^decimal\\((\\d+)\\)$', 'decimal(\\1,0)', type) %}
        {% set type = {
            'byte': 'tinyint', 'short': 'smallint', 'integer': 'int', 'long': 'bigint', 'real': 'float',
            'timestamp_ltz': 'timestamp', 'decimal': 'decimal(10,0)',
        }.get(type, type) %}
        {% set decimal = modules.re.match('^decimal\\((\\d+),(-?\\d+)\\)$', type) %}
        {% set kind = modules.re.sub('^(char|varchar|stringcollate.*)$', 'string', type.partition('(')[0]) %}
        {% do return({
            'kind': 'interval' if kind.startswith('interval') else kind,
            'text': text,
            'type': type,
            'digits': decimal.group(1) | int if decimal else none,
            'places': decimal.group(2) | int if decimal else none,
        }) %}
    {% endif %}
    {% set kind = nested.group(1) | lower %}
    {% set parts = change_tables._parts_of_type(nested.group(2)) %}
    {% if kind == 'struct' %}
        {% set fields = [] %}
        {% for part in parts if part | trim %}
            {% do fields.append(change_tables._field_of_type(part)) %}
        {% endfor %}
        {% do return({'kind': kind, 'text': text, 'fields': fields}) %}
    {% elif parts | length != (2 if kind == 'map' else 1) %}
        {% do return({'kind': 'other', 'text': text}) %}
    {% endif %}
    {% set tree = {'kind': kind, 'text': text, 'element': change_tables.type_tree(parts[-1])} %}
    {% do tree.update({'key': change_tables.type_tree(parts[0])}) if kind == 'map' %}
    {% do return(tree) %}
{% endmacro %}


{#- The parts of a type between its commas. Commas within brackets, backticks and quotes do not count. -#}
{% macro _parts_of_type(text) %}
    {% set parts = [''] %}
    {% set depth = [0] %}
    {% for token in modules.re.findall("(?s)`(?:[^`]|``)*`|'(?:[^'\\\\]|\\\\.)*'|[^`'<>(),]+|.", text) %}
        {% if token in ['<', '('] %}
            {% do depth.append(depth.pop() + 1) %}
        {% elif token in ['>', ')'] %}
            {% do depth.append(depth.pop() - 1) %}
        {% endif %}
        {% do parts.append('' if token == ',' and depth[0] == 0 else parts.pop() ~ token) %}
    {% endfor %}
    {% do return(parts) %}
{% endmacro %}


{#- A field of a struct: as it is declared, with or without `:`, or as Spark describes it, without backticks around names. -#}
{% macro _field_of_type(text) %}
    {% set found = modules.re.match('(?s)^\\s*(?:`((?:[^`]|``)*)`|([^:<(`]+?)(?=\\s*:)|([^:<(`\\s]+))\\s*:?\\s*(.*)$', text) %}
    {% do return({'name': text | trim, 'tree': {'kind': 'other', 'text': text | trim}}) if not found %}
    {% set type = modules.re.sub("(?is)\\s+comment\\s+'(?:[^'\\\\]|\\\\.)*'\\s*$", '', found.group(4)) %}
    {% set type = modules.re.sub('(?is)\\s+not\\s+null\\s*$', '', type) %}
    {% do return({
        'name': found.group(1) | replace('``', '`') if found.group(1) is not none else (found.group(2) or found.group(3)),
        'tree': change_tables.type_tree(type),
    }) %}
{% endmacro %}


{#- One spelling for a Spark type, so that two spellings of one type compare equal. -#}
{% macro canonical_type(data_type) %}
    {% set tree = change_tables.type_tree(data_type) %}
    {% do return(tree.type or change_tables.canonical_tree(tree)) %}
{% endmacro %}


{% macro canonical_tree(tree) %}
    {% if tree.kind == 'array' %}
        {% do return('array<' ~ change_tables.canonical_tree(tree.element) ~ '>') %}
    {% elif tree.kind == 'map' %}
        {% do return('map<' ~ change_tables.canonical_tree(tree.key) ~ ',' ~ change_tables.canonical_tree(tree.element) ~ '>') %}
    {% elif tree.kind == 'struct' %}
        {% set fields = [] %}
        {% for field in tree.fields %}
            {% do fields.append((field.name | lower) ~ ':' ~ change_tables.canonical_tree(field.tree)) %}
        {% endfor %}
        {% do return('struct<' ~ fields | join(',') ~ '>') %}
    {% endif %}
    {% do return(tree.type or modules.re.sub('\\s+', '', tree.text | lower)) %}
{% endmacro %}


{#- The type of a declared column in a table: without the length of texts, which Spark's casts do not know. -#}
{% macro stored_type(data_type) %}
    {% do return(modules.re.sub('(?i)\\b(var)?char *\\( *[0-9]+ *\\)', 'string', data_type)) %}
{% endmacro %}


{#-
    The columns of a table: name -> type. Spark describes a struct by its first 25 fields; where it has more, a query that
    reads no row asks for the whole type.

    names   columns that it may have. dbt's own list ends at a name that begins with `#`: where one does, Spark is asked instead
-#}
{% macro types_in_relation(relation, names) %}
    {% set types, cut, rows = {}, [], [] %}
    {% if '#' in names | map('first') and load_relation(relation) is not none %}
        {#- after the columns comes a row without a type -#}
        {% set described = run_query('describe ' ~ relation).rows | map('list') | list %}
        {% set end = described | map(attribute=1) | map('default', '', true) | list %}
        {% do rows.extend(described[:(end + ['']).index('')]) %}
    {% else %}
        {% for column in adapter.get_columns_in_relation(relation) %}
            {% do rows.append([column.name, column.dtype]) %}
        {% endfor %}
    {% endif %}
    {% for row in rows %}
        {% do types.update({row[0]: row[1]}) %}
        {% do cut.append(row[0]) if modules.re.search('[.]{3} [0-9]+ more fields', row[1]) %}
    {% endfor %}
    {% if cut %}
        {% set asked = change_tables.each(cut, 'typeof(any_value({name}))') | join(', ') %}
        {% do types.update(zip(cut, run_query('select ' ~ asked ~ ' from ' ~ relation ~ ' where false').rows[0])) %}
    {% endif %}
    {% do return(types) %}
{% endmacro %}
