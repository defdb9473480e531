with landed as (

    select
        *,
        if(`landed at` is null, null, struct(`landed at`)) as _ct_arrival,
        struct(*) as _ct_landed_row
    from lake_raw.qlik

),

typed as (

    select
        try_cast(`order` as bigint) as `order`,
        `it's`,
        `name with spaces`,
        try_cast(amount as decimal(12, 2)) as amount,
        header__change_seq as _change_seq,
        case
            when header__operation = 'TRUNCATE' then 'T'
            when header__change_oper in ('I', 'U', 'D', 'B', 'T') then header__change_oper
        end as _ct_operation_code,
        header__change_oper as _ct_landed_code,
        header__timestamp as _changed_at,
        cast(null as string) as _ct_timestamp_misfit,
        cast(header__transaction_id as string) as _transaction_id,
        header__change_mask as _ct_landed_mask,
        transform(array(reverse(hex(header__change_mask))), digits -> if(digits is null, null, array(cast(conv(substr(digits, -16, 16), 16, -10) as bigint))))[0] as _ct_mask_words,
        coalesce(
            case when `order` is not null and try_cast(`order` as bigint) is null then concat('column order: \'', cast(`order` as string), '\' is not bigint') end,
            null
        ) as _ct_key_misfit,
        coalesce(
            case when amount is not null and (try_cast(amount as decimal(12, 2)) is null or case when cast(amount as string) rlike '[eE]' then try_cast(amount as double) <> cast(try_cast(amount as decimal(12, 2)) as double) else cast(amount as string) rlike '[.][0-9]{2}[0-9]*[1-9]' end) then concat('column amount: \'', cast(amount as string), '\' is not decimal(12, 2)') end,
            null
        ) as _ct_column_misfit,
        lower(hex(xxhash64(header__change_seq, header__change_oper, header__change_mask, header__stream_position, header__operation, header__transaction_id, header__timestamp, `order`, `it's`, `name with spaces`, amount, array(header__change_seq is null, header__change_oper is null, header__change_mask is null, header__stream_position is null, header__operation is null, header__transaction_id is null, header__timestamp is null, `order` is null, `it's` is null, `name with spaces` is null, amount is null)))) as _raw_id,
        _ct_arrival,
        _ct_landed_row
    from landed

),

-- what rejects a row by itself
checked as (

    select
        *,
        case
            when _ct_operation_code is null
                then struct('rejected' as status, concat('unknown_operation: change_oper is ', coalesce(concat('\'', _ct_landed_code, '\''), 'null')) as reason)
            when _change_seq is null
                then struct('rejected' as status, 'change_seq_missing: change_seq is null' as reason)
            when length(_change_seq) <> 35 or _change_seq rlike '[^0-9]'
                then struct('rejected' as status, concat('change_seq_malformed: \'', _change_seq, '\' is not 35 digits') as reason)
            when _ct_timestamp_misfit is not null
                then struct('rejected' as status, concat('value_does_not_fit: ', _ct_timestamp_misfit) as reason)
            when _ct_operation_code = 'T'
                then null
            when _ct_key_misfit is not null
                then struct('rejected' as status, concat('value_does_not_fit: ', _ct_key_misfit) as reason)
            when `order` is null and `it's` is null
                then struct('rejected' as status, 'key_missing: every key column is null: order, it\'s' as reason)
            when _ct_operation_code in ('I', 'U') and _ct_column_misfit is not null
                then struct('rejected' as status, concat('value_does_not_fit: ', _ct_column_misfit) as reason)
        end as _ct_fault
    from typed

),

