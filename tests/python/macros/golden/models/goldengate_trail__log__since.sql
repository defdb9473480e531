-- change_tables run: {"run": "since", "mark_before": {"layout": 1, "log": "20260130T120000000000_00000001", "batch": "20260130T120000000000_00000001", "extends": null, "changes": 3, "marks_rows": false, "floor": "", "highest_seq": "20260131120000250000000000000000022", "loads": [], "moves": false, "rebuild": "", "snapshot_seq": null, "arrival": "positions:trail_seqno,trail_rba", "settled": [{"group": ["it's"], "position": [3, 4100], "is_whole": true}], "edge": null, "key": ["order", "it's"], "order": {}, "columns": {"order": "bigint", "it's": "string", "name with spaces": "string", "amount": "decimal(12,2)", "at": "timestamp", "local": "timestamp_ntz", "day": "date", "small": "smallint", "ratio": "double", "flag": "boolean", "bytes": "binary"}, "form": 0, "added": {}}, "marks": 1, "edge": [{"group": ["it's"], "position": [4, 200], "is_whole": true}], "until": "(\n            (trail_seqno is null or trail_rba is null)\n            or (trail_name <=> 'it\\'s' and (trail_seqno < 4 or (trail_seqno = 4 and trail_rba <= 200)))\n        )", "is_whole": false, "is_late": true, "arrival": {"kind": "positions", "group": ["trail_name"], "columns": ["trail_seqno", "trail_rba"]}, "settled_before": [{"group": ["it's"], "position": [3, 4100], "is_whole": true}]}
with landed as (

    select
        trail_name,
        trail_seqno,
        trail_rba,
        hdr_ind,
        io_type,
        trans_ind,
        continued,
        before_after,
        table_name,
        io_time,
        format_type,
        audit_rba,
        audit_pos,
        before_data,
        after_data,
        coalesce(table_name = 'APP.ORDERS', false) as _is_own,
        case
            when trail_name = ''
                then 'trail_name is empty'
            when trail_name is null
                then 'trail_name is null'
            when trail_seqno not between 0 and 9999999999
                then concat('trail_seqno is ', trail_seqno)
            when trail_seqno is null
                then 'trail_seqno is null'
            when trail_rba not between 0 and 9223372036854775807
                then concat('trail_rba is ', trail_rba)
            when trail_rba is null
                then 'trail_rba is null'
        end is null as _has_position,
        case when trans_ind in (0, 3) then coalesce(tokens['LOGCSN'], tokens['L']) end as _told_csn,
        case when trans_ind in (0, 3) then coalesce(tokens['TRANID'], tokens['6']) end as _told_transaction_id,
        struct(trail_name, struct(trail_seqno, trail_rba) as _position) as _arrival,
        xxhash64(
            hdr_ind, table_name, io_type, trans_ind, before_after, continued,
            map_keys(before_data), map_values(before_data), map_keys(after_data), map_values(after_data)
        ) as _content,
        struct(trail_name, trail_seqno, trail_rba, hdr_ind, undo_flag, rec_length, io_type, trans_ind, syskey_len, audit_rba, audit_pos, continued, partition_ind, before_after, io_time, orig_node, format_type, incomplete, rec_count, table_name, before_data, after_data, tokens) as _landed_row
    from lake_raw.trail
    where
        (
            (trail_seqno is null or trail_rba is null)
            or (trail_name <=> 'it\'s' and (trail_seqno > 3 or (trail_seqno = 3 and trail_rba > 4100)))
            or not (
                (trail_name <=> 'it\'s')
            )
        )
        and (
            (trail_seqno is null or trail_rba is null)
            or (trail_name <=> 'it\'s' and (trail_seqno < 4 or (trail_seqno = 4 and trail_rba <= 200)))
        )

),

kinds as (

    select /*+ broadcast(io_types) */
        landed.*,
        if(io_types.kind = 'key_update', 'update', io_types.kind) as _kind,
        coalesce(io_types.kind = 'key_update', false) as _is_key_update
    from landed
    left join lake.goldengate_io_types as io_types
        on landed.io_type = io_types.code and landed.hdr_ind = 'E'

),

