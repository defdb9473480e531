with landed as (

    select
        cast(`_Change-Sequence` as bigint) as _ct_sequence,
        cast(`_Change-Sequence` as string) as _ct_landed_sequence,
        cast(`_Operation` as bigint) as _ct_operation_code,
        cast(`_Operation` as string) as _ct_landed_operation,
        cast(`_Continuation-Position` as bigint) as _ct_record_position,
        cast(`_Continuation-Position` as string) as _ct_landed_position,
        cast(`_ArrayIndex` as bigint) as _ct_array_index,
        cast(`_ArrayIndex` as string) as _ct_landed_array_index,
        cast(`_Fragment` as string) as _ct_landed_fragment,
        case lower(cast(`_Fragment` as string))
            when 'true' then 1
            when 'false' then 0
            else cast(`_Fragment` as bigint)
        end as _ct_fragment,
        `_Time-Stamp` as _ct_time,
        `_Time-Stamp` as _ct_landed_time,
        cast(`_Tran-Id` as string) as _ct_landed_transaction_id,
        struct(`order` as `order`, `it's` as `it's`, `name with spaces` as `name with spaces`, amount as amount, day as day, tags as tags, counts as counts) as _ct_values,
        struct(*) as _ct_landed_row
    from lake_raw.openedge_arriving

),

tracking_rows as (

    select
        cast(`_Change-Sequence` as bigint) as _ct_sequence,
        cast(`_Change-Sequence` as string) as _ct_landed_sequence,
        cast(`_Operation` as bigint) as _ct_operation_code,
        cast(`_Operation` as string) as _ct_landed_operation,
        `_Time-Stamp` as _ct_time,
        `_Time-Stamp` as _ct_landed_time,
        cast(`_Tran-Id` as string) as _transaction_id,
        filter(transform(split(`_Change-FieldMap`, ';'), name -> trim(name)), name -> name <> '') as _ct_field_map,
        `_Partition-Id` as _partition_id,
        `_Recid` as _recid,
        struct(*) as _ct_landed_row
    from lake_raw.tracking
    where
        cast(`_Source-Table-Number` as bigint) = 12

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
        cast(null as string) as _ct_timestamp_misfit
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
                _ct_after_first['values']['order'] <> _ct_after_second['values']['order']
                and not (_ct_after_last_field = 0 and _ct_after_is_fragment)
                then 'order'
            when
                _ct_after_first['values']['it\'s'] <> _ct_after_second['values']['it\'s']
                and not (_ct_after_last_field = 1 and _ct_after_is_fragment)
                then 'it\'s'
            when
                _ct_after_first['values']['name with spaces'] <> _ct_after_second['values']['name with spaces']
                and not (_ct_after_last_field = 2 and _ct_after_is_fragment)
                then 'name with spaces'
            when
                _ct_after_first['values']['amount'] <> _ct_after_second['values']['amount']
                and not (_ct_after_last_field = 3 and _ct_after_is_fragment)
                then 'amount'
            when
                _ct_after_first['values']['day'] <> _ct_after_second['values']['day']
                and not (_ct_after_last_field = 4 and _ct_after_is_fragment)
                then 'day'
            when
                _ct_after_first['values']['tags'] <> _ct_after_second['values']['tags']
                and not (_ct_after_last_field = 5 and (_ct_after_is_fragment or _ct_after_index > 0))
                then 'tags'
            when
                _ct_after_first['values']['counts'] <> _ct_after_second['values']['counts']
                and not (_ct_after_last_field = 6 and (_ct_after_is_fragment or _ct_after_index > 0))
                then 'counts'
        end as _ct_after_clash,
        case
            when _ct_before_second is null then null
            when
                _ct_before_first['values']['order'] <> _ct_before_second['values']['order']
                and not (_ct_before_last_field = 0 and _ct_before_is_fragment)
                then 'order'
            when
                _ct_before_first['values']['it\'s'] <> _ct_before_second['values']['it\'s']
                and not (_ct_before_last_field = 1 and _ct_before_is_fragment)
                then 'it\'s'
            when
                _ct_before_first['values']['name with spaces'] <> _ct_before_second['values']['name with spaces']
                and not (_ct_before_last_field = 2 and _ct_before_is_fragment)
                then 'name with spaces'
            when
                _ct_before_first['values']['amount'] <> _ct_before_second['values']['amount']
                and not (_ct_before_last_field = 3 and _ct_before_is_fragment)
                then 'amount'
            when
                _ct_before_first['values']['day'] <> _ct_before_second['values']['day']
                and not (_ct_before_last_field = 4 and _ct_before_is_fragment)
                then 'day'
            when
                _ct_before_first['values']['tags'] <> _ct_before_second['values']['tags']
                and not (_ct_before_last_field = 5 and (_ct_before_is_fragment or _ct_before_index > 0))
                then 'tags'
            when
                _ct_before_first['values']['counts'] <> _ct_before_second['values']['counts']
                and not (_ct_before_last_field = 6 and (_ct_before_is_fragment or _ct_before_index > 0))
                then 'counts'
        end as _ct_before_clash
    from with_tracking

),

