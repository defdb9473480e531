with landed as (

    select
        case when try_cast(`CHANGE_SEQUENCE` as decimal(38, 18)) % 1 = 0 then try_cast(try_cast(`CHANGE_SEQUENCE` as decimal(38, 18)) as bigint) end as _sequence,
        cast(`CHANGE_SEQUENCE` as string) as _told_sequence,
        case when try_cast(`_Operation` as decimal(38, 18)) % 1 = 0 then try_cast(try_cast(`_Operation` as decimal(38, 18)) as bigint) end as _operation_code,
        cast(`_Operation` as string) as _told_operation,
        case when try_cast(`continuation-position` as decimal(38, 18)) % 1 = 0 then try_cast(try_cast(`continuation-position` as decimal(38, 18)) as bigint) end as _record_position,
        cast(`continuation-position` as string) as _told_position,
        case when try_cast(`_Array-Index` as decimal(38, 18)) % 1 = 0 then try_cast(try_cast(`_Array-Index` as decimal(38, 18)) as bigint) end as _array_index,
        cast(`_Array-Index` as string) as _told_array_index,
        cast(fragment as string) as _told_fragment,
        case lower(cast(fragment as string))
            when 'true' then 1
            when 'false' then 0
            else case when try_cast(fragment as decimal(38, 18)) % 1 = 0 then try_cast(try_cast(fragment as decimal(38, 18)) as bigint) end
        end as _fragment,
        try_cast(`TIME_STAMP` as timestamp) as _landed_time,
        `TIME_STAMP` as _told_time,
        cast(`TRAN_ID` as string) as _told_transaction_id,
        struct(`Cust-Num` as cust_num, operation as operation, `it's` as `it's`, `OrderDate` as order_date) as _values,
        struct(*) as _landed_row
    from lake_raw.openedge_spelt

),