headers as (

    select
        *,
        _has_position and coalesce(trans_ind in (0, 3), false) and coalesce(_kind, '') not in ('control', 'metadata') as _opens,
        -- a control record may end a transaction, but is none by itself
        _has_position and coalesce(_kind, '') <> 'metadata'
        and coalesce(trans_ind = 2 or (trans_ind = 3 and coalesce(_kind, '') <> 'control'), false) as _closes
    from kinds

),

-- a trail is read file by file, so that none need be sorted whole
files as (

    select
        trail_name,
        trail_seqno,
        max(case when _opens then trail_rba end) as _last_start
    from headers
    group by trail_name, trail_seqno

),

file_starts as (

    select
        trail_name as _file_trail,
        trail_seqno as _file_seqno,
        max(case when _last_start is not null then struct(trail_seqno, _last_start as trail_rba) end) over (
            partition by trail_name
            order by trail_seqno
            rows between unbounded preceding and 1 preceding
        ) as _start_before,
        max(case when _last_start is not null then struct(trail_seqno, _last_start as trail_rba) end) over (partition by trail_name) as _last_start_of_trail
    from files

),

placed as (

    select
        *,
        case when table_name = 'APP.ORDERS' then before_data end as _data_before,
        case when table_name = 'APP.ORDERS' then after_data end as _data_after,
        row_number() over in_file as _number,
        max(case when _opens then trail_rba end) over in_file as _start_in_file
    from headers
    window in_file as (
        partition by trail_seqno, trail_name
        order by trail_rba, _content
        rows between unbounded preceding and current row
    )

),

copied as (

    select
        *,
        case
            when not hdr_ind <=> 'E'
                then concat('header_malformed: hdr_ind is ', coalesce(concat('\'', hdr_ind, '\''), 'null'))
            when _kind is null
                then concat('unknown_operation: io_type is ', coalesce(cast(io_type as string), 'null'))
            when not coalesce(trans_ind in (0, 1, 2, 3), false)
                then concat('header_malformed: trans_ind is ', coalesce(cast(trans_ind as string), 'null'))
            when continued not in ('Y', 'N')
                then concat('header_malformed: continued is \'', continued, '\'')
            when _kind = 'update' and not coalesce(before_after in ('A', 'B'), false)
                then concat('header_malformed: before_after is ', coalesce(concat('\'', before_after, '\''), 'null'))
        end as _own_fault,
        min(_number) over same_position as _first_number,
        min(_content) over same_position <> max(_content) over same_position as _differs
    from placed
    window same_position as (partition by trail_seqno, trail_name, trail_rba)

),

-- of a record that landed more than once, one row counts, the greatest of those that can be read, and the others go the same way
numbered as (

    select
        *,
        case
            when not _differs
                then _number - _first_number
            when
                struct(_own_fault is null, to_json(struct(after_data, before_data)), _number)
                < max(case when _differs then struct(_own_fault is null, to_json(struct(after_data, before_data)), _number) end) over same_position
                then _number - _first_number + 1
            else 0
        end as _copy
    from copied
    window same_position as (partition by trail_seqno, trail_name, trail_rba)

),

started as (

    select /*+ broadcast(file_starts) */
        numbered.*,
        if(_start_in_file is null, _start_before['trail_seqno'], trail_seqno) as _start_seqno,
        coalesce(_start_in_file, _start_before['trail_rba']) as _start_rba,
        _last_start_of_trail
    from numbered
    left join file_starts
        on numbered.trail_name = file_starts._file_trail and numbered.trail_seqno = file_starts._file_seqno

),

ended as (

    select
        *,
        min(case when _closes then struct(trail_seqno, trail_rba) end) over whole_transaction as _end,
        max(case when _opens then _told_csn end) over whole_transaction as _csn,
        coalesce(
            max(case when _opens then _told_transaction_id end) over whole_transaction,
            concat(trail_name, '/', lpad(cast(_start_seqno as string), 10, '0'), '/', lpad(cast(_start_rba as string), 19, '0'))
        ) as _transaction_id
    from started
    window whole_transaction as (
        partition by _start_rba, _start_seqno, trail_name
        order by trail_seqno, trail_rba, _copy
        rows between unbounded preceding and unbounded following
    )

),

in_transactions as (

    select
        *,
        case
            when not _has_position then null
            when _start_rba is null or struct(trail_seqno, trail_rba) > _end then 'none'
            when _end is not null then 'closed'
            when struct(_start_seqno, _start_rba) = _last_start_of_trail then 'open'
            else 'abandoned'
        end as _transaction
    from ended

),

