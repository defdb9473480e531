{#- The columns of a log, as its view shows them. -#}
{% macro log_view_columns(spec) %}
    {% do return([
        '_change_op', '_change_seq', '_changed_at', '_transaction_id', '_change_id', '_present_columns',
        '_changed_columns', '_key_before', '_raw_id', '_batch_id', '_report', '_is_conflicting'
    ] + spec.columns_of_format | map(attribute='name') | list) %}
{% endmacro %}


{#- The columns of a log after `_checkpoint`: those that a change keeps, then those that its content brings. -#}
{% macro log_columns(spec) %}
    {% do return(
        [
            '_change_seq', '_change_id', '_batch_id', '_key_before', '_report', '_is_conflicting', '_change_op', '_changed_at', '_transaction_id',
            '_present_columns', '_changed_columns', '_raw_id', '_row_hash', '_schema_version'
        ]
        + spec.columns_of_format | map(attribute='name') | list + spec.column_names
    ) %}
{% endmacro %}


{% macro delivered_headers(spec) %}
    {% set types = change_tables.contract_column_types() %}
    {% set columns = [] %}
    {% for name in ['_change_op', '_present_columns', '_changed_columns', '_changed_at', '_transaction_id', '_raw_id'] %}
        {% do columns.append({'name': name, 'data_type': types[name], 'holds_no_nulls': true}) %}
    {% endfor %}
    {% do return(columns + spec.columns_of_format) %}
{% endmacro %}


{#- All by which one delivery of a change can differ from another, but for the key before. -#}
{% macro delivery_columns(spec) %}
    {% do return(spec.columns + change_tables.delivered_headers(spec)) %}
{% endmacro %}


{#-
    Whether what lands later can show that a change which was accepted cannot be used, so that the log must give it up: for the
    format to say. Its staging then gives rejected or ignored rows the `_change_id` that they would have.
-#}
{% macro retracts_changes(spec) %}
    {% do return(change_tables.part_of_format(spec, 'retracts_changes')) %}
{% endmacro %}
