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
