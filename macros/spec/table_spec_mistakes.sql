{#-
    Every mistake in the spec of one source entry, each as one line:
    change_tables: source '<source>.<table>': `<setting>` <what is allowed>, got <what was found>; <help>
-#}
{% macro table_spec_mistakes(node) %}
    {% set found = [] %}
    {% set given = (node.config.meta or {}).get('change_table') %}
    {% if given is not mapping %}
        {% do found.append("`config.meta.change_table` must be a mapping of settings, got " ~ change_tables.shown_value(given)) %}
    {% elif given.get('format') not in change_tables.known_formats() %}
        {% do found.append(
            "`format` must be one of " ~ change_tables.known_formats() | sort | join(', ')
            ~ ", got " ~ change_tables.shown_value(given.get('format'))
        ) %}
    {% else %}
        {% set settings = change_tables.format_settings(given.format) %}
        {% do found.extend(change_tables._setting_mistakes(given, settings, change_tables.declared_columns(node))) %}
        {% do found.extend(change_tables._column_mistakes(node, given.format)) %}
        {% do found.extend(change_tables._renamed_mistakes(change_tables.declared_columns(node))) %}
        {% do found.extend(change_tables._reference_mistakes(node, given)) if not found %}
        {% set mistakes_of_format = change_tables.format_of(given.format).mistakes %}
        {% do found.extend(mistakes_of_format(node, given)) if not found and mistakes_of_format %}
    {% endif %}
    {% set lines = [] %}
    {% for mistake in found %}
        {% do lines.append("change_tables: source '" ~ node.source_name ~ "." ~ node.name ~ "': " ~ mistake) %}
    {% endfor %}
    {% do return(lines) %}
{% endmacro %}


{#- A value as the user wrote it: text in quotes, nothing as null, flags as YAML has them. -#}
{% macro shown_value(value) %}
    {% do return('null') if value is none or value is undefined %}
    {% do return("'" ~ value ~ "'") if value is string %}
    {% do return(value | lower if value is boolean else value | string) %}
{% endmacro %}


{#- Each setting by itself: known, given where required, of its type, one of its values. -#}
{% macro _setting_mistakes(given, settings, columns) %}
    {% set found = [] %}
    {% for name in given.keys() if name not in settings %}
        {% do found.append("`" ~ name ~ "` is no setting of format '" ~ given.format ~ "'; allowed: " ~ settings.keys() | join(', ')) %}
    {% endfor %}
    {% for name, setting in settings.items() %}
        {% set value = given.get(name, setting.default) %}
        {% if setting.required and (value is undefined or value is none) %}
            {% do found.append("`" ~ name ~ "` must be given") %}
        {% elif value is none and name in given and 'default' in setting and setting.default is not none %}
            {% do found.append("`" ~ name ~ "` must not be null; leave it out for its default " ~ change_tables.shown_value(setting.default)) %}
        {% elif value is not none and setting.type == 'text' and value is not string %}
            {% do found.append("`" ~ name ~ "` must be a text (in quotes), got " ~ change_tables.shown_value(value)) %}
        {% elif value is not none and setting.type == 'flag' and value is not boolean %}
            {% do found.append("`" ~ name ~ "` must be true or false, got " ~ change_tables.shown_value(value)) %}
        {% elif value is not none and setting.type == 'number' and (value is not number or value is boolean or value < 0) %}
            {% do found.append("`" ~ name ~ "` must be a number of 0 or more, got " ~ change_tables.shown_value(value)) %}
        {% elif name == 'key' and value == [] %}
            {#- as the generator writes a table whose key it cannot tell -#}
            {% do found.append("`key` must name the columns that identify a row, got []; declared: " ~ columns | map(attribute='name') | join(', ')) %}
        {% elif value is not none and setting.type == 'names' and not change_tables.is_list_of_names(value) %}
            {% do found.append("`" ~ name ~ "` must be a list of names, each once, got " ~ change_tables.shown_value(value)) %}
        {% elif value is not none and 'values' in setting %}
            {% for part in (value if setting.type == 'names' else [value]) if part not in setting['values'] %}
                {% do found.append(
                    "`" ~ name ~ "` must be " ~ ("taken from" if setting.type == 'names' else "one of") ~ " "
                    ~ setting['values'] | join(', ') ~ (' or null' if setting.default is none else '')
                    ~ ", got " ~ change_tables.shown_value(part)
                ) %}
            {% endfor %}
        {% endif %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}


{% macro is_list_of_names(value) %}
    {% do return(false) if value is string or value is mapping or value is not iterable or value | length == 0 %}
    {% set seen = [] %}
    {% for part in value %}
        {% do return(false) if part is not string or part | lower in seen %}
        {% do seen.append(part | lower) %}
    {% endfor %}
    {% do return(true) %}
{% endmacro %}


{#- The declared columns: there must be some, each with a type that Spark knows, and none with a name of the contract. -#}
{% macro _column_mistakes(node, format) %}
    {% set found = [] %}
    {% set columns = change_tables.declared_columns(node) %}
    {% if not columns and not change_tables.key_columns_of_format(node.config.meta.change_table) %}
        {% do found.append("`columns` must declare the source table's columns, got none") %}
    {% endif %}
    {% set taken = change_tables.taken_names(format) %}
    {% set seen = [] %}
    {% for column in columns %}
        {% do found.append("`columns` must name each column once (case does not count), got '" ~ column.name ~ "' twice") if column.name | lower in seen %}
        {% do seen.append(column.name | lower) %}
        {% if column.name | lower in taken %}
            {% do found.append("`columns` must not use the name of a column that the models add, got '" ~ column.name ~ "'") %}
        {% elif (column.name | lower).startswith(change_tables.working_prefix()) %}
            {% do found.append(
                "`columns` must not begin with " ~ change_tables.working_prefix() ~ ", as columns of the models' steps do, got '" ~ column.name ~ "'"
            ) %}
        {% endif %}
        {% if not column.data_type %}
            {% do found.append("`columns`: '" ~ column.name ~ "' must have a data_type") %}
        {% elif not change_tables.is_spark_type(column.data_type | lower | trim) %}
            {% do found.append("`columns`: '" ~ column.name ~ "' must have a data_type that Spark knows, got '" ~ column.data_type ~ "'") %}
        {% endif %}
        {% set retired = column.meta.get('retired', false) %}
        {% if retired is not boolean and retired != 'hide' %}
            {% do found.append("`retired` of column '" ~ column.name ~ "' must be true, false or hide, got " ~ change_tables.shown_value(retired)) %}
        {% elif retired and column.name in (node.config.meta.change_table.key or []) %}
            {% do found.append("`retired` must be of columns that are no key, got '" ~ column.name ~ "'") %}
        {% endif %}
        {% set until = column.meta.get('until') %}
        {% if until is not none and retired is not sameas(true) %}
            {% do found.append("`until` of column '" ~ column.name ~ "' is the last day of a retired column: it needs `retired: true`") %}
        {% elif until is not none and not change_tables.is_time(until ~ ' 00:00:00') %}
            {% do found.append("`until` of column '" ~ column.name ~ "' must be a day, yyyy-mm-dd, got " ~ change_tables.shown_value(until)) %}
        {% endif %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}


{#- The names that columns had before: each of one column, and of none that is declared. -#}
{% macro _renamed_mistakes(columns) %}
    {% set found, of_column = [], {} %}
    {% set declared = change_tables.names_by_lower_case(columns | map(attribute='name')) %}
    {% for column in columns if column.meta.get('renamed_from') is not none %}
        {% set given = column.meta.renamed_from %}
        {% set names = [given] if given is string and given else given %}
        {% set what = "`renamed_from` of column '" ~ column.name ~ "' must " %}
        {% if not change_tables.is_list_of_names(names) %}
            {% do found.append(what ~ "be a name, or a list of names, each once (case does not count), got " ~ change_tables.shown_value(given)) %}
        {% else %}
            {% do found.append(what ~ "not stand beside `retired`: a column that is gone has no new name") if column.meta.get('retired') %}
            {% for name in names %}
                {% if name | lower == column.name | lower %}
                    {% do found.append(what ~ "be another name (case does not count), got '" ~ name ~ "'") %}
                {% elif name | lower in declared %}
                    {% do found.append(what ~ "not be a declared column: take '" ~ declared[name | lower] ~ "' out of `columns`, it is '" ~ column.name ~ "' now") %}
                {% elif name | lower in of_column %}
                    {% do found.append(what ~ "not be that of another column, got '" ~ name ~ "', which is of '" ~ of_column[name | lower] ~ "'") %}
                {% endif %}
                {% do of_column.update({name | lower: column.name}) %}
            {% endfor %}
        {% endif %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}


{#- Whether Spark knows a type by this text. Within arrays, maps and structs only the digits of decimals are checked. -#}
{% macro is_spark_type(data_type) %}
    {% set is_type = modules.re.match(
        '^(boolean|tinyint|byte|smallint|short|int|integer|bigint|long|float|real|double|date|timestamp|timestamp_ntz'
        ~ '|timestamp_ltz|string|binary|(decimal|dec|numeric)( *\\( *[0-9]+ *(, *[0-9]+ *)?\\))?'
        ~ '|(varchar|char) *\\( *0*[1-9][0-9]* *\\)|array *<.+>|map *<.+>|struct *<.+>)$',
        data_type
    ) %}
    {% set impossible = [] %}
    {% for digits, scale in modules.re.findall('\\b(?:decimal|dec|numeric) *\\( *([0-9]+) *(?:, *([0-9]+) *)?\\)', data_type) %}
        {% do impossible.append(digits) if not 1 <= digits | int <= 38 or (scale or 0) | int > digits | int %}
    {% endfor %}
    {% do return(is_type and not impossible) %}
{% endmacro %}


{% macro _reference_mistakes(node, given) %}
    {% set found = [] %}
    {% set columns = change_tables.declared_columns(node) %}
    {% set names = columns | map(attribute='name') | list %}
    {% for setting in ['key', 'track'] if given.get(setting) and given[setting] | reject('in', names) | list %}
        {% do found.append(
            "`" ~ setting ~ "` must name declared columns, got " ~ (given[setting] | list | string) ~ "; declared: " ~ names | join(', ')
        ) %}
    {% endfor %}
    {% do found.extend(change_tables.nested_column_mistakes(columns | selectattr('name', 'in', given.get('key') or []), '`key` must name columns')) %}
    {% do found.extend(change_tables.other_entry_mistakes(node, given, 'snapshot')) %}
    {% if given.get('snapshot_seq', '') != '' and given.get('snapshot') is none %}
        {% do found.append("`snapshot_seq` is the sequence of a load: it needs `snapshot`, which is not set") %}
    {% endif %}
    {% if given.get('snapshot_time', '') != '' and given.get('snapshot') is none %}
        {% do found.append("`snapshot_time` is the time of a load: it needs `snapshot`, which is not set") %}
    {% elif given.get('snapshot_time', '') != '' and not change_tables.is_time(given.snapshot_time) %}
        {% do found.append(
            "`snapshot_time` must be empty or a time in UTC, yyyy-mm-dd hh:mm:ss, got " ~ change_tables.shown_value(given.snapshot_time)
        ) %}
    {% endif %}
    {% do found.append("`arrival` must be auto, none, files or the name of a column of the raw table, got ''") if given.get('arrival', 'auto') == '' %}
    {% if given.get('lookback', 0) != 0 and given.get('arrival', 'auto') == 'none' %}
        {% do found.append("`lookback` reads again below the highest arrival: it needs `arrival`, which is none") %}
    {% endif %}
    {% do return(found) %}
{% endmacro %}


{% macro nested_column_mistakes(columns, what='`columns` must be') %}
    {% set found = [] %}
    {% for column in columns if change_tables.type_tree(column.data_type).kind in ['array', 'map', 'struct'] %}
        {% do found.append(what ~ " of simple types, got '" ~ column.name ~ "' of type " ~ column.data_type) %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}


{#- The mistake of a `snapshot_seq` that is not `what` the sequences of the feed are, by the pattern. -#}
{% macro snapshot_seq_mistakes(given, pattern, what) %}
    {% set value = given.get('snapshot_seq', '') %}
    {% set is_right = value == '' or modules.re.match(pattern, value) %}
    {% do return([] if is_right else ["`snapshot_seq` must be empty or " ~ what ~ ", got " ~ change_tables.shown_value(value)]) %}
{% endmacro %}


{#-
    The mistakes of an entry that asks of its feed what that does not say: where a transaction ends, and where a row is (`has_position`).

    feed   what messages call it
-#}
{% macro feed_mistakes(given, feed, has_position=false) %}
    {% set found = [] %}
    {% do found.append("`hold_open_transactions` must be false: " ~ feed ~ " do not say where a transaction ends, got true") if given.get('hold_open_transactions') %}
    {% if not has_position and given.get('lookback', 0) != 0 and given.get('arrival', 'auto') == 'auto' %}
        {% do found.append("`lookback` reads again below the highest arrival: " ~ feed ~ " have no natural arrival, so it needs `arrival` to name a column, got 'auto'") %}
    {% endif %}
    {% do return(found) %}
{% endmacro %}


{% macro other_entry_mistakes(node, given, setting) %}
    {% set name = given.get(setting) %}
    {% do return([]) if name is none or (name != node.name and change_tables.find_source(node.source_name, name) is not none) %}
    {% do return([
        "`" ~ setting ~ "` must name another entry of source '" ~ node.source_name ~ "', got '" ~ name ~ "'; its entries: "
        ~ graph.sources.values() | selectattr('source_name', 'equalto', node.source_name) | map(attribute='name') | reject('equalto', node.name) | join(', ')
    ]) %}
{% endmacro %}
