{#- The columns that the models add to the source table's own: name -> type. `key` stands for a struct of the key columns. -#}
{% macro contract_column_types() %}
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
        '_is_last': 'boolean',
        '_latest_at': 'timestamp',
        '_mark': 'string',
        '_valid_from': 'timestamp',
        '_valid_to': 'timestamp',
        '_valid_from_seq': 'string',
        '_valid_to_seq': 'string',
        '_is_current': 'boolean',
    }) %}
{% endmacro %}


{#- What readers are told of the columns that the models add, in the words of the README: name -> text. -#}
{% macro contract_column_descriptions() %}
    {% do return({
        '_change_op': 'insert, update, upsert, delete, truncate, snapshot; null where the raw row is no change',
        '_change_seq': 'sorts as text in the order of change; of snapshot rows snapshot_seq',
        '_changed_at': 'when the source says it happened, approximate; never an order',
        '_transaction_id': 'null where the feed has none',
        '_change_id': 'identity of the change within its table: raw rows with one id are one change delivered again',
        '_present_columns': 'columns whose value this change bears; null = all that were declared when it was logged',
        '_changed_columns': 'columns that the mask says were changed; null = it does not say',
        '_key_before': 'the key before this change moved it; else null',
        '_raw_id': "where the raw row stands: topic, partition and offset, the position in a trail, the record id of an event, or the place in OpenEdge's index; of Qlik change tables a hash of the raw row, which rows that are the same share",
        '_raw_row': 'the raw row as a JSON object; null where accepted',
        '_status': "accepted; merged (part of another row's change); ignored (no change of a row); waiting; rejected",
        '_status_reason': 'null where accepted, else code: detail',
        '_report': 'null, or code: detail of an accepted change that needs a look',
        '_is_conflicting': 'this change was delivered with different contents, of which the greater stands',
        '_batch_id': 'the run that brought the change in or last revised it; sorts by the start of the run',
        '_valid_from': 'when the version began, UTC; null = since ever',
        '_valid_to': 'when the version ended, UTC, that instant not included; null = it has not',
        '_valid_from_seq': 'the sequence at which the version began',
        '_valid_to_seq': 'the sequence at which the version ended; null = it has not',
        '_is_current': 'whether this is what the key has now',
    }) %}
{% endmacro %}


{#- Names that no declared column of a format may bear. -#}
{% macro taken_names(format) %}
    {% do return(
        change_tables.contract_column_types().keys() | list
        + change_tables.further_columns({'format': format}) | map(attribute='name') | list
        + change_tables._working_columns()
    ) %}
{% endmacro %}


{#- The columns of its own that a format carries through staging and log: see `format_of`. What is no table of a format (documents) has none. -#}
{% macro further_columns(spec) %}
    {% do return(change_tables.format_of(spec.format).columns if 'format' in spec else []) %}
{% endmacro %}


{#- Names that steps between the models' columns use. -#}
{% macro _working_columns() %}
    {% do return([
        '_after_clash', '_after_first', '_after_index', '_after_is_fragment', '_after_last_field',
        '_after_positions', '_after_second', '_after_state', '_array_index', '_arrival', '_bears_all',
        '_before_1', '_before_2', '_before_3', '_before_4', '_before_5', '_before_6', '_before_7', '_before_8',
        '_before_clash', '_before_first', '_before_index', '_before_is_fragment', '_before_last_field',
        '_before_positions', '_before_second', '_before_state', '_beginning', '_begins', '_body',
        '_borne_names', '_can_start', '_column_misfit', '_column_names', '_column_ordinals', '_content_hash',
        '_contents_differ', '_copies', '_copy', '_counts', '_covered', '_decoding_error', '_deletes_before',
        '_departs', '_differs', '_ends', '_entered_by', '_enters', '_envelope', '_error', '_event_counter',
        '_event_time', '_extent_misfit', '_fault', '_fault_in_change', '_field_map', '_first_position',
        '_first_tenancy', '_floor', '_floors', '_forbidden', '_fragment', '_has_before', '_has_key', '_has_landed_update',
        '_has_lived', '_has_update', '_header_fault', '_headers', '_highest_before_key', '_highest_rank', '_highest_update_key',
        '_holds_back', '_io_time', '_io_type', '_is_accepted', '_is_ahead', '_is_before', '_is_covered',
        '_is_ended', '_is_first', '_is_fragment', '_is_half', '_is_key_update', '_is_known', '_is_moved',
        '_is_open', '_is_own', '_is_paired', '_is_part', '_is_tracked', '_is_untold', '_is_wanted',
        '_is_withdrawn', '_key_1', '_key_2', '_key_3', '_key_4', '_key_5', '_key_6', '_key_7', '_key_8',
        '_key_before_misfit', '_key_fault', '_key_misfit', '_kind', '_known_key_before', '_known_report',
        '_lacks_schema', '_landed_code', '_landed_column_mask', '_landed_events', '_landed_ids', '_landed_mask',
        '_landed_row', '_landed_rows', '_landed_time', '_last_arrival', '_last_counter', '_last_event',
        '_last_of_span', '_lineage', '_lives', '_logged_column', '_logged_status', '_lowest_before_key',
        '_lowest_seq', '_lowest_update_key',
        '_mask_ordinals', '_masked_names', '_message', '_misfits', '_missing_key', '_named_columns',
        '_named_keys', '_names_collide', '_next_beginning', '_next_seq', '_offset', '_operation_code', '_operations',
        '_other_status', '_overrules', '_own_fault', '_parsed_key', '_parts_differ', '_perpetrator', '_place',
        '_position', '_rank', '_read', '_read_at', '_record', '_record_id', '_record_position', '_rejection',
        '_reports', '_row', '_row_before', '_run_error', '_running_at', '_schema', '_schema_id', '_sequence',
        '_set_aside', '_span_next_seq', '_span_seq', '_table_number', '_tenancy', '_tenancy_before', '_text',
        '_timestamp_misfit', '_told', '_told_array_index', '_told_fragment', '_told_key_before',
        '_told_operation', '_told_position', '_told_schema', '_told_sequence', '_told_table',
        '_told_table_number', '_told_time', '_told_transaction_id', '_tracked_numbers', '_tracked_operations',
        '_tracked_sequence', '_tracking', '_trans_ind', '_transaction', '_values', '_waiting_since',
        '_waits_for', '_wanted_sequence', '_withdraws'
    ]) %}
{% endmacro %}


{#- The types of columns of the models and of the tables behind them: name -> type. -#}
{% macro columns_of_table(spec, names) %}
    {% set types = change_tables.contract_column_types() %}
    {% do types.update({'_key_before': change_tables.key_type(spec)}) %}
    {% for column in change_tables.further_columns(spec) + spec.columns %}
        {% do types.update({column.name: column.data_type}) %}
    {% endfor %}
    {% set columns = {} %}
    {% for name in names %}
        {% do columns.update({name: types[name]}) %}
    {% endfor %}
    {% do return(columns) %}
{% endmacro %}


{#- The declared column of that name. -#}
{% macro column_of(spec, name) %}
    {% do return(spec.columns | selectattr('name', 'equalto', name) | first) %}
{% endmacro %}