-- records of no change, and those outside of a transaction, part nothing
counted as (

    select
        *,
        coalesce(_transaction <> 'none', false) and coalesce(_kind, '') not in ('control', 'metadata', 'ddl') as _counts
    from in_transactions

),

neighboured as (

    select
        *,
        lag(case when _counts and _copy = 0 then struct(struct(trail_seqno, trail_rba) as place, table_name, continued) end, 1) ignore nulls over in_order as _record_before,
        lag(case when _counts and _copy = 0 then struct(struct(trail_seqno, trail_rba) as place, table_name, continued) end, 2) ignore nulls over in_order as _second_before
    from counted
    window in_order as (partition by _start_rba, _start_seqno, trail_name order by trail_seqno, trail_rba, _copy)

),

-- of a copy, the record before is the one before its first
begun as (

    select
        *,
        not coalesce(
            if(_record_before['place'] = struct(trail_seqno, trail_rba), _second_before['continued'], _record_before['continued']) = 'Y'
            and if(_record_before['place'] = struct(trail_seqno, trail_rba), _second_before['table_name'], _record_before['table_name']) <=> table_name,
            false
        ) as _is_first
    from neighboured

),

runs as (

    select
        *,
        count_if(_counts and _copy = 0 and _is_first) over (
            partition by _start_rba, _start_seqno, trail_name
            order by trail_seqno, trail_rba, _copy
            rows between unbounded preceding and current row
        ) as _run
    from begun

),

own as (

    select *
    from runs
    where _is_own or (_transaction = 'open' and struct(trail_seqno, trail_rba) = struct(_start_seqno, _start_rba))

),

piece_runs as (

    select
        *,
        collect_list(
            case
                when _counts and _copy = 0 and not (_is_first and coalesce(continued, 'N') = 'N')
                    then struct(if(size(_data_before) > 0, _data_before, null) as `before`, if(size(_data_after) > 0, _data_after, null) as `after`)
            end
        ) over whole_run as _pieces,
        min(case when _counts and _copy = 0 then struct(trail_seqno, trail_rba) end) over whole_run as _first_piece,
        max(case when _counts and _copy = 0 then struct(trail_seqno, trail_rba, continued) end) over whole_run as _last_piece,
        max(case when _counts and _is_first then _kind end) over whole_run as _kind_of_run,
        max(case when _counts and _copy = 0 then _own_fault end) over whole_run as _fault_in_run,
        max(_counts and _differs) over whole_run as _differs_in_run
    from own
    window whole_run as (
        partition by _start_rba, _start_seqno, trail_name, _run
        order by trail_seqno, trail_rba, _copy
        rows between unbounded preceding and unbounded following
    )

),

joined as (

    select
        *,
        case
            when size(_pieces) > 0
                then aggregate(
                    slice(_pieces, 2, size(_pieces)),
                    _pieces[0]['before'],
                    (joined, piece) -> coalesce(
                        map_zip_with(
                            joined,
                            piece['before'],
                            (name, text, following) -> if(text is null or following is null, coalesce(text, following), concat(text, following))
                        ),
                        joined,
                        piece['before']
                    )
                )
            when size(_data_before) > 0
                then _data_before
        end as _image_before,
        case
            when size(_pieces) > 0
                then aggregate(
                    slice(_pieces, 2, size(_pieces)),
                    _pieces[0]['after'],
                    (joined, piece) -> coalesce(
                        map_zip_with(
                            joined,
                            piece['after'],
                            (name, text, following) -> if(text is null or following is null, coalesce(text, following), concat(text, following))
                        ),
                        joined,
                        piece['after']
                    )
                )
            when size(_data_after) > 0
                then _data_after
        end as _image_after,
        coalesce(_own_fault, if(_counts, _fault_in_run, null)) as _fault,
        case
            when not _counts then null
            when _last_piece['continued'] = 'Y'
                then concat('the pieces end at ', concat(trail_name, '/', lpad(cast(_last_piece['trail_seqno'] as string), 10, '0'), '/', lpad(cast(_last_piece['trail_rba'] as string), 19, '0')), ' without the last one')
            when _kind_of_run = 'fragment'
                then 'the piece has no record that it goes on from'
        end as _run_error
    from piece_runs

),

