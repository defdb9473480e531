{#-
    Change events of Debezium are mapped rows (see mapped_steps.sql). How they land is the `layout`; what orders them is in `source`, by the
    `connector`.
-#}
{% macro stage_debezium(spec, bound) %}
    {{- change_tables.mapped_steps(spec, bound, change_tables.debezium_mapping(spec)) -}}
{% endmacro %}


{% macro debezium_mapping(spec) %}
    {% set layout = spec.layout %}
    {% set is_flat = layout in ['flattened', 'flattened_message'] %}
    {% set in_message = layout in ['message', 'flattened_message'] %}
    {% set operation = change_tables.debezium_field(spec, 'op') %}
    {% set deleted = change_tables.debezium_field(spec, 'deleted') if is_flat %}
    {% set operation = "if(" ~ deleted ~ " = 'true', 'd', coalesce(" ~ (operation or 'null') ~ ", 'upsert'))" if deleted else operation %}
    {% set changed_at = change_tables.debezium_field(spec, 'ts_ms', of_source=true) %}
    {% set table = change_tables.debezium_field(spec, 'table', of_source=true) %}
    {% set ids = [] %}
    {% for name in ['txId', 'gtid'] %}
        {% set id = change_tables.debezium_field(spec, name, of_source=true) %}
        {% do ids.append('cast(' ~ id ~ ' as string)') if id %}
    {% endfor %}
    {% do return({
        'message': {
            'column': spec.message_column,
            'type': 'op string, source map<string, string>, before map<string, string>, after map<string, string>' if layout == 'message' else 'map<string, string>',
            'envelope': 'payload' if layout == 'message' else none,
        } if in_message else none,
        'only': (table ~ ' = ' ~ change_tables.text_literal(spec.table)) if spec.table is not none else none,
        'operation': operation,
        'operations': {
            'c': 'insert', 'r': 'snapshot', 'u': 'update', 'd': 'delete', 't': 'truncate', 'm': 'ignore', 'upsert': 'upsert',
        },
        'sequence': change_tables.sequence_parts(spec.sequence or change_tables._debezium_sequence(spec)),
        'changed_at': 'timestamp_micros(try_multiply(try_cast(' ~ changed_at ~ ' as bigint), 1000))' if changed_at else none,
        'transaction_id': ('coalesce(' ~ ids | join(', ') ~ ')' if ids | length > 1 else ids[0]) if ids else none,
        'row': {'message': 'message.after', 'columns': 'after', 'flattened_message': 'message'}.get(layout),
        'row_before': {'message': 'message.before', 'columns': 'before'}.get(layout),
        'not_captured': {'value': spec.unavailable_values} if spec.images == 'partial' else none,
        'position': spec.position,
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
    {% set landed = change_tables.landed_columns(spec, spec.relation, [], '') %}
    {% if layout == 'columns' %}
        {% set source = change_tables.type_tree(landed.source.data_type) if 'source' in landed else {'kind': 'none'} %}
        {% set there = not landed or source.kind == 'map' or change_tables.landed_fields(source, name) if of_source else true %}
        {% do return(none if not there else "source['" ~ name ~ "']" if of_source else change_tables.quoted(name)) %}
    {% endif %}
    {% for column in ['__source_' ~ name, '__' ~ name] if column | lower in landed %}
        {% do return(change_tables.quoted(column)) %}
    {% endfor %}
    {% do return(none if landed else '__' ~ name) %}
{% endmacro %}


{#- The parts of the sequence, by the connector. What a snapshot read lacks is the lowest there is. -#}
{% macro _debezium_sequence(spec) %}
    {% set no_lsn = '00000000:00000000:0000' %}
    {% set parts = {
        'postgresql': [['lsn', '{}', 'number', none]],
        'mysql': [['file', "concat({}, '/', {pos})", 'file_position', none], ['row', "coalesce({}, '0')", 'number', 10]],
        'mariadb': [['file', "concat({}, '/', {pos})", 'file_position', none], ['row', "coalesce({}, '0')", 'number', 10]],
        'sqlserver': [
            ['commit_lsn', '{}', 'text', 22], ['change_lsn', "coalesce({}, '" ~ no_lsn ~ "')", 'text', 22],
            ['event_serial_no', "coalesce({}, '0')", 'number', 10],
        ],
        'db2': [['commit_lsn', '{}', 'text', 22], ['change_lsn', "coalesce({}, '" ~ no_lsn ~ "')", 'text', 22]],
        'oracle': [
            ['commit_scn', 'coalesce({}, {scn})', 'number', none], ['scn', '{}', 'number', none],
            ['rs_id', "concat(rpad(trim(coalesce({}, '')), 24, ' '), lpad(coalesce({ssn}, '0'), 10, '0'))", 'text', 34],
        ],
    }[spec.connector] %}
    {% set sequence, missing = [], [] %}
    {% for name, sql, kind, length in parts %}
        {% set fields = [] %}
        {% for wanted in [name] + modules.re.findall('{([a-z]+)}', sql) %}
            {% set field = change_tables.debezium_field(spec, wanted, of_source=true) %}
            {% do missing.append(wanted) if not field %}
            {% do fields.append('cast(' ~ field ~ ' as string)') %}
        {% endfor %}
        {% set sql = modules.re.sub('{[a-z]+}', '{}', sql).format(*fields) %}
        {% do sequence.append({'sql': sql, 'kind': kind, 'length': length}) %}
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
    {% do found.extend(change_tables.mapped_feed_mistakes(node, given)) %}
    {% if not found and given.get('sequence') is not none and given.get('snapshot_seq', '') %}
        {% set pattern = change_tables.pattern_of_sequence(change_tables.sequence_parts(given.sequence)) %}
        {% do found.extend(change_tables.snapshot_seq_mistakes(given, pattern, "a sequence as `_change_seq` has it (" ~ pattern ~ ")")) %}
    {% endif %}
    {% do return(found) %}
{% endmacro %}


{% macro debezium_arrival(spec) %}
    {% do return(change_tables.arrival_of_position(spec.settings.position, spec.message_column if spec.layout in ['message', 'flattened_message'] else none)) %}
{% endmacro %}


{#- What the models must know of this format: see `format_of`. -#}
{% macro debezium_format() %}
    {% do return({
        'stage': change_tables.stage_debezium,
        'settings': {
            'connector': {
                'default': none, 'type': 'text', 'values': ['postgresql', 'mysql', 'mariadb', 'sqlserver', 'oracle', 'db2'],
                'meaning': "Debezium's connector, which says what orders the events. See [sequences](feeds/debezium.md#sequences)",
            },
            'layout': {
                'default': 'message', 'type': 'text', 'values': ['message', 'columns', 'flattened', 'flattened_message'],
                'meaning': "how events land: `message`, JSON with or without its schema; `columns`, with `before`, `after` and `source` as structs; `flattened`, columns of `ExtractNewRecordState`; `flattened_message`, these as JSON",
            },
            'message_column': {'default': 'value', 'type': 'text', 'meaning': "the raw column that has the JSON"},
            'table': {'default': none, 'type': 'text', 'meaning': "the table in `source`, where other tables' events are in the raw table, too; null: all"},
            'unavailable_values': {
                'default': ['__debezium_unavailable_value', 'X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=='], 'type': 'names',
                'meaning': "what stands for a value that the source did not log: `unavailable.value.placeholder`, as text and in base64",
            },
            'position': {
                'default': none, 'type': 'names',
                'meaning': "raw columns that say where a row is, as `[topic, partition, offset]`: see [arrival](feeds/mapped.md#arrival)",
            },
            'sequence': {'default': none, 'type': 'list', 'meaning': "the parts of the sequence, instead of those of the connector: see [sequences](feeds/mapped.md#sequences)"},
            'column_names': change_tables.column_names_setting(),
            'images': {'default': 'partial', 'type': 'text', 'values': ['full', 'partial']},
        },
        'column_settings': change_tables.written_as_setting(),
        'mistakes': change_tables.debezium_mistakes,
        'arrival': change_tables.debezium_arrival,
        'settings_of_order': ['connector', 'sequence'],
        'may_wait': change_tables.nothing_waits,
    }) %}
{% endmacro %}
