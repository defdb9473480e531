with landed as (

    select
        trail_name, trail_seqno, trail_rba, hdr_ind, undo_flag, rec_length, io_type, trans_ind, syskey_len, audit_rba, audit_pos, continued, partition_ind, before_after, io_time, orig_node, format_type, incomplete, rec_count, table_name,
        before_data,
        after_data,
        tokens,
        cast(null as string) as _ct_header_misfit,
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
        end is null as _ct_has_position
    from lake_raw.trail

),

kinds as (

    select /*+ broadcast(io_types) */
        landed.*,
        case when trans_ind in (0, 3) then coalesce(tokens['LOGCSN'], tokens['L']) end as _ct_landed_csn,
        case when trans_ind in (0, 3) then coalesce(tokens['TRANID'], tokens['6']) end as _ct_landed_transaction_id,
        xxhash64(
            hdr_ind, table_name, io_type, trans_ind, before_after, continued,
            map_keys(before_data), map_values(before_data), map_keys(after_data), map_values(after_data)
        ) as _ct_content,
        if(io_types.kind = 'key_update', 'update', io_types.kind) as _ct_kind,
        coalesce(io_types.kind = 'key_update', false) as _ct_is_key_update
    from landed
    left join lake.goldengate_io_types as io_types
        on landed.io_type = io_types.code and landed.hdr_ind = 'E'

),

headers as (

    select
        *,
        _ct_has_position and coalesce(trans_ind in (0, 3), false) and coalesce(_ct_kind, '') not in ('control', 'metadata') as _ct_opens,
        -- a control record may end a transaction, but is not a transaction by itself
        _ct_has_position and coalesce(_ct_kind, '') <> 'metadata'
        and coalesce(trans_ind = 2 or (trans_ind = 3 and coalesce(_ct_kind, '') <> 'control'), false) as _ct_closes
    from kinds

),

-- transactions are looked for file by file, so that no trail is sorted as a whole
files as (

    select
        trail_name,
        trail_seqno,
        max(case when _ct_opens then struct(trail_rba, _ct_landed_csn, if(_ct_kind = 'ddl', null, _ct_landed_transaction_id) as _ct_landed_transaction_id) end) as _ct_last_start
    from headers
    group by trail_name, trail_seqno

),

file_starts as (

    select
        trail_name as _ct_file_trail,
        trail_seqno as _ct_file_seqno,
        max(case when _ct_last_start is not null then struct(trail_seqno, _ct_last_start) end) over (
            partition by trail_name
            order by trail_seqno
            rows between unbounded preceding and 1 preceding
        ) as _ct_start_before,
        max(case when _ct_last_start is not null then struct(trail_seqno, _ct_last_start['trail_rba'] as trail_rba) end) over (partition by trail_name) as _ct_last_start_of_trail
    from files

),

placed as (

    select
        *,
        coalesce(table_name = 'APP.ORDERS', false) as _ct_is_staged,
        row_number() over in_file as _ct_number,
        max(case when _ct_opens then struct(trail_rba, _ct_landed_csn, if(_ct_kind = 'ddl', null, _ct_landed_transaction_id) as _ct_landed_transaction_id) end) over in_file as _ct_start_in_file
    from headers
    window in_file as (
        partition by trail_seqno, trail_name
        order by trail_rba, _ct_opens, _ct_content
        rows between unbounded preceding and current row
    )

),

copied as (

    select
        *,
        case
            when not hdr_ind <=> 'E'
                then concat('header_malformed: hdr_ind is ', coalesce(concat('\'', hdr_ind, '\''), 'null'))
            when _ct_kind is null
                then concat('unknown_operation: io_type is ', coalesce(cast(io_type as string), 'null'))
            when not coalesce(trans_ind in (0, 1, 2, 3), false)
                then concat('header_malformed: trans_ind is ', coalesce(cast(trans_ind as string), 'null'))
            when continued not in ('Y', 'N')
                then concat('header_malformed: continued is \'', continued, '\'')
            when _ct_kind = 'update' and not coalesce(before_after in ('A', 'B'), false)
                then concat('header_malformed: before_after is ', coalesce(concat('\'', before_after, '\''), 'null'))
            when _ct_header_misfit is not null
                then concat('value_does_not_fit: ', _ct_header_misfit)
        end as _ct_own_fault,
        min(_ct_content) over same_position <> max(_ct_content) over same_position as _ct_differs
    from placed
    window same_position as (partition by trail_seqno, trail_name, trail_rba)

),

