{#- The tracking table of OpenEdge CDC: its rows as the changes of a table, and what happened to whole fields and partitions. -#}

{#-
    The rows of the tracking table that are of an entry's table, as the step `tracking_rows`.

    condition   SQL over the raw table that the rows must meet as well, or none
    semi_join   a step with the sequences that are wanted, or none
-#}
{% macro openedge_tracking_step(spec, tracking, arrival=none, condition=none, semi_join=none) -%}
{%- set header = tracking.headers -%}
{%- set of_table = change_tables.openedge_number(header.source_table_number) ~ ' = ' ~ spec.source_table_number | int -%}
{%- set columns = {'change_sequence': ['_ct_sequence', '_ct_landed_sequence'], 'operation': ['_ct_operation_code', '_ct_landed_operation']} -%}
{%- set relation = change_tables.openedge_tracking_relation(spec) -%}
{%- call change_tables.openedge_landed_step('tracking_rows', relation, header, columns, arrival, [of_table, condition], semi_join) %}
        {{ change_tables.openedge_time(header.time_stamp) }} as _ct_time,
        {{ change_tables.openedge_landed(header.time_stamp, 'timestamp') }} as _ct_landed_time,
        {{ change_tables.openedge_text(header.tran_id) }} as _transaction_id,
        {{ change_tables.openedge_field_map(header.field_map) }} as _ct_field_map,
        {{ change_tables.openedge_landed(header.partition_id, 'bigint') }} as _partition_id,
        {{ change_tables.openedge_landed(header.recid, 'bigint') }} as _recid,
{%- endcall -%}
{%- endmacro %}


{#- The names in a field map, without the blanks around them; null where it is not known. -#}
{% macro openedge_field_map(column) -%}
    {%- do return('cast(null as array<string>)') if not column or column.data_type == 'binary' -%}
    filter(transform(split({{ change_tables.openedge_quoted(column.name) }}, ';'), name -> trim(name)), name -> name <> '')
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


{% macro openedge_tracking_id(table_number) -%}
    concat_ws('/', 'tracking', {{ table_number }}, coalesce({{ change_tables.openedge_change_seq('_ct_sequence') }}, _ct_landed_sequence, 'null'), coalesce(_ct_landed_operation, 'null'))
{%- endmacro %}


{% macro openedge_event(operation) -%}
    element_at(map(5, 'field_deleted', 6, 'partition_dropped', 7, 'partition_truncated', 8, 'partition_deallocated', 9, 'tenant_partition_deallocated', 10, 'tenant_partition_dropped', 11, 'merged_partition_dropped', 12, 'field_added'), cast({{ operation }} as int))
{%- endmacro %}


{#-
    What happened to whole fields and partitions of tables, by the tracking table: one row an event.

    source_name, table_names   the entries whose events are wanted

    Events of partitions remove rows without a change. `is_covered` says that a load has been taken since: then the models do not
    have these rows any more.
-#}
{% macro openedge_events(source_name, table_names) %}
    {{- config(materialized='change_view') -}}
    {%- for table_name in table_names -%}
        {%- do source(source_name, table_name) -%}
    {%- endfor -%}
    {%- do return('select 1 as placeholder') if not execute -%}
    {%- set specs = change_tables.table_specs(source_name, table_names) -%}
    {%- do change_tables.refuse_unlike_entries('openedge_events must be given ', specs, "entries of format 'openedge_cdc'", 'openedge_cdc', []) -%}
    {%- set tracking_tables = {} -%}
    {%- for spec in specs -%}
        {%- set relation = change_tables.openedge_tracking_relation(spec) | string -%}
        {%- do tracking_tables.setdefault(relation, []).append(spec) -%}
    {%- endfor -%}
    {%- set rows -%}
with entries as (

    {% for spec in specs -%}
    select
        {{ change_tables.text_literal(change_tables.openedge_tracking_relation(spec) | string) }} as tracking_table,
        {{ spec.source_table_number | int }} as table_number,
        {{ change_tables.text_literal(spec.source_name) }} as source_name,
        {{ change_tables.text_literal(spec.table_name) }} as table_name,
        {{ change_tables.text_literal(spec.snapshot_seq if spec.snapshot else '') }} as snapshot_seq
    {%- if not loop.last %}
    union all
    {% endif -%}
    {%- endfor %}

),

{% for relation, of_table in tracking_tables.items() -%}
{{ change_tables._openedge_event_rows(of_table[0], relation, 'events_' ~ loop.index) }},

{% endfor -%}
events as (

    {% for relation in tracking_tables -%}
    select *
    from events_{{ loop.index }}
    {%- if not loop.last %}
    union all
    {% endif -%}
    {%- endfor %}

)

-- an event that has landed more than once is one
select distinct
    entries.source_name,
    entries.table_name,
    events.source_table_number,
    events.partition_id,
    if(events.operation in (5, 12), 'schema', 'partition') as kind,
    {{ change_tables.openedge_event('events.operation') }} as event,
    events.operation,
    events.field_map,
    coalesce(events._change_seq <= entries.snapshot_seq, false) as is_covered,
    events._change_seq,
    events._changed_at,
    events._transaction_id,
    events.policy_id,
    events.tenant_id,
    events.user_name,
    events.user_misc,
    events._raw_id
from events
inner join entries
    on events.tracking_table = entries.tracking_table and events.source_table_number = entries.table_number
    {%- endset -%}
{{ change_tables.rows_over_raw(rows, {
    'source_name': 'string', 'table_name': 'string', 'source_table_number': 'bigint', 'partition_id': 'string',
    'kind': 'string', 'event': 'string', 'operation': 'bigint', 'field_map': 'array<string>', 'is_covered': 'boolean',
    '_change_seq': 'string', '_changed_at': 'timestamp', '_transaction_id': 'string', 'policy_id': 'string',
    'tenant_id': 'string', 'user_name': 'string', 'user_misc': 'string', '_raw_id': 'string'
}) }}
{%- endmacro %}


{% macro _openedge_event_rows(spec, relation, name) -%}
{%- set header = change_tables.openedge_tracking_columns(spec).headers -%}
{%- set sequence = change_tables.openedge_number(header.change_sequence) -%}
{{ name }} as (

    select
        {{ change_tables.text_literal(relation) }} as tracking_table,
        {{ change_tables.openedge_number(header.source_table_number) }} as source_table_number,
        {{ change_tables.openedge_text(header.partition_id) }} as partition_id,
        {{ change_tables.openedge_number(header.operation) }} as operation,
        {{ change_tables.openedge_field_map(header.field_map) }} as field_map,
        {{ change_tables.openedge_change_seq(sequence) }} as _change_seq,
        {{ change_tables.openedge_time(header.time_stamp) }} as _changed_at,
        {{ change_tables.openedge_text(header.tran_id) }} as _transaction_id,
        {{ change_tables.openedge_text(header.policy_id) }} as policy_id,
        {{ change_tables.openedge_text(header.tenant_id) }} as tenant_id,
        {{ change_tables.openedge_text(header.user_name) }} as user_name,
        {{ change_tables.openedge_text(header.user_misc) }} as user_misc,
        concat_ws('/', 'tracking', {{ change_tables.openedge_text(header.source_table_number) }}, coalesce({{ change_tables.openedge_change_seq(sequence) }}, {{ change_tables.openedge_text(header.change_sequence) }}, 'null'), {{ change_tables.openedge_text(header.operation) }}) as _raw_id
    from {{ relation }}
    where {{ change_tables.openedge_number(header.operation) }} between 5 and 12

)
{%- endmacro %}