joined as (

    select
        coalesce(if(_ct_after_last_field = 0 and _ct_after_is_fragment and _ct_after_first['values']['order'] is not null and _ct_after_second['values']['order'] is not null, concat(_ct_after_first['values']['order'], _ct_after_second['values']['order']), coalesce(_ct_after_first['values']['order'], _ct_after_second['values']['order'])), if(coalesce(arrays_overlap(_ct_field_map, array('order')), false) or _ct_before_state <> 'whole', null, if(_ct_before_last_field = 0 and _ct_before_is_fragment and _ct_before_first['values']['order'] is not null and _ct_before_second['values']['order'] is not null, concat(_ct_before_first['values']['order'], _ct_before_second['values']['order']), coalesce(_ct_before_first['values']['order'], _ct_before_second['values']['order'])))) as `order`,
        coalesce(if(_ct_after_last_field = 1 and _ct_after_is_fragment and _ct_after_first['values']['it\'s'] is not null and _ct_after_second['values']['it\'s'] is not null, concat(_ct_after_first['values']['it\'s'], _ct_after_second['values']['it\'s']), coalesce(_ct_after_first['values']['it\'s'], _ct_after_second['values']['it\'s'])), if(coalesce(arrays_overlap(_ct_field_map, array('it\'s')), false) or _ct_before_state <> 'whole', null, if(_ct_before_last_field = 1 and _ct_before_is_fragment and _ct_before_first['values']['it\'s'] is not null and _ct_before_second['values']['it\'s'] is not null, concat(_ct_before_first['values']['it\'s'], _ct_before_second['values']['it\'s']), coalesce(_ct_before_first['values']['it\'s'], _ct_before_second['values']['it\'s'])))) as `it's`,
        if(_ct_after_last_field = 2 and _ct_after_is_fragment and _ct_after_first['values']['name with spaces'] is not null and _ct_after_second['values']['name with spaces'] is not null, concat(_ct_after_first['values']['name with spaces'], _ct_after_second['values']['name with spaces']), coalesce(_ct_after_first['values']['name with spaces'], _ct_after_second['values']['name with spaces'])) as `name with spaces`,
        if(_ct_after_last_field = 3 and _ct_after_is_fragment and _ct_after_first['values']['amount'] is not null and _ct_after_second['values']['amount'] is not null, concat(_ct_after_first['values']['amount'], _ct_after_second['values']['amount']), coalesce(_ct_after_first['values']['amount'], _ct_after_second['values']['amount'])) as amount,
        if(_ct_after_last_field = 4 and _ct_after_is_fragment and _ct_after_first['values']['day'] is not null and _ct_after_second['values']['day'] is not null, concat(_ct_after_first['values']['day'], _ct_after_second['values']['day']), coalesce(_ct_after_first['values']['day'], _ct_after_second['values']['day'])) as day,
        if(_ct_after_last_field = 5 and (_ct_after_is_fragment or _ct_after_index > 0) and _ct_after_first['values']['tags'] is not null and _ct_after_second['values']['tags'] is not null, concat(_ct_after_first['values']['tags'], if(_ct_after_is_fragment, '', ';'), _ct_after_second['values']['tags']), coalesce(_ct_after_first['values']['tags'], _ct_after_second['values']['tags'])) as _ct_text_6,
        if(_ct_after_last_field = 6 and (_ct_after_is_fragment or _ct_after_index > 0) and _ct_after_first['values']['counts'] is not null and _ct_after_second['values']['counts'] is not null, concat(_ct_after_first['values']['counts'], if(_ct_after_is_fragment, '', ';'), _ct_after_second['values']['counts']), coalesce(_ct_after_first['values']['counts'], _ct_after_second['values']['counts'])) as _ct_text_7,
        if(
            _ct_before_state = 'whole',
            coalesce(if(_ct_before_last_field = 0 and _ct_before_is_fragment and _ct_before_first['values']['order'] is not null and _ct_before_second['values']['order'] is not null, concat(_ct_before_first['values']['order'], _ct_before_second['values']['order']), coalesce(_ct_before_first['values']['order'], _ct_before_second['values']['order'])), if(coalesce(arrays_overlap(_ct_field_map, array('order')), false), null, if(_ct_after_last_field = 0 and _ct_after_is_fragment and _ct_after_first['values']['order'] is not null and _ct_after_second['values']['order'] is not null, concat(_ct_after_first['values']['order'], _ct_after_second['values']['order']), coalesce(_ct_after_first['values']['order'], _ct_after_second['values']['order'])))),
            null
        ) as _ct_before_1,
        if(
            _ct_before_state = 'whole',
            coalesce(if(_ct_before_last_field = 1 and _ct_before_is_fragment and _ct_before_first['values']['it\'s'] is not null and _ct_before_second['values']['it\'s'] is not null, concat(_ct_before_first['values']['it\'s'], _ct_before_second['values']['it\'s']), coalesce(_ct_before_first['values']['it\'s'], _ct_before_second['values']['it\'s'])), if(coalesce(arrays_overlap(_ct_field_map, array('it\'s')), false), null, if(_ct_after_last_field = 1 and _ct_after_is_fragment and _ct_after_first['values']['it\'s'] is not null and _ct_after_second['values']['it\'s'] is not null, concat(_ct_after_first['values']['it\'s'], _ct_after_second['values']['it\'s']), coalesce(_ct_after_first['values']['it\'s'], _ct_after_second['values']['it\'s'])))),
            null
        ) as _ct_before_2,
        _ct_before_state = 'whole' as _ct_has_before,
        size(_ct_after_positions) + if(_ct_after_first is null, 0, 1)
        + if(_ct_before_state = 'whole', size(_ct_before_positions) + 1, 0) as _parts,
        *
    from clashes

),

