{#-
    The columns that the models add to the source table's own: name -> the type, and for those that readers see the description, for
    comments in Spark and for docs/columns.md. The type `key` means a struct of the key columns.
-#}
{% macro _contract_columns() %}
    {% do return({
        '_change_op': ['string', 'insert, update, upsert, delete, truncate, snapshot; null where the raw row is no change'],
        '_change_seq': ['string', 'sorts as text in the order of change; of snapshot rows snapshot_seq'],
        '_changed_at': ['timestamp', 'when the source says it happened, approximate; never an order'],
        '_transaction_id': ['string', 'null where the feed has none'],
        '_change_id': ['string', 'identity of the change within its table: raw rows with one id are one change delivered again'],
        '_present_columns': ['array<string>', 'columns whose value this change has; null = all that were declared when it was logged'],
        '_changed_columns': ['array<string>', 'columns that the mask says were changed; null = it does not say'],
        '_key_before': ['key', 'the key before this change moved it; else null'],
        '_raw_id': ['string', "where the raw row is: topic, partition and offset, the position in a trail, the record id of an event, or the place in OpenEdge's index; of Qlik change tables a hash of the raw row, so that equal rows have the same"],
        '_raw_row': ['string', 'the raw row as a JSON object; null where accepted'],
        '_status': ['string', "accepted; merged (part of another row's change); ignored (no change of a row); waiting; rejected"],
        '_status_reason': ['string', 'null where accepted, else code: detail'],
        '_report': ['string', 'null, or code: detail of an accepted change that needs a look'],
        '_is_conflicting': ['boolean', 'this change was delivered with different contents, of which the greater counts'],
        '_batch_id': ['string', 'the run that took the change in or last revised it; sorts by the start of the run'],
        '_row_hash': ['bigint'],
        '_schema_version': ['int'],
        '_precedence': ['int'],
        '_is_deleted': ['boolean', 'with `deletes: keep`: whether the key has ended; its row is as it was last'],
        '_has_row': ['boolean'],
        '_is_last': ['boolean'],
        '_latest_at': ['timestamp'],
        '_checkpoint': ['string'],
        '_valid_from': ['timestamp', 'when the version began, UTC; null = since ever'],
        '_valid_to': ['timestamp', 'when the version ended, UTC, that instant not included; null = it has not'],
        '_valid_from_seq': ['string', 'the sequence at which the version began'],
        '_valid_to_seq': ['string', 'the sequence at which the version ended; null = it has not'],
        '_is_current': ['boolean', 'whether this is what the key has now'],
    }) %}
{% endmacro %}


{% macro contract_column_types() %}
    {% set columns = change_tables._contract_columns() %}
    {% do return(dict(zip(columns, columns.values() | map(attribute=0)))) %}
{% endmacro %}


{% macro contract_column_descriptions() %}
    {% set described = change_tables._contract_columns().items() | selectattr('1.1', 'defined') | list %}
    {% do return(dict(zip(described | map(attribute=0), described | map(attribute='1.1')))) %}
{% endmacro %}


{#- Names of columns that the models of a format add, in lower case: no declared column can have one. -#}
{% macro taken_names(format) %}
    {% do return(
        change_tables.contract_column_types().keys() | list
        + change_tables.format_of(format).columns | map(attribute='name') | list
    ) %}
{% endmacro %}


{#- The prefix of all other columns in the steps from raw rows to models. No declared column may have it. -#}
{% macro working_prefix() %}
    {% do return('_ct_') %}
{% endmacro %}


{% macro columns_of_table(spec, names) %}
    {% set types = change_tables.contract_column_types() %}
    {% do types.update({'_key_before': change_tables.key_type(spec)}) %}
    {% set own = spec.columns_of_format + spec.columns %}
    {% do types.update(zip(own | map(attribute='name'), own | map(attribute='data_type'))) %}
    {% set columns = {} %}
    {% for name in names %}
        {% do columns.update({name: types[name]}) %}
    {% endfor %}
    {% do return(columns) %}
{% endmacro %}


{% macro column_of(spec, name) %}
    {% do return(spec.columns | selectattr('name', 'equalto', name) | first) %}
{% endmacro %}


{% macro key_type(spec) -%}
    struct<
    {%- for name in spec.key -%}
        {{- change_tables.quoted(name) }}: {{ change_tables.column_of(spec, name).data_type }}{{- ', ' if not loop.last -}}
    {%- endfor -%}
    >
{%- endmacro %}


{#- A column under the first name that it had, in texts that must stay the same when it is renamed. `value`: SQL for it. -#}
{% macro under_first_name(spec, name, value) -%}
    {%- set first = change_tables.quoted(change_tables.landing_names(spec, name) | last) -%}
    {{- value }}{{ ' as ' ~ first if value != first }}
{%- endmacro %}


{#- The key of a row as one text, the same for the same key only. `of`: the alias of the row. -#}
{% macro key_text(spec, of=none) -%}
    {{- change_tables.text_of_key(spec, change_tables.each(spec.key, (of ~ '.' if of else '') ~ '{name}')) -}}
{%- endmacro %}


{#- The same of the key before. Where there is none, it is that of no key. -#}
{% macro key_before_text(spec, of=none) -%}
    {{- change_tables.text_of_key(spec, change_tables.each(spec.key, (of ~ '.' if of else '') ~ '_key_before[{text}]')) -}}
{%- endmacro %}


{#- The same of SQL for its columns, in their order. A key of several columns has the first names of these. -#}
{% macro text_of_key(spec, values) -%}
    {%- set named, kinds = [], [] -%}
    {%- for name in spec.key -%}
        {%- do kinds.append(change_tables.type_tree(change_tables.column_of(spec, name).data_type).kind) -%}
        {#- the text of -0.0 is another than that of 0.0, which is the same key -#}
        {%- set value = values[loop.index0] ~ (' + cast(0 as ' ~ kinds[-1] ~ ')' if kinds[-1] in ['float', 'double']) -%}
        {%- do named.append(change_tables.under_first_name(spec, name, value) if spec.key | length > 1 else value) -%}
    {%- endfor -%}
    {%- if spec.key | length > 1 -%}
        to_json(struct({{ named | join(', ') }}), {{ change_tables.json_options() }})
    {%- elif kinds == ['binary'] -%}
        hex({{ named[0] }})
    {%- else -%}
        cast({{ named[0] }} as string)
    {%- endif -%}
{%- endmacro %}


{% macro key_is_null(spec) -%}
    {{- change_tables.each(spec.key, '{name} is null') | join(' and ') -}}
{%- endmacro %}


{#- Why a row is rejected whose key is null: see `key_is_null`. -#}
{% macro key_missing(spec) -%}
    {{- change_tables.text_literal('key_missing: every key column is null: ' ~ spec.key | join(', ')) -}}
{%- endmacro %}
