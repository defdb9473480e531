with landed as (

    select
        *,
        struct(*) as _ct_landed_row
    from lake_raw.qlik_masks

),

typed as (

    select
        `order`,
        `it's`,
        `name with spaces`,
        amount,
        change_seq as _change_seq,
        case
            when operation = 'TRUNCATE' then 'T'
            when change_oper in ('I', 'U', 'D', 'B', 'T') then change_oper
        end as _ct_operation_code,
        change_oper as _ct_landed_code,
        coalesce(try_cast(`timestamp` as timestamp), try_cast(regexp_replace(`timestamp`, '^ *([-+]?[0-9]+-[0-9]+-[0-9]+)[: T]([0-9]+:[0-9]+:[0-9]+)(?:[:.]([0-9]+))? *([-+]?) *(.*)$', '$1 $2.$3$4$5') as timestamp)) as _changed_at,
        coalesce(
            case when `timestamp` is not null and (coalesce(try_cast(`timestamp` as timestamp), try_cast(regexp_replace(`timestamp`, '^ *([-+]?[0-9]+-[0-9]+-[0-9]+)[: T]([0-9]+:[0-9]+:[0-9]+)(?:[:.]([0-9]+))? *([-+]?) *(.*)$', '$1 $2.$3$4$5') as timestamp)) is null or cast(`timestamp` as string) rlike '^ *T?[0-9]+:') then concat('column timestamp: \'', cast(`timestamp` as string), '\' is not timestamp') end,
            null
        ) as _ct_timestamp_misfit,
        cast(transaction_id as string) as _transaction_id,
        change_mask as _ct_landed_mask,
        transform(array(hex(unhex(if(lower(left(change_mask, 2)) = '0x', substr(change_mask, 3), change_mask)))), digits -> if(digits is null, null, array(cast(conv(substr(digits, -16, 16), 16, -10) as bigint))))[0] as _ct_mask_words,
        cast(null as string) as _ct_key_misfit,
        cast(null as string) as _ct_column_misfit,
        lower(hex(xxhash64(change_seq, change_oper, change_mask, stream_position, operation, transaction_id, `timestamp`, partition_name, `order`, `it's`, `name with spaces`, amount, array(change_seq is null, change_oper is null, change_mask is null, stream_position is null, operation is null, transaction_id is null, `timestamp` is null, partition_name is null, `order` is null, `it's` is null, `name with spaces` is null, amount is null)))) as _raw_id,
        _ct_landed_row
    from landed

),

judged as (

    select
        *,
        case
            when _ct_operation_code is null
                then concat('unknown_operation: change_oper is ', coalesce(concat('\'', _ct_landed_code, '\''), 'null'))
            when _change_seq is null
                then 'change_seq_missing: change_seq is null'
            when length(_change_seq) <> 35 or _change_seq rlike '[^0-9]'
                then concat('change_seq_malformed: \'', _change_seq, '\' is not 35 digits')
            when _ct_timestamp_misfit is not null
                then concat('value_does_not_fit: ', _ct_timestamp_misfit)
            when _ct_operation_code = 'T'
                then null
            when _ct_key_misfit is not null
                then concat('value_does_not_fit: ', _ct_key_misfit)
            when `order` is null and `it's` is null
                then 'key_missing: every key column is null: order, it\'s'
            when _ct_operation_code in ('I', 'U') and _ct_column_misfit is not null
                then concat('value_does_not_fit: ', _ct_column_misfit)
            when _ct_landed_mask is not null and _ct_mask_words is null
                then concat('change_mask_malformed: \'', _ct_landed_mask, '\' is not a hex number')
        end as _ct_rejection
    from typed

),

