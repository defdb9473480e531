-- change_tables run: {"run": "first", "mark_before": null, "mark": {"layout": 1, "batch": "20260131T120000000000_00000000", "logs": {"usr": {"log": "20260130T120000000000_00000001", "batch": "20260130T120000000000_00000001"}, "multi": {"log": "20260130T120000000000_00000001", "batch": "20260130T120000000000_00000001"}}}, "since": {"usr": "", "multi": ""}, "added": {"usr": {}, "multi": {}}, "record_ids": null, "behind": []}
with new_events as (

    select
        'usr' as class_name,
        'indirect' as _schema_name,
        to_json(struct(`order`, `it's`), map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')) as _key,
        cast(_change_id as bigint) as _record_id,
        _changed_at,
        _event_type,
        _column_name,
        _table_key,
        if(
            _event_type in (1, 2, 3),
            array(
                struct(
                    _column_name as name,
                    if(_column_name in ('bytes'), 'octet', 'string') as value_type,
                    _old_value as old_value,
                    _new_value as new_value
                )
            ),
            filter(
                array(
                    struct('order' as name, 'string' as value_type, cast(null as string) as old_value, cast(`order` as string) as new_value),
                    struct('it\'s' as name, 'string' as value_type, cast(null as string) as old_value, cast(`it's` as string) as new_value),
                    struct('name with spaces' as name, 'string' as value_type, cast(null as string) as old_value, cast(`name with spaces` as string) as new_value),
                    struct('amount' as name, 'string' as value_type, cast(null as string) as old_value, cast(amount as string) as new_value),
                    struct('at' as name, 'string' as value_type, cast(null as string) as old_value, cast(`at` as string) as new_value),
                    struct('local' as name, 'string' as value_type, cast(null as string) as old_value, cast(`local` as string) as new_value),
                    struct('day' as name, 'string' as value_type, cast(null as string) as old_value, cast(day as string) as new_value),
                    struct('small' as name, 'string' as value_type, cast(null as string) as old_value, cast(small as string) as new_value),
                    struct('ratio' as name, 'string' as value_type, cast(null as string) as old_value, cast(ratio as string) as new_value),
                    struct('flag' as name, 'string' as value_type, cast(null as string) as old_value, cast(flag as string) as new_value),
                    struct('bytes' as name, 'octet' as value_type, cast(null as string) as old_value, base64(bytes) as new_value)
                ),
                attribute -> if(_event_type in (5, 6), attribute.name not in ('order', 'it\'s'), attribute.name = _column_name)
            )
        ) as _attributes
    from lake.dedup_feed__events__state
    where
        _mark is null
        and _event_type is not null
        and _batch_id > ''
        and _batch_id <= '20260130T120000000000_00000001'
    union all
    select
        'multi' as class_name,
        'indirect' as _schema_name,
        to_json(struct(`order`, `it's`), map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')) as _key,
        cast(_change_id as bigint) as _record_id,
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
        ) as _attributes
    from lake.dedup_feed__events_multi_valued__state
    where
        _mark is null
        and _event_type is not null
        and _batch_id > ''
        and _batch_id <= '20260130T120000000000_00000001'

),

ordered as (

    select
        *,
        struct(class_name, _event_type, _key) as _subject,
        case
            when _event_type = 1 then exists(_attributes, attribute -> attribute.new_value is not null)
            when _event_type = 2 then exists(_attributes, attribute -> coalesce(attribute.old_value, attribute.new_value) is not null)
            else _event_type = 4 or size(_attributes) > 0
        end as _has_content,
        row_number() over (order by _record_id, class_name) as _number
    from new_events

),

lives as (

    select
        *,
        count_if(_event_type = 4) over (
            partition by class_name, _key
            order by _number
            rows between unbounded preceding and current row
        ) as _life
    from ordered

),

compared as (

    select
        *,
        max(case when _event_type in (5, 6) and _has_content then struct(_number, _record_id) end) over (
            partition by class_name, _key, _life
        ) as _row_event,
        max(case when _event_type in (7, 8) then struct(_number, _record_id) end) over (
            partition by class_name, _key, _life, _column_name
        ) as _field_event
    from lives

),

judged as (

    select
        *,
        case
            when _event_type in (1, 2, 3, 7, 8) and _row_event is not null
                then concat('record ', _row_event['_record_id'], ' has read the row')
            when _event_type in (1, 2, 3) and _field_event is not null
                then concat('record ', _field_event['_record_id'], ' has read the field ', _column_name)
        end as _overruled
    from compared

),

neighbours as (

    select
        *,
        last(case when _has_content and _overruled is null then _subject end, true) over (
            order by _number
            rows between unbounded preceding and 1 preceding
        ) as _before,
        last(case when _has_content and _overruled is null then _subject end, true) over (
            order by _number desc
            rows between unbounded preceding and 1 preceding
        ) as _after
    from judged

),

sifted as (

    select
        *,
        _overruled is null and (_has_content or _subject <=> _before or _subject <=> _after) as _is_published
    from neighbours

),

-- elements begin with events that have content
begun as (

    select
        *,
        case when _is_published and _has_content and not _subject <=> _before then _number end as _begins
    from sifted

),

parted as (

    select
        *,
        case
            when not _is_published
                then _number
            when _has_content or _subject <=> _before
                then max(_begins) over (order by _number rows between unbounded preceding and current row)
            else min(_begins) over (order by _number desc rows between unbounded preceding and current row)
        end as _element
    from begun

),

-- their order has brought all events to one place; the documents are written at many
elements as (

    select
        _element,
        class_name,
        _schema_name,
        _event_type,
        _is_published,
        _overruled,
        array_sort(collect_list(struct(_number, _record_id, _table_key, _attributes))) as _events
    from parted
    group by _element, class_name, _schema_name, _event_type, _is_published, _overruled
    distribute by _element

),

associated as (

    select
        *,
        _events['_record_id'] as record_ids,
        format_association(_events[0]['_table_key'], class_name, _schema_name) as association,
        flatten(_events['_attributes']) as _attributes
    from elements

),

documents as (

    select
        *,
        build_xds_document(
            if(_is_published, _event_type, null),
            class_name,
            association,
            _attributes['name'],
            _attributes['value_type'],
            _attributes['old_value'],
            _attributes['new_value']
        ) as _built
    from associated

)

select
    cast(null as string) as _mark,
    record_ids,
    class_name,
    association,
    _built['document'] as document,
    case
        when _overruled is not null
            then concat('suppressed: ', _overruled)
        when not _is_published
            then concat('no_attribute: no value to remove or to add', coalesce(concat(': ', nullif(array_join(_attributes['name'], ', '), '')), ''))
        when _built['error'] is not null
            then concat('document_unwritable: ', _built['error'])
    end as reason,
    '20260131T120000000000_00000000' as _batch_id,
    _events[0]['_number'] as _position,
    array_min(record_ids) as _first_record_id,
    array_max(record_ids) as _last_record_id
from documents