records as (

    select
        if(
            _ct_after_last_field = 5 and _ct_after_index > 0 and not _ct_after_is_fragment and _ct_after_first['values']['tags'] is not null and _ct_after_second['values']['tags'] is not null,
            concat(
                slice(
                    split_extent(
                        if(_ct_after_second['values']['tags'] is not null, _ct_after_first['values']['tags'], null),
                        case when _ct_after_first['values']['tags'] rlike '(?<!~)(~~)+;' and (regexp_count(_ct_after_first['values']['tags'], '(?<!~)(~~)*;') + 1 = _ct_after_index) then try_cast(_ct_after_index as int) end
                    ),
                    1,
                    try_cast(_ct_after_index as int)
                ),
                split_extent(_ct_after_second['values']['tags'], try_cast(null as int))
            ),
            split_extent(_ct_text_6, cast(null as int))
        ) as tags,
        if(
            _ct_after_last_field = 6 and _ct_after_index > 0 and not _ct_after_is_fragment and _ct_after_first['values']['counts'] is not null and _ct_after_second['values']['counts'] is not null,
            concat(
                slice(
                    split_extent(
                        if(_ct_after_second['values']['counts'] is not null, _ct_after_first['values']['counts'], null),
                        case when _ct_after_first['values']['counts'] rlike '(?<!~)(~~)+;' and (regexp_count(_ct_after_first['values']['counts'], '(?<!~)(~~)*;') + 1 = _ct_after_index) then try_cast(_ct_after_index as int) end
                    ),
                    1,
                    try_cast(_ct_after_index as int)
                ),
                split_extent(_ct_after_second['values']['counts'], try_cast(null as int))
            ),
            split_extent(_ct_text_7, cast(null as int))
        ) as counts,
        *
    from joined

),