halves as (

    select
        *,
        if(_kind = 'delete' or (_kind = 'update' and before_after = 'B'), coalesce(_image_before, _image_after), _image_after) as _row,
        if(_kind = 'update' and before_after = 'A', _image_before, null) as _own_row_before,
        _counts and _copy = 0 and _is_first and _is_own as _is_head,
        coalesce(_counts and _kind = 'update' and before_after = 'B', false) as _is_half
    from joined

),

-- runs are numbered as they stand in the trail
paired as (

    select
        *,
        lag(case when _is_head then struct(struct(trail_seqno, trail_rba) as place, _is_half and _run_error is null and _fault is null as is_half, _row as image, _differs_in_run as differs) end, 1) ignore nulls over in_order as _head_before,
        lag(case when _is_head then struct(struct(trail_seqno, trail_rba) as place, _is_half and _run_error is null and _fault is null as is_half, _row as image, _differs_in_run as differs) end, 2) ignore nulls over in_order as _second_head_before,
        lead(case when _is_head then coalesce(_kind = 'update' and before_after = 'A', false) end, 1) ignore nulls over in_order as _half_follows
    from halves
    window in_order as (partition by _start_rba, _start_seqno, trail_name order by _run, trail_seqno, trail_rba, _copy)

),

told_before as (

    select
        *,
        case
            when not coalesce(_kind = 'update' and before_after = 'A', false) then null
            when _head_before['place'] = struct(trail_seqno, trail_rba) then if(_second_head_before['is_half'], _second_head_before, null)
            else if(_head_before['is_half'], _head_before, null)
        end as _other_half,
        case when _has_position then concat(trail_name, '/', lpad(cast(trail_seqno as string), 10, '0'), '/', lpad(cast(trail_rba as string), 19, '0')) end as _position
    from paired

),

-- the columns of the raw table behind names that no column of the source table has
records as (

    select
        _kind,
        _is_key_update,
        _transaction,
        _fault,
        _run_error,
        _is_own,
        _is_first,
        _is_half,
        _is_half and coalesce(_half_follows, false) as _is_paired,
        (size(_pieces) > 0 and _differs_in_run) or coalesce(_other_half['differs'], false) as _parts_differ,
        _row,
        coalesce(_own_row_before, _other_half['image']) as _row_before,
        _position,
        if(_counts, concat(trail_name, '/', lpad(cast(_first_piece['trail_seqno'] as string), 10, '0'), '/', lpad(cast(_first_piece['trail_rba'] as string), 19, '0')), _position) as _first_position,
        _transaction_id,
        io_type as _io_type,
        trans_ind as _trans_ind,
        io_time as _io_time,
        _csn,
        format_type as _format_type,
        audit_rba as _audit_rba,
        audit_pos as _audit_pos,
        _arrival,
        _landed_row
    from told_before

),

unpacked as (

    select
        if(map_contains_key(_row, 'order'), _row['order'], _row_before['order']) as `order`,
        if(map_contains_key(_row, 'it\'s'), _row['it\'s'], _row_before['it\'s']) as `it's`,
        _row['name with spaces'] as `name with spaces`,
        _row['amount'] as amount,
        if(length(_row['at']) > 26, regexp_replace(if(substring(_row['at'], 11, 1) = ':', overlay(_row['at'] placing ' ' from 11), _row['at']), '([.][0-9]{6})[0-9]+', '$1'), if(substring(_row['at'], 11, 1) = ':', overlay(_row['at'] placing ' ' from 11), _row['at'])) as `at`,
        if(length(_row['local']) > 26, regexp_replace(if(substring(_row['local'], 11, 1) = ':', overlay(_row['local'] placing ' ' from 11), _row['local']), '([.][0-9]{6})[0-9]+', '$1'), if(substring(_row['local'], 11, 1) = ':', overlay(_row['local'] placing ' ' from 11), _row['local'])) as `local`,
        if(length(_row['day']) > 26, regexp_replace(if(substring(_row['day'], 11, 1) = ':', overlay(_row['day'] placing ' ' from 11), _row['day']), '([.][0-9]{6})[0-9]+', '$1'), if(substring(_row['day'], 11, 1) = ':', overlay(_row['day'] placing ' ' from 11), _row['day'])) as day,
        _row['small'] as small,
        _row['ratio'] as ratio,
        _row['flag'] as flag,
        _row['bytes'] as bytes,
        if(map_contains_key(_row_before, 'order'), _row_before['order'], _row['order']) as _before_1,
        if(map_contains_key(_row_before, 'it\'s'), _row_before['it\'s'], _row['it\'s']) as _before_2,
        case
            when
                not coalesce(map_contains_key(_row, 'order'), false)
                and not coalesce(map_contains_key(_row_before, 'order'), false)
                then 'order'
            when
                not coalesce(map_contains_key(_row, 'it\'s'), false)
                and not coalesce(map_contains_key(_row_before, 'it\'s'), false)
                then 'it\'s'
        end as _missing_key,
        *
    from records

),