-- only rows that are no change of their own keep what has landed: the others do not carry it through what follows
narrowed as (

    select
        * except (_ct_landed_row),
        case
            when _ct_rejection is not null or _ct_operation_code = 'B'
                then to_json(_ct_landed_row, map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS'))
        end as _raw_row
    from judged

),

-- each row with the keys of the before images and updates of its change_seq; two keys of either kind are a mistake of the feed
paired as (

    select
        *,
        min(case when _ct_operation_code = 'B' and _ct_rejection is null then struct(`order`, `it's`) end) over same_sequence as _ct_lowest_before_key,
        max(case when _ct_operation_code = 'B' and _ct_rejection is null then struct(`order`, `it's`) end) over same_sequence as _ct_highest_before_key,
        min(case when _ct_operation_code = 'U' and _ct_rejection is null then struct(`order`, `it's`) end) over same_sequence as _ct_lowest_update_key,
        max(case when _ct_operation_code = 'U' and _ct_rejection is null then struct(`order`, `it's`) end) over same_sequence as _ct_highest_update_key,
        bool_or(_ct_operation_code = 'U' and _ct_rejection is null) over same_sequence as _ct_has_update,
        bool_or(_ct_operation_code = 'U') over same_sequence as _ct_has_landed_update
    from narrowed
    window same_sequence as (partition by _change_seq)

),

staged_rows as (

    select
        `order`,
        `it's`,
        `name with spaces`,
        amount,
        case
            when _ct_rejection is null
                then element_at(map('I', 'insert', 'U', 'update', 'D', 'delete', 'T', 'truncate'), _ct_operation_code)
        end as _change_op,
        _change_seq,
        _changed_at,
        _transaction_id,
        case
            when _ct_rejection is null and _ct_operation_code = 'T' then concat_ws(':', _change_seq, 'T')
            when _ct_rejection is null and _ct_operation_code <> 'B'
                then concat_ws(':', _change_seq, _ct_operation_code, to_json(struct(`order`, `it's`), map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')))
        end as _change_id,
        case
            when _ct_operation_code = 'U' and _ct_rejection is null
                then nullif(
                    array_compact(array(
                        'order',
                        'it\'s',
                        case
                            when `name with spaces` is not null or getbit(get(_ct_mask_words, 0), 10) = 1
                                then 'name with spaces'
                        end,
                        case
                            when amount is not null or getbit(get(_ct_mask_words, 0), 11) = 1
                                then 'amount'
                        end
                    )),
                    array('order', 'it\'s', 'name with spaces', 'amount')
                )
        end as _present_columns,
        case
            when _ct_operation_code in ('I', 'U') and _ct_rejection is null and _ct_mask_words is not null
                then array_compact(array(
                    case when getbit(get(_ct_mask_words, 0), 8) = 1 then 'order' end,
                    case when getbit(get(_ct_mask_words, 0), 9) = 1 then 'it\'s' end,
                    case when getbit(get(_ct_mask_words, 0), 10) = 1 then 'name with spaces' end,
                    case when getbit(get(_ct_mask_words, 0), 11) = 1 then 'amount' end
                ))
        end as _changed_columns,
        case
            when _ct_operation_code <> 'U' or _ct_rejection is not null then null
            when not struct(`order`, `it's`) <=> _ct_highest_before_key then _ct_highest_before_key
            when not struct(`order`, `it's`) <=> _ct_lowest_before_key then _ct_lowest_before_key
        end as _key_before,
        _raw_id,
        _raw_row,
        case
            when _ct_rejection is not null then 'rejected'
            when _ct_operation_code <> 'B' then 'accepted'
            when _ct_has_update then 'merged'
            else 'waiting'
        end as _status,
        case
            when _ct_rejection is not null then _ct_rejection
            when _ct_operation_code <> 'B' then null
            when _ct_has_update then 'before_image: part of the update with the same change_seq'
            when _ct_has_landed_update then 'after_image_rejected: the update with the same change_seq is rejected'
            else 'after_image_missing: no update with the same change_seq has landed'
        end as _status_reason,
        case
            when
                _ct_operation_code = 'U' and _ct_rejection is null and _ct_highest_before_key is null
                and (getbit(get(_ct_mask_words, 0), 8) = 1 or getbit(get(_ct_mask_words, 0), 9) = 1)
                then 'key_move_without_before: the mask says that the key changed, and no before image has the key before'
            when _ct_operation_code = 'U' and _ct_rejection is null and not _ct_lowest_before_key <=> _ct_highest_before_key
                then concat(
                    'conflicting_content: two before images with the same change_seq, keys ',
                    to_json(_ct_lowest_before_key), ' and ', to_json(_ct_highest_before_key)
                )
            when
                _ct_operation_code = 'U' and _ct_rejection is null and _ct_highest_before_key is not null
                and not _ct_lowest_update_key <=> _ct_highest_update_key
                then concat(
                    'conflicting_content: a before image and two updates with the same change_seq, keys ',
                    to_json(_ct_lowest_update_key), ' and ', to_json(_ct_highest_update_key)
                )
        end as _report,
        monotonically_increasing_id() as _ct_place
    from paired

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
    _report
from staged