-- of a record that landed more than once, one row counts: the greatest of those that can be read
numbered as (

    select
        *,
        case
            when not _ct_differs
                then _ct_number > min(_ct_number) over same_position
            else
                struct(_ct_own_fault is null, to_json(struct(after_data, before_data)), _ct_number)
                < max(case when _ct_differs then struct(_ct_own_fault is null, to_json(struct(after_data, before_data)), _ct_number) end) over same_position
        end as _ct_is_copy
    from copied
    window same_position as (partition by trail_seqno, trail_name, trail_rba)

),

started as (

    select /*+ broadcast(file_starts) */
        numbered.*,
        if(_ct_start_in_file is null, _ct_start_before['trail_seqno'], trail_seqno) as _ct_start_seqno,
        coalesce(_ct_start_in_file, _ct_start_before['_ct_last_start']) as _ct_start,
        _ct_last_start_of_trail
    from numbered
    left join file_starts
        on numbered.trail_name = file_starts._ct_file_trail and numbered.trail_seqno = file_starts._ct_file_seqno

),

-- a transaction is the same as another of its trail where both its number of the commit and its name are
identified as (

    select
        *,
        _ct_start['trail_rba'] as _ct_start_rba,
        _ct_start['_ct_landed_csn'] as _csn,
        coalesce(_ct_start['_ct_landed_transaction_id'], concat(trail_name, '/', lpad(cast(_ct_start_seqno as string), 10, '0'), '/', lpad(cast(_ct_start['trail_rba'] as string), 19, '0'))) as _transaction_id,
        coalesce(
            concat(_ct_start['_ct_landed_csn'], ' ', _ct_start['_ct_landed_transaction_id']),
            concat(trail_name, '/', lpad(cast(_ct_start_seqno as string), 10, '0'), '/', lpad(cast(_ct_start['trail_rba'] as string), 19, '0'))
        ) as _ct_identity
    from started

),

-- the windows from here on need no other order than this one
writings as (

    select
        *,
        max(struct(_ct_start_seqno, _ct_start_rba)) over every_writing as _ct_last_writing
    from identified
    window every_writing as (
        partition by _ct_identity, trail_name
        order by _ct_start_rba, _ct_start_seqno, trail_seqno, trail_rba, not _ct_is_copy
        rows between unbounded preceding and unbounded following
    )

),

ended as (

    select
        *,
        min(case when _ct_closes then struct(trail_seqno, trail_rba) end) over whole_transaction as _ct_end
    from writings
    window whole_transaction as (
        partition by _ct_identity, trail_name, _ct_start_rba, _ct_start_seqno
        order by trail_seqno, trail_rba, not _ct_is_copy
        rows between unbounded preceding and unbounded following
    )

),

in_transactions as (

    select
        *,
        case
            when not _ct_has_position then null
            when _ct_start_rba is null or struct(trail_seqno, trail_rba) > _ct_end then 'none'
            when _ct_end is not null then 'closed'
            when struct(_ct_start_seqno, _ct_start_rba) = _ct_last_start_of_trail then 'open'
            else 'abandoned'
        end as _ct_transaction
    from ended

),

written as (

    select
        *,
        min(case when _ct_transaction = 'closed' then struct(_ct_start_seqno, _ct_start_rba) end) over (
            partition by _ct_identity, trail_name
        ) as _ct_first_start
    from in_transactions

),

-- records of no change, and those outside of a transaction, do not separate pieces
counted as (

    select
        * except (_ct_transaction),
        if(_ct_transaction = 'closed' and _ct_first_start < struct(_ct_start_seqno, _ct_start_rba) and _ct_first_start < _ct_last_writing, 'repeated', _ct_transaction) as _ct_transaction,
        coalesce(_ct_transaction <> 'none', false) and coalesce(_ct_kind, '') not in ('control', 'metadata', 'ddl') as _ct_counts
    from written

),