-- only rows that are no change of their own keep what has landed: the others do not carry it through what follows
narrowed as (

    select
        * except (_ct_landed_row),
        case
            when _ct_fault is not null or _ct_operation_code = 'B'
                then to_json(_ct_landed_row, map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS'))
        end as _raw_row,
        _ct_operation_code = 'U' and _ct_fault is null as _ct_is_update
    from checked

),

-- each row with the keys of the before images and updates of its change_seq; two keys of either kind are a mistake of the feed
paired as (

    select
        *,
        min(case when _ct_operation_code = 'B' and _ct_fault is null then struct(`order`, `it's`) end) over same_sequence as _ct_lowest_before_key,
        max(case when _ct_operation_code = 'B' and _ct_fault is null then struct(`order`, `it's`) end) over same_sequence as _ct_highest_before_key,
        min(case when _ct_is_update then struct(`order`, `it's`) end) over same_sequence as _ct_lowest_update_key,
        max(case when _ct_is_update then struct(`order`, `it's`) end) over same_sequence as _ct_highest_update_key,
        bool_or(_ct_is_update) over same_sequence as _ct_has_update,
        bool_or(_ct_operation_code = 'U') over same_sequence as _ct_has_landed_update
    from narrowed
    window same_sequence as (partition by _change_seq)

),

judged as (

    select
        *,
        if(struct(`order`, `it's`) <=> _ct_highest_before_key, _ct_lowest_before_key, _ct_highest_before_key) as _ct_key_before,
        case
            when _ct_fault is not null or _ct_operation_code <> 'B'
                then _ct_fault
            when _ct_has_update
                then struct('merged' as status, 'before_image: part of the update with the same change_seq' as reason)
            when _ct_has_landed_update
                then struct('waiting' as status, 'after_image_rejected: the update with the same change_seq is rejected' as reason)
            else struct('waiting' as status, 'after_image_missing: no update with the same change_seq has landed' as reason)
        end as _ct_verdict
    from paired

),

staged_rows as (

    select
        `order`,
        cast(`it's` as string) as `it's`,
        cast(`name with spaces` as string) as `name with spaces`,
        amount,
        case when _ct_verdict is null then element_at(map('I', 'insert', 'U', 'update', 'D', 'delete', 'T', 'truncate'), _ct_operation_code) end as _change_op,
        cast(_change_seq as string) as _change_seq,
        _changed_at,
        _transaction_id,
        case when _ct_verdict is null then concat_ws(':', _change_seq, _ct_operation_code, if(_ct_operation_code = 'T', null, to_json(struct(`order`, `it's`), map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')))) end as _change_id,
        cast(null as array<string>) as _present_columns,
        case
            when _ct_verdict is null and _ct_operation_code in ('I', 'U') and _ct_mask_words is not null
                then array_compact(array(
                    case when getbit(get(_ct_mask_words, 0), 3) = 1 then 'order' end,
                    case when getbit(get(_ct_mask_words, 0), 12) = 1 then 'it\'s' end,
                    case when getbit(get(_ct_mask_words, 0), 13) = 1 then 'name with spaces' end,
                    case when getbit(get(_ct_mask_words, 0), 14) = 1 then 'amount' end
                ))
        end as _changed_columns,
        case
            when _ct_verdict is null and _ct_is_update and not struct(`order`, `it's`) <=> _ct_key_before
                then _ct_key_before
        end as _key_before,
        _raw_id,
        _raw_row,
        if(_ct_verdict is null, 'accepted', _ct_verdict['status']) as _status,
        _ct_verdict['reason'] as _status_reason,
        case
            when _ct_verdict is null and _ct_is_update and _ct_highest_before_key is null and (getbit(get(_ct_mask_words, 0), 3) = 1 or getbit(get(_ct_mask_words, 0), 12) = 1)
                then 'key_move_without_before: the mask says that the key changed, and no before image has the key before'
            when _ct_verdict is null and _ct_is_update and not _ct_lowest_before_key <=> _ct_highest_before_key
                then concat('conflicting_content: two before images with the same change_seq, keys ', to_json(_ct_lowest_before_key), ' and ', to_json(_ct_highest_before_key))
            when _ct_verdict is null and _ct_is_update and _ct_highest_before_key is not null and not _ct_lowest_update_key <=> _ct_highest_update_key
                then concat('conflicting_content: a before image and two updates with the same change_seq, keys ', to_json(_ct_lowest_update_key), ' and ', to_json(_ct_highest_update_key))
        end as _report,
        monotonically_increasing_id() as _ct_place,
        _ct_arrival
    from judged

),

loaded as (

    select
        try_cast(`order` as bigint) as `order`,
        `it's`,
        `name with spaces`,
        try_cast(amount as decimal(12, 2)) as amount,
        coalesce(
            case when `order` is not null and try_cast(`order` as bigint) is null then concat('column order: \'', cast(`order` as string), '\' is not bigint') end,
            case when amount is not null and (try_cast(amount as decimal(12, 2)) is null or case when cast(amount as string) rlike '[eE]' then try_cast(amount as double) <> cast(try_cast(amount as decimal(12, 2)) as double) else cast(amount as string) rlike '[.][0-9]{2}[0-9]*[1-9]' end) then concat('column amount: \'', cast(amount as string), '\' is not decimal(12, 2)') end,
            null
        ) as _ct_column_misfit,
        lower(hex(xxhash64(`order`, `it's`, `name with spaces`, amount, array(`order` is null, `it's` is null, `name with spaces` is null, amount is null)))) as _raw_id,
        struct(*) as _ct_landed_row
    from lake_raw.qlik_load

),

judged_load as (

    select
        *,
        null as _ct_arrival,
        case
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
        cast(null as string) as _report,
        monotonically_increasing_id() as _ct_place,
        _ct_arrival
    from judged_load

),

staged as (

    select *, false as _ct_is_of_load
    from staged_rows
    union all
    select *, true as _ct_is_of_load
    from staged_snapshot

),

deliveries as (

    select
        _change_seq,
        _change_id,
        '20260131T120000000000_00000000' as _batch_id,
        case when _status = 'accepted' then _key_before end as _key_before,
        case when _status = 'accepted' and not startswith(_report, 'conflicting_content') then _report end as _report,
        _status = 'accepted' and coalesce(startswith(_report, 'conflicting_content'), false) as _is_conflicting,
        _change_op,
        _changed_at,
        _transaction_id,
        _present_columns,
        _changed_columns,
        _raw_id,
        case when _status = 'accepted' then xxhash64(`order`, `it's`, `name with spaces`, amount, _change_op, _present_columns, _changed_columns, _changed_at, _transaction_id, _raw_id, array(`order` is null, `it's` is null, `name with spaces` is null, amount is null, _change_op is null, _present_columns is null, _changed_columns is null, _changed_at is null, _transaction_id is null, _raw_id is null)) end as _row_hash,
        0 as _schema_version,
        `order`,
        `it's`,
        `name with spaces`,
        amount,
        coalesce(_change_id, concat('row:', _raw_id)) as _ct_identity,
        _status <=> 'accepted' as _ct_is_delivery,
        _ct_place,
        case
            when _status in ('rejected', 'waiting')
                then concat(if(_ct_is_of_load, 'load:', ''), sha2(to_json(array_sort(map_entries(map_filter(coalesce(try_variant_get(try_parse_json(_raw_row), '$', 'map<string, string>'), from_json(_raw_row, 'map<string, string>')), (name, value) -> value is not null)))), 256))
        end as _ct_quarantine_id,
        _status,
        _status_reason,
        case when _status in ('rejected', 'waiting') then _raw_row end as _raw_row,
        case when _status = 'waiting' then _ct_arrival end as _ct_waiting_since
    from staged
    where _status in ('accepted', 'rejected', 'waiting') or (_status = 'waiting')

),

-- each delivery with what there is of its change
gathered_deliveries as (

    select
        *,
        count_if(_ct_is_delivery) over same_change as _ct_copies,
        min(_row_hash) over same_change <> max(_row_hash) over same_change as _ct_differs
    from deliveries
    window same_change as (partition by _change_seq, _ct_identity)

),

-- the most complete ones, and where they differ, by what
weighed_deliveries as (

    select
        *,
        case when _ct_differs and _ct_is_delivery then if(_change_op in ('delete', 'truncate'), xxhash64(_change_op), xxhash64(_change_op, `order`, `it's`, `name with spaces`, amount, _present_columns, array(_change_op is null, `order` is null, `it's` is null, `name with spaces` is null, amount is null, _present_columns is null))) end as _ct_content_hash,
        case when _ct_copies > 1 and _ct_is_delivery then struct(
            case when _ct_differs then struct(
                to_json(struct(`order`, `it's`, `name with spaces`, amount), map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), _change_op, _present_columns, _changed_columns, _changed_at, _transaction_id, _raw_id
            ) end,
            _ct_place
        ) end as _ct_rank
    from gathered_deliveries

),

-- what they say together, and which of them is the greatest
compared_deliveries as (

    select
        * except (_key_before, _report, _is_conflicting),
        max(_key_before) over same_change as _key_before,
        case
            when count(_report) over same_change = count_if(_ct_is_delivery) over same_change then max(_report) over same_change
        end as _report,
        coalesce(
            max(_is_conflicting) over same_change
            or min(_ct_content_hash) over same_change <> max(_ct_content_hash) over same_change
            or not min(_key_before) over same_change <=> max(_key_before) over same_change,
            false
        ) as _is_conflicting,
        _ct_is_delivery and (_ct_copies = 1 or _ct_rank = max(_ct_rank) over same_change) as _ct_is_greatest
    from weighed_deliveries
    window same_change as (partition by _change_seq, _ct_identity)

),

reduced_deliveries as (

    select
        *,
        _ct_is_greatest as _ct_is_change
    from compared_deliveries

)

select
    case
        when not _ct_is_change
            then concat('aside:', to_json(struct(_ct_quarantine_id, _status, _status_reason, _raw_row, array(cast(unix_micros(_ct_waiting_since['landed at']) as string)) as _ct_texts)))
    end as _checkpoint,
    _change_seq, _change_id, _batch_id, _key_before, _report, _is_conflicting, _change_op, _changed_at, _transaction_id, _present_columns, _changed_columns, _raw_id, _row_hash, _schema_version, `order`, `it's`, `name with spaces`, amount
from reduced_deliveries
where _ct_is_change or _ct_quarantine_id is not null or _ct_waiting_since is not null
