{#-
    A format of this project's own: an audit table, which a trigger writes. Each row has a number that rises as rows land, `I`,
    `U` or `D`, and the whole row. What it says of a row is a mapping, as an entry of `format: mapped` has it.
-#}
{% macro audit_rows_format() %}
    {% do return(dict(change_tables.mapped_parts(), **{
        'mapping': consumer_project.audit_rows_mapping,
        'settings': {'numbered_by': {'default': 'audit_id', 'type': 'text'}},
        'mistakes': consumer_project.audit_rows_mistakes,
    })) %}
{% endmacro %}


{% macro default__further_formats() %}
    {% do return({'audit_rows': consumer_project.audit_rows_format}) %}
{% endmacro %}


{% macro audit_rows_mistakes(node, given) %}
    {% do return(
        change_tables.mapped_feed_mistakes(node, given)
        + change_tables.snapshot_seq_mistakes(given, '^[0-9]{19}$', 'a number of 19 digits')
    ) %}
{% endmacro %}


{% macro audit_rows_mapping(spec) %}
    {% do return({
        'operation': 'action',
        'operations': {'I': 'insert', 'U': 'update', 'D': 'delete'},
        'sequence': change_tables.sequence_parts([{'sql': change_tables.quoted(spec.numbered_by), 'length': 19}]),
    }) %}
{% endmacro %}