-- a record goes on from the one before it; the copy that counts is the last one at its position
begun as (

    select
        *,
        not lag(case when _ct_counts and not _ct_is_copy then struct(table_name, continued) end) ignore nulls over in_order
        <=> struct(table_name, 'Y' as continued) as _ct_is_first
    from counted
    window in_order as (partition by _ct_identity, trail_name, _ct_start_rba, _ct_start_seqno order by trail_seqno, trail_rba, not _ct_is_copy)

),

-- all copies are of the run of the one that counts
runs as (

    select
        *,
        count_if(_ct_counts and not _ct_is_copy and _ct_is_first) over (
            partition by _ct_identity, trail_name, _ct_start_rba, _ct_start_seqno
            order by trail_seqno, trail_rba
            range between unbounded preceding and current row
        ) as _ct_run
    from begun

),

own as (

    select
        *,
        case when _ct_is_staged then before_data end as _ct_data_before,
        case when _ct_is_staged then after_data end as _ct_data_after,
        struct(trail_name, trail_seqno, trail_rba, hdr_ind, undo_flag, rec_length, io_type, trans_ind, syskey_len, audit_rba, audit_pos, continued, partition_ind, before_after, io_time, orig_node, format_type, incomplete, rec_count, table_name, before_data, after_data, tokens) as _ct_landed_row
    from runs
    where _ct_is_staged

),

piece_runs as (

    select
        *,
        collect_list(
            case
                when _ct_counts and not _ct_is_copy and not (_ct_is_first and coalesce(continued, 'N') = 'N')
                    then struct(if(size(_ct_data_before) > 0, _ct_data_before, null) as `before`, if(size(_ct_data_after) > 0, _ct_data_after, null) as `after`)
            end
        ) over whole_run as _ct_pieces,
        min(case when _ct_counts and not _ct_is_copy then struct(trail_seqno, trail_rba) end) over whole_run as _ct_first_piece,
        max(case when _ct_counts and not _ct_is_copy then struct(trail_seqno, trail_rba, continued) end) over whole_run as _ct_last_piece,
        max(case when _ct_counts and _ct_is_first then _ct_kind end) over whole_run as _ct_kind_of_run,
        max(case when _ct_counts and not _ct_is_copy then _ct_own_fault end) over whole_run as _ct_fault_in_run,
        max(_ct_counts and _ct_differs) over whole_run as _ct_differs_in_run
    from own
    window whole_run as (
        partition by _ct_identity, trail_name, _ct_start_rba, _ct_start_seqno, _ct_run
        order by trail_seqno, trail_rba, _ct_is_copy
        rows between unbounded preceding and unbounded following
    )

),

