with landed as (

    select
        *,
        struct(*) as _ct_landed_row
    from lake_raw.qlik_plain

),

typed as (

    select
        `order`,
        `it's`,
        `name with spaces`,
        transform(tags, element -> cast(element as string)) as tags,
        times,
        if(fields is null, null, struct(try_cast(fields['a'] as int) as a, coalesce(try_cast(fields['b'] as int), try_cast(replace(cast(try_cast(regexp_extract(fields['b'], '^ *[-+]?[0-9]*([.][0-9]{0,18}0*)?([eE][+]?0*[0-9]{1,2})? *$|^ *[-+]?[0-9]*([.][0-9]{0,9}0*)?[eE]-0*[0-9] *$', 0) as decimal(38, 18)) as string), '.000000000000000000', '') as int)) as b)) as fields,
        map_from_entries(transform(map_entries(prices), element -> struct(element['key'], try_cast(element['value'] as decimal(5, 2))))) as prices,
        lines,
        header__change_seq as _change_seq,
        case
            when header__change_oper in ('I', 'U', 'D', 'B', 'T') then header__change_oper
        end as _ct_operation_code,
        header__change_oper as _ct_landed_code,
        cast(null as timestamp) as _changed_at,
        cast(null as string) as _ct_timestamp_misfit,
        cast(null as string) as _transaction_id,
        null as _ct_landed_mask,
        cast(null as array<bigint>) as _ct_mask_words,
        cast(null as string) as _ct_key_misfit,
        coalesce(
            coalesce(case when fields['a'] is not null and try_cast(fields['a'] as int) is null then concat('column fields.a: \'', cast(fields['a'] as string), '\' is not int') end, case when fields['b'] is not null and coalesce(try_cast(fields['b'] as int), try_cast(replace(cast(try_cast(regexp_extract(fields['b'], '^ *[-+]?[0-9]*([.][0-9]{0,18}0*)?([eE][+]?0*[0-9]{1,2})? *$|^ *[-+]?[0-9]*([.][0-9]{0,9}0*)?[eE]-0*[0-9] *$', 0) as decimal(38, 18)) as string), '.000000000000000000', '') as int)) is null then concat('column fields.b: \'', cast(fields['b'] as string), '\' is not int') end, null),
            get(array_compact(transform(map_entries(prices), element -> case when element['value'] is not null and (try_cast(element['value'] as decimal(5, 2)) is null or case when cast(element['value'] as string) rlike '[eE]' then try_cast(element['value'] as double) <> cast(try_cast(element['value'] as decimal(5, 2)) as double) else cast(element['value'] as string) rlike '[.][0-9]{2}[0-9]*[1-9]' end) then concat('column prices[\'', cast(element['key'] as string), '\']: \'', cast(element['value'] as string), '\' is not decimal(5, 2)') end)), 0),
            null
        ) as _ct_column_misfit,
        lower(hex(xxhash64(header__change_seq, header__change_oper, `order`, `it's`, `name with spaces`, to_json(tags, map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), to_json(times, map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), to_json(fields, map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), to_json(sort_array(map_entries(prices)), map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), to_json(transform(lines, element -> sort_array(map_entries(element))), map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), array(header__change_seq is null, header__change_oper is null, `order` is null, `it's` is null, `name with spaces` is null, tags is null, times is null, fields is null, prices is null, lines is null)))) as _raw_id,
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
        tags,
        times,
        fields,
        prices,
        lines,
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
                            when `name with spaces` is not null or getbit(get(_ct_mask_words, 0), 0) = 1
                                then 'name with spaces'
                        end,
                        case
                            when tags is not null or getbit(get(_ct_mask_words, 0), 1) = 1
                                then 'tags'
                        end,
                        case
                            when times is not null or getbit(get(_ct_mask_words, 0), 2) = 1
                                then 'times'
                        end,
                        case
                            when fields is not null or getbit(get(_ct_mask_words, 0), 3) = 1
                                then 'fields'
                        end,
                        case
                            when prices is not null or getbit(get(_ct_mask_words, 0), 12) = 1
                                then 'prices'
                        end,
                        case
                            when lines is not null or getbit(get(_ct_mask_words, 0), 13) = 1
                                then 'lines'
                        end
                    )),
                    array('order', 'it\'s', 'name with spaces', 'tags', 'times', 'fields', 'prices', 'lines')
                )
        end as _present_columns,
        case
            when _ct_operation_code in ('I', 'U') and _ct_rejection is null and _ct_mask_words is not null
                then array_compact(array(
                    case when getbit(get(_ct_mask_words, 0), 6) = 1 then 'order' end,
                    case when getbit(get(_ct_mask_words, 0), 7) = 1 then 'it\'s' end,
                    case when getbit(get(_ct_mask_words, 0), 0) = 1 then 'name with spaces' end,
                    case when getbit(get(_ct_mask_words, 0), 1) = 1 then 'tags' end,
                    case when getbit(get(_ct_mask_words, 0), 2) = 1 then 'times' end,
                    case when getbit(get(_ct_mask_words, 0), 3) = 1 then 'fields' end,
                    case when getbit(get(_ct_mask_words, 0), 12) = 1 then 'prices' end,
                    case when getbit(get(_ct_mask_words, 0), 13) = 1 then 'lines' end
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
                and (getbit(get(_ct_mask_words, 0), 6) = 1 or getbit(get(_ct_mask_words, 0), 7) = 1)
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
        case when _status = 'accepted' then xxhash64(`order`, `it's`, `name with spaces`, to_json(tags, map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), to_json(times, map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), to_json(fields, map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), to_json(sort_array(map_entries(prices)), map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), to_json(transform(lines, element -> sort_array(map_entries(element))), map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), _change_op, _present_columns, _changed_columns, _changed_at, _transaction_id, _raw_id, array(`order` is null, `it's` is null, `name with spaces` is null, tags is null, times is null, fields is null, prices is null, lines is null, _change_op is null, _present_columns is null, _changed_columns is null, _changed_at is null, _transaction_id is null, _raw_id is null)) end as _row_hash,
        0 as _form,
        `order`,
        `it's`,
        `name with spaces`,
        tags,
        times,
        fields,
        prices,
        lines,
        _status <=> 'accepted' as _ct_is_delivery,
        false as _ct_is_logged,
        _ct_place,
        case
            when _status in ('rejected', 'waiting')
                then sha2(to_json(array_sort(map_entries(map_filter(from_json(_raw_row, 'map<string, string>'), (name, value) -> value is not null)))), 256)
        end as _ct_quarantine_id,
        _status,
        _status_reason,
        case when _status in ('rejected', 'waiting') then _raw_row end as _raw_row
    from staged
    where _status = 'accepted' or (_status in ('rejected', 'waiting'))
    union all
    select
        logged._change_seq, logged._change_id, logged._batch_id, logged._key_before, logged._report, logged._is_conflicting, logged._change_op, logged._changed_at, logged._transaction_id, logged._present_columns, logged._changed_columns, logged._raw_id, logged._row_hash, logged._form, logged.`order`, logged.`it's`, logged.`name with spaces`, logged.tags, logged.times, logged.fields, logged.prices, logged.lines,
        true as _ct_is_delivery,
        true as _ct_is_logged,
        0 as _ct_place,
        null as _ct_quarantine_id,
        null as _status,
        null as _status_reason,
        null as _raw_row
    from lake.dedup_feed__qlik_plain__state as logged
    where
        logged._mark is null

),

-- each delivery with what there is of its change
gathered_deliveries as (

    select
        *,
        count_if(_ct_is_delivery) over same_change as _ct_copies,
        max(case when _ct_is_logged then struct(
            xxhash64(`order`, `it's`, `name with spaces`, to_json(tags, map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), to_json(times, map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), to_json(fields, map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), to_json(sort_array(map_entries(prices)), map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), to_json(transform(lines, element -> sort_array(map_entries(element))), map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), _change_op, _present_columns, _changed_columns, _changed_at, _transaction_id, array(`order` is null, `it's` is null, `name with spaces` is null, tags is null, times is null, fields is null, prices is null, lines is null, _change_op is null, _present_columns is null, _changed_columns is null, _changed_at is null, _transaction_id is null)) as _ct_said_hash,
            `order`, `it's`, _change_op, _key_before, _report, _is_conflicting, _form, _batch_id
        ) end) over same_change as _ct_logged,
        min(_ct_is_logged) over same_change as _ct_is_logged_alone,
        min(_row_hash) over same_change <> max(_row_hash) over same_change as _ct_differs
    from deliveries
    window same_change as (partition by _change_seq, coalesce(_change_id, _raw_id), _change_id is null)

),

-- the most complete ones, and where they differ, by what
weighed_deliveries as (

    select
        *,
        case when _ct_differs and _ct_is_delivery then if(_change_op in ('delete', 'truncate'), xxhash64(_change_op), xxhash64(_change_op, `order`, `it's`, `name with spaces`, to_json(tags, map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), to_json(times, map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), to_json(fields, map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), to_json(sort_array(map_entries(prices)), map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), to_json(transform(lines, element -> sort_array(map_entries(element))), map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), _present_columns, array(_change_op is null, `order` is null, `it's` is null, `name with spaces` is null, tags is null, times is null, fields is null, prices is null, lines is null, _present_columns is null))) end as _ct_content_hash,
        case when _ct_copies > 1 and _ct_is_delivery then struct(
            case when _ct_differs then struct(
                to_json(struct(`order`, `it's`, `name with spaces`, tags, times, fields, sort_array(map_entries(prices)) as prices, transform(lines, element -> sort_array(map_entries(element))) as lines), map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), _change_op, _present_columns, _changed_columns, _changed_at, _transaction_id, _raw_id
            ) end,
            _ct_is_logged, _ct_place
        ) end as _ct_rank
    from gathered_deliveries
    where
        not _ct_is_logged_alone

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
    window same_change as (partition by _change_seq, coalesce(_change_id, _raw_id), _change_id is null)

),

reduced_deliveries as (

    select
        _change_seq,
        _change_id,
        case
            when
                _ct_logged['_ct_said_hash'] = xxhash64(`order`, `it's`, `name with spaces`, to_json(tags, map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), to_json(times, map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), to_json(fields, map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), to_json(sort_array(map_entries(prices)), map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), to_json(transform(lines, element -> sort_array(map_entries(element))), map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), _change_op, _present_columns, _changed_columns, _changed_at, _transaction_id, array(`order` is null, `it's` is null, `name with spaces` is null, tags is null, times is null, fields is null, prices is null, lines is null, _change_op is null, _present_columns is null, _changed_columns is null, _changed_at is null, _transaction_id is null))
                and struct(_key_before, _is_conflicting) <=> struct(_ct_logged['_key_before'], _ct_logged['_is_conflicting'])
                and (_report is not null or _ct_logged['_report'] is null)
                then _ct_logged['_batch_id']
            else '20260131T120000000000_00000000'
        end as _batch_id,
        _key_before,
        _report,
        _is_conflicting,
        _change_op,
        _changed_at,
        _transaction_id,
        _present_columns,
        _changed_columns,
        _raw_id,
        _row_hash,
        _form,
        `order`,
        `it's`,
        `name with spaces`,
        tags,
        times,
        fields,
        prices,
        lines,
        _ct_quarantine_id,
        _status,
        _status_reason,
        _raw_row,
        _ct_is_greatest
        and case
            when _ct_logged is null then true
            when not _ct_is_logged then true
            else not struct(_key_before, _report, _is_conflicting) <=> struct(_ct_logged['_key_before'], _ct_logged['_report'], _ct_logged['_is_conflicting'])
        end as _ct_is_change,
        _ct_logged is not null as _ct_is_known,
        _ct_logged is not null
        and (
            not struct(`order`, `it's`, _change_op) <=> struct(_ct_logged['order'], _ct_logged['it\'s'], _ct_logged['_change_op'])
            or (_ct_logged['_key_before'] is not null and not _key_before <=> _ct_logged['_key_before'])
        ) as _ct_overrules
    from compared_deliveries

)

select
    _change_seq, _change_id, _batch_id, _key_before, _report, _is_conflicting, _change_op, _changed_at, _transaction_id, _present_columns, _changed_columns, _raw_id, _row_hash, _form, `order`, `it's`, `name with spaces`, tags, times, fields, prices, lines,
    _ct_quarantine_id, _status, _status_reason, _raw_row,
    _ct_is_change,
    _ct_is_known, _ct_overrules
from reduced_deliveries
where _ct_is_change or _ct_quarantine_id is not null
