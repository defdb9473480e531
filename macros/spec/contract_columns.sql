{#- The columns that the models add to the source table's own: name -> type. `key` stands for a struct of the key columns. -#}
{% macro _contract_column_types() %}
    {% do return({
        '_change_op': 'string',
        '_change_seq': 'string',
        '_changed_at': 'timestamp',
        '_transaction_id': 'string',
        '_change_id': 'string',
        '_present_columns': 'array<string>',
        '_changed_columns': 'array<string>',
        '_key_before': 'key',
        '_raw_id': 'string',
        '_report': 'string',
        '_raw_row': 'string',
        '_status': 'string',
        '_status_reason': 'string',
        '_batch_id': 'string',
        '_is_conflicting': 'boolean',
        '_row_hash': 'bigint',
        '_form': 'int',
        '_precedence': 'int',
        '_is_deleted': 'boolean',
        '_is_replayed': 'boolean',
        '_latest_at': 'timestamp',
        '_mark': 'string',
        '_valid_from': 'timestamp',
        '_valid_to': 'timestamp',
        '_valid_from_seq': 'string',
        '_valid_to_seq': 'string',
        '_is_current': 'boolean',
    }) %}
{% endmacro %}


{% macro _contract_columns() %}
    {% do return(change_tables._contract_column_types().keys() | list + change_tables._working_columns()) %}
{% endmacro %}


{#- Names that steps between the models' columns use. -#}
{% macro _working_columns() %}
    {% do return([
        '_arrival', '_bears_all', '_beginning', '_begins', '_can_start', '_column_misfit', '_content_hash',
        '_contents_differ', '_copies', '_covered', '_departs', '_ends', '_enters', '_first_tenancy', '_floor',
        '_floors', '_has_landed_update', '_has_lived', '_has_update', '_highest_before_key', '_highest_rank', '_is_covered',
        '_is_ended', '_is_known', '_is_moved', '_is_withdrawn', '_key_misfit', '_known_key_before', '_known_report',
        '_landed_code', '_landed_mask', '_landed_row', '_lineage', '_lives', '_lowest_before_key', '_mask_ordinals',
        '_next_seq', '_operation_code', '_overrules', '_place', '_rank', '_rejection', '_reports', '_running_at',
        '_span_next_seq', '_span_seq', '_tenancy', '_tenancy_before', '_timestamp_misfit', '_told'
    ]) %}
{% endmacro %}


{#- The Spark type of the struct that holds a key. -#}
{% macro key_type(spec) -%}
    struct<
    {%- for name in spec.key -%}
        {{- change_tables.quoted(name) }}: {{ change_tables.column_of(spec, name).data_type }}{{- ', ' if not loop.last -}}
    {%- endfor -%}
    >
{%- endmacro %}


{#- The declared column of that name. -#}
{% macro column_of(spec, name) %}
    {% do return(spec.columns | selectattr('name', 'equalto', name) | first) %}
{% endmacro %}