typed as (

    select
        coalesce(try_cast(`order` as bigint), try_cast(replace(cast(try_cast(regexp_extract(`order`, '^ *[-+]?[0-9]*([.][0-9]{0,18}0*)?([eE][+]?0*[0-9]{1,2})? *$|^ *[-+]?[0-9]*([.][0-9]{0,9}0*)?[eE]-0*[0-9] *$', 0) as decimal(38, 18)) as string), '.000000000000000000', '') as bigint)) as `order`,
        `it's`,
        `name with spaces`,
        try_cast(amount as decimal(12, 2)) as amount,
        coalesce(try_cast(day as date), try_cast(regexp_replace(day, '^ *([-+]?[0-9]+-[0-9]+-[0-9]+)[: T]([0-9]+:[0-9]+:[0-9]+)(?:[:.]([0-9]+))? *([-+]?) *(.*)$', '$1 $2.$3$4$5') as date)) as day,
        tags,
        transform(counts, element -> coalesce(try_cast(element as int), try_cast(replace(cast(try_cast(regexp_extract(element, '^ *[-+]?[0-9]*([.][0-9]{0,18}0*)?([eE][+]?0*[0-9]{1,2})? *$|^ *[-+]?[0-9]*([.][0-9]{0,9}0*)?[eE]-0*[0-9] *$', 0) as decimal(38, 18)) as string), '.000000000000000000', '') as int))) as counts,
        coalesce(try_cast(_ct_before_1 as bigint), try_cast(replace(cast(try_cast(regexp_extract(_ct_before_1, '^ *[-+]?[0-9]*([.][0-9]{0,18}0*)?([eE][+]?0*[0-9]{1,2})? *$|^ *[-+]?[0-9]*([.][0-9]{0,9}0*)?[eE]-0*[0-9] *$', 0) as decimal(38, 18)) as string), '.000000000000000000', '') as bigint)) as _ct_before_1,
        _ct_before_2,
        coalesce(
            case when `order` is not null and coalesce(try_cast(`order` as bigint), try_cast(replace(cast(try_cast(regexp_extract(`order`, '^ *[-+]?[0-9]*([.][0-9]{0,18}0*)?([eE][+]?0*[0-9]{1,2})? *$|^ *[-+]?[0-9]*([.][0-9]{0,9}0*)?[eE]-0*[0-9] *$', 0) as decimal(38, 18)) as string), '.000000000000000000', '') as bigint)) is null then concat('column order: \'', cast(`order` as string), '\' is not bigint') end,
            null
        ) as _ct_key_misfit,
        coalesce(
            case when _ct_before_1 is not null and coalesce(try_cast(_ct_before_1 as bigint), try_cast(replace(cast(try_cast(regexp_extract(_ct_before_1, '^ *[-+]?[0-9]*([.][0-9]{0,18}0*)?([eE][+]?0*[0-9]{1,2})? *$|^ *[-+]?[0-9]*([.][0-9]{0,9}0*)?[eE]-0*[0-9] *$', 0) as decimal(38, 18)) as string), '.000000000000000000', '') as bigint)) is null then concat('column order: \'', cast(_ct_before_1 as string), '\' is not bigint') end,
            null
        ) as _ct_key_before_misfit,
        coalesce(
            case when amount is not null and (try_cast(amount as decimal(12, 2)) is null or case when cast(amount as string) rlike '[eE]' then try_cast(amount as double) <> cast(try_cast(amount as decimal(12, 2)) as double) else cast(amount as string) rlike '[.][0-9]{2}[0-9]*[1-9]' end) then concat('column amount: \'', cast(amount as string), '\' is not decimal(12, 2)') end,
            case when day is not null and (coalesce(try_cast(day as date), try_cast(regexp_replace(day, '^ *([-+]?[0-9]+-[0-9]+-[0-9]+)[: T]([0-9]+:[0-9]+:[0-9]+)(?:[:.]([0-9]+))? *([-+]?) *(.*)$', '$1 $2.$3$4$5') as date)) is null or not coalesce(try_cast(day as timestamp), try_cast(regexp_replace(day, '^ *([-+]?[0-9]+-[0-9]+-[0-9]+)[: T]([0-9]+:[0-9]+:[0-9]+)(?:[:.]([0-9]+))? *([-+]?) *(.*)$', '$1 $2.$3$4$5') as timestamp)) <=> try_cast(coalesce(try_cast(day as date), try_cast(regexp_replace(day, '^ *([-+]?[0-9]+-[0-9]+-[0-9]+)[: T]([0-9]+:[0-9]+:[0-9]+)(?:[:.]([0-9]+))? *([-+]?) *(.*)$', '$1 $2.$3$4$5') as date)) as timestamp) or cast(day as string) rlike '^[^0-9A-Za-z]*T?[0-9]+:|^[^0-9A-Za-z]*[0-9]+[^0-9A-Za-z]*$') then concat('column day: \'', cast(day as string), '\' is not date') end,
            null
        ) as _ct_column_misfit,
        coalesce(
            case
                when
                    _ct_text_6 is not null
                    and (
                        tags is null
                    )
                    then concat('column tags: \'', _ct_text_6, '\' is not array<string>')
            end,
            case
                when
                    _ct_text_7 is not null
                    and (
                        counts is null
                        or exists(counts, element -> element is not null and coalesce(try_cast(element as int), try_cast(replace(cast(try_cast(regexp_extract(element, '^ *[-+]?[0-9]*([.][0-9]{0,18}0*)?([eE][+]?0*[0-9]{1,2})? *$|^ *[-+]?[0-9]*([.][0-9]{0,9}0*)?[eE]-0*[0-9] *$', 0) as decimal(38, 18)) as string), '.000000000000000000', '') as int)) is null)
                    )
                    then concat('column counts: \'', _ct_text_7, '\' is not array<int>')
            end,
            null
        ) as _ct_extent_misfit,
        array_intersect(
            array('order', 'it\'s', 'name with spaces', 'amount', 'day', 'tags', 'counts'),
            transform(
                _ct_field_map,
                field -> element_at(map('order', 'order', 'it\'s', 'it\'s', 'name with spaces', 'name with spaces', 'amount', 'amount', 'day', 'day', 'tags', 'tags', 'counts', 'counts'), field)
            )
        ) as _ct_named_columns,
        case
            when array_contains(_ct_operations, 1) then 'insert'
            when array_contains(_ct_operations, 2) then 'delete'
            else 'update'
        end as _ct_kind,
        * except (`order`, `it's`, `name with spaces`, amount, day, tags, counts, _ct_before_1, _ct_before_2)
    from records

),

