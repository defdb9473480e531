{#-
    The rows of a mapping, the row and the row before:

    kind                     texts: maps of names and texts; fields: columns and fields of the raw table
    columns, before          name in lower case -> {name, sql, data_type}: the columns as they land; of the row before the key alone, as
                             `_ct_before_1` and on
    two_values               SQL for what is wrong with a row that has a renamed column twice, of columns and fields
    written                  those that are written otherwise than a text or a column shows them: see `written_value`
    maps                     of texts, name -> SQL for the maps as they land
    exact                    the rows of these that are structs in messages, whose values are read as texts: see `_mapped_row`
    row, row_before          of texts, SQL for the maps that count, out of these
    is_null                  SQL for rows without a row; none where that cannot be seen
    has_before               SQL for whether there is a row before; none: there never is
    is_broken_before         SQL for rows whose row before is a text that is no object; none: it is no text
    captured                 SQL for the names of the columns that the row has
    flag_misfit              SQL for what is wrong with a flag that says so; none: there are none
-#}
{% macro mapped_images(spec, mapping) %}
    {% set before = change_tables._mapped_row(spec, mapping, 'row_before') if mapping.row_before else none %}
    {% set rows = {'row': change_tables._mapped_row(spec, mapping, 'row'), 'row_before': before} %}
    {% if rows.row_before and rows.row_before.kind != rows.row.kind %}
        {% do change_tables.refuse_entry(spec,
            "`row` and `row_before` must be alike, got " ~ rows.row.kind ~ " and " ~ rows.row_before.kind
        ) %}
    {% endif %}
    {% set images = {'kind': rows.row.kind, 'written': [], 'two_values': [], 'columns': {}, 'before': {}, 'exact': []} %}
    {% if rows.row.kind == 'texts' %}
        {% do change_tables._images_of_texts(spec, mapping, rows, images) %}
    {% else %}
        {% do change_tables._images_of_fields(spec, mapping, rows, images) %}
    {% endif %}
    {% do change_tables.refuse_landed_types(spec, spec.relation, images.columns) %}
    {% do return(images) %}
{% endmacro %}


{#- Where a row is: {kind, sql, tree, path} of one that is a map, a text or a struct, in messages with its `texts`; {kind, template} of columns. -#}
{% macro _mapped_row(spec, mapping, setting) %}
    {% set given = mapping[setting] %}
    {% do return({'kind': 'fields', 'template': given or '{name}'}) if given is none or '{name}' in given %}
    {% set parts = given.split('.') %}
    {#- in JSON, the case of names counts: they are those of the type -#}
    {% set names = parts[:1] %}
    {% set tree = change_tables._tree_of_path(spec, mapping, given, setting, names) %}
    {% set row = {
        'sql': change_tables.quoted(parts[0]) ~ change_tables.each(parts[1:], '[{text}]') | join,
        'tree': tree,
        'path': (['$'] + (names[1:] if parts[0] == 'message' else [])) | join('.'),
    } %}
    {% if tree.kind == 'struct' and parts[0] == 'message' and mapping.message %}
        {#- its values as the JSON has them, too: Spark's reader rounds numbers to their types, and takes a date out of a time -#}
        {% set type = change_tables._type_of_texts(tree) %}
        {% set read = 'try_variant_get(try_parse_json(_ct_text), ' ~ change_tables.text_literals([row.path, type]) ~ ')' %}
        {% set texts = {'sql': '_ct_' ~ setting ~ '_as_texts', 'tree': change_tables.type_tree(type), 'read': read} %}
        {% do return(dict(row, kind='fields', text='_ct_text', texts=texts)) %}
    {% elif tree.kind == 'struct' %}
        {% do return(dict(row, kind='fields')) %}
    {% elif tree.kind == 'string' and parts[0] == 'message' and mapping.message %}
        {#- by the time that it is a text, its numbers have lost digits -#}
        {% do change_tables.refuse_entry(spec, "`" ~ setting ~ "` must be a map<string, string> or a struct in the `type` of `message`, got '" ~ given ~ "', which is string") %}
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


{#-
    The type of a raw column, of a message's field, or of a field in one of these. While there is no raw table: a map of texts. Notes the
    names of the fields as the type has them.
-#}
{% macro _tree_of_path(spec, mapping, path, setting, names) %}
    {% set parts = path.split('.') %}
    {% set found = namespace(tree=none) %}
    {% set landed = change_tables.landed_columns(spec, spec.relation) %}
    {% if mapping.message and parts[0] == 'message' %}
        {% set found.tree = change_tables.type_tree(mapping.message.type if change_tables.message_is_map(mapping.message) else 'struct<' ~ mapping.message.type ~ '>') %}
    {% elif not landed %}
        {% do return(change_tables.type_tree('map<string, string>')) %}
    {% elif parts[0] | lower in landed %}
        {% set found.tree = change_tables.type_tree(landed[parts[0] | lower].data_type) %}
    {% endif %}
    {% for part in parts[1:] if found.tree is not none %}
        {% set fields = change_tables.landed_fields(found.tree, part) if found.tree.kind == 'struct' else [] %}
        {% set found.tree = fields[0].tree if fields else none %}
        {% do names.extend(fields[:1] | map(attribute='name')) %}
    {% endfor %}
    {% if found.tree is none %}
        {% do change_tables.refuse_entry(spec,
            "`" ~ setting ~ "` must name a column of " ~ spec.relation ~ " or a field of one, got '" ~ path ~ "'; its columns: "
            ~ landed.values() | map(attribute='name') | join(', ')
        ) %}
    {% endif %}
    {% do return(found.tree) %}
{% endmacro %}


{#- The type of a struct in messages with texts as values. Booleans stay: a number can be declared for one. -#}
{% macro _type_of_texts(tree) %}
    {% if tree.kind == 'struct' %}
        {% set fields = [] %}
        {% for field in tree.fields %}
            {% do fields.append(change_tables.quoted(field.name) ~ ': ' ~ change_tables._type_of_texts(field.tree)) %}
        {% endfor %}
        {% do return('struct<' ~ fields | join(', ') ~ '>') %}
    {% elif tree.kind in ['array', 'map'] %}
        {% do return(tree.kind ~ '<' ~ ('string, ' if tree.kind == 'map') ~ change_tables._type_of_texts(tree.element) ~ '>') %}
    {% endif %}
    {% do return('boolean' if tree.kind == 'boolean' else 'string') %}
{% endmacro %}


{#- The value of a column of such a row as the JSON has it, but of bytes, which are base64 there. What must not be read as declared is refused as it lands. -#}
{% macro _exact_field(spec, column, value, row) %}
    {% set landed, declared = change_tables.type_tree(value.data_type), change_tables.type_tree(column.data_type) %}
    {% if not row.texts or landed.kind == 'void' or modules.re.search('\\bbinary *([>,]|$)', landed.text) or change_tables.reading_of(landed, declared, '').refused %}
        {% do return(value) %}
    {% endif %}
    {% set exact = change_tables._field_of_row(spec, row.texts, column.name, []) %}
    {% do return(exact) if exact.data_type != 'string' %}
    {% set named = dict(column, names=exact.parts | map(attribute='name') | list if exact.parts else [exact.name]) %}
    {#- a text can be an object, of which a variant sorts the names; it has no -0.0 -#}
    {% set text = value.sql if landed.kind == 'string' else exact.sql %}
    {% set text = "if(" ~ text ~ " = '0', cast(" ~ value.sql ~ " as string), " ~ text ~ ")" if landed.kind in ['double', 'float'] else text %}
    {% do return(dict(exact, sql=change_tables.exact_json_text(spec, named, text, row.text, [row.path], false) | trim)) %}
{% endmacro %}


{#- Rows that are maps: a delete's row is the row before where it has no other. -#}
{% macro _images_of_texts(spec, mapping, rows, images) %}
    {#- a message has been looked at as a whole -#}
    {% set is_object = ' and not (' ~ change_tables.is_no_json_object(rows.row.text, '_ct_map') ~ ')' if rows.row.text and rows.row.text != '_ct_text' else '' %}
    {% set row = 'if(size(_ct_map) > 0' ~ is_object ~ ', _ct_map, null)' %}
    {% set row_before = 'if(size(_ct_map_before) > 0, _ct_map_before, null)' if rows.row_before else none %}
    {% set text_before = rows.row_before.text if rows.row_before and rows.row_before.text != '_ct_text' else none %}
    {% do images.update({
        'maps': {'_ct_map': rows.row.sql} if not row_before else {'_ct_map': rows.row.sql, '_ct_map_before': rows.row_before.sql},
        'row': "if(_ct_operation = 'delete', coalesce(" ~ row ~ ', ' ~ row_before ~ '), ' ~ row ~ ')' if row_before else row,
        'row_before': row_before,
        'is_null': '_ct_row is null',
        'has_before': '_ct_row_before is not null' if row_before else none,
        'is_broken_before': 'trim(' ~ text_before ~ ") not in ('', 'null') and (" ~ change_tables.is_no_json_object(text_before, '_ct_map_before') ~ ')' if text_before else none,
    }) %}
    {% set hidden = change_tables._values_not_captured(mapping) %}
    {% for column in spec.columns + (change_tables.columns_before(spec) if row_before else []) %}
        {% set is_before = column.name.startswith('_ct_before_') %}
        {% set text = change_tables.text_in_rows(spec, column) | trim %}
        {% set text = 'case when ' ~ text ~ ' not in (' ~ hidden ~ ') then ' ~ text ~ ' end' if hidden else text %}
        {% set places = [rows.row_before, rows.row] if is_before else [rows.row, rows.row_before] %}
        {% set text = change_tables._exact_mapped_text(spec, mapping, column, text, places | select | selectattr('text') | list) %}
        {% do change_tables._add_value(spec, column, text, 'string', is_before, images, mapping.bytes_as) %}
    {% endfor %}
    {% set flag = (mapping.not_captured or {}).get('flag') %}
    {% set is_captured = "value is null or value not in (" ~ hidden ~ ")" if hidden %}
    {% if flag %}
        {% set flag = flag | lower if spec.settings.column_names == 'ignore_case' else flag %}
        {% set is_captured = "not coalesce(try_cast(_ct_row[concat('" ~ flag.replace('{name}', "', name, '") ~ "')] as boolean), false)" %}
        {#- one look at each name: it is a flag where it has what is around the name of its column -#}
        {% set around = flag.split('{name}') %}
        {% set misfits = 'map_filter(_ct_row, (name, value) -> startswith(name, ' ~ change_tables.text_literal(around[0]) ~ ') and endswith(name, '
            ~ change_tables.text_literal(around[-1]) ~ ') and ' ~ change_tables.does_not_fit('value', 'boolean') ~ ')' %}
        {% set misfits = 'transform(map_keys(' ~ misfits ~ '), name -> substring(name, ' ~ (around[0] | length + 1) ~ ', length(name) - ' ~ (around | map('length') | sum) ~ '))' %}
        {% set misfits = 'array_intersect(' ~ change_tables.names_array(spec.column_names | reject('in', spec.key) | list) ~ ', ' ~ change_tables.names_as_declared(spec, misfits) ~ ')' %}
        {% do images.update({'flag_misfit': change_tables.reason('the flag of column {get(' ~ misfits ~ ', 0)} is not boolean')}) %}
    {% endif %}
    {% set captured = 'map_keys(map_filter(_ct_row, (name, value) -> ' ~ is_captured ~ '))' if is_captured else 'map_keys(_ct_row)' %}
    {% do images.update({'captured': change_tables.names_as_declared(spec, captured)}) %}
{% endmacro %}


{#- A number of a JSON row with all its digits, where the row is within a text that is there. A message can have all in an envelope. -#}
{% macro _exact_mapped_text(spec, mapping, column, text, rows) %}
    {% do return(text) if not rows %}
    {% set envelope, paths = (mapping.message or {}).envelope if rows[0].text == '_ct_text' else none, [] %}
    {% for row in rows if row.text == rows[0].text %}
        {% do paths.extend((['$.' ~ envelope ~ row.path[1:]] if envelope else []) + [row.path]) %}
    {% endfor %}
    {% do return(change_tables.exact_json_text(spec, column, text, rows[0].text, paths, false) | trim) %}
{% endmacro %}


{#- The values that stand for one that was not captured, as SQL literals; empty where there are none. -#}
{% macro _values_not_captured(mapping) %}
    {% set value = (mapping.not_captured or {}).get('value') %}
    {% do return('') if value is none %}
    {% do return(change_tables.text_literals([value] if value is string else value)) %}
{% endmacro %}


{% macro _images_of_fields(spec, mapping, rows, images) %}
    {% set before = rows.row_before %}
    {% set is_delete = "_ct_operation = 'delete'" %}
    {% do images.exact.extend([rows.row, before] | select | selectattr('texts')) %}
    {% set row_is_null = (rows.row.texts or rows.row).sql ~ ' is null' if rows.row.sql else none %}
    {% set missing, found, found_before = [], {}, {} %}
    {% set absent = change_tables.absent_columns(spec) %}
    {% for column in spec.columns %}
        {% set is_absent = column.name in absent %}
        {% do found.update({column.name: {'sql': 'null', 'data_type': 'void'} if is_absent else change_tables._field_of_row(spec, rows.row, column.name, missing)}) %}
        {#- of the row before, only the key is needed -#}
        {% set lacks = [] %}
        {% set of_before = change_tables._field_of_row(spec, before, column.name, lacks) if before else none %}
        {% do missing.extend(lacks) if column.name in spec.key %}
        {% do found_before.update({column.name: change_tables._exact_field(spec, column, of_before, before)}) if before and not lacks %}
        {% for value in [found[column.name], of_before] if value and value.parts %}
            {% do images.two_values.append(change_tables.two_values(value, column.name, column.data_type)) %}
        {% endfor %}
    {% endfor %}
    {% do change_tables.refuse_missing_columns(spec, spec.relation, missing, "`row` and `row_before` say where the declared columns are") %}
    {#- a delete lacks its row where it lacks the key: a struct can have nulls alone -#}
    {% set key_is_null = change_tables._key_values(spec, found) | join(' is null and ') ~ ' is null' %}
    {% set lacks_row = '(' ~ row_is_null ~ ' or ' ~ key_is_null ~ ')' if row_is_null else '(' ~ key_is_null ~ ')' %}
    {% set hidden = change_tables._values_not_captured(mapping) %}
    {% set said = mapping.not_captured or {} %}
    {% if said.absent %}
        {% do change_tables.refuse_entry(spec, "`not_captured: {absent: true}` is for rows that are maps or JSON objects: a struct, and columns, always have every name") %}
    {% endif %}
    {% set captured, flags, flag_misfits = [], [], [] %}
    {% for column in spec.columns %}
        {% set value_before = found_before.get(column.name) %}
        {% set is_hidden = change_tables._is_not_captured(spec, mapping, rows.row, column, found[column.name].sql, hidden) %}
        {% do flags.append(is_hidden) if is_hidden %}
        {% set flag = change_tables._flag_of_column(spec, mapping, rows.row, column) %}
        {% set unlike = change_tables.does_not_fit(flag.sql, 'boolean', change_tables.type_tree(flag.data_type)) if flag %}
        {% do flag_misfits.append('case when ' ~ unlike ~ ' then ' ~ change_tables.text_literal('the flag of column ' ~ column.name ~ ' is not boolean') ~ ' end') if unlike %}
        {% set value = change_tables._exact_field(spec, column, found[column.name], rows.row) %}
        {% set sql = value.sql %}
        {% if value_before and column.name not in absent %}
            {% set is_alike = value_before.data_type == value.data_type %}
            {#- a key that lands in two types counts as its text, which loses nothing -#}
            {% set value = dict(value, data_type='string', sql='cast(' ~ sql ~ ' as string)') if not is_alike and column.name in spec.key else value %}
            {% set read_before = value_before.sql if is_alike else 'try_cast(' ~ value_before.sql ~ ' as ' ~ value.data_type ~ ')' %}
            {% set sql = 'if(' ~ is_delete ~ ' and ' ~ lacks_row ~ ', ' ~ read_before ~ ', ' ~ value.sql ~ ')' %}
        {% endif %}
        {% set if_captured = 'case when not coalesce(' ~ is_hidden ~ ', false) then {value} end' if is_hidden else '{value}' %}
        {#- what stands for a value is a text, and must not be read as one -#}
        {% if hidden and change_tables.type_tree(value.data_type).kind in ['string', 'binary'] %}
            {% set sql = if_captured.replace('{value}', sql) %}
        {% endif %}
        {% do change_tables._add_value(spec, column, sql, value.data_type, false, images, mapping.bytes_as) %}
        {% do captured.append(if_captured.replace('{value}', change_tables.text_literal(column.name))) if column.name not in absent %}
    {% endfor %}
    {% if said.flag and not flags and change_tables.landed_columns(spec, spec.relation) and spec.columns | length > spec.key | length %}
        {% do change_tables.refuse_entry(spec, "`not_captured` names flags as " ~ said.flag ~ ", and no column of " ~ spec.relation ~ " has one") %}
    {% endif %}
    {% for column in change_tables.columns_before(spec) if before %}
        {% do change_tables._add_value(spec, column, found_before[column.label].sql, found_before[column.label].data_type, true, images, mapping.bytes_as) %}
    {% endfor %}
    {% set is_null, has_before = row_is_null, none %}
    {% if before and before.sql %}
        {% set landed_before = (before.texts or before).sql %}
        {% set is_null = row_is_null ~ ' and (' ~ landed_before ~ " is null or _ct_operation <> 'delete')" if row_is_null else none %}
        {% set has_before = landed_before ~ ' is not null' %}
    {% elif before %}
        {% set has_before = change_tables._key_values(spec, found_before) | join(' is not null or ') ~ ' is not null' %}
    {% endif %}
    {% do images.update({
        'is_null': is_null, 'has_before': has_before, 'captured': 'array_compact(array(' ~ captured | join(', ') ~ '))',
        'flag_misfit': 'coalesce(' ~ flag_misfits | join(', ') ~ ', null)' if flag_misfits,
    }) %}
{% endmacro %}


{% macro _key_values(spec, found) %}
    {% do return(found.items() | selectattr(0, 'in', spec.key) | map(attribute='1.sql') | list) %}
{% endmacro %}


{#- Of rows that are columns or fields, the retired columns that these are without. Maps have a name where a row has its column. -#}
{% macro absent_columns_of_mapping(spec) %}
    {% set mapping = change_tables.mapping_of(spec) %}
    {% set row = change_tables._mapped_row(spec, mapping, 'row') %}
    {% set absent = [] %}
    {% for name in spec.retired if row.kind == 'fields' %}
        {% set lacks = [] %}
        {% do change_tables._field_of_row(spec, row, name, lacks) %}
        {% do absent.append(name) if lacks %}
    {% endfor %}
    {% do return(absent) %}
{% endmacro %}


{#-
    A column of such a row: {sql, data_type}, of one that has several names there also its `parts`. Notes it as missing where it is not there.

    template   the name of what is read, by that of the column
-#}
{% macro _field_of_row(spec, row, name, missing, template='{name}') %}
    {% set landed = change_tables.landed_columns(spec, spec.relation) %}
    {% set found, wanted = [], [] %}
    {% for other in change_tables.landing_names(spec, name) %}
        {% set other = template.replace('{name}', other) %}
        {% if row.template %}
            {% set other = row.template.replace('{name}', other) %}
            {% do wanted.append({'name': other, 'data_type': 'string', 'value': change_tables.quoted(other)}) %}
            {% do found.append(dict(wanted[-1], data_type=landed[other | lower].data_type)) if other | lower in landed %}
        {% else %}
            {% set fields = change_tables.landed_fields(row.tree, other) %}
            {% set field = {'name': fields[0].name, 'data_type': fields[0].tree.text} if fields else {'name': other, 'data_type': 'string'} %}
            {% do wanted.append(dict(field, value=row.sql ~ '[' ~ change_tables.text_literal(field.name) ~ ']')) %}
            {% do found.append(wanted[-1]) if fields %}
        {% endif %}
    {% endfor %}
    {% do missing.append(wanted[0].name if row.template else row.sql ~ '.' ~ wanted[0].name) if not found and (landed or not row.template) %}
    {% set column = change_tables.one_landed(spec, found or wanted[:1]) %}
    {% do return(dict(column, sql=column.value)) %}
{% endmacro %}


{#- The flag beside such a column, which says that its value was not captured; none where it always is. -#}
{% macro _flag_of_column(spec, mapping, row, column) %}
    {% set flag, missing = (mapping.not_captured or {}).get('flag'), [] %}
    {% do return(none) if not flag or column.name in spec.key %}
    {% set field = change_tables._field_of_row(spec, {'template': '{name}'} if row.template else row, column.name, missing, flag) %}
    {% do return(field if not missing else none) %}
{% endmacro %}


{#- SQL for whether the value of such a column was not captured; empty where it always is. -#}
{% macro _is_not_captured(spec, mapping, row, column, value, hidden) %}
    {% set flag = change_tables._flag_of_column(spec, mapping, row, column) %}
    {% do return('try_cast(' ~ flag.sql ~ ' as boolean)') if flag %}
    {% do return('cast(' ~ value ~ ' as string) in (' ~ hidden ~ ')' if hidden and column.name not in spec.key else '') %}
{% endmacro %}


{#- Notes a column of a row: its value, read as `written_as` says. -#}
{% macro _add_value(spec, column, sql, data_type, is_before, images, bytes_as) %}
    {% set written_as = change_tables.column_of(spec, column.label or column.name).meta.get('written_as') %}
    {% set value = {'name': column.name, 'sql': sql, 'data_type': data_type} %}
    {% if written_as %}
        {% set text = 'cast(' ~ sql ~ ' as string)' if data_type != 'string' else sql %}
        {% do value.update(change_tables.written_value(written_as, text, column)) %}
        {% do images.written.append({'name': column.label or column.name, 'landed': text, 'sql': value.sql, 'written_as': written_as}) %}
    {% elif data_type == 'string' and change_tables.canonical_type(column.data_type) == 'binary' %}
        {% do value.update({'data_type': bytes_as}) %}
    {% endif %}
    {% do images['before' if is_before else 'columns'].update({column.name | lower: value}) %}
{% endmacro %}


{#-
    How values can be written that no text of them shows: `written_as` of a declared column. Times count from 1970-01-01 00:00 UTC;
    of nanoseconds the microsecond counts. A `base64_decimal` is the unscaled number as bytes, whose places are those of the declared type.
-#}
{% macro ways_of_writing() %}
    {% do return(['epoch_days', 'epoch_seconds', 'epoch_millis', 'epoch_micros', 'epoch_nanos', 'base64', 'base64_decimal']) %}
{% endmacro %}


{% macro written_as_mistakes(columns) %}
    {% set found = [] %}
    {% set ways = change_tables.ways_of_writing() %}
    {% for column in columns if column.meta.get('written_as') is not none %}
        {% set way = column.meta.written_as %}
        {% set kind = change_tables.type_tree(column.data_type).kind %}
        {% set right = {'base64': ['binary'], 'base64_decimal': ['decimal'], 'epoch_days': ['date', 'timestamp', 'timestamp_ntz']}.get(way, ['timestamp', 'timestamp_ntz', 'date']) %}
        {% if way not in ways %}
            {% do found.append("`written_as` of column '" ~ column.name ~ "' must be one of " ~ ways | join(', ') ~ ", got " ~ change_tables.shown_value(way)) %}
        {% elif kind not in right %}
            {% do found.append(
                "`written_as: " ~ way ~ "` is for columns of type " ~ right | join(' or ') ~ ", got '" ~ column.name ~ "' of type " ~ column.data_type
            ) %}
        {% endif %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}


{#- The value of such a text: {sql, data_type}, as it lands. Null where the text is not written so. -#}
{% macro written_value(written_as, text, column) %}
    {% set number = 'try_cast(' ~ text ~ ' as bigint)' %}
    {% if written_as == 'epoch_days' %}
        {% do return({'sql': 'date_from_unix_date(try_cast(' ~ text ~ ' as int))', 'data_type': 'date'}) %}
    {% elif written_as == 'base64' %}
        {% do return({'sql': 'try_to_binary(' ~ text ~ ", 'base64')", 'data_type': 'binary'}) %}
    {% elif written_as == 'base64_decimal' %}
        {% set places = change_tables.type_tree(column.data_type).places %}
        {% do return({'sql': change_tables._decimal_of_bytes("hex(try_to_binary(" ~ text ~ ", 'base64'))", places), 'data_type': 'string'}) %}
    {% endif %}
    {% set micros = {
        'epoch_seconds': 'try_multiply(' ~ number ~ ', 1000000)',
        'epoch_millis': 'try_multiply(' ~ number ~ ', 1000)',
        'epoch_micros': number,
        'epoch_nanos': number ~ ' div 1000 - if(' ~ number ~ ' % 1000 < 0, 1, 0)',
    }[written_as] %}
    {% do return({'sql': 'timestamp_micros(' ~ micros ~ ')', 'data_type': 'timestamp'}) %}
{% endmacro %}


{#-
    The text of a decimal out of its unscaled number, in two's complement as hex digits: of up to 16 bytes, as two halves of eight. Null
    where there are more, or none.
-#}
{% macro _decimal_of_bytes(digits, places) -%}
    {%- set filled = "lpad(hex, 32, if(hex >= '8', 'F', '0'))" -%}
    {#- of a negative number the low half is below 0, so that neither part has more digits than the whole -#}
    {%- set high = "cast(cast(conv(substr(" ~ filled ~ ", 1, 16), 16, -10) as bigint) + if(hex >= '8', 1, 0) as decimal(38, 0))" -%}
    {%- set low = "(cast(conv(substr(" ~ filled ~ ", 17), 16, 10) as decimal(38, 0)) - if(hex >= '8', 18446744073709551616, 0))" -%}
    {%- set unscaled = "cast(try_add(try_multiply(" ~ high ~ ", 18446744073709551616), " ~ low ~ ") as string)" -%}
    get(transform(
            array({{ digits }}),
            hex -> case
                when length(hex) between 1 and 32
                    then regexp_replace(
                        regexp_replace({{ unscaled }}, '^(-?)([0-9]+)$', concat('$1', repeat('0', {{ places + 1 }}), '$2')),
                        '^(-?)0*([0-9]+?)([0-9]{{ '{' ~ places ~ '}' }})$', '$1$2.$3'
                    )
            end
        ), 0)
{%- endmacro %}
