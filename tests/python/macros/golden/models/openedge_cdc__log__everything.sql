-- change_tables run: {"run": "everything", "mark_before": {"layout": 1, "log": "20260130T120000000000_00000001", "batch": "20260130T120000000000_00000001", "extends": null, "changes": 3, "marks_rows": false, "floor": "", "highest_seq": "20260131120000250000000000000000022", "loads": [], "moves": false, "rebuild": "", "snapshot_seq": null, "arrival": null, "settled": null, "edge": null, "key": ["order", "it's"], "order": {}, "columns": {"order": "bigint", "it's": "string", "name with spaces": "string", "amount": "decimal(12,2)", "day": "date", "tags": "array<string>", "counts": "array<int>"}, "form": 0, "added": {}}, "marks": 1, "edge": null, "until": null, "is_whole": false, "is_late": true, "arrival": null, "settled_before": null}
with landed as (

    select
        cast(`_Change-Sequence` as bigint) as _sequence,
        cast(`_Change-Sequence` as string) as _told_sequence,
        cast(`_Operation` as bigint) as _operation_code,
        cast(`_Operation` as string) as _told_operation,
        cast(`_Continuation-Position` as bigint) as _record_position,
        cast(`_Continuation-Position` as string) as _told_position,
        cast(`_ArrayIndex` as bigint) as _array_index,
        cast(`_ArrayIndex` as string) as _told_array_index,
        cast(`_Fragment` as string) as _told_fragment,
        case lower(cast(`_Fragment` as string))
            when 'true' then 1
            when 'false' then 0
            else cast(`_Fragment` as bigint)
        end as _fragment,
        try_cast(`_Time-Stamp` as timestamp) as _landed_time,
        `_Time-Stamp` as _told_time,
        cast(`_Tran-Id` as string) as _told_transaction_id,
        struct(`order` as `order`, `it's` as `it's`, `name with spaces` as `name with spaces`, amount as amount, day as day, tags as tags, counts as counts) as _values,
        struct(*) as _landed_row
    from lake_raw.openedge

),

tracking_rows as (

    select
        cast(`_Change-Sequence` as bigint) as _sequence,
        cast(`_Change-Sequence` as string) as _told_sequence,
        cast(`_Operation` as bigint) as _operation_code,
        cast(`_Operation` as string) as _told_operation,
        try_cast(`_Time-Stamp` as timestamp) as _landed_time,
        `_Time-Stamp` as _told_time,
        cast(`_Tran-Id` as string) as _transaction_id,
        filter(transform(split(`_Change-FieldMap`, ';'), name -> trim(name)), name -> name <> '') as _field_map,
        `_Partition-Id` as _partition_id,
        `_Recid` as _recid,
        struct(*) as _landed_row
    from lake_raw.tracking
    where
        cast(`_Source-Table-Number` as bigint) = 12

),

tracked as (

    select
        _sequence as _tracked_sequence,
        sort_array(collect_set(coalesce(_told_operation, 'null'))) as _tracked_operations,
        sort_array(collect_set(coalesce(_operation_code, -1))) as _tracked_numbers,
        max(struct(
            _field_map, _partition_id, _recid, _landed_time, _transaction_id,
            cast(null as string) as _time_misfit
        )) as _tracking
    from tracking_rows
    where _sequence is not null
    group by _sequence

),

placed as (

    select
        *,
        case when _sequence >= 0 then lpad(cast(_sequence as string), 19, '0') end as _change_seq,
        coalesce(_record_position, 0) as _position,
        _operation_code = 3 as _is_before,
        coalesce(_array_index, 0) as _index,
        coalesce(_fragment = 1, false) as _is_fragment,
        cast(null as string) as _timestamp_misfit
    from landed

),

