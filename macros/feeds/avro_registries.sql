{#-
    Messages in Avro whose schemas a registry has: each begins with a zero byte and the id of its schema in four bytes. The schemas are in a
    raw table, by `id` and `schema`.
-#}

{% macro has_registry_prefix(value) -%}
startswith({{ value }}, X'00') and length({{ value }}) > 5
{%- endmacro %}


{% macro id_in_prefix(value) -%}
conv(hex(substring({{ value }}, 2, 4)), 16, 10)
{%- endmacro %}


{#- The raw table with the schemas of an entry's registry; none where it has no registry. -#}
{% macro registry_of(spec) %}
    {% set registry = change_tables.relation_of_setting(spec, 'registry') %}
    {% do change_tables.landed_columns(spec, registry, ['id', 'schema'], "a registry's schemas land with their ids") if registry is not none %}
    {% do return(registry) %}
{% endmacro %}


{% macro registry_mistakes(node, given, layout, layouts) %}
    {% set found = change_tables.other_entry_mistakes(node, given, 'registry') %}
    {% if given.get('registry') is not none and layout not in layouts %}
        {% do found.append("`registry` has the schemas of messages: it needs `layout` " ~ layouts | join(' or ') ~ ", got " ~ change_tables.shown_value(layout)) %}
    {% elif given.get('registry') is not none and given.get('position') is none %}
        {% do found.append("`registry` needs `position`, by which later runs go back to messages whose schema lands after them") %}
    {% endif %}
    {% do return(found) %}
{% endmacro %}


{#-
    `read_again` of such formats: a message waits until its schema has landed. Runs that read by positions go back to it after `waiting_days`,
    with another arrival it blocks.
-#}
{% macro rows_until_their_schema(spec) %}
    {% set waits = spec.registry is not none %}
    {% do return({
        'for_good': 'false',
        'passed': ['schema_missing'] if waits and spec.arrival == 'auto' else [],
        'returning': change_tables._first_rows_with_a_schema if waits else none,
    }) %}
{% endmacro %}


{% macro _first_rows_with_a_schema(spec, quarantine) -%}
{{- change_tables.first_rows_with_a_schema(
    quarantine, spec.settings.position,
    'select cast(try_cast(id as bigint) as string) as _ct_schema_id from ' ~ change_tables.registry_of(spec) ~ ' where `schema` is not null'
) -}}
{%- endmacro %}


{#-
    The first row of each group that waits for a schema which has landed by now: see `returning` of `read_again`. Its position is taken from
    its raw row, since names of groups can have a colon in them.

    position   the columns of the group, then the number
    schemas    a query for the ids of the schemas that have landed, `_ct_schema_id`, as reasons have them
-#}
{% macro first_rows_with_a_schema(quarantine, position, schemas) -%}
with waiting_rows as (

    select
        transform_keys(from_json(_raw_row, 'map<string, string>'), (name, value) -> lower(name)) as _ct_row,
        regexp_extract(_status_reason, 'schema id \'(.*)\'$', 1) as _ct_schema_id
    from {{ quarantine }}
    where {{ change_tables.is_open('waiting') }}

)

select
    {%- for name in position[:-1] %}
    _ct_row[{{ change_tables.text_literal(name | lower) }}] as {{ change_tables.quoted(name) }},
    {%- endfor %}
    cast(min(cast(_ct_row[{{ change_tables.text_literal(position[-1] | lower) }}] as bigint)) as string) as {{ change_tables.quoted(position[-1]) }}
from waiting_rows
left semi join ({{ schemas }}) as landed_schemas
    on waiting_rows._ct_schema_id = landed_schemas._ct_schema_id
{{ 'group by ' ~ range(1, position | length) | join(', ') if position | length > 1 else 'having count(*) > 0' }}
{%- endmacro %}


{#-
    The steps from `landed` to `decoded`, which has each message as a JSON text, else what is wrong with it, which is none; and whether it
    is among those that have waited until this run.

    waiting   the table of quarantined rows, where some wait; else none
-#}
{% macro registry_steps(registry, column, waiting=none) -%}
{%- set value = change_tables.quoted(column) -%}
registered as (

    select
        try_cast(id as bigint) as _ct_schema_id,
        max(`schema`) as _ct_schema
    from {{ registry }}
    where `schema` is not null
    group by 1

),

with_schemas as (

    select /*+ broadcast(registered) */
        landed.*,
        {{ change_tables.has_registry_prefix(value) }} as _ct_has_prefix,
        {{ change_tables.id_in_prefix(value) }} as _ct_id_in_prefix,
        {{ 'waiting_rows._raw_id is not null' if waiting else 'false' }} as _ct_has_waited,
        _ct_schema
    from landed
    left join registered
        on {{ change_tables.has_registry_prefix(value) }} and try_cast({{ change_tables.id_in_prefix(value) }} as bigint) = registered._ct_schema_id
    {%- if waiting %}
    left join (select distinct _raw_id from {{ waiting }} where {{ change_tables.is_open('waiting') }}) as waiting_rows
        on landed._ct_raw_id = waiting_rows._raw_id
    {%- endif %}

),

read_records as (

    select
        *,
        avro_to_json(substring({{ value }}, 6), _ct_schema) as _ct_record
    from with_schemas

),

decoded as (

    select
        * except (_ct_record),
        case
            when {{ value }} is not null
                then coalesce(_ct_record['json'], _ct_record['error'], 'the value does not begin with a zero byte and the id of a schema')
        end as _ct_text
    from read_records

)
{%- endmacro %}