tracking_rows as (

    select
        case when try_cast(change_sequence as decimal(38, 18)) % 1 = 0 then try_cast(try_cast(change_sequence as decimal(38, 18)) as bigint) end as _sequence,
        cast(change_sequence as string) as _told_sequence,
        case when try_cast(operation as decimal(38, 18)) % 1 = 0 then try_cast(try_cast(operation as decimal(38, 18)) as bigint) end as _operation_code,
        cast(operation as string) as _told_operation,
        try_cast(null as timestamp) as _landed_time,
        cast(null as timestamp) as _told_time,
        cast(null as string) as _transaction_id,
        filter(transform(split(source_fieldmap, ';'), name -> trim(name)), name -> name <> '') as _field_map,
        source_partition_id as _partition_id,
        source_rowid as _recid,
        struct(*) as _landed_row
    from lake_raw.spelt_tracking
    where
        case when try_cast(source_table_number as decimal(38, 18)) % 1 = 0 then try_cast(try_cast(source_table_number as decimal(38, 18)) as bigint) end = 12

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
        coalesce(
            case when _told_time is not null and (try_cast(_told_time as timestamp) is null or cast(_told_time as string) rlike '^ *T?[0-9]+:' or cast(_told_time as string) rlike '[.][0-9]{6}[0-9]*[1-9]') then concat('column _Time-Stamp: \'', cast(_told_time as string), '\' is not timestamp') end,
            null
        ) as _timestamp_misfit
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
                _after_first['values']['cust_num'] <> _after_second['values']['cust_num']
                and not (_after_last_field = 0 and _after_is_fragment)
                then 'cust_num'
            when
                _after_first['values']['operation'] <> _after_second['values']['operation']
                and not (_after_last_field = 1 and _after_is_fragment)
                then 'operation'
            when
                _after_first['values']['it\'s'] <> _after_second['values']['it\'s']
                and not (_after_last_field = 2 and _after_is_fragment)
                then 'it\'s'
            when
                _after_first['values']['order_date'] <> _after_second['values']['order_date']
                and not (_after_last_field = 3 and _after_is_fragment)
                then 'order_date'
        end as _after_clash,
        case
            when _before_second is null then null
            when
                _before_first['values']['cust_num'] <> _before_second['values']['cust_num']
                and not (_before_last_field = 0 and _before_is_fragment)
                then 'cust_num'
            when
                _before_first['values']['operation'] <> _before_second['values']['operation']
                and not (_before_last_field = 1 and _before_is_fragment)
                then 'operation'
            when
                _before_first['values']['it\'s'] <> _before_second['values']['it\'s']
                and not (_before_last_field = 2 and _before_is_fragment)
                then 'it\'s'
            when
                _before_first['values']['order_date'] <> _before_second['values']['order_date']
                and not (_before_last_field = 3 and _before_is_fragment)
                then 'order_date'
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
        coalesce(if(_after_last_field = 0 and _after_is_fragment and _after_first['values']['cust_num'] is not null and _after_second['values']['cust_num'] is not null, concat(_after_first['values']['cust_num'], _after_second['values']['cust_num']), coalesce(_after_first['values']['cust_num'], _after_second['values']['cust_num'])), if(coalesce(arrays_overlap(_field_map, array('cust_num', 'cust-num')), false) or _before_state <> 'whole', null, if(_before_last_field = 0 and _before_is_fragment and _before_first['values']['cust_num'] is not null and _before_second['values']['cust_num'] is not null, concat(_before_first['values']['cust_num'], _before_second['values']['cust_num']), coalesce(_before_first['values']['cust_num'], _before_second['values']['cust_num'])))) as cust_num,
        if(_after_last_field = 1 and _after_is_fragment and _after_first['values']['operation'] is not null and _after_second['values']['operation'] is not null, concat(_after_first['values']['operation'], _after_second['values']['operation']), coalesce(_after_first['values']['operation'], _after_second['values']['operation'])) as operation,
        if(_after_last_field = 2 and _after_is_fragment and _after_first['values']['it\'s'] is not null and _after_second['values']['it\'s'] is not null, concat(_after_first['values']['it\'s'], _after_second['values']['it\'s']), coalesce(_after_first['values']['it\'s'], _after_second['values']['it\'s'])) as `it's`,
        if(_after_last_field = 3 and _after_is_fragment and _after_first['values']['order_date'] is not null and _after_second['values']['order_date'] is not null, concat(_after_first['values']['order_date'], _after_second['values']['order_date']), coalesce(_after_first['values']['order_date'], _after_second['values']['order_date'])) as order_date,
        if(
            _before_state = 'whole',
            coalesce(if(_before_last_field = 0 and _before_is_fragment and _before_first['values']['cust_num'] is not null and _before_second['values']['cust_num'] is not null, concat(_before_first['values']['cust_num'], _before_second['values']['cust_num']), coalesce(_before_first['values']['cust_num'], _before_second['values']['cust_num'])), if(coalesce(arrays_overlap(_field_map, array('cust_num', 'cust-num')), false), null, if(_after_last_field = 0 and _after_is_fragment and _after_first['values']['cust_num'] is not null and _after_second['values']['cust_num'] is not null, concat(_after_first['values']['cust_num'], _after_second['values']['cust_num']), coalesce(_after_first['values']['cust_num'], _after_second['values']['cust_num'])))),
            null
        ) as _before_1,
        _before_state = 'whole' as _has_before,
        size(_after_positions) + if(_after_first is null, 0, 1)
        + if(_before_state = 'whole', size(_before_positions) + 1, 0) as _parts,
        *
    from judged_records

),

records as (

    select
        *,
        _is_before or _position > 0 as _is_part
    from joined

),