judged as (

    select
        *,
        _ct_is_tracked as _has_tracking,
        case
            when _ct_fault_in_change is not null
                then struct('rejected' as status, _ct_fault_in_change as reason)
            when _ct_operations not in (array(1L), array(2L), array(3L), array(4L), array(3L, 4L))
                then struct('rejected' as status, concat('operations_contradict: the change rows are of operations ', array_join(_ct_operations, ', ')) as reason)
            when _ct_is_tracked and _ct_tracked_numbers <> if(array_contains(_ct_operations, 3), array(4L), _ct_operations)
                then struct('rejected' as status, concat('operations_contradict: the change rows are of operation ', array_join(_ct_operations, ', '), ', the tracking row is of ', array_join(_ct_tracked_operations, ', ')) as reason)
            when size(_ct_after_positions) > 1
                then struct('rejected' as status, concat('continuation_broken: the after image has parts that go on from positions ', array_join(_ct_after_positions, ', '), ', and there can be one') as reason)
            when size(_ct_before_positions) > 1
                then struct('rejected' as status, concat('continuation_broken: the before image has parts that go on from positions ', array_join(_ct_before_positions, ', '), ', and there can be one') as reason)
            when _ct_after_clash is not null
                then struct('rejected' as status, concat('parts_clash: after image: column ', _ct_after_clash, ' differs between the two parts and is not the field at the cut') as reason)
            when _ct_before_clash is not null
                then struct('rejected' as status, concat('parts_clash: before image: column ', _ct_before_clash, ' differs between the two parts and is not the field at the cut') as reason)
            when _ct_after_state = 'none'
                then struct('waiting' as status, 'after_image_missing: no after image of this sequence has landed' as reason)
            when _ct_after_state <> 'whole'
                then struct('waiting' as status, concat(_ct_after_state, ': the image is in two records, and one of them has not landed') as reason)
            when _ct_time is null and _ct_tracking['_ct_time_misfit'] is not null
                then struct('rejected' as status, concat('value_does_not_fit: tracking row: ', _ct_tracking['_ct_time_misfit']) as reason)
            when _ct_key_misfit is not null
                then struct('rejected' as status, concat('value_does_not_fit: ', _ct_key_misfit) as reason)
            when `order` is null and `it's` is null
                then struct('rejected' as status, 'key_missing: every key column is null: order, it\'s' as reason)
            when _ct_kind = 'update' and _ct_key_before_misfit is not null
                then struct('rejected' as status, concat('value_does_not_fit: before image: ', _ct_key_before_misfit) as reason)
            when _ct_kind <> 'delete' and _ct_column_misfit is not null
                then struct('rejected' as status, concat('value_does_not_fit: ', _ct_column_misfit) as reason)
            when _ct_kind <> 'delete' and _ct_extent_misfit is not null
                then struct('rejected' as status, concat('value_does_not_fit: ', _ct_extent_misfit) as reason)
            when _ct_is_before and _ct_before_state <> 'whole'
                then struct('waiting' as status, concat(_ct_before_state, ': the image is in two records, and one of them has not landed') as reason)
            when _ct_position > 0
                then struct('merged' as status, 'chunk: the record goes on from the one at position 0' as reason)
            when _ct_is_before
                then struct('merged' as status, 'before_image: part of the update with the same sequence' as reason)
        end as _ct_verdict
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
        * except (_partition_id, _recid),
        cast(null as bigint) as `order`,
        cast(null as string) as `it's`,
        cast(null as string) as `name with spaces`,
        cast(null as decimal(12, 2)) as amount,
        cast(null as date) as day,
        cast(null as array<string>) as tags,
        cast(null as array<int>) as counts,
        cast(null as int) as _parts,
        cast(null as boolean) as _has_tracking,
        case
            when _ct_landed_sequence is null
                then struct('rejected' as status, 'change_seq_missing: _Change-Sequence is null' as reason)
            when coalesce(_ct_sequence, -1) < 0
                then struct('rejected' as status, concat('change_seq_malformed: \'', _ct_landed_sequence, '\' is no whole number of 0 or more') as reason)
            when _ct_operation_code = 3
                then struct('rejected' as status, 'unknown_operation: operation 3, a before image, is never in a tracking table' as reason)
            when coalesce(_ct_operation_code, 0) not between 1 and 12
                then struct('rejected' as status, concat('unknown_operation: operation is ', coalesce(concat('\'', _ct_landed_operation, '\''), 'null')) as reason)
            when _ct_operation_code in (5, 12)
                then struct('ignored' as status, concat('schema_event: ', element_at(map(5, 'field_deleted', 6, 'partition_dropped', 7, 'partition_truncated', 8, 'partition_deallocated', 9, 'tenant_partition_deallocated', 10, 'tenant_partition_dropped', 11, 'merged_partition_dropped', 12, 'field_added'), cast(_ct_operation_code as int))) as reason)
            when _ct_operation_code between 6 and 11
                then struct('ignored' as status, concat('partition_event: ', element_at(map(5, 'field_deleted', 6, 'partition_dropped', 7, 'partition_truncated', 8, 'partition_deallocated', 9, 'tenant_partition_deallocated', 10, 'tenant_partition_dropped', 11, 'merged_partition_dropped', 12, 'field_added'), cast(_ct_operation_code as int)), ', partition ', coalesce(cast(_partition_id as string), 'null')) as reason)
            else struct('waiting' as status, 'change_row_missing: no change row of this sequence has landed' as reason)
        end as _ct_verdict
    from lone_tracking_rows

),

