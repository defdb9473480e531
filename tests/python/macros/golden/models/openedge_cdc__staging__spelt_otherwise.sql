with landed as (

    select
        case when try_cast(`CHANGE_SEQUENCE` as decimal(38, 18)) % 1 = 0 then try_cast(try_cast(`CHANGE_SEQUENCE` as decimal(38, 18)) as bigint) end as _ct_sequence,
        cast(`CHANGE_SEQUENCE` as string) as _ct_landed_sequence,
        case when try_cast(`_Operation` as decimal(38, 18)) % 1 = 0 then try_cast(try_cast(`_Operation` as decimal(38, 18)) as bigint) end as _ct_operation_code,
        cast(`_Operation` as string) as _ct_landed_operation,
        case when try_cast(`continuation-position` as decimal(38, 18)) % 1 = 0 then try_cast(try_cast(`continuation-position` as decimal(38, 18)) as bigint) end as _ct_record_position,
        cast(`continuation-position` as string) as _ct_landed_position,
        case when try_cast(`_Array-Index` as decimal(38, 18)) % 1 = 0 then try_cast(try_cast(`_Array-Index` as decimal(38, 18)) as bigint) end as _ct_array_index,
        cast(`_Array-Index` as string) as _ct_landed_array_index,
        cast(fragment as string) as _ct_landed_fragment,
        case lower(cast(fragment as string))
            when 'true' then 1
            when 'false' then 0
            else case when try_cast(fragment as decimal(38, 18)) % 1 = 0 then try_cast(try_cast(fragment as decimal(38, 18)) as bigint) end
        end as _ct_fragment,
        coalesce(try_cast(`TIME_STAMP` as timestamp), try_cast(regexp_replace(`TIME_STAMP`, '^ *([-+]?[0-9]+-[0-9]+-[0-9]+)[: T]([0-9]+:[0-9]+:[0-9]+)(?:[:.]([0-9]+))? *([-+]?) *(.*)$', '$1 $2.$3$4$5') as timestamp)) as _ct_time,
        `TIME_STAMP` as _ct_landed_time,
        cast(`TRAN_ID` as string) as _ct_landed_transaction_id,
        struct(`Cust-Num` as cust_num, operation as operation, `it's` as `it's`, `OrderDate` as order_date) as _ct_values,
        struct(*) as _ct_landed_row
    from lake_raw.openedge_spelt

),

tracking_rows as (

    select
        case when try_cast(change_sequence as decimal(38, 18)) % 1 = 0 then try_cast(try_cast(change_sequence as decimal(38, 18)) as bigint) end as _ct_sequence,
        cast(change_sequence as string) as _ct_landed_sequence,
        case when try_cast(operation as decimal(38, 18)) % 1 = 0 then try_cast(try_cast(operation as decimal(38, 18)) as bigint) end as _ct_operation_code,
        cast(operation as string) as _ct_landed_operation,
        cast(null as timestamp) as _ct_time,
        cast(null as timestamp) as _ct_landed_time,
        cast(null as string) as _transaction_id,
        filter(transform(split(source_fieldmap, ';'), name -> trim(name)), name -> name <> '') as _ct_field_map,
        source_partition_id as _partition_id,
        source_rowid as _recid,
        struct(*) as _ct_landed_row
    from lake_raw.spelt_tracking
    where
        case when try_cast(source_table_number as decimal(38, 18)) % 1 = 0 then try_cast(try_cast(source_table_number as decimal(38, 18)) as bigint) end = 12

),

tracked as (

    select
        _ct_sequence as _ct_tracked_sequence,
        sort_array(collect_set(coalesce(_ct_landed_operation, 'null'))) as _ct_tracked_operations,
        sort_array(collect_set(coalesce(_ct_operation_code, -1))) as _ct_tracked_numbers,
        max(struct(
            _ct_field_map, _partition_id, _recid, _ct_time, _transaction_id,
            cast(null as string) as _ct_time_misfit
        )) as _ct_tracking
    from tracking_rows
    where _ct_sequence is not null
    group by _ct_sequence

),