typed as (

    select
        try_cast(`order` as bigint) as `order`,
        `it's`,
        `name with spaces`,
        try_cast(amount as decimal(12, 2)) as amount,
        try_cast(`at` as timestamp) as `at`,
        try_cast(`local` as timestamp_ntz) as `local`,
        try_cast(day as date) as day,
        try_cast(small as smallint) as small,
        try_cast(ratio as double) as ratio,
        try_cast(flag as boolean) as flag,
        unhex(bytes) as bytes,
        try_cast(_before_1 as bigint) as _before_1,
        _before_2,
        coalesce(
            case when `order` is not null and try_cast(`order` as bigint) is null then concat('column order: \'', cast(`order` as string), '\' is not bigint') end,
            null
        ) as _key_misfit,
        coalesce(
            case when _before_1 is not null and try_cast(_before_1 as bigint) is null then concat('column order: \'', cast(_before_1 as string), '\' is not bigint') end,
            null
        ) as _key_before_misfit,
        coalesce(
            case when amount is not null and (try_cast(amount as decimal(12, 2)) is null or case when cast(amount as string) rlike '[eE]' then try_cast(amount as double) <> cast(try_cast(amount as decimal(12, 2)) as double) else cast(amount as string) rlike '[.][0-9]{2}[0-9]*[1-9]' end) then concat('column amount: \'', cast(amount as string), '\' is not decimal(12, 2)') end,
            case when `at` is not null and (try_cast(`at` as timestamp) is null or cast(`at` as string) rlike '^ *T?[0-9]+:' or cast(`at` as string) rlike '[.][0-9]{6}[0-9]*[1-9]') then concat('column at: \'', cast(`at` as string), '\' is not timestamp') end,
            case when `local` is not null and (try_cast(`local` as timestamp_ntz) is null or cast(`local` as string) rlike '^ *T?[0-9]+:' or cast(`local` as string) rlike '[.][0-9]{6}[0-9]*[1-9]' or cast(`local` as string) rlike '[0-9]:[0-9][0-9.:]* *[-+A-Za-z]') then concat('column local: \'', cast(`local` as string), '\' is not timestamp_ntz') end,
            case when day is not null and (try_cast(day as date) is null or not try_cast(day as timestamp) <=> try_cast(try_cast(day as date) as timestamp)) then concat('column day: \'', cast(day as string), '\' is not date') end,
            case when small is not null and try_cast(small as smallint) is null then concat('column small: \'', cast(small as string), '\' is not smallint') end,
            case when ratio is not null and (try_cast(ratio as double) is null or (abs(try_cast(ratio as double)) = double('infinity') and not cast(ratio as string) rlike '[iI][nN][fF]')) then concat('column ratio: \'', cast(ratio as string), '\' is not double') end,
            case when flag is not null and try_cast(flag as boolean) is null then concat('column flag: \'', cast(flag as string), '\' is not boolean') end,
            case when bytes rlike '[^0-9A-Fa-f]' or length(bytes) % 2 = 1 then concat('column bytes: \'', cast(bytes as string), '\' is not binary') end,
            null
        ) as _column_misfit,
        _missing_key,
        false as _names_collide,
        * except (_missing_key, `order`, `it's`, `name with spaces`, amount, `at`, `local`, day, small, ratio, flag, bytes, _before_1, _before_2)
    from unpacked

),