joined as (

    select
        *,
        case
            when size(_ct_pieces) > 0
                then aggregate(
                    slice(_ct_pieces, 2, size(_ct_pieces)),
                    _ct_pieces[0]['before'],
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
            when size(_ct_data_before) > 0
                then _ct_data_before
        end as _ct_image_before,
        case
            when size(_ct_pieces) > 0
                then aggregate(
                    slice(_ct_pieces, 2, size(_ct_pieces)),
                    _ct_pieces[0]['after'],
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
            when size(_ct_data_after) > 0
                then _ct_data_after
        end as _ct_image_after,
        coalesce(_ct_own_fault, if(_ct_counts, _ct_fault_in_run, null)) as _ct_fault,
        case
            when not _ct_counts then null
            when _ct_last_piece['continued'] = 'Y'
                then concat('the pieces end at ', concat(trail_name, '/', lpad(cast(_ct_last_piece['trail_seqno'] as string), 10, '0'), '/', lpad(cast(_ct_last_piece['trail_rba'] as string), 19, '0')), ' without the last one')
            when _ct_kind_of_run = 'fragment'
                then 'the piece has no record that it goes on from'
        end as _ct_run_error
    from piece_runs

),

halves as (

    select
        *,
        if(_ct_kind = 'delete' or (_ct_kind = 'update' and before_after = 'B'), coalesce(_ct_image_before, _ct_image_after), _ct_image_after) as _ct_row,
        if(_ct_kind = 'update' and before_after = 'A', _ct_image_before, null) as _ct_own_row_before,
        _ct_counts and not _ct_is_copy and _ct_is_first and _ct_is_staged as _ct_is_head,
        coalesce(_ct_counts and _ct_kind = 'update' and before_after = 'B', false) as _ct_is_half
    from joined

),

-- runs are numbered in the order of the trail
paired as (

    select
        *,
        lag(case when _ct_is_head then struct(struct(trail_seqno, trail_rba) as place, _ct_is_half and _ct_run_error is null and _ct_fault is null as is_half, _ct_row as image, _ct_differs_in_run as differs) end, 1) ignore nulls over in_order as _ct_head_before,
        lag(case when _ct_is_head then struct(struct(trail_seqno, trail_rba) as place, _ct_is_half and _ct_run_error is null and _ct_fault is null as is_half, _ct_row as image, _ct_differs_in_run as differs) end, 2) ignore nulls over in_order as _ct_second_head_before,
        lead(case when _ct_is_head then coalesce(_ct_kind = 'update' and before_after = 'A', false) end, 1) ignore nulls over in_order as _ct_half_follows
    from halves
    window in_order as (partition by _ct_identity, trail_name, _ct_start_rba, _ct_start_seqno order by _ct_run, trail_seqno, trail_rba, _ct_is_copy)

),

with_other_half as (

    select
        *,
        case
            when not coalesce(_ct_kind = 'update' and before_after = 'A', false) then null
            when _ct_head_before['place'] = struct(trail_seqno, trail_rba) then if(_ct_second_head_before['is_half'], _ct_second_head_before, null)
            else if(_ct_head_before['is_half'], _ct_head_before, null)
        end as _ct_other_half,
        case when _ct_has_position then concat(trail_name, '/', lpad(cast(trail_seqno as string), 10, '0'), '/', lpad(cast(trail_rba as string), 19, '0')) end as _ct_position
    from paired

),

-- columns of the raw table get names that no column of the source table has
put_together as (

    select
        table_name as _ct_table,
        _ct_kind,
        _ct_is_key_update,
        _ct_transaction,
        _ct_fault,
        _ct_run_error,
        _ct_is_first,
        _ct_is_half,
        _ct_is_half and coalesce(_ct_half_follows, false) as _ct_is_paired,
        (size(_ct_pieces) > 0 and _ct_differs_in_run) or coalesce(_ct_other_half['differs'], false) as _ct_parts_differ,
        _ct_row,
        coalesce(_ct_own_row_before, _ct_other_half['image']) as _ct_row_before,
        _ct_position,
        -- two transactions can have records at one position: the copy that does not count can be without a run of its own
        coalesce(
            if(_ct_counts and not _ct_is_first, concat(trail_name, '/', lpad(cast(_ct_first_piece['trail_seqno'] as string), 10, '0'), '/', lpad(cast(_ct_first_piece['trail_rba'] as string), 19, '0')), null),
            _ct_position
        ) as _ct_first_position,
        _transaction_id,
        io_type as _ct_io_type,
        trans_ind as _ct_trans_ind,
        audit_rba as _audit_rba,
        audit_pos as _audit_pos,
        io_time as _ct_io_time,
        _csn,
        format_type as _format_type,
        _ct_landed_row
    from with_other_half

),

records as (

    select
        *,
        coalesce(_ct_table = 'APP.ORDERS', false) as _ct_is_own
    from put_together

),

unpacked as (

    select
        if(map_contains_key(_ct_row, 'order'), _ct_row['order'], _ct_row_before['order']) as `order`,
        if(map_contains_key(_ct_row, 'it\'s'), _ct_row['it\'s'], _ct_row_before['it\'s']) as `it's`,
        _ct_row['name with spaces'] as `name with spaces`,
        _ct_row['amount'] as amount,
        if(map_contains_key(_ct_row_before, 'order'), _ct_row_before['order'], _ct_row['order']) as _ct_before_1,
        if(map_contains_key(_ct_row_before, 'it\'s'), _ct_row_before['it\'s'], _ct_row['it\'s']) as _ct_before_2,
        case
            when
                not coalesce(map_contains_key(_ct_row, 'order'), false)
                and not coalesce(map_contains_key(_ct_row_before, 'order'), false)
                then 'order'
            when
                not coalesce(map_contains_key(_ct_row, 'it\'s'), false)
                and not coalesce(map_contains_key(_ct_row_before, 'it\'s'), false)
                then 'it\'s'
        end as _ct_missing_key,
        case
            when size(array_distinct(map_keys(_ct_row))) < size(_ct_row)
                then 'column_names_collide: names in the row are the same'
            when size(array_distinct(map_keys(_ct_row_before))) < size(_ct_row_before)
                then 'column_names_collide: names in the row before are the same'
            else concat(
                'column_not_declared: ',
                get(filter(
                    array_except(concat(map_keys(_ct_row), coalesce(map_keys(_ct_row_before), array())), array('order', 'it\'s', 'name with spaces', 'amount')),
                    name -> array_contains(array('order', 'it\'s', 'name with spaces', 'amount'), lower(name))
                ), 0),
                ' is declared in another case'
            )
        end as _ct_names_fault,
        *
    from records

),

typed as (

    select
        coalesce(try_cast(`order` as bigint), try_cast(replace(cast(try_cast(regexp_extract(`order`, '^ *[-+]?[0-9]*([.][0-9]{0,18}0*)?([eE][+]?0*[0-9]{1,2})? *$|^ *[-+]?[0-9]*([.][0-9]{0,9}0*)?[eE]-0*[0-9] *$', 0) as decimal(38, 18)) as string), '.000000000000000000', '') as bigint)) as `order`,
        `it's`,
        `name with spaces`,
        try_cast(amount as decimal(12, 2)) as amount,
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
            null
        ) as _ct_column_misfit,
        * except (`order`, `it's`, `name with spaces`, amount, _ct_before_1, _ct_before_2)
    from unpacked

),

judged as (

    select
        *,
        case
            when not _ct_is_own
                then struct(cast(null as string) as status, cast(null as string) as reason)
            when _ct_position is null
                then struct('rejected' as status, concat('position_missing: ', case
                    when _ct_landed_row['trail_name'] = ''
                        then 'trail_name is empty'
                    when _ct_landed_row['trail_name'] is null
                        then 'trail_name is null'
                    when _ct_landed_row['trail_seqno'] not between 0 and 9999999999
                        then concat('trail_seqno is ', _ct_landed_row['trail_seqno'])
                    when _ct_landed_row['trail_seqno'] is null
                        then 'trail_seqno is null'
                    when _ct_landed_row['trail_rba'] not between 0 and 9223372036854775807
                        then concat('trail_rba is ', _ct_landed_row['trail_rba'])
                    when _ct_landed_row['trail_rba'] is null
                        then 'trail_rba is null'
                end) as reason)
            when _ct_kind = 'metadata'
                then struct('ignored' as status, 'metadata: the record says how a table is made' as reason)
            when _ct_kind = 'ddl'
                then struct('ignored' as status, 'ddl_record: the record has a statement that changed a definition' as reason)
            when _ct_kind = 'control'
                then struct('ignored' as status, concat('control_record: io_type ', _ct_io_type, ' is no change of a row') as reason)
            when _ct_transaction = 'abandoned'
                then struct('ignored' as status, 'transaction_abandoned: another transaction begins before the end of this one' as reason)
            when _ct_transaction = 'repeated'
                then struct('ignored' as status, concat('transaction_repeated: transaction ', _transaction_id, ' with the CSN ', _csn, ' stands in the trail before') as reason)
            when _ct_transaction = 'open'
                then struct('waiting' as status, 'transaction_open: the end of the transaction has not landed' as reason)
            when _ct_fault is not null
                then struct('rejected' as status, _ct_fault as reason)
            when _ct_transaction = 'none'
                then struct('rejected' as status, concat('transaction_start_missing: trans_ind is ', _ct_trans_ind, ' and no transaction is open') as reason)
            when _ct_run_error is not null
                then struct('rejected' as status, concat('chunk_run_broken: ', _ct_run_error) as reason)
            when not _ct_is_first
                then struct('merged' as status, concat('chunk: the record goes on from ', _ct_first_position) as reason)
            when _ct_is_paired
                then struct('merged' as status, 'before_image: half of an update' as reason)
            when _ct_kind = 'truncate'
                then null
            when _ct_is_half
                then struct('rejected' as status, 'after_half_missing: the next record of the table in the transaction is not the half after' as reason)
            when _ct_row is null
                then struct('rejected' as status, concat('data_missing: ', if(_ct_kind = 'delete', 'before_data and after_data are', 'after_data is'), ' null or empty') as reason)
            when _ct_names_fault is not null
                then struct('rejected' as status, _ct_names_fault as reason)
            when _ct_missing_key is not null
                then struct('rejected' as status, concat('key_missing: no image has the key column ', _ct_missing_key) as reason)
            when _ct_key_misfit is not null
                then struct('rejected' as status, concat('value_does_not_fit: ', _ct_key_misfit) as reason)
            when `order` is null and `it's` is null
                then struct('rejected' as status, 'key_missing: every key column is null: order, it\'s' as reason)
            when _ct_key_before_misfit is not null
                then struct('rejected' as status, concat('value_does_not_fit: before_data: ', _ct_key_before_misfit) as reason)
            when _ct_kind <> 'delete' and _ct_column_misfit is not null
                then struct('rejected' as status, concat('value_does_not_fit: ', _ct_column_misfit) as reason)
        end as _ct_verdict
    from typed

),

staged_rows as (

    select
        `order`,
        cast(`it's` as string) as `it's`,
        cast(`name with spaces` as string) as `name with spaces`,
        amount,
        case when _ct_verdict is null then _ct_kind end as _change_op,
        _ct_first_position as _change_seq,
        _ct_io_time as _changed_at,
        _transaction_id,
        case when _ct_verdict is null then _ct_first_position end as _change_id,
        case
            when _ct_verdict is null and _ct_kind not in ('delete', 'truncate')
                then nullif(
                    array_union(
                        array('order', 'it\'s'),
                        array_intersect(
                            array('order', 'it\'s', 'name with spaces', 'amount'),
                            map_keys(_ct_row)
                        )
                    ),
                    array('order', 'it\'s', 'name with spaces', 'amount')
                )
        end as _present_columns,
        cast(null as array<string>) as _changed_columns,
        case
            when _ct_verdict is null and _ct_kind = 'update' and _ct_row_before is not null and not struct(`order`, `it's`) <=> struct(_ct_before_1 as `order`, _ct_before_2 as `it's`)
                then struct(_ct_before_1 as `order`, _ct_before_2 as `it's`)
        end as _key_before,
        coalesce(_ct_position, to_json(struct(_ct_landed_row['trail_name'] as trail_name, _ct_landed_row['trail_seqno'] as trail_seqno, _ct_landed_row['trail_rba'] as trail_rba))) as _raw_id,
        case when _ct_verdict['status'] is not null then to_json(_ct_landed_row, map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')) end as _raw_row,
        if(_ct_verdict is null, 'accepted', _ct_verdict['status']) as _status,
        _ct_verdict['reason'] as _status_reason,
        cast(_csn as string) as _csn,
        cast(_format_type as string) as _format_type,
        _audit_rba,
        _audit_pos,
        case
            when _ct_verdict is null and _ct_parts_differ
                then 'conflicting_content: pieces of the record were delivered with different contents; the greater ones count'
            when _ct_verdict is null and _ct_is_key_update and _ct_row_before is null
                then 'key_move_without_before: the record says that the key changed, and has no key before'
        end as _report,
        monotonically_increasing_id() as _ct_place
    from judged

),

staged as (

    select *
    from staged_rows

)

select
    `order`,
    `it's`,
    `name with spaces`,
    amount,
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
    _csn,
    _format_type,
    _audit_rba,
    _audit_pos,
    _report
from staged
