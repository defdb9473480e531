{#-
    Files of AWS DMS are mapped rows (see mapped_steps.sql): a full load, then changes with an operation, a sequence and the row. A row of the
    load has no sequence, and the operation I or none.
-#}

{% macro dms_mapping(spec) %}
    {% do change_tables.landed_columns(
        spec, spec.relation, [spec.operation_column, spec.sequence_column, spec.time_column] | select | list,
        "name the columns that DMS adds, see docs/feeds/dms.md"
    ) %}
    {% set operation = "nullif(cast(" ~ change_tables.quoted(spec.operation_column) ~ " as string), '')" %}
    {% set sequence = "nullif(cast(" ~ change_tables.quoted(spec.sequence_column) ~ " as string), '')" %}
    {% set is_load = sequence ~ ' is null and coalesce(' ~ operation ~ ", 'I') = 'I'" %}
    {% do return({
        'operation': 'if(' ~ is_load ~ ", 'load', " ~ operation ~ ')',
        'operations': {'load': 'snapshot', 'I': 'insert', 'U': 'update', 'D': 'delete'},
        'sequence': change_tables.sequence_parts([{'sql': 'if(' ~ is_load ~ ", '0', " ~ sequence ~ ')', 'kind': 'number', 'length': 35}]),
        'changed_at': change_tables.quoted(spec.time_column) if spec.time_column is not none else none,
        'row_before': (spec.before_prefix ~ '{name}') if spec.before_prefix is not none else none,
    }) %}
{% endmacro %}


{% macro dms_mistakes(node, given) %}
    {% set found = [] %}
    {% if given.get('sequence_column') is none %}
        {% do found.append(
            "`sequence_column` must be given: the times of DMS do not order changes. Let a rule of the task add it: \"rule-action\": \"add-column\","
            ~ " \"value\": \"change_seq\", \"expression\": \"$AR_H_CHANGE_SEQ\", \"data-type\": {\"type\": \"string\", \"length\": 50}"
        ) %}
    {% endif %}
    {% do found.append("`images` must be full: rows of DMS do not say which columns they lack, got partial") if given.get('images') == 'partial' %}
    {% do found.extend(change_tables.snapshot_seq_mistakes(given, '^[0-9]{35}$', "a sequence of 35 digits")) %}
    {% do return(found + change_tables.mapped_feed_mistakes(node, given)) %}
{% endmacro %}


{% macro dms_format() %}
    {% do return(dict(change_tables.mapped_parts(), **{
        'mapping': change_tables.dms_mapping,
        'settings': {
            'sequence_column': {'default': none, 'type': 'text', 'meaning': "the column that a rule of the task adds, with the expression `$AR_H_CHANGE_SEQ`; required"},
            'operation_column': {'default': 'Op', 'type': 'text', 'meaning': "the column that says what happened"},
            'time_column': {'default': none, 'type': 'text', 'meaning': "the column with the time of the commit (`TimestampColumnName` of the target)"},
            'before_prefix': {
                'default': none, 'type': 'text',
                'meaning': "prefix of the columns with the row before, as `BI_` (`add-before-image-columns`); null: there are none",
            },
        },
        'mistakes': change_tables.dms_mistakes,
        'settings_of_order': ['sequence_column'],
        'time_in_sequence': change_tables.time_in_digits,
    })) %}
{% endmacro %}