typed as (

    select
        try_cast(cust_num as bigint) as cust_num,
        operation,
        `it's`,
        try_cast(order_date as date) as order_date,
        try_cast(_before_1 as bigint) as _before_1,
        coalesce(
            case when _before_1 is not null and try_cast(_before_1 as bigint) is null then concat('column cust_num: \'', cast(_before_1 as string), '\' is not bigint') end,
            null
        ) as _key_before_misfit,
        coalesce(
            case when cust_num is not null and try_cast(cust_num as bigint) is null then concat('column cust_num: \'', cast(cust_num as string), '\' is not bigint') end,
            null
        ) as _key_misfit,
        coalesce(
            case when order_date is not null and (try_cast(order_date as date) is null or not try_cast(order_date as timestamp) <=> try_cast(try_cast(order_date as date) as timestamp)) then concat('column order_date: \'', cast(order_date as string), '\' is not date') end,
            null
        ) as _column_misfit,
        cast(null as string) as _extent_misfit,
        array_intersect(
            array('cust_num', 'operation', 'it\'s', 'order_date'),
            transform(
                _field_map,
                told -> element_at(map('cust-num', 'cust_num', 'cust_num', 'cust_num', 'operation', 'operation', 'it\'s', 'it\'s', 'orderdate', 'order_date', 'order_date', 'order_date'), told)
            )
        ) as _named_columns,
        case
            when array_contains(_operations, 1) then 'insert'
            when array_contains(_operations, 2) then 'delete'
            else 'update'
        end as _kind,
        * except (cust_num, operation, `it's`, order_date, _before_1)
    from records

),

judged as (

    select
        *,
        struct(_before_1 as cust_num) as _told_key_before,
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
            when cust_num is null
                then 'key_missing: every key column is null: cust_num'
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
        cust_num,
        operation,
        `it's`,
        order_date,
        case when _rejection is null and _other_status is null then _kind end as _change_op,
        _change_seq,
        coalesce(_landed_time, _tracking['_landed_time']) as _changed_at,
        coalesce(_told_transaction_id, _tracking['_transaction_id']) as _transaction_id,
        case when _rejection is not null or _other_status is null then _change_seq end as _change_id,
        case
            when _rejection is null and _other_status is null and _kind = 'update'
                then nullif(
                    array_union(
                        array('cust_num'),
                        array_intersect(
                            array('cust_num', 'operation', 'it\'s', 'order_date'),
                            array_union(
                                array_compact(array(
                                    case when cust_num is not null then 'cust_num' end,
                                    case when operation is not null then 'operation' end,
                                    case when `it's` is not null then 'it\'s' end,
                                    case when order_date is not null then 'order_date' end
                                )),
                                coalesce(_named_columns, array())
                            )
                        )
                    ),
                    array('cust_num', 'operation', 'it\'s', 'order_date')
                )
        end as _present_columns,
        case when _rejection is null and _other_status is null and _kind <> 'delete' then _named_columns end as _changed_columns,
        case
            when _rejection is null and _other_status is null and _kind = 'update' and _has_before and not struct(cust_num) <=> _told_key_before
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
            when _rejection is null and _other_status is null and _kind = 'update' and not _has_before and arrays_overlap(_named_columns, array('cust_num'))
                then 'key_move_without_before: the field map says that the key changed, and no before image tells the key before'
            when _rejection is null and _other_status is null and _kind <> 'delete'
                then concat('unknown_field: the field map names ', nullif(array_join(filter(_tracking['_field_map'], told -> lower(told) not in ('tran_id', 'time_stamp', 'change_sequence', 'continuation-position', '_array-index', 'fragment', '_operation', 'cust-num', 'operation', 'it\'s', 'orderdate', 'cust_num', 'order_date')), ', '), ''), ', and neither the change table nor the sources file has a column of that name')
        end as _report,
        monotonically_increasing_id() as _place
    from judged
    union all
    select
        cast(null as bigint) as cust_num,
        cast(null as string) as operation,
        cast(null as string) as `it's`,
        cast(null as date) as order_date,
        cast(null as string) as _change_op,
        case when _sequence >= 0 then lpad(cast(_sequence as string), 19, '0') end as _change_seq,
        _landed_time as _changed_at,
        _transaction_id,
        cast(null as string) as _change_id,
        cast(null as array<string>) as _present_columns,
        cast(null as array<string>) as _changed_columns,
        cast(null as struct<cust_num: bigint>) as _key_before,
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

)

select
    cust_num,
    operation,
    `it's`,
    order_date,
    _change_op,
    _change_seq,
    _changed_at,
    _transaction_id,
    _change_id,
    _present_columns,
    _changed_columns,
    _key_before,
    _raw_id,
    _raw_row,
    _status,
    _status_reason,
    _parts,
    _has_tracking,
    _report
from staged