identified as (

    select
        *,
        case
            when _change_seq is not null and _operation_code is not null and _position >= 0
                then concat_ws('/', _change_seq, _operation_code, _position)
            else to_json(struct(_told_sequence as `_Change-Sequence`, _told_operation as `_Operation`, _told_position as `_Continuation-Position`), map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS'))
        end as _raw_id,
        case
            when _told_sequence is null
                then 'change_seq_missing: _Change-Sequence is null'
            when coalesce(_sequence, -1) < 0
                then concat('change_seq_malformed: \'', _told_sequence, '\' is no whole number of 0 or more')
            when coalesce(_operation_code, 0) not between 1 and 4
                then concat('unknown_operation: operation is ', coalesce(concat('\'', _told_operation, '\''), 'null'))
            when _told_position is not null and coalesce(_record_position, -1) < 0
                then concat('header_malformed: _Continuation-Position is \'', _told_position, '\'')
            when _told_array_index is not null and coalesce(_array_index, -1) < 0
                then concat('header_malformed: _ArrayIndex is \'', _told_array_index, '\'')
            when _told_fragment is not null and not coalesce(_fragment in (0, 1), false)
                then concat('header_malformed: _Fragment is \'', _told_fragment, '\'')
            when _timestamp_misfit is not null
                then concat('value_does_not_fit: ', _timestamp_misfit)
        end as _own_fault
    from placed

),

counted as (

    select
        *,
        count(*) over same_change as _landed_rows,
        collect_set(_raw_id) over same_change as _landed_ids
    from identified
    window same_change as (partition by coalesce(_change_seq, _raw_id))

),

-- of a row that landed more than once, the greatest counts
images as (

    select
        *,
        min(_own_fault) over same_change as _fault_in_change,
        sort_array(collect_set(_operation_code) over same_change) as _operations,
        max(case when not _is_before and _position = 0 then struct(case when _landed_rows > size(_landed_ids) then to_json(_values) end as text, _values as `values`) end) over same_change as _after_first,
        max(case when not _is_before and _position > 0 then struct(case when _landed_rows > size(_landed_ids) then to_json(_values) end as text, _values as `values`) end) over same_change as _after_second,
        sort_array(collect_set(case when not _is_before and _position > 0 then _position end) over same_change) as _after_positions,
        coalesce(max(case when not _is_before then _index end) over same_change, 0) as _after_index,
        coalesce(bool_or(not _is_before and _is_fragment) over same_change, false) as _after_is_fragment,
        max(case when _is_before and _position = 0 then struct(case when _landed_rows > size(_landed_ids) then to_json(_values) end as text, _values as `values`) end) over same_change as _before_first,
        max(case when _is_before and _position > 0 then struct(case when _landed_rows > size(_landed_ids) then to_json(_values) end as text, _values as `values`) end) over same_change as _before_second,
        sort_array(collect_set(case when _is_before and _position > 0 then _position end) over same_change) as _before_positions,
        coalesce(max(case when _is_before then _index end) over same_change, 0) as _before_index,
        coalesce(bool_or(_is_before and _is_fragment) over same_change, false) as _before_is_fragment,
        size(collect_set(struct(_raw_id, case when _landed_rows > size(_landed_ids) then to_json(_values) end)) over same_change) > size(_landed_ids) as _differs
    from counted
    window same_change as (partition by coalesce(_change_seq, _raw_id))

),

with_tracking as (

    select
        images.*,
        tracked._tracking,
        tracked._tracked_operations,
        tracked._tracked_numbers,
        tracked._tracked_sequence is not null as _is_tracked,
        transform(tracked._tracking['_field_map'], name -> lower(name)) as _field_map,
        case
            when _after_first is null and _after_second is not null then 'first_part_missing'
            when _after_first is null then 'none'
            when _after_second is null and (_after_is_fragment or _after_index > 0) then 'second_part_missing'
            else 'whole'
        end as _after_state,
        get(_after_positions, 0) as _after_last_field,
        case
            when _before_first is null and _before_second is not null then 'first_part_missing'
            when _before_first is null then 'none'
            when _before_second is null and (_before_is_fragment or _before_index > 0) then 'second_part_missing'
            else 'whole'
        end as _before_state,
        get(_before_positions, 0) as _before_last_field
    from images
    left join tracked
        on images._sequence = tracked._tracked_sequence

),

clashes as (

    select
        *,
        case
            when _after_second is null then null
            when
                _after_first['values']['order'] <> _after_second['values']['order']
                then 'order'
            when
                _after_first['values']['it\'s'] <> _after_second['values']['it\'s']
                and not (_after_last_field = 1 and _after_is_fragment)
                then 'it\'s'
            when
                _after_first['values']['name with spaces'] <> _after_second['values']['name with spaces']
                and not (_after_last_field = 2 and _after_is_fragment)
                then 'name with spaces'
            when
                _after_first['values']['amount'] <> _after_second['values']['amount']
                and not (_after_last_field = 3 and _after_is_fragment)
                then 'amount'
            when
                _after_first['values']['day'] <> _after_second['values']['day']
                and not (_after_last_field = 4 and _after_is_fragment)
                then 'day'
            when
                _after_first['values']['tags'] <> _after_second['values']['tags']
                and not (_after_last_field = 5 and (_after_is_fragment or _after_index > 0))
                then 'tags'
            when
                _after_first['values']['counts'] <> _after_second['values']['counts']
                and not (_after_last_field = 6 and (_after_is_fragment or _after_index > 0))
                then 'counts'
        end as _after_clash,
        case
            when _before_second is null then null
            when
                _before_first['values']['order'] <> _before_second['values']['order']
                then 'order'
            when
                _before_first['values']['it\'s'] <> _before_second['values']['it\'s']
                and not (_before_last_field = 1 and _before_is_fragment)
                then 'it\'s'
            when
                _before_first['values']['name with spaces'] <> _before_second['values']['name with spaces']
                and not (_before_last_field = 2 and _before_is_fragment)
                then 'name with spaces'
            when
                _before_first['values']['amount'] <> _before_second['values']['amount']
                and not (_before_last_field = 3 and _before_is_fragment)
                then 'amount'
            when
                _before_first['values']['day'] <> _before_second['values']['day']
                and not (_before_last_field = 4 and _before_is_fragment)
                then 'day'
            when
                _before_first['values']['tags'] <> _before_second['values']['tags']
                and not (_before_last_field = 5 and (_before_is_fragment or _before_index > 0))
                then 'tags'
            when
                _before_first['values']['counts'] <> _before_second['values']['counts']
                and not (_before_last_field = 6 and (_before_is_fragment or _before_index > 0))
                then 'counts'
        end as _before_clash
    from with_tracking

),

judged_records as (

    select
        *,
        case
            when _fault_in_change is not null
                then _fault_in_change
            when _operations not in (array(1L), array(2L), array(3L), array(4L), array(3L, 4L))
                then concat('operations_contradict: the change rows are of operations ', array_join(_operations, ', '))
            when _is_tracked and _tracked_numbers <> if(array_contains(_operations, 3), array(4L), _operations)
                then concat(
                    'operations_contradict: the change rows are of operation ', array_join(_operations, ', '),
                    ', the tracking row tells ', array_join(_tracked_operations, ', ')
                )
            when size(_after_positions) > 1
                then concat(
                    'continuation_broken: the after image has parts that go on from positions ',
                    array_join(_after_positions, ', '), ', and there can be one'
                )
            when size(_before_positions) > 1
                then concat(
                    'continuation_broken: the before image has parts that go on from positions ',
                    array_join(_before_positions, ', '), ', and there can be one'
                )
            when _after_clash is not null
                then concat(
                    'parts_clash: after image: column ', _after_clash,
                    ' differs between the two parts and is not the field at the cut'
                )
            when _before_clash is not null
                then concat(
                    'parts_clash: before image: column ', _before_clash,
                    ' differs between the two parts and is not the field at the cut'
                )
        end as _fault,
        case
            when not _is_tracked
                then 'tracking_row_missing: no tracking row of this sequence has landed'
            when _after_state = 'none'
                then 'after_image_missing: no after image of this sequence has landed'
            when _after_state <> 'whole'
                then concat(_after_state, ': the image is in two records, and one of them has not landed')
            when _is_before and _before_state <> 'whole'
                then concat(_before_state, ': the image is in two records, and one of them has not landed')
        end as _waits_for
    from clashes

),

joined as (

    select
        coalesce(coalesce(_after_first['values']['order'], _after_second['values']['order']), if(coalesce(arrays_overlap(_field_map, array('order')), false) or _before_state <> 'whole', null, coalesce(_before_first['values']['order'], _before_second['values']['order']))) as `order`,
        coalesce(if(_after_last_field = 1 and _after_is_fragment and _after_first['values']['it\'s'] is not null and _after_second['values']['it\'s'] is not null, concat(_after_first['values']['it\'s'], _after_second['values']['it\'s']), coalesce(_after_first['values']['it\'s'], _after_second['values']['it\'s'])), if(coalesce(arrays_overlap(_field_map, array('it\'s')), false) or _before_state <> 'whole', null, if(_before_last_field = 1 and _before_is_fragment and _before_first['values']['it\'s'] is not null and _before_second['values']['it\'s'] is not null, concat(_before_first['values']['it\'s'], _before_second['values']['it\'s']), coalesce(_before_first['values']['it\'s'], _before_second['values']['it\'s'])))) as `it's`,
        if(_after_last_field = 2 and _after_is_fragment and _after_first['values']['name with spaces'] is not null and _after_second['values']['name with spaces'] is not null, concat(_after_first['values']['name with spaces'], _after_second['values']['name with spaces']), coalesce(_after_first['values']['name with spaces'], _after_second['values']['name with spaces'])) as `name with spaces`,
        if(_after_last_field = 3 and _after_is_fragment and _after_first['values']['amount'] is not null and _after_second['values']['amount'] is not null, concat(_after_first['values']['amount'], _after_second['values']['amount']), coalesce(_after_first['values']['amount'], _after_second['values']['amount'])) as amount,
        if(_after_last_field = 4 and _after_is_fragment and _after_first['values']['day'] is not null and _after_second['values']['day'] is not null, concat(_after_first['values']['day'], _after_second['values']['day']), coalesce(_after_first['values']['day'], _after_second['values']['day'])) as day,
        if(_after_last_field = 5 and (_after_is_fragment or _after_index > 0) and _after_first['values']['tags'] is not null and _after_second['values']['tags'] is not null, concat(_after_first['values']['tags'], if(_after_is_fragment, '', ';'), _after_second['values']['tags']), coalesce(_after_first['values']['tags'], _after_second['values']['tags'])) as _text_6,
        if(_after_last_field = 6 and (_after_is_fragment or _after_index > 0) and _after_first['values']['counts'] is not null and _after_second['values']['counts'] is not null, concat(_after_first['values']['counts'], if(_after_is_fragment, '', ';'), _after_second['values']['counts']), coalesce(_after_first['values']['counts'], _after_second['values']['counts'])) as _text_7,
        if(
            _before_state = 'whole',
            coalesce(coalesce(_before_first['values']['order'], _before_second['values']['order']), if(coalesce(arrays_overlap(_field_map, array('order')), false), null, coalesce(_after_first['values']['order'], _after_second['values']['order']))),
            null
        ) as _before_1,
        if(
            _before_state = 'whole',
            coalesce(if(_before_last_field = 1 and _before_is_fragment and _before_first['values']['it\'s'] is not null and _before_second['values']['it\'s'] is not null, concat(_before_first['values']['it\'s'], _before_second['values']['it\'s']), coalesce(_before_first['values']['it\'s'], _before_second['values']['it\'s'])), if(coalesce(arrays_overlap(_field_map, array('it\'s')), false), null, if(_after_last_field = 1 and _after_is_fragment and _after_first['values']['it\'s'] is not null and _after_second['values']['it\'s'] is not null, concat(_after_first['values']['it\'s'], _after_second['values']['it\'s']), coalesce(_after_first['values']['it\'s'], _after_second['values']['it\'s'])))),
            null
        ) as _before_2,
        _before_state = 'whole' as _has_before,
        size(_after_positions) + if(_after_first is null, 0, 1)
        + if(_before_state = 'whole', size(_before_positions) + 1, 0) as _parts,
        *
    from judged_records

),

records as (

    select
        if(
            _after_last_field = 5 and _after_index > 0 and not _after_is_fragment and _after_first['values']['tags'] is not null and _after_second['values']['tags'] is not null,
            concat(
                slice(
                    split_extent(
                        if(_after_second['values']['tags'] is not null, _after_first['values']['tags'], null),
                        case when _after_first['values']['tags'] rlike '(?<!~)(~~)+;' and (regexp_count(_after_first['values']['tags'], '(?<!~)(~~)*;') + 1 = _after_index or regexp_count(_after_first['values']['tags'], '(?<!~)(~~)*;') + 1 < 3) then try_cast(_after_index as int) end
                    ),
                    1,
                    try_cast(_after_index as int)
                ),
                split_extent(_after_second['values']['tags'], try_cast(try_subtract(3, _after_index) as int))
            ),
            split_extent(_text_6, 3)
        ) as tags,
        if(
            _after_last_field = 6 and _after_index > 0 and not _after_is_fragment and _after_first['values']['counts'] is not null and _after_second['values']['counts'] is not null,
            concat(
                slice(
                    split_extent(
                        if(_after_second['values']['counts'] is not null, _after_first['values']['counts'], null),
                        case when _after_first['values']['counts'] rlike '(?<!~)(~~)+;' and (regexp_count(_after_first['values']['counts'], '(?<!~)(~~)*;') + 1 = _after_index) then try_cast(_after_index as int) end
                    ),
                    1,
                    try_cast(_after_index as int)
                ),
                split_extent(_after_second['values']['counts'], try_cast(null as int))
            ),
            split_extent(_text_7, cast(null as int))
        ) as counts,
        *,
        _is_before or _position > 0 as _is_part
    from joined

),

typed as (

    select
        `order`,
        `it's`,
        `name with spaces`,
        try_cast(amount as decimal(12, 2)) as amount,
        try_cast(day as date) as day,
        tags,
        transform(counts, element -> try_cast(element as int)) as counts,
        _before_1,
        _before_2,
        cast(null as string) as _key_before_misfit,
        cast(null as string) as _key_misfit,
        coalesce(
            case when amount is not null and (try_cast(amount as decimal(12, 2)) is null or case when cast(amount as string) rlike '[eE]' then try_cast(amount as double) <> cast(try_cast(amount as decimal(12, 2)) as double) else cast(amount as string) rlike '[.][0-9]{2}[0-9]*[1-9]' end) then concat('column amount: \'', cast(amount as string), '\' is not decimal(12, 2)') end,
            case when day is not null and (try_cast(day as date) is null or not try_cast(day as timestamp) <=> try_cast(try_cast(day as date) as timestamp)) then concat('column day: \'', cast(day as string), '\' is not date') end,
            null
        ) as _column_misfit,
        coalesce(
            case
                when
                    _text_6 is not null
                    and (
                        tags is null
                        or size(tags) <> 3
                    )
                    then concat('column tags: \'', _text_6, '\' is not array<string> of extent 3')
            end,
            case
                when
                    _text_7 is not null
                    and (
                        counts is null
                        or exists(counts, element -> element is not null and try_cast(element as int) is null)
                    )
                    then concat('column counts: \'', _text_7, '\' is not array<int>')
            end,
            null
        ) as _extent_misfit,
        array_intersect(
            array('order', 'it\'s', 'name with spaces', 'amount', 'day', 'tags', 'counts'),
            transform(
                _field_map,
                told -> element_at(map('order', 'order', 'it\'s', 'it\'s', 'name with spaces', 'name with spaces', 'amount', 'amount', 'day', 'day', 'tags', 'tags', 'counts', 'counts'), told)
            )
        ) as _named_columns,
        case
            when array_contains(_operations, 1) then 'insert'
            when array_contains(_operations, 2) then 'delete'
            else 'update'
        end as _kind,
        * except (`order`, `it's`, `name with spaces`, amount, day, tags, counts, _before_1, _before_2)
    from records

),

judged as (

    select
        *,
        struct(_before_1 as `order`, _before_2 as `it's`) as _told_key_before,
        case
            when _waits_for is not null then 'waiting'
            when _is_part then 'merged'
        end as _other_status,
        case
            when _fault is not null
                then _fault
            when _after_state <> 'whole' or not _is_tracked
                then null
            when _landed_time is null and _tracking['_time_misfit'] is not null
                then concat('value_does_not_fit: tracking row: ', _tracking['_time_misfit'])
            when _key_misfit is not null
                then concat('value_does_not_fit: ', _key_misfit)
            when `order` is null and `it's` is null
                then 'key_missing: every key column is null: order, it\'s'
            when _kind = 'update' and _key_before_misfit is not null
                then concat('value_does_not_fit: before image: ', _key_before_misfit)
            when _kind <> 'delete' and _column_misfit is not null
                then concat('value_does_not_fit: ', _column_misfit)
            when _kind <> 'delete' and _extent_misfit is not null
                then concat('value_does_not_fit: ', _extent_misfit)
        end as _rejection
    from typed

),

lone_tracking_rows as (

    select tracking_rows.*
    from tracking_rows
    left anti join landed
        on tracking_rows._sequence = landed._sequence

),

judged_tracking_rows as (

    select
        *,
        case
            when _told_sequence is null
                then 'change_seq_missing: _Change-Sequence is null'
            when coalesce(_sequence, -1) < 0
                then concat('change_seq_malformed: \'', _told_sequence, '\' is no whole number of 0 or more')
            when _operation_code = 3
                then 'unknown_operation: operation 3, a before image, does not stand in the tracking table'
            when coalesce(_operation_code, 0) not between 1 and 12
                then concat('unknown_operation: operation is ', coalesce(concat('\'', _told_operation, '\''), 'null'))
        end as _rejection
    from lone_tracking_rows

),

staged_rows as (

    select
        `order`,
        `it's`,
        `name with spaces`,
        amount,
        day,
        tags,
        counts,
        case when _rejection is null and _other_status is null then _kind end as _change_op,
        _change_seq,
        coalesce(_landed_time, _tracking['_landed_time']) as _changed_at,
        coalesce(_told_transaction_id, _tracking['_transaction_id']) as _transaction_id,
        case when _rejection is not null or _other_status is null then _change_seq end as _change_id,
        case
            when _rejection is null and _other_status is null and _kind = 'update'
                then nullif(
                    array_union(
                        array('order', 'it\'s'),
                        array_intersect(
                            array('order', 'it\'s', 'name with spaces', 'amount', 'day', 'tags', 'counts'),
                            array_union(
                                array_compact(array(
                                    case when `order` is not null then 'order' end,
                                    case when `it's` is not null then 'it\'s' end,
                                    case when `name with spaces` is not null then 'name with spaces' end,
                                    case when amount is not null then 'amount' end,
                                    case when day is not null then 'day' end,
                                    case when tags is not null then 'tags' end,
                                    case when counts is not null then 'counts' end
                                )),
                                coalesce(_named_columns, array())
                            )
                        )
                    ),
                    array('order', 'it\'s', 'name with spaces', 'amount', 'day', 'tags', 'counts')
                )
        end as _present_columns,
        case when _rejection is null and _other_status is null and _kind <> 'delete' then _named_columns end as _changed_columns,
        case
            when _rejection is null and _other_status is null and _kind = 'update' and _has_before and not struct(`order`, `it's`) <=> _told_key_before
                then _told_key_before
        end as _key_before,
        _raw_id,
        case when _rejection is not null or _other_status is not null then to_json(_landed_row, map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')) end as _raw_row,
        coalesce(if(_rejection is not null, 'rejected', null), _other_status, 'accepted') as _status,
        case
            when _rejection is not null then _rejection
            when _waits_for is not null then _waits_for
            when _position > 0 then 'chunk: the record goes on from the one at position 0'
            when _is_before then 'before_image: part of the update with the same sequence'
        end as _status_reason,
        _parts,
        _is_tracked as _has_tracking,
        case
            when _rejection is null and _other_status is null and _differs
                then 'conflicting_content: rows of the change were delivered with different contents; the greater ones stand'
            when _rejection is null and _other_status is null and _kind = 'update' and not _has_before and arrays_overlap(_named_columns, array('order', 'it\'s'))
                then 'key_move_without_before: the field map says that the key changed, and no before image tells the key before'
            when _rejection is null and _other_status is null and _kind <> 'delete'
                then concat('unknown_field: the field map names ', nullif(array_join(filter(_tracking['_field_map'], told -> lower(told) not in ('_tran-id', '_time-stamp', '_change-sequence', '_continuation-position', '_arrayindex', '_fragment', '_operation', 'order', 'it\'s', 'name with spaces', 'amount', 'day', 'tags', 'counts')), ', '), ''), ', and neither the change table nor the sources file has a column of that name')
        end as _report,
        monotonically_increasing_id() as _place
    from judged
    union all
    select
        cast(null as bigint) as `order`,
        cast(null as string) as `it's`,
        cast(null as string) as `name with spaces`,
        cast(null as decimal(12, 2)) as amount,
        cast(null as date) as day,
        cast(null as array<string>) as tags,
        cast(null as array<int>) as counts,
        cast(null as string) as _change_op,
        case when _sequence >= 0 then lpad(cast(_sequence as string), 19, '0') end as _change_seq,
        _landed_time as _changed_at,
        _transaction_id,
        cast(null as string) as _change_id,
        cast(null as array<string>) as _present_columns,
        cast(null as array<string>) as _changed_columns,
        cast(null as struct<`order`: bigint, `it's`: string>) as _key_before,
        concat_ws('/', 'tracking', 12, coalesce(case when _sequence >= 0 then lpad(cast(_sequence as string), 19, '0') end, _told_sequence, 'null'), coalesce(_told_operation, 'null')) as _raw_id,
        to_json(_landed_row, map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')) as _raw_row,
        case
            when _rejection is not null then 'rejected'
            when _operation_code between 5 and 12 then 'ignored'
            else 'waiting'
        end as _status,
        case
            when _rejection is not null then _rejection
            when _operation_code in (5, 12)
                then concat('schema_event: ', element_at(map(5, 'field_deleted', 6, 'partition_dropped', 7, 'partition_truncated', 8, 'partition_deallocated', 9, 'tenant_partition_deallocated', 10, 'tenant_partition_dropped', 11, 'merged_partition_dropped', 12, 'field_added'), cast(_operation_code as int)))
            when _operation_code between 6 and 11
                then concat('partition_event: ', element_at(map(5, 'field_deleted', 6, 'partition_dropped', 7, 'partition_truncated', 8, 'partition_deallocated', 9, 'tenant_partition_deallocated', 10, 'tenant_partition_dropped', 11, 'merged_partition_dropped', 12, 'field_added'), cast(_operation_code as int)), ', partition ', coalesce(cast(_partition_id as string), 'null'))
            else 'change_row_missing: no change row of this sequence has landed'
        end as _status_reason,
        cast(null as int) as _parts,
        cast(null as boolean) as _has_tracking,
        cast(null as string) as _report,
        monotonically_increasing_id() as _place
    from judged_tracking_rows

),

staged as (

    select *
    from staged_rows

),

accepted as (

    select
        *,
        xxhash64(`order`, `it's`, `name with spaces`, amount, day, to_json(tags, map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), to_json(counts, map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), _change_op, _present_columns, _changed_columns, _changed_at, _transaction_id, _raw_id, _parts, _has_tracking, array(`order` is null, `it's` is null, `name with spaces` is null, amount is null, day is null, tags is null, counts is null, _change_op is null, _present_columns is null, _changed_columns is null, _changed_at is null, _transaction_id is null, _raw_id is null, _parts is null, _has_tracking is null)) as _row_hash,
        if(_change_op in ('delete', 'truncate'), xxhash64(_change_op), xxhash64(_change_op, `order`, `it's`, `name with spaces`, amount, day, to_json(tags, map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), to_json(counts, map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), _present_columns, array(_change_op is null, `order` is null, `it's` is null, `name with spaces` is null, amount is null, day is null, tags is null, counts is null, _present_columns is null))) as _content_hash
    from staged
    where _status = 'accepted' or (_status = 'rejected' and _change_id is not null)

),

gathered as (

    select
        *,
        count(*) over same_change as _copies,
        count(_report) over same_change as _reports,
        max(_report) over same_change as _known_report,
        max(_key_before) over same_change as _known_key_before,
        min(_content_hash) over same_change <> max(_content_hash) over same_change
        or not min(_key_before) over same_change <=> max(_key_before) over same_change as _contents_differ
    from accepted
    window same_change as (partition by _change_seq, _change_id)

),

-- copies that differ: the greater text wins, and what only one of them tells (the key before) is kept
compared as (

    select
        *,
        max(case when _copies > 1 then struct(to_json(struct(`order`, `it's`, `name with spaces`, amount, day, tags, counts), map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), _change_op, _present_columns, _changed_columns, _changed_at, _transaction_id, _raw_id, _parts, _has_tracking, _place) end) over (partition by _change_seq, _change_id) as _highest_rank
    from gathered

),

changes as (

    select
        cast(null as string) as _mark,
        _change_seq,
        _change_op,
        _change_id,
        '20260131T120000000000_00000000' as _batch_id,
        _changed_at,
        _transaction_id,
        _present_columns,
        _changed_columns,
        _known_key_before as _key_before,
        _raw_id,
        case when _reports = _copies and not startswith(_known_report, 'conflicting_content') then _known_report end as _report,
        _contents_differ or coalesce(startswith(_known_report, 'conflicting_content'), false) as _is_conflicting,
        _row_hash,
        0 as _form,
        _parts,
        _has_tracking,
        _status = 'rejected' and _change_id is not null as _withdraws,
        `order`, `it's`, `name with spaces`, amount, day, tags, counts
    from compared
    where _copies = 1 or struct(to_json(struct(`order`, `it's`, `name with spaces`, amount, day, tags, counts), map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), _change_op, _present_columns, _changed_columns, _changed_at, _transaction_id, _raw_id, _parts, _has_tracking, _place) = _highest_rank

),

-- what the log does not hold yet, or holds otherwise
new_changes as (

    select
        changes.*,
        changes._withdraws or coalesce(known._key_before is not null and case
            when struct(changes._parts, changes._has_tracking) > struct(known._parts, known._has_tracking) then not changes._key_before <=> known._key_before
            when struct(changes._parts, changes._has_tracking) = struct(known._parts, known._has_tracking) then changes._key_before is not null and (known._key_before is null or changes._key_before > known._key_before)
            else false
        end, false)
        or coalesce(known._change_id is not null and not (changes.`order` <=> known.`order` and changes.`it's` <=> known.`it's` and changes._change_op <=> known._change_op) and (struct(changes._parts, changes._has_tracking, to_json(struct(changes.`order` as `order`, changes.`it's` as `it's`, changes.`name with spaces` as `name with spaces`, changes.amount as amount, changes.day as day, changes.tags as tags, changes.counts as counts), map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), changes._change_op, changes._present_columns, changes._changed_columns, changes._changed_at, changes._transaction_id, changes._raw_id, changes._parts, changes._has_tracking) > struct(known._parts, known._has_tracking, to_json(struct(known.`order`, known.`it's`, known.`name with spaces`, known.amount, known.day, known.tags, known.counts), map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), known._change_op, known._present_columns, known._changed_columns, known._changed_at, known._transaction_id, known._raw_id, known._parts, known._has_tracking)), false) as _overrules,
        known._change_id is not null as _is_known
    from changes
    left join lake.dedup_feed__openedge__state as known
        on changes._change_id = known._change_id and changes._change_seq = known._change_seq
    where
        case
            when struct(known._parts, known._has_tracking) > struct(changes._parts, changes._has_tracking)
                then false
            when changes._withdraws
                then known._change_id is not null
            else
                known._change_id is null
                or changes._row_hash <> known._row_hash
                or (changes._key_before is not null and not changes._key_before <=> known._key_before)
                or (changes._report is null and known._report is not null)
                or (changes._is_conflicting and not known._is_conflicting)
        end

)

select *
from new_changes
