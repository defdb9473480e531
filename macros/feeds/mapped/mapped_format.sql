{#- What can be wrong in a description, all at once: a line for each fault. -#}
{% macro mapped_mistakes(node, given) %}
    {% set found = [] %}
    {% do found.extend(change_tables.operations_mistakes(given.operations)) %}
    {% do found.extend(change_tables._message_mistakes(given.get('message'))) %}
    {% do found.extend(change_tables.sequence_mistakes(given.sequence)) %}
    {% do found.extend(change_tables._captured_mistakes(given)) %}
    {% for name in ['operation', 'only', 'changed_at', 'transaction_id', 'row', 'row_before'] if given.get(name) is string and not given[name] | trim %}
        {% do found.append("`" ~ name ~ "` must not be empty" ~ ("; leave it out where there is none" if name != 'operation')) %}
    {% endfor %}
    {% if given.get('row_before') and given.row_before == given.get('row') %}
        {% do found.append("`row_before` must be another row than `row`, got " ~ change_tables.shown_value(given.row_before) ~ " for both") %}
    {% endif %}
    {% if given.get('position') is not none and given.position | length < 2 %}
        {% do found.append("`position` must name the columns of a group and then the number, as [topic, partition, offset], got " ~ given.position | list | string ~ "; for one column take `arrival`") %}
    {% endif %}
    {% do found.extend(change_tables.mapped_feed_mistakes(node, given)) %}
    {% if not found and given.get('snapshot_seq', '') %}
        {% set pattern = change_tables.pattern_of_sequence(change_tables.sequence_parts(given.sequence)) %}
        {% do found.extend(change_tables.snapshot_seq_mistakes(given, pattern, "a sequence as `_change_seq` has it (" ~ pattern ~ ")")) %}
    {% endif %}
    {% do return(found) %}
{% endmacro %}


{#- Mistakes of what all feeds without transactions have in common. -#}
{% macro mapped_feed_mistakes(node, given) %}
    {% set found = [] %}
    {% if given.get('hold_open_transactions') %}
        {% do found.append("`hold_open_transactions` must be false: the description does not say where a transaction ends, got true") %}
    {% endif %}
    {% do found.extend(change_tables.lookback_mistakes(given, 'rows have') if given.get('position') is none else []) %}
    {% do return(found + change_tables.written_as_mistakes(change_tables.declared_columns(node))) %}
{% endmacro %}


{#- What is wrong with the words of operations. -#}
{% macro operations_mistakes(operations) %}
    {% set meanings = ['insert', 'update', 'upsert', 'delete', 'truncate', 'snapshot', 'ignore'] %}
    {% if operations is not mapping or not operations %}
        {% do return(["`operations` must say what each word means, as {I: insert, U: update, D: delete}, got " ~ change_tables.shown_value(operations)]) %}
    {% endif %}
    {% set found = [] %}
    {% for word, meaning in operations.items() %}
        {% if word is not string %}
            {% do found.append("`operations`: words must be texts (in quotes), got " ~ change_tables.shown_value(word)) %}
        {% endif %}
        {% if meaning not in meanings %}
            {% do found.append("`operations`: " ~ word ~ " must mean one of " ~ meanings | join(', ') ~ ", got " ~ change_tables.shown_value(meaning)) %}
        {% endif %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}


{% macro _message_mistakes(message) %}
    {% do return([]) if message is none or message is undefined %}
    {% if message is not mapping or message.keys() | sort != ['column', 'type'] or message.values() | reject('string') | list %}
        {% do return(["`message` must be {column, type}: the raw column, and the fields that are read as a Spark schema, got " ~ change_tables.shown_value(message)]) %}
    {% endif %}
    {% do return([]) if modules.re.match('map *< *string *, *string *>$', message.type) %}
    {% set wrong = [] %}
    {% for field in change_tables.type_tree('struct<' ~ message.type ~ '>').fields %}
        {% do wrong.append(field.name) if field.tree.kind == 'other' or not field.tree.text %}
    {% endfor %}
    {% do return([] if not wrong else ["`message`: `type` must be a Spark schema, as `op string, after map<string, string>`, got " ~ change_tables.shown_value(message.type)]) %}
{% endmacro %}


{#- What is wrong with the parts of a sequence. -#}
{% macro sequence_mistakes(parts) %}
    {% set found = [] %}
    {% set kinds = ['number', 'text', 'hexadecimal', 'file_position'] %}
    {% if parts is string or parts is mapping or parts is not iterable or not parts %}
        {% do return(["`sequence` must be a list of parts, as [{sql: scn, kind: number}], got " ~ change_tables.shown_value(parts)]) %}
    {% endif %}
    {% for part in parts %}
        {% set part = {'sql': part} if part is string else part %}
        {% set kind = part.get('kind', 'number') if part is mapping %}
        {% if part is not mapping or part.get('sql') is not string or part.keys() | reject('in', ['sql', 'kind', 'length']) | list %}
            {% do found.append("`sequence`: each part must be SQL, or {sql, kind, length}, got " ~ change_tables.shown_value(part)) %}
        {% elif kind in ['time', 'timestamp', 'date'] or modules.re.search('(?i)\\bts_(s|ms|us|ns)\\b', part.sql) %}
            {% do found.append(change_tables.time_as_sequence(part.sql, "it is one" if kind in ['time', 'timestamp', 'date'] else "ts_ms and its like are times")) %}
        {% elif kind not in kinds %}
            {% do found.append("`sequence`: `kind` must be one of " ~ kinds | join(', ') ~ ", got " ~ change_tables.shown_value(kind)) %}
        {% elif part.get('length') is not none and (part.length is not number or part.length is boolean or part.length < 1 or kind == 'file_position') %}
            {% do found.append("`sequence`: `length` must be a number of characters" ~ (", and a file_position has none" if kind == 'file_position') ~ ", got " ~ change_tables.shown_value(part.length)) %}
        {% elif kind == 'text' and not part.get('length') and not loop.last %}
            {% do found.append("`sequence`: a text that others follow needs a `length`, since a shorter one would sort otherwise, got " ~ change_tables.shown_value(part.sql)) %}
        {% endif %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}


{#- What is wrong with `not_captured`, and with `images`, which it goes with. -#}
{% macro _captured_mistakes(given) %}
    {% set said = given.get('not_captured') %}
    {% set is_partial = given.get('images', 'full') == 'partial' %}
    {% if said is none or said is undefined %}
        {% do return([] if not is_partial else [
            "`images: partial` needs `not_captured`, which says how a row shows that it lacks a column: a null alone does not, since it is a value, too"
        ]) %}
    {% endif %}
    {% set way = said.keys() | first if said is mapping and said | length == 1 %}
    {% set value = said[way] if way %}
    {% set is_right = (way == 'absent' and value is sameas true) or (way == 'flag' and value is string and '{name}' in value) or (way == 'value' and value is string) %}
    {% if not is_right %}
        {% do return(["`not_captured` must be {absent: true}, {flag: a name with {name} in it} or {value: a text}, got " ~ change_tables.shown_value(said)]) %}
    {% endif %}
    {% do return([] if is_partial else ["`not_captured` says that rows lack columns: it needs `images: partial`, got full"]) %}
{% endmacro %}


{#- The position of raw rows that an entry says: see `arrival` of `format_of`. -#}
{% macro mapped_arrival(spec) %}
    {% do return(change_tables.arrival_of_position(spec.settings.position, spec.settings.message.column if spec.settings.message else none)) %}
{% endmacro %}


{#- The last column of a position is the number; the others are the group. `record`: the column that all of a record is in, if there is one. -#}
{% macro arrival_of_position(position, record) %}
    {% do return(none if not position else {
        'kind': 'whole_number', 'group': position[:-1] | list, 'columns': [position[-1]], 'record': [record or position[-1]],
    }) %}
{% endmacro %}


{#- What the models must know of this format: see `format_of`. -#}
{% macro mapped_format() %}
    {% do return({
        'stage': change_tables.stage_mapped,
        'settings': change_tables.mapped_settings(),
        'column_settings': change_tables.written_as_setting(),
        'mistakes': change_tables.mapped_mistakes,
        'arrival': change_tables.mapped_arrival,
        'may_wait': change_tables.nothing_waits,
    }) %}
{% endmacro %}


{#- Of formats whose raw rows are whole: none blocks the watermark. -#}
{% macro nothing_waits(spec) %}
    {% do return('false') %}
{% endmacro %}