staged_rows as (

    select
        `order`,
        cast(`it's` as string) as `it's`,
        cast(`name with spaces` as string) as `name with spaces`,
        amount,
        day,
        cast(tags as array<string>) as tags,
        counts,
        case when _ct_verdict is null then _ct_kind end as _change_op,
        _change_seq,
        coalesce(_ct_time, _ct_tracking['_ct_time']) as _changed_at,
        coalesce(_ct_landed_transaction_id, _ct_tracking['_transaction_id']) as _transaction_id,
        case when coalesce(_ct_verdict['status'] = 'rejected', true) then _change_seq end as _change_id,
        case
            when _ct_verdict is null and _ct_kind = 'update'
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
                                coalesce(_ct_named_columns, array('order', 'it\'s', 'name with spaces', 'amount', 'day', 'tags', 'counts'))
                            )
                        )
                    ),
                    array('order', 'it\'s', 'name with spaces', 'amount', 'day', 'tags', 'counts')
                )
        end as _present_columns,
        case
            when _ct_verdict is null and _ct_kind <> 'delete'
                then _ct_named_columns
        end as _changed_columns,
        case
            when _ct_verdict is null and _ct_kind = 'update' and _ct_has_before and not struct(`order`, `it's`) <=> struct(_ct_before_1 as `order`, _ct_before_2 as `it's`)
                then struct(_ct_before_1 as `order`, _ct_before_2 as `it's`)
        end as _key_before,
        _raw_id,
        case when _ct_verdict['status'] is not null then to_json(_ct_landed_row, map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')) end as _raw_row,
        if(_ct_verdict is null, 'accepted', _ct_verdict['status']) as _status,
        _ct_verdict['reason'] as _status_reason,
        _parts,
        _has_tracking,
        case
            when _ct_verdict is null and _ct_differs
                then 'conflicting_content: rows of the change were delivered with different contents; the greater ones count'
            when _ct_verdict is null and _ct_kind = 'update' and not _ct_has_before and arrays_overlap(_ct_named_columns, array('order', 'it\'s'))
                then 'key_move_without_before: the field map says that the key changed, and no before image has the key before'
            when _ct_verdict is null and _ct_kind <> 'delete'
                then concat('unknown_field: the field map names ', nullif(array_join(filter(_ct_tracking['_ct_field_map'], field -> lower(field) not in ('_tran-id', '_time-stamp', '_change-sequence', '_continuation-position', '_arrayindex', '_fragment', '_operation', 'order', 'it\'s', 'name with spaces', 'amount', 'day', 'tags', 'counts', 'notes', 'landed')), ', '), ''), ', and neither the change table nor the sources file has a column of that name')
        end as _report,
        monotonically_increasing_id() as _ct_place
    from judged
    union all
    select
        `order`,
        cast(`it's` as string) as `it's`,
        cast(`name with spaces` as string) as `name with spaces`,
        amount,
        day,
        cast(tags as array<string>) as tags,
        counts,
        cast(null as string) as _change_op,
        case when _ct_sequence >= 0 then lpad(cast(_ct_sequence as string), 19, '0') end as _change_seq,
        _ct_time as _changed_at,
        _transaction_id,
        cast(null as string) as _change_id,
        cast(null as array<string>) as _present_columns,
        cast(null as array<string>) as _changed_columns,
        cast(null as struct<`order`: bigint, `it's`: string>) as _key_before,
        concat_ws('/', 'tracking', 12, coalesce(case when _ct_sequence >= 0 then lpad(cast(_ct_sequence as string), 19, '0') end, _ct_landed_sequence, 'null'), coalesce(_ct_landed_operation, 'null')) as _raw_id,
        case when _ct_verdict['status'] is not null then to_json(_ct_landed_row, map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')) end as _raw_row,
        if(_ct_verdict is null, 'accepted', _ct_verdict['status']) as _status,
        _ct_verdict['reason'] as _status_reason,
        _parts,
        _has_tracking,
        cast(null as string) as _report,
        monotonically_increasing_id() as _ct_place
    from judged_tracking_rows

),


split_texts as (

    select
        * except (tags, counts),
        split_extent(tags, cast(null as int)) as tags,
        split_extent(counts, cast(null as int)) as counts,
        struct(*) as _ct_landed_row
    from lake_raw.openedge_load

),

loaded as (

    select
        `order`,
        `it's`,
        `name with spaces`,
        try_cast(amount as decimal(12, 2)) as amount,
        day,
        tags,
        transform(counts, element -> coalesce(try_cast(element as int), try_cast(replace(cast(try_cast(regexp_extract(element, '^ *[-+]?[0-9]*([.][0-9]{0,18}0*)?([eE][+]?0*[0-9]{1,2})? *$|^ *[-+]?[0-9]*([.][0-9]{0,9}0*)?[eE]-0*[0-9] *$', 0) as decimal(38, 18)) as string), '.000000000000000000', '') as int))) as counts,
        coalesce(
            case when amount is not null and (try_cast(amount as decimal(12, 2)) is null or case when cast(amount as string) rlike '[eE]' then try_cast(amount as double) <> cast(try_cast(amount as decimal(12, 2)) as double) else cast(amount as string) rlike '[.][0-9]{2}[0-9]*[1-9]' end) then concat('column amount: \'', cast(amount as string), '\' is not decimal(12, 2)') end,
            get(array_compact(transform(counts, (element, index) -> case when element is not null and coalesce(try_cast(element as int), try_cast(replace(cast(try_cast(regexp_extract(element, '^ *[-+]?[0-9]*([.][0-9]{0,18}0*)?([eE][+]?0*[0-9]{1,2})? *$|^ *[-+]?[0-9]*([.][0-9]{0,9}0*)?[eE]-0*[0-9] *$', 0) as decimal(38, 18)) as string), '.000000000000000000', '') as int)) is null then concat('column counts[', index, ']: \'', cast(element as string), '\' is not int') end)), 0),
            null
        ) as _ct_column_misfit,
        case
            when _ct_landed_row['tags'] is not null and tags is null
                then concat('column tags: \'', _ct_landed_row['tags'], '\' is not array<string>')
            when _ct_landed_row['counts'] is not null and counts is null
                then concat('column counts: \'', _ct_landed_row['counts'], '\' is not array<int>')
        end as _ct_extent_misfit,
        lower(hex(xxhash64(`order`, `it's`, `name with spaces`, amount, day, to_json(tags, map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), to_json(counts, map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), array(`order` is null, `it's` is null, `name with spaces` is null, amount is null, day is null, tags is null, counts is null)))) as _raw_id,
        _ct_landed_row
    from split_texts

),

judged_load as (

    select
        *,
        cast(null as int) as _parts,
        cast(null as boolean) as _has_tracking,
        case
            when _ct_extent_misfit is not null
                then struct('rejected' as status, concat('value_does_not_fit: ', _ct_extent_misfit) as reason)
            when _ct_column_misfit is not null
                then struct('rejected' as status, concat('value_does_not_fit: ', _ct_column_misfit) as reason)
            when `order` is null and `it's` is null
                then struct('rejected' as status, 'key_missing: every key column is null: order, it\'s' as reason)
        end as _ct_verdict
    from loaded

),

staged_snapshot as (

    select
        `order`,
        cast(`it's` as string) as `it's`,
        cast(`name with spaces` as string) as `name with spaces`,
        amount,
        day,
        cast(tags as array<string>) as tags,
        counts,
        case when _ct_verdict is null then 'snapshot' end as _change_op,
        '' as _change_seq,
        cast(null as timestamp) as _changed_at,
        cast(null as string) as _transaction_id,
        case when _ct_verdict is null then concat_ws(':', 'snapshot', '', to_json(struct(`order`, `it's`), map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS'))) end as _change_id,
        cast(null as array<string>) as _present_columns,
        cast(null as array<string>) as _changed_columns,
        cast(null as struct<`order`: bigint, `it's`: string>) as _key_before,
        _raw_id,
        case when _ct_verdict['status'] is not null then to_json(_ct_landed_row, map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')) end as _raw_row,
        if(_ct_verdict is null, 'accepted', _ct_verdict['status']) as _status,
        _ct_verdict['reason'] as _status_reason,
        _parts,
        _has_tracking,
        cast(null as string) as _report,
        monotonically_increasing_id() as _ct_place
    from judged_load

),

staged as (

    select *, false as _ct_is_of_load
    from staged_rows
    union all
    select *, true as _ct_is_of_load
    from staged_snapshot

)

select
    `order`,
    `it's`,
    `name with spaces`,
    amount,
    day,
    tags,
    counts,
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
