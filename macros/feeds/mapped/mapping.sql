{#-
    A mapping says how each part of a change is read from a raw row. SQL is over the columns of the raw table, and over `message`, the
    struct of a message's fields, where there is one.

    message          {column, type}: the raw column that has each change as a JSON object, and its fields as a Spark schema, or as
                     map<string, string>; none: the raw columns have all parts. `envelope`: a field that can have them all in it
    only             SQL for the rows that are this table's; none: all
    operation        SQL for the word that says what happened
    operations       what the words mean: word -> insert, update, upsert, delete, truncate, snapshot, ignore
    sequence         the parts of the sequence, the first one first: {sql, kind, length}, see `sequence_kinds`
    changed_at       SQL for the time of the change, or none
    transaction_id   SQL, or none
    row              where the row is that a change leaves: a raw column or a field of one (`after`, `message.after`), which is a map of
                     texts, a struct, or a JSON object as text; or the name of each raw column by that of the declared one, as `new_{name}`.
                     none: the raw columns have the names of the declared ones
    row_before       the same of the row before, or none
    not_captured     how a row says that it lacks the value of a column: {absent: true}, {flag: '{name}_isMissing'}, {value: '…'}; none: it
                     always has all
    position         the raw columns of a row's position as messages of a topic have it: those of the group, then the number
    columns          SQL of the further columns that a format has
-#}
{% macro mapping_of(spec) %}
    {% set mapping = {'envelope': none, 'columns': {}} %}
    {% for name in change_tables.mapped_settings() %}
        {% do mapping.update({name: spec.settings[name]}) %}
    {% endfor %}
    {% do mapping.update({'sequence': change_tables.sequence_parts(spec.settings.sequence)}) %}
    {% do return(mapping) %}
{% endmacro %}


{% macro mapped_settings() %}
    {% do return({
        'message': {
            'default': none, 'type': 'mapping',
            'meaning': "`{column, type}`: the raw column that has each change as a JSON object, and the fields of it that are read, as a Spark schema or as `map<string, string>`; SQL finds them in `message`. null: raw columns have them",
        },
        'only': {'default': none, 'type': 'text', 'meaning': "SQL for the rows that are this table's; null: all"},
        'operation': {'required': true, 'type': 'text', 'meaning': "SQL for the word that says what happened"},
        'operations': {
            'required': true, 'type': 'mapping',
            'meaning': "what the words mean: word → `insert`, `update`, `upsert`, `delete`, `truncate`, `snapshot` or `ignore`",
        },
        'sequence': {
            'required': true, 'type': 'list',
            'meaning': "the parts of the sequence, the most important first: `{sql, kind, length}`. See [sequences](feeds/mapped.md#sequences)",
        },
        'changed_at': {'default': none, 'type': 'text', 'meaning': "SQL for the time of the change"},
        'transaction_id': {'default': none, 'type': 'text', 'meaning': "SQL for the transaction of the change"},
        'row': {
            'default': none, 'type': 'text',
            'meaning': "where the row is: a raw column or a field of one that is a map of texts, a struct or a JSON object, as `message.after`; or a name with `{name}` in it, as `new_{name}`; null: raw columns have the declared names",
        },
        'row_before': {'default': none, 'type': 'text', 'meaning': "the same of the row before; null: the feed has none"},
        'not_captured': {
            'default': none, 'type': 'mapping',
            'meaning': "how a row says that it lacks a column: `{absent: true}`, `{flag: '{name}_isMissing'}` or `{value: …}`; null: it never does. It needs `images: partial`",
        },
        'position': {
            'default': none, 'type': 'names',
            'meaning': "raw columns that say where a row is, the number that rises as rows land last, as `[topic, partition, offset]`. Rows are then found by it: see [arrival](feeds/mapped.md#arrival)",
        },
        'column_names': change_tables.column_names_setting(),
    }) %}
{% endmacro %}


{#- The kinds of sequence: which texts are right, what messages call them, and how many characters they are written with. -#}
{% macro sequence_kinds() %}
    {% do return({
        'number': {'length': 20, 'pattern': '^[0-9]{{1,{length}}}$', 'what': 'a whole number of at most {length} digits'},
        'hexadecimal': {'length': 16, 'pattern': '^[0-9A-Fa-f]{{1,{length}}}$', 'what': 'a hexadecimal number of at most {length} digits'},
        'text': {'length': none, 'pattern': none, 'what': 'a text'},
        'fixed_text': {'length': none, 'pattern': '^(?s).{{{length}}}$', 'what': 'a text of {length} characters'},
        'file_position': {'length': none, 'pattern': '^.*?[0-9]{{1,10}}[/:][0-9]{{1,19}}$', 'what': 'a file with a number and a position in it, as binlog.000012/4711'},
    }) %}
{% endmacro %}


{#- The parts of a sequence with their defaults. A text with a length is another kind than one without. -#}
{% macro sequence_parts(given) %}
    {% set parts = [] %}
    {% for part in given %}
        {% set part = {'sql': part} if part is string else part %}
        {% set kind = part.get('kind', 'number') %}
        {% set kind = 'fixed_text' if kind == 'text' and part.get('length') else kind %}
        {% do parts.append({
            'sql': part.sql, 'kind': kind, 'length': part.get('length') or change_tables.sequence_kinds().get(kind, {}).length,
        }) %}
    {% endfor %}
    {% do return(parts) %}
{% endmacro %}


{#- The sequence as one text that sorts: each part as wide as all texts of its kind, with `/` between them. Null where one is null. -#}
{% macro sequence_of_parts(parts) -%}
    {%- set texts = [] -%}
    {%- for part in parts -%}
        {%- set text = '_ct_sequence_' ~ loop.index -%}
        {%- if part.kind in ['number', 'hexadecimal'] -%}
            {%- set digits = text if part.kind == 'number' else 'upper(' ~ text ~ ')' -%}
            {%- do texts.append('lpad(' ~ digits ~ ', greatest(' ~ part.length ~ ', length(' ~ text ~ ")), '0')") -%}
        {%- elif part.kind == 'file_position' -%}
            {%- set numbers = "regexp_extract(" ~ text ~ ", '([0-9]{1,10})[/:]([0-9]{1,19})$', %d)" -%}
            {%- do texts.append("lpad(" ~ (numbers % 1) ~ ", 10, '0')") -%}
            {%- do texts.append("lpad(" ~ (numbers % 2) ~ ", 19, '0')") -%}
        {%- else -%}
            {%- do texts.append(text) -%}
        {%- endif -%}
    {%- endfor -%}
    {{- texts[0] if texts | length == 1 else 'concat(' ~ texts | join(", '/', ") ~ ')' -}}
{%- endmacro %}


{#- What a sequence looks like, as a pattern. -#}
{% macro pattern_of_sequence(parts) %}
    {% set patterns = [] %}
    {% for part in parts %}
        {% do patterns.append({
            'number': '[0-9]{%s}' % part.length, 'hexadecimal': '[0-9A-F]{%s}' % part.length, 'text': '.+',
            'fixed_text': '.{%s}' % part.length, 'file_position': '[0-9]{10}/[0-9]{19}',
        }[part.kind]) %}
    {% endfor %}
    {% do return('^' ~ patterns | join('/') ~ '$') %}
{% endmacro %}


{#-
    Stops where a sequence is made of a time: of a raw column or a field that lands as one, or of one of Debezium's `ts_…`. Two changes of a
    row can have one time, and clocks are set back.
-#}
{% macro refuse_times_as_sequences(spec, mapping) %}
    {% set landed = change_tables.landed_columns(spec, spec.relation, [], '') %}
    {% set times = landed.values() | selectattr('data_type', 'in', ['date', 'timestamp', 'timestamp_ntz']) | map(attribute='name') | map('lower') | list %}
    {% for part in mapping.sequence %}
        {% set words = modules.re.findall('[a-z_][a-z0-9_]*', modules.re.sub("'[^']*'", ' ', part.sql | lower)) %}
        {% for word in words if word in times %}
            {% do change_tables.refuse_entry(spec, change_tables.time_as_sequence(part.sql, word ~ ' lands as ' ~ landed[word].data_type)) %}
        {% endfor %}
    {% endfor %}
{% endmacro %}


{% macro time_as_sequence(sql, why) %}
    {% do return(
        "`sequence` must not be a time, got " ~ change_tables.shown_value(sql) ~ ": " ~ why
        ~ ". Two changes of one row can have one time, and clocks are set back: take the position in the source's log"
    ) %}
{% endmacro %}


{#-
    The rows of a mapping, the row and the row before:

    kind                     texts: maps of names and texts; fields: columns and fields of the raw table
    read, read_before        name -> {sql, data_type}: the columns as they land; of the row before the key alone, as `_ct_before_1` and on
    columns, before          the same as typed_columns takes them
    written                  those that are written otherwise than a text or a column shows them: see `written_value`
    maps                     of texts, name -> SQL for the maps as they land
    row, row_before          of texts, SQL for the maps that count, out of these
    is_null                  SQL for rows without a row; none where that cannot be seen
    has_before               SQL for whether there is a row before; none: there never is
    captured                 SQL for the names of the columns that the row has
-#}
{% macro mapped_images(spec, mapping) %}
    {% set rows = {
        'row': change_tables._mapped_row(spec, mapping, mapping.row, 'row'),
        'row_before': change_tables._mapped_row(spec, mapping, mapping.row_before, 'row_before') if mapping.row_before else none,
    } %}
    {% if rows.row_before and rows.row_before.kind != rows.row.kind %}
        {% do change_tables.refuse_entry(spec,
            "`row` and `row_before` must be alike, got " ~ rows.row.kind ~ " and " ~ rows.row_before.kind
        ) %}
    {% endif %}
    {% set images = {'kind': rows.row.kind, 'written': [], 'read': {}, 'read_before': {}, 'columns': {}, 'before': {}} %}
    {% if rows.row.kind == 'texts' %}
        {% do change_tables._images_of_texts(spec, mapping, rows, images) %}
    {% else %}
        {% do change_tables._images_of_fields(spec, mapping, rows, images) %}
    {% endif %}
    {% for values, types in [(images.read, images.columns), (images.read_before, images.before)] %}
        {% for name, value in values.items() %}
            {% do types.update({name | lower: {'name': name, 'data_type': value.data_type}}) %}
        {% endfor %}
    {% endfor %}
    {% do change_tables.refuse_landed_types(spec, spec.relation, images.columns) %}
    {% do return(images) %}
{% endmacro %}


{#- Where a row is: {kind, sql, tree, path} of one that is a map, a text or a struct; {kind, template} of columns. -#}
{% macro _mapped_row(spec, mapping, given, setting) %}
    {% if given is none or '{name}' in given %}
        {% do return({'kind': 'fields', 'template': given or '{name}'}) %}
    {% endif %}
    {% set tree = change_tables._tree_of_path(spec, mapping, given, setting) %}
    {% set parts = given.split('.') %}
    {% set sql = [change_tables.quoted(parts[0])] %}
    {% for part in parts[1:] %}
        {% do sql.append('[' ~ change_tables.text_literal(part) ~ ']') %}
    {% endfor %}
    {% set row = {'sql': sql | join, 'tree': tree, 'path': '$' ~ (given[parts[0] | length:] if parts[0] == 'message' else '')} %}
    {% if tree.kind == 'struct' %}
        {% do return(dict(row, kind='fields')) %}
    {% elif tree.kind == 'string' %}
        {% set map = "from_json(" ~ row.sql ~ ", 'map<string, string>')" %}
        {% do return(dict(row, kind='texts', sql=map, text=row.sql)) %}
    {% elif tree.kind == 'map' and tree.key.kind == 'string' and tree.element.kind == 'string' %}
        {% do return(dict(row, kind='texts', text='_ct_text' if parts[0] == 'message' else none)) %}
    {% endif %}
    {% do change_tables.refuse_entry(spec,
        "`" ~ setting ~ "` must be a struct, a map<string, string> or a JSON object as text, got '" ~ given ~ "', which is " ~ tree.text
    ) %}
{% endmacro %}


{#- The type of a raw column, of a message's field, or of a field in one of these. While there is no raw table: a map of texts. -#}
{% macro _tree_of_path(spec, mapping, path, setting) %}
    {% set parts = path.split('.') %}
    {% set found = namespace(tree=none) %}
    {% set landed = change_tables.landed_columns(spec, spec.relation, [], '') %}
    {% if mapping.message and parts[0] == 'message' %}
        {% set found.tree = change_tables.type_tree(mapping.message.type if change_tables.message_is_map(mapping.message) else 'struct<' ~ mapping.message.type ~ '>') %}
    {% elif not landed %}
        {% do return(change_tables.type_tree('map<string, string>')) %}
    {% elif parts[0] | lower in landed %}
        {% set found.tree = change_tables.type_tree(landed[parts[0] | lower].data_type) %}
    {% endif %}
    {% for part in parts[1:] if found.tree is not none %}
        {% set fields = change_tables._landed_fields(found.tree, part) if found.tree.kind == 'struct' else [] %}
        {% set found.tree = fields[0].tree if fields else none %}
    {% endfor %}
    {% if found.tree is none %}
        {% do change_tables.refuse_entry(spec,
            "`" ~ setting ~ "` must name a column of " ~ spec.relation ~ " or a field of one, got '" ~ path ~ "'; its columns: "
            ~ landed.values() | map(attribute='name') | join(', ')
        ) %}
    {% endif %}
    {% do return(found.tree) %}
{% endmacro %}


{#- Rows that are maps: a delete's row is the row before where it has no other. -#}
{% macro _images_of_texts(spec, mapping, rows, images) %}
    {% set row = 'if(size(_ct_map) > 0, _ct_map, null)' %}
    {% set row_before = 'if(size(_ct_map_before) > 0, _ct_map_before, null)' if rows.row_before else none %}
    {% do images.update({
        'maps': {'_ct_map': rows.row.sql} if not row_before else {'_ct_map': rows.row.sql, '_ct_map_before': rows.row_before.sql},
        'row': "if(_ct_operation = 'delete', coalesce(" ~ row ~ ', ' ~ row_before ~ '), ' ~ row ~ ')' if row_before else row,
        'row_before': row_before,
        'is_null': '_ct_row is null',
        'has_before': '_ct_row_before is not null' if row_before else none,
    }) %}
    {% set hidden = change_tables._values_not_captured(mapping) %}
    {% for column in spec.columns + (change_tables.columns_before(spec) if row_before else []) %}
        {% set is_before = column.name.startswith('_ct_before_') %}
        {% set name = change_tables.name_in_row(spec, column.label or column.name) %}
        {% set own, other = ('_ct_row_before', '_ct_row') if is_before else ('_ct_row', '_ct_row_before') %}
        {% set text = own ~ '[' ~ name ~ ']' %}
        {% if is_before or column.name in spec.key %}
            {% set text = 'if(map_contains_key(' ~ own ~ ', ' ~ name ~ '), ' ~ text ~ ', ' ~ other ~ '[' ~ name ~ '])' %}
        {% endif %}
        {% set text = 'case when ' ~ text ~ ' not in (' ~ hidden ~ ') then ' ~ text ~ ' end' if hidden else text %}
        {% set places = [rows.row_before, rows.row] if is_before else [rows.row, rows.row_before] %}
        {% set text = change_tables._exact_mapped_text(spec, column, text, places | select | selectattr('text') | list) %}
        {% do change_tables._add_value(spec, column, text, 'string', is_before, images) %}
    {% endfor %}
    {% set flag = (mapping.not_captured or {}).get('flag') %}
    {% set is_captured = "value is null or value not in (" ~ hidden ~ ")" if hidden %}
    {% if flag %}
        {% set is_captured = "not coalesce(_ct_row[concat('" ~ flag.replace('{name}', "', name, '") ~ "')] = 'true', false)" %}
    {% endif %}
    {% set captured = 'map_keys(map_filter(_ct_row, (name, value) -> ' ~ is_captured ~ '))' if is_captured else 'map_keys(_ct_row)' %}
    {% do images.update({'captured': change_tables.names_as_declared(spec, captured)}) %}
{% endmacro %}


{#- A number of a JSON row with all its digits, where the row is within a text that is there. -#}
{% macro _exact_mapped_text(spec, column, text, rows) %}
    {% do return(text) if not rows or rows | map(attribute='text') | unique | list | length > 1 %}
    {% do return(change_tables.exact_json_text(spec, column, text, rows[0].text, rows | map(attribute='path') | list, false) | trim) %}
{% endmacro %}


{#- The values that stand for one that was not captured, as SQL literals; empty where there are none. -#}
{% macro _values_not_captured(mapping) %}
    {% set value = (mapping.not_captured or {}).get('value') %}
    {% do return(change_tables.text_literals([value] if value is string else value) if value is not none else '') %}
{% endmacro %}


{#- Rows that are columns or fields of the raw table. -#}
{% macro _images_of_fields(spec, mapping, rows, images) %}
    {% set before = rows.row_before %}
    {% set is_delete = "_ct_operation = 'delete'" %}
    {% set row_is_null = rows.row.sql ~ ' is null' if rows.row.sql else none %}
    {% set missing = [] %}
    {% set found, found_before = {}, {} %}
    {% for column in spec.columns %}
        {% do found.update({column.name: change_tables._field_of_row(spec, rows.row, column.name, missing)}) %}
        {% do found_before.update({column.name: change_tables._field_of_row(spec, before, column.name, missing if column.name in spec.key else [])}) if before %}
    {% endfor %}
    {% do change_tables.refuse_missing_columns(spec, spec.relation, missing, "`row` and `row_before` say where the declared columns are") %}
    {#- without a struct that is null, a delete lacks its row where it lacks the key -#}
    {% set key_is_null = [] %}
    {% for name in spec.key %}
        {% do key_is_null.append(found[name].sql ~ ' is null') %}
    {% endfor %}
    {% set lacks_row = row_is_null or '(' ~ key_is_null | join(' and ') ~ ')' %}
    {% set hidden = change_tables._values_not_captured(mapping) %}
    {% set captured = [] %}
    {% for column in spec.columns %}
        {% set value, value_before = found[column.name], found_before.get(column.name) %}
        {% set sql = value.sql %}
        {% if value_before and value_before.data_type == value.data_type %}
            {% set sql = 'if(' ~ is_delete ~ ' and ' ~ lacks_row ~ ', ' ~ value_before.sql ~ ', ' ~ sql ~ ')' %}
        {% endif %}
        {% set is_hidden = change_tables._is_not_captured(spec, mapping, rows.row, column, value.sql, hidden) %}
        {% set is_text = hidden and change_tables.type_tree(value.data_type).kind in ['string', 'binary'] %}
        {% do change_tables._add_value(spec, column, 'case when not coalesce(' ~ is_hidden ~ ', false) then ' ~ sql ~ ' end' if is_text else sql, value.data_type, false, images) %}
        {% do captured.append('case when not coalesce(' ~ is_hidden ~ ', false) then ' ~ change_tables.text_literal(column.name) ~ ' end' if is_hidden else change_tables.text_literal(column.name)) %}
    {% endfor %}
    {% for column in change_tables.columns_before(spec) if before %}
        {% do change_tables._add_value(spec, column, found_before[column.label].sql, found_before[column.label].data_type, true, images) %}
    {% endfor %}
    {% set has_before = [] %}
    {% for name in spec.key if before %}
        {% do has_before.append(found_before[name].sql ~ ' is not null') %}
    {% endfor %}
    {% do images.update({
        'is_null': row_is_null ~ (' and (' ~ before.sql ~ " is null or _ct_operation <> 'delete')" if before and before.sql else '') if row_is_null else none,
        'has_before': (before.sql ~ ' is not null' if before.sql else has_before | join(' or ')) if before else none,
        'captured': 'array_compact(array(' ~ captured | join(', ') ~ '))',
    }) %}
{% endmacro %}


{#- A column of such a row: {sql, data_type}. Notes it as missing where it is not there. -#}
{% macro _field_of_row(spec, row, name, missing) %}
    {% set landed = change_tables.landed_columns(spec, spec.relation, [], '') %}
    {% if row.template %}
        {% set wanted = row.template.replace('{name}', name) %}
        {% set column = landed.get(wanted | lower) %}
        {% do missing.append(wanted) if landed and not column %}
        {% do return({'sql': change_tables.quoted(wanted), 'data_type': column.data_type if column else 'string'}) %}
    {% endif %}
    {% set fields = change_tables._landed_fields(row.tree, name) %}
    {% do missing.append(row.sql ~ '.' ~ name) if not fields %}
    {% do return({
        'sql': row.sql ~ '[' ~ change_tables.text_literal(fields[0].name if fields else name) ~ ']',
        'data_type': fields[0].tree.text if fields else 'string',
    }) %}
{% endmacro %}


{#- SQL for whether the value of such a column was not captured; empty where it always is. -#}
{% macro _is_not_captured(spec, mapping, row, column, value, hidden) %}
    {% set flag = (mapping.not_captured or {}).get('flag') %}
    {% if column.name in spec.key %}
        {% do return('') %}
    {% elif flag %}
        {% set missing = [] %}
        {% set of_row = row.template or '{name}' %}
        {% set field = change_tables._field_of_row(spec, row if row.template is none or row.template is undefined else {'template': '{name}'}, flag.replace('{name}', column.name), missing) %}
        {#- a column that never lacks its value has no flag -#}
        {% do return('' if missing else 'cast(' ~ field.sql ~ ' as boolean)') %}
    {% elif hidden %}
        {% do return('cast(' ~ value ~ ' as string) in (' ~ hidden ~ ')') %}
    {% endif %}
    {% do return('') %}
{% endmacro %}


{#- Notes a column of a row: its value, read as `written_as` says. -#}
{% macro _add_value(spec, column, sql, data_type, is_before, images) %}
    {% set written_as = change_tables.column_of(spec, column.label or column.name).meta.get('written_as') %}
    {% set value = {'sql': sql, 'data_type': data_type} %}
    {% if written_as %}
        {% set text = 'cast(' ~ sql ~ ' as string)' if data_type != 'string' else sql %}
        {% do value.update(change_tables.written_value(written_as, text, column)) %}
        {% do images.written.append({'name': column.label or column.name, 'landed': text, 'sql': value.sql, 'written_as': written_as}) %}
    {% elif data_type == 'string' and change_tables.canonical_type(column.data_type) == 'binary' %}
        {% do value.update({'data_type': 'hex'}) %}
    {% endif %}
    {% do images['read_before' if is_before else 'read'].update({column.name: value}) %}
{% endmacro %}
