with new_events as (

    select
        'usr' as class_name,
        'indirect' as _ct_schema_name,
        to_json(struct(`order`, `it's`), map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')) as _ct_key,
        cast(_change_id as bigint) as _ct_record_id,
        _changed_at,
        _event_type,
        _column_name,
        _table_key,
        if(
            _event_type in (1, 2, 3),
            array(
                struct(
                    _column_name as name,
                    'string' as value_type,
                    _old_value as old_value,
                    _new_value as new_value
                )
            ),
            filter(
                array(
                    struct('order' as name, 'string' as value_type, cast(null as string) as old_value, cast(`order` as string) as new_value),
                    struct('it\'s' as name, 'string' as value_type, cast(null as string) as old_value, cast(`it's` as string) as new_value),
                    struct('name with spaces' as name, 'string' as value_type, cast(null as string) as old_value, cast(`name with spaces` as string) as new_value),
                    struct('amount' as name, 'string' as value_type, cast(null as string) as old_value, cast(amount as string) as new_value)
                ),
                attribute -> if(_event_type in (5, 6), attribute.name not in ('order', 'it\'s'), attribute.name = _column_name)
            )
        ) as _ct_attributes
    from lake.dedup_feed__events__state
    where
        _checkpoint is null
        and _event_type is not null
        and _batch_id > ''
        and _batch_id <= '20260130T120000000000_00000001'
    union all
    select
        'multi' as class_name,
        'indirect' as _ct_schema_name,
        to_json(struct(`order`, `it's`), map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')) as _ct_key,
        cast(_change_id as bigint) as _ct_record_id,
        _changed_at,
        _event_type,
        _column_name,
        _table_key,
        if(
            _event_type in (1, 2, 3),
            array(
                struct(
                    _column_name as name,
                    if(_column_name in ('usr_card.scan'), 'octet', 'string') as value_type,
                    _old_value as old_value,
                    _new_value as new_value
                )
            ),
            filter(
                array(
                    struct('order' as name, 'string' as value_type, cast(null as string) as old_value, cast(`order` as string) as new_value),
                    struct('it\'s' as name, 'string' as value_type, cast(null as string) as old_value, cast(`it's` as string) as new_value),
                    struct('name with spaces' as name, 'string' as value_type, cast(null as string) as old_value, cast(`name with spaces` as string) as new_value),
                    struct('amount' as name, 'string' as value_type, cast(null as string) as old_value, cast(amount as string) as new_value)
                ),
                attribute -> if(_event_type in (5, 6), attribute.name not in ('order', 'it\'s'), attribute.name = _column_name)
            )
        ) as _ct_attributes
    from lake.dedup_feed__events_multi_valued__state
    where
        _checkpoint is null
        and _event_type is not null
        and _batch_id > ''
        and _batch_id <= '20260130T120000000000_00000001'

),

ordered as (

    select
        *,
        struct(class_name, _event_type, _ct_key) as _ct_subject,
        case
            when _event_type = 1 then exists(_ct_attributes, attribute -> attribute.new_value is not null)
            when _event_type = 2 then exists(_ct_attributes, attribute -> coalesce(attribute.old_value, attribute.new_value) is not null)
            else _event_type = 4 or size(_ct_attributes) > 0
        end as _ct_has_content,
        row_number() over (order by _ct_record_id, class_name) as _ct_number
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

),

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

),

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
    '20260131T120000000000_00000000' as _batch_id,
    _ct_events[0]['_ct_number'] as _position,
    array_min(record_ids) as _first_record_id,
    array_max(record_ids) as _last_record_id
from documents
