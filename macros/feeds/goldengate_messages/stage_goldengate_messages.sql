{#-
    Messages of GoldenGate's handlers are mapped rows (see mapped_steps.sql): JSON, or Avro that has landed as columns, in the form of the
    operation (`before` and `after`) or of the row (columns beside `op_type`).
-#}

{% macro goldengate_messages_mapping(spec) %}
    {% set of_rows = spec.layout in ['row', 'row_columns'] %}
    {% set in_message = spec.layout in ['operation', 'row'] %}
    {% set landed = change_tables.landed_columns(spec, spec.relation) %}
    {% set fields = {} %}
    {% for name in ['table', 'op_type', 'op_ts', 'pos', 'xid', 'csn'] %}
        {% if in_message %}
            {% do fields.update({name: "message['" ~ name ~ "']"}) %}
        {% else %}
            {% do fields.update({name: change_tables.quoted(name) if name in landed or not landed else none}) %}
        {% endif %}
    {% endfor %}
    {% set message = none %}
    {% if in_message %}
        {% set of_operation = 'table string, op_type string, op_ts string, pos string, xid string, csn string, before map<string, string>, after map<string, string>' %}
        {% set message = {'column': spec.message_column, 'type': 'map<string, string>' if of_rows else of_operation, 'envelope': none} %}
        {% do message.update(avro=spec.avro_schema, registry=change_tables.registry_of(spec)) %}
    {% elif landed %}
        {% set needed = ['op_type', 'pos'] + (['table'] if spec.settings.table is not none else []) %}
        {% do change_tables.refuse_missing_columns(spec, spec.relation, needed | reject('in', landed) | list,
            "let the handler's metaColumnsTemplate have ${optype[op_type]}, ${position[pos]} and, for `table`, ${objectname[table]}"
        ) %}
    {% endif %}
    {% set ids = [fields.xid, fields.csn] | select | list %}
    {% do return({
        'message': message,
        'only': (fields.table ~ ' = ' ~ change_tables.text_literal(spec.settings.table)) if spec.settings.table is not none else none,
        'operation': fields.op_type,
        'operations': spec.operations,
        'sequence': change_tables.sequence_parts([{'sql': fields.pos, 'kind': 'number', 'length': 32}]),
        'changed_at': fields.op_ts,
        'transaction_id': change_tables.first_given(ids),
        'row': {'operation': 'message.after', 'row': 'message', 'operation_columns': 'after'}.get(spec.layout),
        'row_before': {'operation': 'message.before', 'operation_columns': 'before'}.get(spec.layout),
        'not_captured': {'flag': '{name}_isMissing'} if spec.images == 'partial' else none,
        'position': spec.position,
        'bytes_as': 'base64' if spec.avro_schema is none and spec.registry is none else 'hex',
    }) %}
{% endmacro %}


{% macro goldengate_messages_mistakes(node, given) %}
    {% set found = [] %}
    {% do found.extend(change_tables.operations_mistakes(given.operations)) if given.get('operations') is not none %}
    {% do found.extend(change_tables.snapshot_seq_mistakes(given, '^[0-9]{32}$', "a `pos` filled with zeros to 32 digits")) %}
    {% set schema = given.get('avro_schema') %}
    {% if schema is not none and (schema is not string or fromjson(schema) is not mapping) %}
        {% do found.append("`avro_schema` must be an Avro schema as JSON, got " ~ change_tables.shown_value(schema)) %}
    {% elif schema is not none and given.get('layout', 'operation') not in ['operation', 'row'] %}
        {% do found.append("`avro_schema` reads messages of `layout: operation` or `row`, got " ~ change_tables.shown_value(given.layout)) %}
    {% endif %}
    {% do found.append("`avro_schema` is for bytes without a prefix: leave out it or `registry`") if schema is not none and given.get('registry') is not none %}
    {% do found.extend(change_tables.registry_mistakes(node, given, given.get('layout', 'operation'), ['operation', 'row'])) %}
    {% do return(found + change_tables.mapped_feed_mistakes(node, given)) %}
{% endmacro %}


{% macro goldengate_messages_arrival(spec) %}
    {% do return(change_tables.arrival_of_position(spec.settings.position, {'operation_columns': ['op_type', 'before', 'after'], 'row_columns': ['op_type'] + change_tables.raw_names_of_columns(spec)}.get(spec.layout, [spec.message_column]))) %}
{% endmacro %}


{% macro goldengate_messages_format() %}
    {% do return(dict(change_tables.mapped_parts(has_registry=true), **{
        'mapping': change_tables.goldengate_messages_mapping,
        'settings': dict({
            'layout': {
                'default': 'operation', 'type': 'text', 'values': ['operation', 'row', 'operation_columns', 'row_columns'],
                'meaning': "[how messages land](feeds/goldengate_messages.md#what-lands)",
            },
            'message_column': {'default': 'value', 'type': 'text', 'meaning': "the raw column that has the JSON"},
            'avro_schema': {'default': none, 'type': 'text', 'meaning': "the schema of [Avro](feeds/goldengate_messages.md#avro)"},
            'table': {'default': none, 'type': 'text', 'meaning': "the table as messages name it, if the raw table has others, too; null: all"},
            'operations': {
                'default': {'I': 'insert', 'U': 'update', 'D': 'delete', 'T': 'truncate'}, 'type': 'mapping',
                'meaning': "what the values of `op_type` mean",
            },
        }, **change_tables.settings_of_several(['registry', 'waiting_days', 'position', 'column_names', 'images'])),
        'mistakes': change_tables.goldengate_messages_mistakes,
        'arrival': change_tables.goldengate_messages_arrival,
    })) %}
{% endmacro %}