placed as (

    select
        *,
        case when _ct_sequence >= 0 then lpad(cast(_ct_sequence as string), 19, '0') end as _change_seq,
        coalesce(_ct_record_position, 0) as _ct_position,
        _ct_operation_code = 3 as _ct_is_before,
        coalesce(_ct_array_index, 0) as _ct_index,
        coalesce(_ct_fragment = 1, false) as _ct_is_fragment,
        coalesce(
            case when _ct_landed_time is not null and (coalesce(try_cast(_ct_landed_time as timestamp), try_cast(regexp_replace(_ct_landed_time, '^ *([-+]?[0-9]+-[0-9]+-[0-9]+)[: T]([0-9]+:[0-9]+:[0-9]+)(?:[:.]([0-9]+))? *([-+]?) *(.*)$', '$1 $2.$3$4$5') as timestamp)) is null or cast(_ct_landed_time as string) rlike '^ *T?[0-9]+:') then concat('column _Time-Stamp: \'', cast(_ct_landed_time as string), '\' is not timestamp') end,
            null
        ) as _ct_timestamp_misfit
    from landed

),

identified as (

    select
        *,
        case
            when _change_seq is not null and _ct_operation_code is not null and _ct_position >= 0
                then concat_ws('/', _change_seq, _ct_operation_code, _ct_position)
            else to_json(struct(_ct_landed_sequence as `_Change-Sequence`, _ct_landed_operation as `_Operation`, _ct_landed_position as `_Continuation-Position`), map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS'))
        end as _raw_id,
        case
            when _ct_landed_sequence is null
                then 'change_seq_missing: _Change-Sequence is null'
            when coalesce(_ct_sequence, -1) < 0
                then concat('change_seq_malformed: \'', _ct_landed_sequence, '\' is no whole number of 0 or more')
            when coalesce(_ct_operation_code, 0) not between 1 and 4
                then concat('unknown_operation: operation is ', coalesce(concat('\'', _ct_landed_operation, '\''), 'null'))
            when _ct_landed_position is not null and coalesce(_ct_record_position, -1) < 0
                then concat('header_malformed: _Continuation-Position is \'', _ct_landed_position, '\'')
            when _ct_landed_array_index is not null and coalesce(_ct_array_index, -1) < 0
                then concat('header_malformed: _ArrayIndex is \'', _ct_landed_array_index, '\'')
            when _ct_landed_fragment is not null and not coalesce(_ct_fragment in (0, 1), false)
                then concat('header_malformed: _Fragment is \'', _ct_landed_fragment, '\'')
            when _ct_timestamp_misfit is not null
                then concat('value_does_not_fit: ', _ct_timestamp_misfit)
        end as _ct_own_fault
    from placed

),

counted as (

    select
        *,
        count(*) over same_change as _ct_landed_rows,
        collect_set(_raw_id) over same_change as _ct_landed_ids
    from identified
    window same_change as (partition by coalesce(_change_seq, _raw_id))

),

-- of a row that landed more than once, the greatest counts
images as (

    select
        *,
        min(_ct_own_fault) over same_change as _ct_fault_in_change,
        sort_array(collect_set(_ct_operation_code) over same_change) as _ct_operations,
        max(case when not _ct_is_before and _ct_position = 0 then struct(case when _ct_landed_rows > size(_ct_landed_ids) then to_json(_ct_values) end as text, _ct_values as `values`) end) over same_change as _ct_after_first,
        max(case when not _ct_is_before and _ct_position > 0 then struct(case when _ct_landed_rows > size(_ct_landed_ids) then to_json(_ct_values) end as text, _ct_values as `values`) end) over same_change as _ct_after_second,
        sort_array(collect_set(case when not _ct_is_before and _ct_position > 0 then _ct_position end) over same_change) as _ct_after_positions,
        coalesce(max(case when not _ct_is_before then _ct_index end) over same_change, 0) as _ct_after_index,
        coalesce(bool_or(not _ct_is_before and _ct_is_fragment) over same_change, false) as _ct_after_is_fragment,
        max(case when _ct_is_before and _ct_position = 0 then struct(case when _ct_landed_rows > size(_ct_landed_ids) then to_json(_ct_values) end as text, _ct_values as `values`) end) over same_change as _ct_before_first,
        max(case when _ct_is_before and _ct_position > 0 then struct(case when _ct_landed_rows > size(_ct_landed_ids) then to_json(_ct_values) end as text, _ct_values as `values`) end) over same_change as _ct_before_second,
        sort_array(collect_set(case when _ct_is_before and _ct_position > 0 then _ct_position end) over same_change) as _ct_before_positions,
        coalesce(max(case when _ct_is_before then _ct_index end) over same_change, 0) as _ct_before_index,
        coalesce(bool_or(_ct_is_before and _ct_is_fragment) over same_change, false) as _ct_before_is_fragment,
        size(collect_set(struct(_raw_id, case when _ct_landed_rows > size(_ct_landed_ids) then to_json(_ct_values) end)) over same_change) > size(_ct_landed_ids) as _ct_differs
    from counted
    window same_change as (partition by coalesce(_change_seq, _raw_id))

),

with_tracking as (

    select
        images.*,
        tracked._ct_tracking,
        tracked._ct_tracked_operations,
        tracked._ct_tracked_numbers,
        tracked._ct_tracked_sequence is not null as _ct_is_tracked,
        transform(tracked._ct_tracking['_ct_field_map'], name -> lower(name)) as _ct_field_map,
        case
            when _ct_after_first is null and _ct_after_second is not null then 'first_part_missing'
            when _ct_after_first is null then 'none'
            when _ct_after_second is null and (_ct_after_is_fragment or _ct_after_index > 0) then 'second_part_missing'
            else 'whole'
        end as _ct_after_state,
        get(_ct_after_positions, 0) as _ct_after_last_field,
        case
            when _ct_before_first is null and _ct_before_second is not null then 'first_part_missing'
            when _ct_before_first is null then 'none'
            when _ct_before_second is null and (_ct_before_is_fragment or _ct_before_index > 0) then 'second_part_missing'
            else 'whole'
        end as _ct_before_state,
        get(_ct_before_positions, 0) as _ct_before_last_field
    from images
    left join tracked
        on images._ct_sequence = tracked._ct_tracked_sequence

),

clashes as (

    select
        *,
        case
            when _ct_after_second is null then null
            when
                _ct_after_first['values']['cust_num'] <> _ct_after_second['values']['cust_num']
                and not (_ct_after_last_field = 0 and _ct_after_is_fragment)
                then 'cust_num'
            when
                _ct_after_first['values']['operation'] <> _ct_after_second['values']['operation']
                and not (_ct_after_last_field = 1 and _ct_after_is_fragment)
                then 'operation'
            when
                _ct_after_first['values']['it\'s'] <> _ct_after_second['values']['it\'s']
                and not (_ct_after_last_field = 2 and _ct_after_is_fragment)
                then 'it\'s'
            when
                _ct_after_first['values']['order_date'] <> _ct_after_second['values']['order_date']
                and not (_ct_after_last_field = 3 and _ct_after_is_fragment)
                then 'order_date'
        end as _ct_after_clash,
        case
            when _ct_before_second is null then null
            when
                _ct_before_first['values']['cust_num'] <> _ct_before_second['values']['cust_num']
                and not (_ct_before_last_field = 0 and _ct_before_is_fragment)
                then 'cust_num'
            when
                _ct_before_first['values']['operation'] <> _ct_before_second['values']['operation']
                and not (_ct_before_last_field = 1 and _ct_before_is_fragment)
                then 'operation'
            when
                _ct_before_first['values']['it\'s'] <> _ct_before_second['values']['it\'s']
                and not (_ct_before_last_field = 2 and _ct_before_is_fragment)
                then 'it\'s'
            when
                _ct_before_first['values']['order_date'] <> _ct_before_second['values']['order_date']
                and not (_ct_before_last_field = 3 and _ct_before_is_fragment)
                then 'order_date'
        end as _ct_before_clash
    from with_tracking

),

judged_records as (

    select
        *,
        case
            when _ct_fault_in_change is not null
                then _ct_fault_in_change
            when _ct_operations not in (array(1L), array(2L), array(3L), array(4L), array(3L, 4L))
                then concat('operations_contradict: the change rows are of operations ', array_join(_ct_operations, ', '))
            when _ct_is_tracked and _ct_tracked_numbers <> if(array_contains(_ct_operations, 3), array(4L), _ct_operations)
                then concat(
                    'operations_contradict: the change rows are of operation ', array_join(_ct_operations, ', '),
                    ', the tracking row is of ', array_join(_ct_tracked_operations, ', ')
                )
            when size(_ct_after_positions) > 1
                then concat(
                    'continuation_broken: the after image has parts that go on from positions ',
                    array_join(_ct_after_positions, ', '), ', and there can be one'
                )
            when size(_ct_before_positions) > 1
                then concat(
                    'continuation_broken: the before image has parts that go on from positions ',
                    array_join(_ct_before_positions, ', '), ', and there can be one'
                )
            when _ct_after_clash is not null
                then concat(
                    'parts_clash: after image: column ', _ct_after_clash,
                    ' differs between the two parts and is not the field at the cut'
                )
            when _ct_before_clash is not null
                then concat(
                    'parts_clash: before image: column ', _ct_before_clash,
                    ' differs between the two parts and is not the field at the cut'
                )
        end as _ct_fault,
        case
            when not _ct_is_tracked
                then 'tracking_row_missing: no tracking row of this sequence has landed'
            when _ct_after_state = 'none'
                then 'after_image_missing: no after image of this sequence has landed'
            when _ct_after_state <> 'whole'
                then concat(_ct_after_state, ': the image is in two records, and one of them has not landed')
            when _ct_is_before and _ct_before_state <> 'whole'
                then concat(_ct_before_state, ': the image is in two records, and one of them has not landed')
        end as _ct_waits_for
    from clashes

),

joined as (

    select
        coalesce(if(_ct_after_last_field = 0 and _ct_after_is_fragment and _ct_after_first['values']['cust_num'] is not null and _ct_after_second['values']['cust_num'] is not null, concat(_ct_after_first['values']['cust_num'], _ct_after_second['values']['cust_num']), coalesce(_ct_after_first['values']['cust_num'], _ct_after_second['values']['cust_num'])), if(coalesce(arrays_overlap(_ct_field_map, array('cust_num', 'cust-num')), false) or _ct_before_state <> 'whole', null, if(_ct_before_last_field = 0 and _ct_before_is_fragment and _ct_before_first['values']['cust_num'] is not null and _ct_before_second['values']['cust_num'] is not null, concat(_ct_before_first['values']['cust_num'], _ct_before_second['values']['cust_num']), coalesce(_ct_before_first['values']['cust_num'], _ct_before_second['values']['cust_num'])))) as cust_num,
        if(_ct_after_last_field = 1 and _ct_after_is_fragment and _ct_after_first['values']['operation'] is not null and _ct_after_second['values']['operation'] is not null, concat(_ct_after_first['values']['operation'], _ct_after_second['values']['operation']), coalesce(_ct_after_first['values']['operation'], _ct_after_second['values']['operation'])) as operation,
        if(_ct_after_last_field = 2 and _ct_after_is_fragment and _ct_after_first['values']['it\'s'] is not null and _ct_after_second['values']['it\'s'] is not null, concat(_ct_after_first['values']['it\'s'], _ct_after_second['values']['it\'s']), coalesce(_ct_after_first['values']['it\'s'], _ct_after_second['values']['it\'s'])) as `it's`,
        if(_ct_after_last_field = 3 and _ct_after_is_fragment and _ct_after_first['values']['order_date'] is not null and _ct_after_second['values']['order_date'] is not null, concat(_ct_after_first['values']['order_date'], _ct_after_second['values']['order_date']), coalesce(_ct_after_first['values']['order_date'], _ct_after_second['values']['order_date'])) as order_date,
        if(
            _ct_before_state = 'whole',
            coalesce(if(_ct_before_last_field = 0 and _ct_before_is_fragment and _ct_before_first['values']['cust_num'] is not null and _ct_before_second['values']['cust_num'] is not null, concat(_ct_before_first['values']['cust_num'], _ct_before_second['values']['cust_num']), coalesce(_ct_before_first['values']['cust_num'], _ct_before_second['values']['cust_num'])), if(coalesce(arrays_overlap(_ct_field_map, array('cust_num', 'cust-num')), false), null, if(_ct_after_last_field = 0 and _ct_after_is_fragment and _ct_after_first['values']['cust_num'] is not null and _ct_after_second['values']['cust_num'] is not null, concat(_ct_after_first['values']['cust_num'], _ct_after_second['values']['cust_num']), coalesce(_ct_after_first['values']['cust_num'], _ct_after_second['values']['cust_num'])))),
            null
        ) as _ct_before_1,
        _ct_before_state = 'whole' as _ct_has_before,
        size(_ct_after_positions) + if(_ct_after_first is null, 0, 1)
        + if(_ct_before_state = 'whole', size(_ct_before_positions) + 1, 0) as _parts,
        *
    from judged_records

),

records as (

    select
        *,
        _ct_is_before or _ct_position > 0 as _ct_is_part
    from joined

),

typed as (

    select
        coalesce(try_cast(cust_num as bigint), try_cast(replace(cast(try_cast(regexp_extract(cust_num, '^ *[-+]?[0-9]*([.][0-9]{0,18}0*)?([eE][+]?0*[0-9]{1,2})? *$|^ *[-+]?[0-9]*([.][0-9]{0,9}0*)?[eE]-0*[0-9] *$', 0) as decimal(38, 18)) as string), '.000000000000000000', '') as bigint)) as cust_num,
        operation,
        `it's`,
        coalesce(try_cast(order_date as date), try_cast(regexp_replace(order_date, '^ *([-+]?[0-9]+-[0-9]+-[0-9]+)[: T]([0-9]+:[0-9]+:[0-9]+)(?:[:.]([0-9]+))? *([-+]?) *(.*)$', '$1 $2.$3$4$5') as date)) as order_date,
        coalesce(try_cast(_ct_before_1 as bigint), try_cast(replace(cast(try_cast(regexp_extract(_ct_before_1, '^ *[-+]?[0-9]*([.][0-9]{0,18}0*)?([eE][+]?0*[0-9]{1,2})? *$|^ *[-+]?[0-9]*([.][0-9]{0,9}0*)?[eE]-0*[0-9] *$', 0) as decimal(38, 18)) as string), '.000000000000000000', '') as bigint)) as _ct_before_1,
        coalesce(
            case when _ct_before_1 is not null and coalesce(try_cast(_ct_before_1 as bigint), try_cast(replace(cast(try_cast(regexp_extract(_ct_before_1, '^ *[-+]?[0-9]*([.][0-9]{0,18}0*)?([eE][+]?0*[0-9]{1,2})? *$|^ *[-+]?[0-9]*([.][0-9]{0,9}0*)?[eE]-0*[0-9] *$', 0) as decimal(38, 18)) as string), '.000000000000000000', '') as bigint)) is null then concat('column cust_num: \'', cast(_ct_before_1 as string), '\' is not bigint') end,
            null
        ) as _ct_key_before_misfit,
        coalesce(
            case when cust_num is not null and coalesce(try_cast(cust_num as bigint), try_cast(replace(cast(try_cast(regexp_extract(cust_num, '^ *[-+]?[0-9]*([.][0-9]{0,18}0*)?([eE][+]?0*[0-9]{1,2})? *$|^ *[-+]?[0-9]*([.][0-9]{0,9}0*)?[eE]-0*[0-9] *$', 0) as decimal(38, 18)) as string), '.000000000000000000', '') as bigint)) is null then concat('column cust_num: \'', cast(cust_num as string), '\' is not bigint') end,
            null
        ) as _ct_key_misfit,
        coalesce(
            case when order_date is not null and (coalesce(try_cast(order_date as date), try_cast(regexp_replace(order_date, '^ *([-+]?[0-9]+-[0-9]+-[0-9]+)[: T]([0-9]+:[0-9]+:[0-9]+)(?:[:.]([0-9]+))? *([-+]?) *(.*)$', '$1 $2.$3$4$5') as date)) is null or not coalesce(try_cast(order_date as timestamp), try_cast(regexp_replace(order_date, '^ *([-+]?[0-9]+-[0-9]+-[0-9]+)[: T]([0-9]+:[0-9]+:[0-9]+)(?:[:.]([0-9]+))? *([-+]?) *(.*)$', '$1 $2.$3$4$5') as timestamp)) <=> try_cast(coalesce(try_cast(order_date as date), try_cast(regexp_replace(order_date, '^ *([-+]?[0-9]+-[0-9]+-[0-9]+)[: T]([0-9]+:[0-9]+:[0-9]+)(?:[:.]([0-9]+))? *([-+]?) *(.*)$', '$1 $2.$3$4$5') as date)) as timestamp)) then concat('column order_date: \'', cast(order_date as string), '\' is not date') end,
            null
        ) as _ct_column_misfit,
        cast(null as string) as _ct_extent_misfit,
        array_intersect(
            array('cust_num', 'operation', 'it\'s', 'order_date'),
            transform(
                _ct_field_map,
                field -> element_at(map('cust-num', 'cust_num', 'cust_num', 'cust_num', 'operation', 'operation', 'it\'s', 'it\'s', 'orderdate', 'order_date', 'order_date', 'order_date'), field)
            )
        ) as _ct_named_columns,
        case
            when array_contains(_ct_operations, 1) then 'insert'
            when array_contains(_ct_operations, 2) then 'delete'
            else 'update'
        end as _ct_kind,
        * except (cust_num, operation, `it's`, order_date, _ct_before_1)
    from records

),

judged as (

    select
        *,
        struct(_ct_before_1 as cust_num) as _ct_read_key_before,
        case
            when _ct_waits_for is not null then 'waiting'
            when _ct_is_part then 'merged'
        end as _ct_other_status,
        case
            when _ct_fault is not null
                then _ct_fault
            when _ct_after_state <> 'whole' or not _ct_is_tracked
                then null
            when _ct_time is null and _ct_tracking['_ct_time_misfit'] is not null
                then concat('value_does_not_fit: tracking row: ', _ct_tracking['_ct_time_misfit'])
            when _ct_key_misfit is not null
                then concat('value_does_not_fit: ', _ct_key_misfit)
            when cust_num is null
                then 'key_missing: every key column is null: cust_num'
            when _ct_kind = 'update' and _ct_key_before_misfit is not null
                then concat('value_does_not_fit: before image: ', _ct_key_before_misfit)
            when _ct_kind <> 'delete' and _ct_column_misfit is not null
                then concat('value_does_not_fit: ', _ct_column_misfit)
            when _ct_kind <> 'delete' and _ct_extent_misfit is not null
                then concat('value_does_not_fit: ', _ct_extent_misfit)
        end as _ct_rejection
    from typed

),

lone_tracking_rows as (

    select tracking_rows.*
    from tracking_rows
    left anti join landed
        on tracking_rows._ct_sequence = landed._ct_sequence

),

judged_tracking_rows as (

    select
        *,
        case
            when _ct_landed_sequence is null
                then 'change_seq_missing: _Change-Sequence is null'
            when coalesce(_ct_sequence, -1) < 0
                then concat('change_seq_malformed: \'', _ct_landed_sequence, '\' is no whole number of 0 or more')
            when _ct_operation_code = 3
                then 'unknown_operation: operation 3, a before image, is never in a tracking table'
            when coalesce(_ct_operation_code, 0) not between 1 and 12
                then concat('unknown_operation: operation is ', coalesce(concat('\'', _ct_landed_operation, '\''), 'null'))
        end as _ct_rejection
    from lone_tracking_rows

),

staged_rows as (

    select
        cust_num,
        operation,
        `it's`,
        order_date,
        case when _ct_rejection is null and _ct_other_status is null then _ct_kind end as _change_op,
        _change_seq,
        coalesce(_ct_time, _ct_tracking['_ct_time']) as _changed_at,
        coalesce(_ct_landed_transaction_id, _ct_tracking['_transaction_id']) as _transaction_id,
        case when _ct_rejection is not null or _ct_other_status is null then _change_seq end as _change_id,
        case
            when _ct_rejection is null and _ct_other_status is null and _ct_kind = 'update'
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
                                coalesce(_ct_named_columns, array())
                            )
                        )
                    ),
                    array('cust_num', 'operation', 'it\'s', 'order_date')
                )
        end as _present_columns,
        case when _ct_rejection is null and _ct_other_status is null and _ct_kind <> 'delete' then _ct_named_columns end as _changed_columns,
        case
            when _ct_rejection is null and _ct_other_status is null and _ct_kind = 'update' and _ct_has_before and not struct(cust_num) <=> _ct_read_key_before
                then _ct_read_key_before
        end as _key_before,
        _raw_id,
        case when _ct_rejection is not null or _ct_other_status is not null then to_json(_ct_landed_row, map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')) end as _raw_row,
        coalesce(if(_ct_rejection is not null, 'rejected', null), _ct_other_status, 'accepted') as _status,
        case
            when _ct_rejection is not null then _ct_rejection
            when _ct_waits_for is not null then _ct_waits_for
            when _ct_position > 0 then 'chunk: the record goes on from the one at position 0'
            when _ct_is_before then 'before_image: part of the update with the same sequence'
        end as _status_reason,
        _parts,
        _ct_is_tracked as _has_tracking,
        case
            when _ct_rejection is null and _ct_other_status is null and _ct_differs
                then 'conflicting_content: rows of the change were delivered with different contents; the greater ones count'
            when _ct_rejection is null and _ct_other_status is null and _ct_kind = 'update' and not _ct_has_before and arrays_overlap(_ct_named_columns, array('cust_num'))
                then 'key_move_without_before: the field map says that the key changed, and no before image has the key before'
            when _ct_rejection is null and _ct_other_status is null and _ct_kind <> 'delete'
                then concat('unknown_field: the field map names ', nullif(array_join(filter(_ct_tracking['_ct_field_map'], field -> lower(field) not in ('tran_id', 'time_stamp', 'change_sequence', 'continuation-position', '_array-index', 'fragment', '_operation', 'cust-num', 'operation', 'it\'s', 'orderdate', 'cust_num', 'order_date')), ', '), ''), ', and neither the change table nor the sources file has a column of that name')
        end as _report,
        monotonically_increasing_id() as _ct_place
    from judged
    union all
    select
        cast(null as bigint) as cust_num,
        cast(null as string) as operation,
        cast(null as string) as `it's`,
        cast(null as date) as order_date,
        cast(null as string) as _change_op,
        case when _ct_sequence >= 0 then lpad(cast(_ct_sequence as string), 19, '0') end as _change_seq,
        _ct_time as _changed_at,
        _transaction_id,
        cast(null as string) as _change_id,
        cast(null as array<string>) as _present_columns,
        cast(null as array<string>) as _changed_columns,
        cast(null as struct<cust_num: bigint>) as _key_before,
        concat_ws('/', 'tracking', 12, coalesce(case when _ct_sequence >= 0 then lpad(cast(_ct_sequence as string), 19, '0') end, _ct_landed_sequence, 'null'), coalesce(_ct_landed_operation, 'null')) as _raw_id,
        to_json(_ct_landed_row, map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')) as _raw_row,
        case
            when _ct_rejection is not null then 'rejected'
            when _ct_operation_code between 5 and 12 then 'ignored'
            else 'waiting'
        end as _status,
        case
            when _ct_rejection is not null then _ct_rejection
            when _ct_operation_code in (5, 12)
                then concat('schema_event: ', element_at(map(5, 'field_deleted', 6, 'partition_dropped', 7, 'partition_truncated', 8, 'partition_deallocated', 9, 'tenant_partition_deallocated', 10, 'tenant_partition_dropped', 11, 'merged_partition_dropped', 12, 'field_added'), cast(_ct_operation_code as int)))
            when _ct_operation_code between 6 and 11
                then concat('partition_event: ', element_at(map(5, 'field_deleted', 6, 'partition_dropped', 7, 'partition_truncated', 8, 'partition_deallocated', 9, 'tenant_partition_deallocated', 10, 'tenant_partition_dropped', 11, 'merged_partition_dropped', 12, 'field_added'), cast(_ct_operation_code as int)), ', partition ', coalesce(cast(_partition_id as string), 'null'))
            else 'change_row_missing: no change row of this sequence has landed'
        end as _status_reason,
        cast(null as int) as _parts,
        cast(null as boolean) as _has_tracking,
        cast(null as string) as _report,
        monotonically_increasing_id() as _ct_place
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
