{#-
    The rows of the tracking table that are of an entry's table, as a step of that name.

    condition   SQL over the raw table that the rows must meet as well, or none
    semi_join   a step with the sequences that are wanted, or none
-#}
{% macro openedge_tracking_step(spec, name, tracking, arrival=none, condition=none, semi_join=none) -%}
{%- set header = tracking.headers -%}
{%- set is_of_table -%}
    {{ change_tables.openedge_number(header.source_table_number) }} = {{ spec.source_table_number | int }}
{%- endset -%}
{{ name }} as (

    select
        {{ change_tables.openedge_number(header.change_sequence) }} as _ct_sequence,
        {{ change_tables.openedge_text(header.change_sequence) }} as _ct_landed_sequence,
        {{ change_tables.openedge_number(header.operation) }} as _ct_operation_code,
        {{ change_tables.openedge_text(header.operation) }} as _ct_landed_operation,
        {{ change_tables.openedge_time(header.time_stamp) }} as _ct_time,
        {{ change_tables.openedge_quoted(header.time_stamp.name) if header.time_stamp else 'cast(null as timestamp)' }} as _ct_landed_time,
        {{ change_tables.openedge_text(header.tran_id) }} as _transaction_id,
        {{ change_tables.openedge_field_map(header.field_map) }} as _ct_field_map,
        {{ change_tables.openedge_quoted(header.partition_id.name) if header.partition_id else 'cast(null as bigint)' }} as _partition_id,
        {{ change_tables.openedge_quoted(header.recid.name) if header.recid else 'cast(null as bigint)' }} as _recid,
        {%- if arrival %}
        {{ change_tables.arrival_of_row(arrival) }} as _ct_arrival,
        {%- endif %}
        struct(*) as _ct_landed_row
    from {{ change_tables.openedge_tracking_relation(spec) }}
    {%- if semi_join %}
    left semi join {{ semi_join }}
        on {{ change_tables.openedge_number(header.change_sequence) }} = {{ semi_join }}._ct_wanted_sequence
    {%- endif %}
    where
        {{ is_of_table }}
        {%- if condition %}
        and {{ condition }}
        {%- endif %}

)
{%- endmacro %}


{#- The names in a field map, without the blanks around them; null where it is not known. -#}
{% macro openedge_field_map(column) -%}
    {%- if not column or column.data_type == 'binary' -%}
        cast(null as array<string>)
    {%- else -%}
        filter(transform(split({{ change_tables.openedge_quoted(column.name) }}, ';'), name -> trim(name)), name -> name <> '')
    {%- endif -%}
{%- endmacro %}


{#- The types of `_partition_id` and `_recid` as they land, as `typed_columns` takes them. -#}
{% macro openedge_recid_types(tracking) %}
    {% set types = {} %}
    {% for name in ['partition_id', 'recid'] %}
        {% set column = tracking.headers[name] %}
        {% do types.update({'_' ~ name: {'name': '_' ~ name, 'data_type': column.data_type if column else 'bigint'}}) %}
    {% endfor %}
    {% do return(types) %}
{% endmacro %}


{#- The `_raw_id` of a tracking row. -#}
{% macro openedge_tracking_id(table_number) -%}
    concat_ws('/', 'tracking', {{ table_number }}, coalesce({{ change_tables.openedge_change_seq('_ct_sequence') }}, _ct_landed_sequence, 'null'), coalesce(_ct_landed_operation, 'null'))
{%- endmacro %}


{#- The name of a schema or partition event. -#}
{% macro openedge_event(operation) -%}
    element_at(map(5, 'field_deleted', 6, 'partition_dropped', 7, 'partition_truncated', 8, 'partition_deallocated', 9, 'tenant_partition_deallocated', 10, 'tenant_partition_dropped', 11, 'merged_partition_dropped', 12, 'field_added'), cast({{ operation }} as int))
{%- endmacro %}
