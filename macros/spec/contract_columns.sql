{#- The columns that the models add to the source table's own: name -> type. `key` means a struct of the key columns. -#}
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


{#- The descriptions of the columns that the models add, for comments in Spark and for docs/columns.md: name -> text. -#}
{% macro contract_column_descriptions() %}
    {% do return({
        '_change_op': 'insert, update, upsert, delete, truncate, snapshot; null where the raw row is no change',
        '_change_seq': 'sorts as text in the order of change; of snapshot rows snapshot_seq',
        '_changed_at': 'when the source says it happened, approximate; never an order',
        '_transaction_id': 'null where the feed has none',
        '_change_id': 'identity of the change within its table: raw rows with one id are one change delivered again',
        '_present_columns': 'columns whose value this change has; null = all that were declared when it was logged',
        '_changed_columns': 'columns that the mask says were changed; null = it does not say',
        '_key_before': 'the key before this change moved it; else null',
        '_raw_id': "where the raw row is: topic, partition and offset, the position in a trail, the record id of an event, or the place in OpenEdge's index; of Qlik change tables a hash of the raw row, so that equal rows have the same",
        '_raw_row': 'the raw row as a JSON object; null where accepted',
        '_status': "accepted; merged (part of another row's change); ignored (no change of a row); waiting; rejected",
        '_status_reason': 'null where accepted, else code: detail',
        '_report': 'null, or code: detail of an accepted change that needs a look',
        '_is_conflicting': 'this change was delivered with different contents, of which the greater counts',
        '_batch_id': 'the run that took the change in or last revised it; sorts by the start of the run',
        '_valid_from': 'when the version began, UTC; null = since ever',
        '_valid_to': 'when the version ended, UTC, that instant not included; null = it has not',
        '_valid_from_seq': 'the sequence at which the version began',
        '_valid_to_seq': 'the sequence at which the version ended; null = it has not',
        '_is_current': 'whether this is what the key has now',
    }) %}
{% endmacro %}


{#- Names of columns that the models of a format add, in lower case: no declared column can have one. -#}
{% macro taken_names(format) %}
    {% do return(
        change_tables.contract_column_types().keys() | list
        + change_tables.further_columns({'format': format}) | map(attribute='name') | list
    ) %}
{% endmacro %}


{#- The prefix of all other columns in the steps from raw rows to models. No declared column may have it. -#}
{% macro working_prefix() %}
    {% do return('_ct_') %}
{% endmacro %}


{#- The columns of its own that a format carries through staging and log: see `format_of`. Published documents have no format, and none. -#}
{% macro further_columns(spec) %}
    {% if 'columns_of_format' in spec %}
        {% do return(spec.columns_of_format) %}
    {% endif %}
    {% do return(change_tables.format_of(spec.format).columns if 'format' in spec else []) %}
{% endmacro %}


{#- The types of columns of the models and of their tables: name -> type. -#}
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
