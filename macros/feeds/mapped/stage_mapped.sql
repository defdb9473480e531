{#-
    From raw rows that the entry describes to `staged`: how each part of a change is read is SQL of the entry (see mapped_steps.sql). A raw row
    is one change.
-#}

{% macro mapped_mapping(spec) %}
    {% set settings = spec.settings.items() | selectattr(0, 'in', change_tables.mapped_settings()) %}
    {% do return(dict(settings, sequence=change_tables.sequence_parts(spec.settings.sequence))) %}
{% endmacro %}


{% macro mapped_settings() %}
    {% do return(dict({
        'message': {
            'default': none, 'type': 'mapping',
            'meaning': "`{column, type}`: the raw column with each change as a JSON object, and its fields, as a Spark schema or as `map<string, string>`; SQL reads them in `message`. null: raw columns have them",
        },
        'only': {'default': none, 'type': 'text', 'meaning': "SQL for the rows that are this table's. null: all"},
        'operation': {'required': true, 'type': 'text', 'meaning': "SQL for the word that says what happened"},
        'operations': {
            'required': true, 'type': 'mapping',
            'meaning': "what the words mean: word → `insert`, `update`, `upsert`, `delete`, `truncate`, `snapshot` or `ignore`",
        },
        'sequence': {
            'required': true, 'type': 'list',
            'meaning': "the parts of the [sequence](feeds/mapped.md#sequences), the most important first: `{sql, kind, length}`",
        },
        'changed_at': {'default': none, 'type': 'text', 'meaning': "SQL for the time of the change"},
        'transaction_id': {'default': none, 'type': 'text', 'meaning': "SQL for the transaction of the change"},
        'row': {
            'default': none, 'type': 'text',
            'meaning': "where the [row](feeds/mapped.md#rows) is: a raw column or a field, as `message.after`, or a name, as `new_{name}`; null: raw columns have the declared names",
        },
        'row_before': {'default': none, 'type': 'text', 'meaning': "the same for the row before; null: the feed has none"},
        'not_captured': {
            'default': none, 'type': 'mapping',
            'meaning': "how a row [says that it lacks a column](feeds/mapped.md#rows): `{absent: true}`, `{flag: '{name}_isMissing'}` or `{value: …}`; null: it never does",
        },
    }, **change_tables.settings_of_several(['position', 'column_names']))) %}
{% endmacro %}


{#- What can be wrong in a description, all at once: a line for each fault. -#}
{% macro mapped_mistakes(node, given) %}
    {% set found = change_tables.operations_mistakes(given.operations) + change_tables._message_mistakes(given.get('message'))
        + change_tables.sequence_mistakes(given.sequence) + change_tables._captured_mistakes(given) %}
    {% for name in ['operation', 'only', 'changed_at', 'transaction_id', 'row', 'row_before'] if given.get(name) is string and not given[name] | trim %}
        {% do found.append("`" ~ name ~ "` must not be empty" ~ ("; leave it out where there is none" if name != 'operation')) %}
    {% endfor %}
    {% if given.get('row_before') and given.row_before == given.get('row') %}
        {% do found.append("`row_before` must be another row than `row`, got " ~ change_tables.shown_value(given.row_before) ~ " for both") %}
    {% endif %}
    {% if given.get('position') is not none and given.position | length < 2 %}
        {% do found.append("`position` must name the columns of a group and then the number, as [topic, partition, offset], got " ~ given.position | list | string ~ "; for one column take `arrival`") %}
    {% endif %}
    {% do return(found + change_tables.mapped_feed_mistakes(node, given, given.sequence if not found)) %}
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


{% macro _captured_mistakes(given) %}
    {% set said = given.get('not_captured') %}
    {% set is_partial = given.get('images', 'full') == 'partial' %}
    {% if said is none or said is undefined %}
        {% do return([]) if not is_partial %}
        {% do return([
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


{% macro mapped_arrival(spec) %}
    {% set row = spec.settings.row or '{name}' %}
    {% set record = [spec.settings.message.column] if spec.settings.message else [row.split('.')[0]] %}
    {% set record = change_tables.raw_names_of_columns(spec, row) if '{name}' in row and not spec.settings.message else record %}
    {% do return(change_tables.arrival_of_position(spec.settings.position, record)) %}
{% endmacro %}


{% macro mapped_format() %}
    {% do return(dict(change_tables.mapped_parts(), **{
        'mapping': change_tables.mapped_mapping,
        'settings': change_tables.mapped_settings(),
        'mistakes': change_tables.mapped_mistakes,
        'arrival': change_tables.mapped_arrival,
        'settings_of_order': ['sequence'],
    })) %}
{% endmacro %}