judged as (

    select
        *,
        struct(_before_1 as `order`, _before_2 as `it's`) as _told_key_before,
        case
            when not _is_own
                then 'waiting'
            when _position is null
                then null
            when _kind in ('metadata', 'control', 'ddl') or _transaction = 'abandoned'
                then 'ignored'
            when _transaction = 'open'
                then 'waiting'
            when _fault is not null or _transaction = 'none' or _run_error is not null
                then null
            when not _is_first or _is_paired
                then 'merged'
        end as _other_status,
        case
            when not _is_own
                then null
            when _position is null
                then concat('position_missing: ', case
                    when _landed_row['trail_name'] = ''
                        then 'trail_name is empty'
                    when _landed_row['trail_name'] is null
                        then 'trail_name is null'
                    when _landed_row['trail_seqno'] not between 0 and 9999999999
                        then concat('trail_seqno is ', _landed_row['trail_seqno'])
                    when _landed_row['trail_seqno'] is null
                        then 'trail_seqno is null'
                    when _landed_row['trail_rba'] not between 0 and 9223372036854775807
                        then concat('trail_rba is ', _landed_row['trail_rba'])
                    when _landed_row['trail_rba'] is null
                        then 'trail_rba is null'
                end)
            when _kind in ('metadata', 'control', 'ddl') or _transaction in ('abandoned', 'open')
                then null
            when _fault is not null
                then _fault
            when _transaction = 'none'
                then concat('transaction_start_missing: trans_ind is ', _trans_ind, ' and no transaction is open')
            when _run_error is not null
                then concat('chunk_run_broken: ', _run_error)
            when not _is_first or _is_paired or _kind = 'truncate'
                then null
            when _is_half
                then 'after_half_missing: the next record of the table in the transaction is not the half after'
            when _row is null
                then concat('data_missing: ', if(_kind = 'delete', 'before_data and after_data are', 'after_data is'), ' null or empty')
            when _names_collide
                then 'column_names_collide: names in the image differ by case alone'
            when _missing_key is not null
                then concat('key_missing: no image bears the key column ', _missing_key)
            when _key_misfit is not null
                then concat('value_does_not_fit: ', _key_misfit)
            when `order` is null and `it's` is null
                then 'key_missing: every key column is null: order, it\'s'
            when _key_before_misfit is not null
                then concat('value_does_not_fit: before_data: ', _key_before_misfit)
            when _kind <> 'delete' and _column_misfit is not null
                then concat('value_does_not_fit: ', _column_misfit)
        end as _rejection
    from typed

),

