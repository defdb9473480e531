with landed as (

    select
        *,
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
        `landed at` as _ct_arrival,
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
        cast(null as array<string>) as _present_columns,
        case
            when _ct_operation_code in ('I', 'U') and _ct_rejection is null and _ct_mask_words is not null
                then array_compact(array(
                    case when getbit(get(_ct_mask_words, 0), 3) = 1 then 'order' end,
                    case when getbit(get(_ct_mask_words, 0), 12) = 1 then 'it\'s' end,
                    case when getbit(get(_ct_mask_words, 0), 13) = 1 then 'name with spaces' end,
                    case when getbit(get(_ct_mask_words, 0), 14) = 1 then 'amount' end
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
                and (getbit(get(_ct_mask_words, 0), 3) = 1 or getbit(get(_ct_mask_words, 0), 12) = 1)
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
        monotonically_increasing_id() as _ct_place,
        _ct_arrival
    from paired

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
        case
            when _ct_column_misfit is not null
                then concat('value_does_not_fit: ', _ct_column_misfit)
            when `order` is null and `it's` is null
                then 'key_missing: every key column is null: order, it\'s'
        end as _ct_rejection
    from loaded

),

staged_snapshot as (

    select
        `order`,
        `it's`,
        `name with spaces`,
        amount,
        case when _ct_rejection is null then 'snapshot' end as _change_op,
        '' as _change_seq,
        cast(null as timestamp) as _changed_at,
        cast(null as string) as _transaction_id,
        case
            when _ct_rejection is null then concat_ws(':', 'snapshot', '', to_json(struct(`order`, `it's`), map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')))
        end as _change_id,
        cast(null as array<string>) as _present_columns,
        cast(null as array<string>) as _changed_columns,
        cast(null as struct<`order`: bigint, `it's`: string>) as _key_before,
        _raw_id,
        case when _ct_rejection is not null then to_json(_ct_landed_row, map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')) end as _raw_row,
        case when _ct_rejection is null then 'accepted' else 'rejected' end as _status,
        _ct_rejection as _status_reason,
        cast(null as string) as _report,
        monotonically_increasing_id() as _ct_place,
        null as _ct_arrival
    from judged_load

),

staged as (

    select *, false as _ct_is_of_load
    from staged_rows
    union all
    select *, true as _ct_is_of_load
    from staged_snapshot

),

delivered as (

    select
        *,
        case
            when _status in ('rejected', 'waiting')
                then concat(if(_ct_is_of_load, 'kept:load:', 'kept:'), sha2(to_json(array_sort(map_entries(map_filter(from_json(_raw_row, 'map<string, string>'), (name, value) -> value is not null)))), 256))
        end as _ct_kept_id,
        xxhash64(`order`, `it's`, `name with spaces`, amount, _change_op, _present_columns, _changed_columns, _changed_at, _transaction_id, _raw_id, array(`order` is null, `it's` is null, `name with spaces` is null, amount is null, _change_op is null, _present_columns is null, _changed_columns is null, _changed_at is null, _transaction_id is null, _raw_id is null)) as _row_hash,
        if(_change_op in ('delete', 'truncate'), xxhash64(_change_op), xxhash64(_change_op, `order`, `it's`, `name with spaces`, amount, _present_columns, array(_change_op is null, `order` is null, `it's` is null, `name with spaces` is null, amount is null, _present_columns is null))) as _ct_content_hash
    from staged
    where _status = 'accepted' or (_status in ('rejected', 'waiting'))

),

gathered as (

    select
        *,
        count(*) over same_change as _ct_copies,
        count(_report) over same_change as _ct_reports,
        max(_report) over same_change as _ct_known_report,
        max(_key_before) over same_change as _ct_known_key_before,
        min(_ct_content_hash) over same_change <> max(_ct_content_hash) over same_change
        or not min(_key_before) over same_change <=> max(_key_before) over same_change as _ct_contents_differ
    from delivered
    window same_change as (partition by _change_seq, coalesce(_ct_kept_id, _change_id))

),

-- copies that differ: the greater text wins, and the key before is kept that only one of them has
compared as (

    select
        *,
        max(case when _ct_copies > 1 then struct(to_json(struct(`order`, `it's`, `name with spaces`, amount), map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), _change_op, _present_columns, _changed_columns, _changed_at, _transaction_id, _raw_id, _ct_place) end) over (partition by _change_seq, coalesce(_ct_kept_id, _change_id)) as _ct_highest_rank
    from gathered

),

changes as (

    select
        _ct_kept_id as _mark,
        if(_ct_kept_id is null, _change_seq, null) as _change_seq,
        _change_op,
        if(_ct_kept_id is null, _change_id, null) as _change_id,
        '20260131T120000000000_00000000' as _batch_id,
        _changed_at,
        _transaction_id,
        _present_columns,
        _changed_columns,
        _ct_known_key_before as _key_before,
        _raw_id,
        case when _ct_reports = _ct_copies and not startswith(_ct_known_report, 'conflicting_content') then _ct_known_report end as _report,
        _ct_contents_differ or coalesce(startswith(_ct_known_report, 'conflicting_content'), false) as _is_conflicting,
        _row_hash,
        0 as _form,
        `order`, `it's`, `name with spaces`, amount,
        case when _ct_kept_id is not null then _status end as _status,
        case when _ct_kept_id is not null then _status_reason end as _status_reason,
        case when _ct_kept_id is not null then _raw_row end as _raw_row,
        case when _ct_kept_id is not null then _ct_copies end as _equal_rows,
        cast(null as timestamp) as _healed_at
    from compared
    where _ct_copies = 1 or struct(to_json(struct(`order`, `it's`, `name with spaces`, amount), map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), _change_op, _present_columns, _changed_columns, _changed_at, _transaction_id, _raw_id, _ct_place) = _ct_highest_rank

)

select *
from changes
