{#-
    Change events of Debezium are mapped rows (see mapped_steps.sql). How they land is the `layout`; what orders them is in `source`, by the
    `connector`.
-#}

{% macro debezium_mapping(spec) %}
    {% set layout = spec.layout %}
    {% set is_flat = layout in ['flattened', 'flattened_message'] %}
    {% set operation = change_tables.debezium_field(spec, 'op') %}
    {% set deleted = change_tables.debezium_field(spec, 'deleted') if is_flat %}
    {% if is_flat %}
        {% set operation = 'coalesce(' ~ (operation or 'null') ~ ", 'upsert')" %}
        {#- one that is no boolean says nothing of the row: its text is no word for an operation -#}
        {% set says = "nullif(cast(" ~ deleted ~ " as string), '')" %}
        {% set operation = "case try_cast(" ~ says ~ " as boolean) when true then 'd' when false then " ~ operation
            ~ " else coalesce(concat('__deleted: ', " ~ says ~ '), ' ~ operation ~ ') end' if deleted else operation %}
    {% endif %}
    {% set changed_at = change_tables.debezium_field(spec, 'ts_ms', of_source=true) %}
    {% set table = change_tables.debezium_field(spec, 'table', of_source=true) %}
    {% if spec.table is not none and not table %}
        {% do change_tables.refuse_missing_columns(spec, spec.relation, ['table'], "`table` is compared with it: of flattened events, name it in `add.fields`, as source.table") %}
    {% endif %}
    {% set ids = [] %}
    {% for name in ['txId', 'gtid'] %}
        {% set id = change_tables.debezium_field(spec, name, of_source=true) %}
        {% do ids.append('cast(' ~ id ~ ' as string)') if id %}
    {% endfor %}
    {% set message = none %}
    {% if layout == 'message' %}
        {% set type = 'op string, source map<string, string>, before map<string, string>, after map<string, string>' %}
        {% set message = {'column': spec.message_column, 'type': type, 'envelope': 'payload', 'registry': change_tables.registry_of(spec)} %}
    {% elif layout == 'flattened_message' %}
        {% set message = {'column': spec.message_column, 'type': 'map<string, string>', 'envelope': none, 'registry': change_tables.registry_of(spec)} %}
    {% endif %}
    {% do return({
        'message': message,
        'only': (table ~ ' = ' ~ change_tables.text_literal(spec.table)) if spec.table is not none else none,
        'operation': operation,
        'operations': {'c': 'insert', 'r': 'snapshot', 'u': 'update', 'd': 'delete', 't': 'truncate', 'm': 'ignore', 'upsert': 'upsert'},
        'sequence': change_tables.sequence_parts(spec.sequence or change_tables._debezium_sequence(spec)),
        'changed_at': changed_at,
        'counts_millis': true,
        'transaction_id': change_tables.first_given(ids),
        'row': {'message': 'message.after', 'columns': 'after', 'flattened_message': 'message'}.get(layout),
        'row_before': {'message': 'message.before', 'columns': 'before'}.get(layout),
        'not_captured': {'value': spec.unavailable_values} if spec.images == 'partial' else none,
        'position': spec.position,
        'bytes_as': 'base64' if spec.registry is none else 'hex',
    }) %}
{% endmacro %}


{#-
    A field of an event, as SQL; none where it is not there. `of_source`: one of `source`. Flattened events have it with `__` before it, and
    `source_` between, by how `add.fields` names it.
-#}
{% macro debezium_field(spec, name, of_source=false) %}
    {% set layout = spec.layout %}
    {% if layout == 'message' %}
        {% do return("message['source']['" ~ name ~ "']" if of_source else "message['" ~ name ~ "']") %}
    {% elif layout == 'flattened_message' %}
        {% do return("coalesce(message['__source_" ~ name ~ "'], message['__" ~ name ~ "'])" if of_source else "message['__" ~ name ~ "']") %}
    {% endif %}
    {% set landed = change_tables.landed_columns(spec, spec.relation) %}
    {% if layout == 'columns' %}
        {% do return(change_tables.quoted(name)) if not of_source %}
        {% set source = change_tables.type_tree(landed.source.data_type) if 'source' in landed else {'kind': 'none'} %}
        {% set is_there = not landed or source.kind == 'map' or change_tables.landed_fields(source, name) %}
        {% do return("source['" ~ name ~ "']" if is_there else none) %}
    {% endif %}
    {% for column in ['__source_' ~ name, '__' ~ name] if column | lower in landed %}
        {% do return(change_tables.quoted(column)) %}
    {% endfor %}
    {% do return(none if landed else '__' ~ name) %}
{% endmacro %}


{#-
    The parts of the sequence, by the connector: {sql, kind, length}, with fields of `source` in braces, and `?` after those that need not
    land. A read of the first snapshot comes before every change, since a change that was not yet committed then has a lower `lsn`. What
    reads lack is the lowest there is.
-#}
{% macro _debezium_parts() %}
    {% set no_lsn = '00000000:00000000:0000' %}
    {% set is_first = "coalesce({snapshot}, 'false') in ('true', 'first', 'first_in_data_collection', 'last_in_data_collection', 'last')" %}
    {% set commit_lsn = "coalesce({commit_lsn}, if(" ~ is_first.replace('}', '?}') ~ ", 'lowest', null))" %}
    {% set of_binlog = [
        {'sql': "concat({file}, '/', {pos})", 'kind': 'file_position'}, {'sql': "coalesce({row}, '0')", 'kind': 'number', 'length': 10},
    ] %}
    {% do return({
        'postgresql': [
            {'sql': "if(" ~ is_first ~ ", '0', coalesce(nullif(get_json_object({sequence}, '$[0]'), 'null'), '0'))", 'kind': 'number'},
            {'sql': 'if(' ~ is_first ~ ", '0', {lsn})", 'kind': 'number'},
        ],
        'mysql': of_binlog,
        'mariadb': of_binlog,
        'sqlserver': [
            {'sql': commit_lsn.replace('lowest', no_lsn), 'kind': 'text', 'length': 22},
            {'sql': "coalesce({change_lsn}, '" ~ no_lsn ~ "')", 'kind': 'text', 'length': 22},
            {'sql': "coalesce({event_serial_no}, '0')", 'kind': 'number', 'length': 10},
        ],
        'db2': [
            {'sql': 'replace(' ~ commit_lsn.replace('lowest', '0') ~ ", ':', '')", 'kind': 'hexadecimal', 'length': 32},
            {'sql': "replace(coalesce({change_lsn}, '0'), ':', '')", 'kind': 'hexadecimal', 'length': 32},
        ],
        'oracle': [
            {'sql': 'coalesce({commit_scn}, {scn})', 'kind': 'number'},
            {'sql': '{scn}', 'kind': 'number'},
            {
                'sql': "coalesce(concat(rpad(trim({rs_id}), 24, ' '), lpad(coalesce({ssn}, '0'), 10, '0')), if("
                    ~ is_first ~ ", repeat(' ', 34), null))",
                'kind': 'text', 'length': 34,
            },
        ],
    }) %}
{% endmacro %}


{#- These with the fields as they land. -#}
{% macro _debezium_sequence(spec) %}
    {% set sequence, missing = [], [] %}
    {% for part in change_tables._debezium_parts()[spec.connector] %}
        {% set found = namespace(sql=part.sql) %}
        {% for name, is_optional in modules.re.findall('{([a-z_]+)(\\??)}', part.sql) %}
            {% set field = change_tables.debezium_field(spec, name, of_source=true) or ('null' if is_optional else none) %}
            {% do missing.append(name) if not field and name not in missing %}
            {% set found.sql = found.sql.replace('{' ~ name ~ is_optional ~ '}', 'cast(' ~ field ~ ' as string)') %}
        {% endfor %}
        {% do sequence.append(dict(part, sql=found.sql)) %}
    {% endfor %}
    {% do change_tables.refuse_missing_columns(spec, spec.relation, missing,
        "events of the connector " ~ spec.connector ~ " are ordered by these fields of `source`: of flattened events, name them in `add.fields`, as source." ~ missing | join(',source.')
    ) %}
    {% do return(sequence) %}
{% endmacro %}


{% macro debezium_mistakes(node, given) %}
    {% set found = [] %}
    {% do found.extend(change_tables.sequence_mistakes(given.sequence)) if given.get('sequence') is not none %}
    {% do found.append("`connector` must be given, or `sequence`, which orders the events") if given.get('connector') is none and given.get('sequence') is none %}
    {% do found.extend(change_tables.registry_mistakes(node, given, given.get('layout', 'message'), ['message', 'flattened_message'])) %}
    {% set sequence = given.get('sequence') or change_tables._debezium_parts()[given.connector] if not found else none %}
    {% do return(found + change_tables.mapped_feed_mistakes(node, given, sequence)) %}
{% endmacro %}


{% macro debezium_arrival(spec) %}
    {% do return(change_tables.arrival_of_position(spec.settings.position, {'columns': ['op', 'before', 'after'], 'flattened': change_tables.raw_names_of_columns(spec)}.get(spec.layout, [spec.message_column]))) %}
{% endmacro %}


{% macro debezium_format() %}
    {% do return(dict(change_tables.mapped_parts(has_registry=true), **{
        'mapping': change_tables.debezium_mapping,
        'settings': dict({
            'connector': {
                'default': none, 'type': 'text', 'values': ['postgresql', 'mysql', 'mariadb', 'sqlserver', 'oracle', 'db2'],
                'meaning': "Debezium's connector, which says [what orders the events](feeds/debezium.md#sequences)",
            },
            'layout': {
                'default': 'message', 'type': 'text', 'values': ['message', 'columns', 'flattened', 'flattened_message'],
                'meaning': "[how events land](feeds/debezium.md#what-lands)",
            },
            'message_column': {'default': 'value', 'type': 'text', 'meaning': "the raw column that has the JSON"},
            'table': {'default': none, 'type': 'text', 'meaning': "the table in `source`, if the raw table has other tables' events, too; null: all"},
            'unavailable_values': {
                'default': [
                    '__debezium_unavailable_value', 'X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==', '["__debezium_unavailable_value"]',
                    '{"__debezium_unavailable_value":"__debezium_unavailable_value"}',
                ],
                'type': 'names',
                'meaning': "what stands for a value that was not logged: `unavailable.value.placeholder`, as text, in base64, in an array, in an hstore",
            },
            'sequence': {'default': none, 'type': 'list', 'meaning': "the [parts of the sequence](feeds/mapped.md#sequences), instead of those of the connector"},
        }, **change_tables.settings_of_several(['registry', 'waiting_days', 'position', 'column_names', 'images'])),
        'mistakes': change_tables.debezium_mistakes,
        'arrival': change_tables.debezium_arrival,
        'settings_of_order': ['connector', 'sequence'],
    })) %}
{% endmacro %}