staged_rows as (

    select
        `order`,
        `it's`,
        `name with spaces`,
        amount,
        `at`,
        `local`,
        day,
        small,
        ratio,
        flag,
        bytes,
        case when _rejection is null and _other_status is null then _kind end as _change_op,
        _first_position as _change_seq,
        _io_time as _changed_at,
        _transaction_id,
        case when _rejection is null and _other_status is null then _first_position end as _change_id,
        case
            when _rejection is null and _other_status is null and _kind not in ('delete', 'truncate')
                then nullif(
                    array_union(
                        array('order', 'it\'s'),
                        array_intersect(
                            array('order', 'it\'s', 'name with spaces', 'amount', 'at', 'local', 'day', 'small', 'ratio', 'flag', 'bytes'),
                            map_keys(_row)
                        )
                    ),
                    array('order', 'it\'s', 'name with spaces', 'amount', 'at', 'local', 'day', 'small', 'ratio', 'flag', 'bytes')
                )
        end as _present_columns,
        cast(null as array<string>) as _changed_columns,
        case
            when
                _rejection is null and _other_status is null and _kind = 'update' and _row_before is not null
                and not struct(`order`, `it's`) <=> _told_key_before
                then _told_key_before
        end as _key_before,
        coalesce(_position, to_json(struct(_landed_row['trail_name'] as trail_name, _landed_row['trail_seqno'] as trail_seqno, _landed_row['trail_rba'] as trail_rba))) as _raw_id,
        case
            when _rejection is not null or _other_status is not null
                then to_json(_landed_row, map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS'))
        end as _raw_row,
        coalesce(if(_rejection is not null, 'rejected', null), _other_status, 'accepted') as _status,
        case
            when _rejection is not null then _rejection
            when not _is_own then 'transaction_open: the end of the transaction has not landed'
            when _kind = 'metadata' then 'metadata: the record tells how a table is made'
            when _kind = 'ddl' then 'ddl_record: the record tells a statement that changed a definition'
            when _kind = 'control' then concat('control_record: io_type ', _io_type, ' is no change of a row')
            when _transaction = 'abandoned' then 'transaction_abandoned: another transaction begins before the end of this one'
            when _other_status = 'waiting' then 'transaction_open: the end of the transaction has not landed'
            when _other_status = 'merged' and not _is_first then concat('chunk: the record goes on from ', _first_position)
            when _other_status = 'merged' then 'before_image: half of an update'
        end as _status_reason,
        _csn,
        _format_type,
        _audit_rba,
        _audit_pos,
        case
            when _rejection is null and _other_status is null and _parts_differ
                then 'conflicting_content: pieces of the record were delivered with different contents; the greater ones stand'
            when _rejection is null and _other_status is null and _is_key_update and _row_before is null
                then 'key_move_without_before: the record says that the key changed, and tells no key before'
        end as _report,
        monotonically_increasing_id() as _place,
        _arrival,
        coalesce(_transaction = 'open', false) as _holds_back
    from judged

),

staged as (

    select *
    from staged_rows

),

delivered as (

    select
        *,
        xxhash64(`order`, `it's`, `name with spaces`, amount, `at`, `local`, day, small, ratio, flag, bytes, _change_op, _present_columns, _changed_columns, _changed_at, _transaction_id, _raw_id, _csn, _format_type, _audit_rba, _audit_pos, array(`order` is null, `it's` is null, `name with spaces` is null, amount is null, `at` is null, `local` is null, day is null, small is null, ratio is null, flag is null, bytes is null, _change_op is null, _present_columns is null, _changed_columns is null, _changed_at is null, _transaction_id is null, _raw_id is null, _csn is null, _format_type is null, _audit_rba is null, _audit_pos is null)) as _row_hash,
        if(_change_op in ('delete', 'truncate'), xxhash64(_change_op), xxhash64(_change_op, `order`, `it's`, `name with spaces`, amount, `at`, `local`, day, small, ratio, flag, bytes, _present_columns, array(_change_op is null, `order` is null, `it's` is null, `name with spaces` is null, amount is null, `at` is null, `local` is null, day is null, small is null, ratio is null, flag is null, bytes is null, _present_columns is null))) as _content_hash
    from staged
    where _status <> 'merged'

),

gathered as (

    select
        *,
        count(*) over same_change as _copies,
        count(_report) over same_change as _reports,
        max(_report) over same_change as _known_report,
        max(_key_before) over same_change as _known_key_before,
        min(_content_hash) over same_change <> max(_content_hash) over same_change
        or not min(_key_before) over same_change <=> max(_key_before) over same_change as _contents_differ,
        max(_arrival) over same_change as _last_arrival,
        min(case when _holds_back then _arrival end) over same_change as _waiting_since
    from delivered
    window same_change as (partition by _change_seq, coalesce(_change_id, _raw_id), _change_id is null)

),

-- copies that differ: the greater text wins, and what only one of them tells (the key before) is kept
compared as (

    select
        *,
        max(case when _copies > 1 then struct(to_json(struct(`order`, `it's`, `name with spaces`, amount, `at`, `local`, day, small, ratio, flag, bytes), map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), _change_op, _present_columns, _changed_columns, _changed_at, _transaction_id, _raw_id, _csn, _format_type, _audit_rba, _audit_pos, _place) end) over (partition by _change_seq, coalesce(_change_id, _raw_id), _change_id is null) as _highest_rank
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
        _csn,
        _format_type,
        _audit_rba,
        _audit_pos,
        _status = 'accepted' as _is_accepted,
        _last_arrival,
        _waiting_since,
        `order`, `it's`, `name with spaces`, amount, `at`, `local`, day, small, ratio, flag, bytes
    from compared
    where _copies = 1 or struct(to_json(struct(`order`, `it's`, `name with spaces`, amount, `at`, `local`, day, small, ratio, flag, bytes), map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), _change_op, _present_columns, _changed_columns, _changed_at, _transaction_id, _raw_id, _csn, _format_type, _audit_rba, _audit_pos, _place) = _highest_rank

)

select *
from changes
