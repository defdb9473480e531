{#-
    What the Publisher channel of Identity Manager's JDBC driver publishes of an event log: one row an XDS document, or
    (document null) a change that yields none, with its reason. A run publishes what the logs have taken in since the runs before,
    and leaves what they published as it is. The order of publishing is `_batch_id, _position`.

    dedups   the relations of the deduplicated models of the tables that share the event log
-#}
{% macro xds_documents(dedups) %}
    {{- config(materialized='change_documents') -}}
    {%- do return('select 1 as placeholder') if not execute -%}
    {%- do return(change_tables.empty_run(change_tables.document_columns())) if change_tables.is_empty_run() -%}
    {%- set specs = change_tables.table_specs_of_references(dedups) -%}
    {#- the entries must be different tables of one event log, which are published in one order -#}
    {%- do change_tables.refuse_unlike_entries(
        'xds_documents must be given ', specs, 'the deduplicated models of an event log', 'idm_event_log', ['relation', 'future_events']
    ) -%}
    {%- set names = specs | map(attribute='settings') | map(attribute='table_name') | list -%}
    {%- if names | unique(case_sensitive=true) | list | length < names | length -%}
        {%- do change_tables.refuse_model('xds_documents must be given entries with each another `table_name`, got ' ~ names | join(', ')) -%}
    {%- endif -%}
    {%- set state = change_tables.state_relation(this) -%}
    {%- set run = change_tables._publishing_run(specs, dedups) -%}
    {%- do change_tables.hand_over(run) -%}
with {{ change_tables._published_event_steps(specs, dedups, state, run) }},

{{ change_tables._judged_event_steps(specs[0]) }},

{{ change_tables._element_steps() }},

documents as (

    select
        *,
        build_xds_document(
            if(_ct_is_published, _event_type, null),
            class_name,
            association,
            _ct_attributes['name'],
            _ct_attributes['value_type'],
            _ct_attributes['old_value'],
            _ct_attributes['new_value']
        ) as _ct_built
    from associated

)

select
    cast(null as string) as _checkpoint,
    record_ids,
    class_name,
    association,
    _ct_built['document'] as document,
    case
        when _ct_superseded is not null
            then concat('suppressed: ', _ct_superseded)
        when not _ct_is_published
            then concat('no_attribute: no value to remove or to add', coalesce(concat(': ', nullif(array_join(_ct_attributes['name'], ', '), '')), ''))
        when _ct_built['error'] is not null
            then concat('document_unwritable: ', _ct_built['error'])
    end as reason,
    '{{ change_tables.batch_id() }}' as _batch_id,
    _ct_events[0]['_ct_number'] as _position,
    array_min(record_ids) as _first_record_id,
    array_max(record_ids) as _last_record_id
from documents
{%- endmacro %}


{#-
    What a run of a channel has to do, from the checkpoints of its logs and its own:

    kind                first (publish all), since (publish what is new), nothing new
    checkpoint_before   the checkpoint that it adds to; none for a first run
    checkpoint          the checkpoint that it leaves: the run, and for each table which log was taken in up to which of its runs
    since               for each table the run of its log from which on all is new
    added               for each table the schema versions of its log from which on columns were added: see spec_in_version
    record_ids          the least and the greatest record id of the new events, where an earlier run can have published some
    outdated            entries whose log was built with other columns than are declared by now
-#}
{% macro _publishing_run(specs, dedups) %}
    {% set checkpoints = change_tables.read_checkpoints(dedups if change_tables.is_rebuild() else dedups + [this], from_tables=change_tables.is_rebuild()) | map(attribute='checkpoint') | list %}
    {% set checkpoint_before = none if change_tables.is_rebuild() else checkpoints[-1] %}
    {% set taken_in, since, added, has_news, outdated = {}, {}, {}, [], [] %}
    {% for spec in specs %}
        {% set name = spec.settings.table_name %}
        {% set log = checkpoints[loop.index0] or change_tables.checkpoint_of_unbuilt_log() %}
        {% set before = checkpoint_before.logs.get(name) if checkpoint_before else none %}
        {% do taken_in.update({name: {'log': log.log, 'batch': log.batch}}) %}
        {% do added.update({name: log.added}) %}
        {#- in a log that was rebuilt all can be new, apart from what was published -#}
        {% do since.update({name: before.batch if before and before.log == log.log else ''}) %}
        {% do has_news.append(before != taken_in[name]) %}
        {% if log.log and (log.key != spec.key or log.columns != change_tables.column_types(spec)) %}
            {% do outdated.append({'source_name': spec.source_name, 'table_name': spec.table_name}) %}
        {% endif %}
    {% endfor %}
    {% set run = {
        'kind': 'first' if checkpoint_before is none else ('since' if has_news | max else 'nothing new'),
        'checkpoint_before': checkpoint_before,
        'checkpoint': {'storage_version': change_tables.storage_version(), 'batch': change_tables.batch_id(), 'logs': taken_in},
        'since': since,
        'added': added,
        'record_ids': none,
        'outdated': outdated,
    } %}
    {% do return(run) if run.kind != 'since' or checkpoints | select('none') | list %}
    {#- by these bounds Delta can skip documents of other record ids: where events come in order, all of them -#}
    {% set queries = [] %}
    {% for spec in specs %}
        {% do queries.append(
            "select cast(_change_id as bigint) as record_id from " ~ change_tables.state_relation(dedups[loop.index0]) ~ " where " ~ change_tables._is_new_event(spec, run)
        ) %}
    {% endfor %}
    {% set bounds = "select coalesce(min(record_id), 0), coalesce(max(record_id), 0) from (" ~ queries | join(' union all ') ~ ")" %}
    {% do return(dict(run, record_ids=run_query(bounds).rows[0] | map('int') | list)) %}
{% endmacro %}


{#- Which rows of a log are events that are new to a run. Rows of a snapshot are no events. -#}
{% macro _is_new_event(spec, run) -%}
    {%- set name = spec.settings.table_name -%}
        _checkpoint is null
        and _event_type is not null
        and _batch_id > '{{ run.since[name] }}'
        and _batch_id <= '{{ run.checkpoint.logs[name].batch }}'
{%- endmacro %}


{#- The events of all tables that a run publishes, in one shape. The last step is `new_events`. -#}
{% macro _published_event_steps(specs, dedups, state, run) -%}
{{ 'events' if run.checkpoint_before else 'new_events' }} as (
{% for spec in specs %}
    select
        {{ change_tables.text_literal(spec.settings.table_name) }} as class_name,
        {{ change_tables.text_literal(spec.settings.schema_name) }} as _ct_schema_name,
        {{ change_tables.key_text(spec) }} as _ct_key,
        cast(_change_id as bigint) as _ct_record_id,
        _changed_at,
        _event_type,
        _column_name,
        _table_key,
        {{ change_tables._attributes_of_event(spec, run.added[spec.settings.table_name]) }} as _ct_attributes
    from {{ change_tables.state_relation(dedups[loop.index0]) }}
    where
        {{ change_tables._is_new_event(spec, run) | trim }}
    {{- '\n    union all' if not loop.last }}
{%- endfor %}

)
{%- if run.checkpoint_before %},

-- what was published is not published again, even where the log knows more of it by now
published_records as (

    select
        class_name,
        explode(record_ids) as _ct_record_id
    from {{ state }}
    where
        _checkpoint is null
        {%- if run.record_ids %}
        and _last_record_id >= {{ run.record_ids[0] }}
        and _first_record_id <= {{ run.record_ids[1] }}
        {%- endif %}

),

new_events as (

    select events.*
    from events
    left anti join published_records
        on events.class_name = published_records.class_name and events._ct_record_id = published_records._ct_record_id

)
{%- endif -%}
{%- endmacro %}


{#-
    The attributes of an event, as an array:

    field events        the logged texts
    row query-back      the columns of the row that it read, without the key
    field query-back    the column that it names
    deletes             none

    A column that was declared after a query-back event had read is left out. `added` has the schema version of the log from which on such a
    column is logged.
-#}
{% macro _attributes_of_event(spec, added) -%}
    {%- set binary = change_tables.binary_columns(spec.columns + spec.multi_valued) -%}
    {%- set read = [] -%}
    {%- for column in spec.columns -%}
        {%- set name = change_tables.quoted(column.name) -%}
        {%- set is_binary = column.name in binary -%}
        {%- set attribute =
            "struct(" ~ change_tables.text_literal(column.name) ~ " as name, '" ~ ('octet' if is_binary else 'string') ~ "' as value_type,"
            ~ " cast(null as string) as old_value, " ~ ('base64(' ~ name ~ ')' if is_binary else 'cast(' ~ name ~ ' as string)') ~ " as new_value)"
        -%}
        {%- do read.append(
            "case when _schema_version >= " ~ added[column.name] ~ " then " ~ attribute ~ " end" if column.name in added else attribute
        ) -%}
    {%- endfor -%}
    if(
            _event_type in (1, 2, 3),
            array(
                struct(
                    _column_name as name,
                    {% if binary %}if(_column_name in ({{ change_tables.text_literals(binary) }}), 'octet', 'string'){% else %}'string'{% endif %} as value_type,
                    _old_value as old_value,
                    _new_value as new_value
                )
            ),
            filter(
                array(
                    {{ read | join(',\n                    ') }}
                ),
                attribute -> if(_event_type in (5, 6), attribute.name not in ({{ change_tables.text_literals(spec.key) }}), attribute.name = _column_name)
            )
        )
{%- endmacro %}


{#-
    Which events are superseded by which. The last step is `judged`. Events of a key between two of its deletes supersede each other:

    one that read the row, and has content   all events of single fields
    one that read a field                    the events of this field that did not read it
-#}
{% macro _judged_event_steps(spec) -%}
ordered as (

    select
        *,
        struct(class_name, _event_type, _ct_key) as _ct_subject,
        case
            when _event_type = 1 then exists(_ct_attributes, attribute -> attribute.new_value is not null)
            when _event_type = 2 then exists(_ct_attributes, attribute -> coalesce(attribute.old_value, attribute.new_value) is not null)
            else _event_type = 4 or size(_ct_attributes) > 0
        end as _ct_has_content,
        row_number() over (order by {{ '_changed_at, ' if spec.future_events }}_ct_record_id, class_name) as _ct_number
    from new_events

),

lives as (

    select
        *,
        count_if(_event_type = 4) over (
            partition by class_name, _ct_key
            order by _ct_number
            rows between unbounded preceding and current row
        ) as _ct_life
    from ordered

),

compared as (

    select
        *,
        max(case when _event_type in (5, 6) and _ct_has_content then struct(_ct_number, _ct_record_id) end) over (
            partition by class_name, _ct_key, _ct_life
        ) as _ct_row_event,
        max(case when _event_type in (7, 8) then struct(_ct_number, _ct_record_id) end) over (
            partition by class_name, _ct_key, _ct_life, _column_name
        ) as _ct_field_event
    from lives

),

judged as (

    select
        *,
        case
            when _event_type in (1, 2, 3, 7, 8) and _ct_row_event is not null
                then concat('record ', _ct_row_event['_ct_record_id'], ' has read the row')
            when _event_type in (1, 2, 3) and _ct_field_event is not null
                then concat('record ', _ct_field_event['_ct_record_id'], ' has read the field ', _column_name)
        end as _ct_superseded
    from compared

)
{%- endmacro %}


{#-
    Which events make one element: consecutive ones of one type and one key. The last step is `associated`. Events that are not
    published do not separate others, and are elements of their own. An event without content belongs to the element of its type
    and key next to it. Where there is none, it is not published.
-#}
{% macro _element_steps() -%}
neighbours as (

    select
        *,
        last(case when _ct_has_content and _ct_superseded is null then _ct_subject end, true) over (
            order by _ct_number
            rows between unbounded preceding and 1 preceding
        ) as _ct_before,
        last(case when _ct_has_content and _ct_superseded is null then _ct_subject end, true) over (
            order by _ct_number desc
            rows between unbounded preceding and 1 preceding
        ) as _ct_after
    from judged

),

sifted as (

    select
        *,
        _ct_superseded is null and (_ct_has_content or _ct_subject <=> _ct_before or _ct_subject <=> _ct_after) as _ct_is_published
    from neighbours

),

-- elements begin with events that have content
begun as (

    select
        *,
        case when _ct_is_published and _ct_has_content and not _ct_subject <=> _ct_before then _ct_number end as _ct_begins
    from sifted

),

parted as (

    select
        *,
        case
            when not _ct_is_published
                then _ct_number
            when _ct_has_content or _ct_subject <=> _ct_before
                then max(_ct_begins) over (order by _ct_number rows between unbounded preceding and current row)
            else min(_ct_begins) over (order by _ct_number desc rows between unbounded preceding and current row)
        end as _ct_element
    from begun

),

-- ordering has brought all events to one task; many tasks write the documents
elements as (

    select
        _ct_element,
        class_name,
        _ct_schema_name,
        _event_type,
        _ct_is_published,
        _ct_superseded,
        array_sort(collect_list(struct(_ct_number, _ct_record_id, _table_key, _ct_attributes))) as _ct_events
    from parted
    group by _ct_element, class_name, _ct_schema_name, _event_type, _ct_is_published, _ct_superseded
    distribute by _ct_element

),

associated as (

    select
        *,
        _ct_events['_ct_record_id'] as record_ids,
        format_association(_ct_events[0]['_table_key'], class_name, _ct_schema_name) as association,
        flatten(_ct_events['_ct_attributes']) as _ct_attributes
    from elements

)
{%- endmacro %}
