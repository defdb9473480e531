with tracking_rows as (

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

typed_tracking_rows as (

    select
        cast(_partition_id as bigint) as _partition_id,
        _recid,
        cast(null as string) as _ct_key_misfit,
        cast(null as string) as _ct_timestamp_misfit,
        * except (_partition_id, _recid)
    from tracking_rows

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
            when _ct_timestamp_misfit is not null
                then concat('value_does_not_fit: ', _ct_timestamp_misfit)
            when _ct_operation_code in (1, 2, 4) and _ct_key_misfit is not null
                then concat('value_does_not_fit: ', _ct_key_misfit)
            when _ct_operation_code in (1, 2, 4) and _partition_id is null and _recid is null
                then 'key_missing: every key column is null: _partition_id, _recid'
        end as _ct_rejection
    from typed_tracking_rows

),

staged_rows as (

    select
        _partition_id,
        _recid,
        case when _ct_rejection is null and _ct_operation_code in (1, 2, 4) then element_at(map(1, 'insert', 2, 'delete', 4, 'update'), cast(_ct_operation_code as int)) end as _change_op,
        case when _ct_sequence >= 0 then lpad(cast(_ct_sequence as string), 19, '0') end as _change_seq,
        _ct_time as _changed_at,
        _transaction_id,
        case when _ct_rejection is null and _ct_operation_code in (1, 2, 4) then case when _ct_sequence >= 0 then lpad(cast(_ct_sequence as string), 19, '0') end end as _change_id,
        cast(null as array<string>) as _present_columns,
        case when _ct_rejection is null and _ct_operation_code in (1, 2, 4) and _ct_operation_code <> 2 then _ct_field_map end as _changed_columns,
        cast(null as struct<_partition_id: bigint, _recid: bigint>) as _key_before,
        concat_ws('/', 'tracking', 12, coalesce(case when _ct_sequence >= 0 then lpad(cast(_ct_sequence as string), 19, '0') end, _ct_landed_sequence, 'null'), coalesce(_ct_landed_operation, 'null')) as _raw_id,
        case when not (_ct_rejection is null and _ct_operation_code in (1, 2, 4)) then to_json(_ct_landed_row, map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')) end as _raw_row,
        case
            when _ct_rejection is not null then 'rejected'
            when _ct_operation_code between 5 and 12 then 'ignored'
            else 'accepted'
        end as _status,
        case
            when _ct_rejection is not null then _ct_rejection
            when _ct_operation_code in (5, 12)
                then concat('schema_event: ', element_at(map(5, 'field_deleted', 6, 'partition_dropped', 7, 'partition_truncated', 8, 'partition_deallocated', 9, 'tenant_partition_deallocated', 10, 'tenant_partition_dropped', 11, 'merged_partition_dropped', 12, 'field_added'), cast(_ct_operation_code as int)))
            when _ct_operation_code between 6 and 11
                then concat('partition_event: ', element_at(map(5, 'field_deleted', 6, 'partition_dropped', 7, 'partition_truncated', 8, 'partition_deallocated', 9, 'tenant_partition_deallocated', 10, 'tenant_partition_dropped', 11, 'merged_partition_dropped', 12, 'field_added'), cast(_ct_operation_code as int)), ', partition ', coalesce(cast(_partition_id as string), 'null'))
        end as _status_reason,
        1 as _parts,
        true as _has_tracking,
        cast(null as string) as _report,
        monotonically_increasing_id() as _ct_place
    from judged_tracking_rows

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
        case when _status = 'accepted' then xxhash64(_partition_id, _recid, _change_op, _present_columns, _changed_columns, _changed_at, _transaction_id, _raw_id, _parts, _has_tracking, array(_partition_id is null, _recid is null, _change_op is null, _present_columns is null, _changed_columns is null, _changed_at is null, _transaction_id is null, _raw_id is null, _parts is null, _has_tracking is null)) end as _row_hash,
        0 as _form,
        _parts,
        _has_tracking,
        _partition_id,
        _recid,
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
        logged._change_seq, logged._change_id, logged._batch_id, logged._key_before, logged._report, logged._is_conflicting, logged._change_op, logged._changed_at, logged._transaction_id, logged._present_columns, logged._changed_columns, logged._raw_id, logged._row_hash, logged._form, logged._parts, logged._has_tracking, logged._partition_id, logged._recid,
        true as _ct_is_delivery,
        true as _ct_is_logged,
        0 as _ct_place,
        null as _ct_quarantine_id,
        null as _status,
        null as _status_reason,
        null as _raw_row
    from lake.dedup_feed__openedge_level_0__state as logged
    where
        logged._mark is null

),

-- each delivery with what there is of its change
gathered_deliveries as (

    select
        *,
        count_if(_ct_is_delivery) over same_change as _ct_copies,
        max(case when _ct_is_logged then struct(
            xxhash64(_partition_id, _recid, _change_op, _present_columns, _changed_columns, _changed_at, _transaction_id, _parts, _has_tracking, array(_partition_id is null, _recid is null, _change_op is null, _present_columns is null, _changed_columns is null, _changed_at is null, _transaction_id is null, _parts is null, _has_tracking is null)) as _ct_said_hash,
            _partition_id, _recid, _change_op, _key_before, _report, _is_conflicting, _form, _batch_id
        ) end) over same_change as _ct_logged,
        min(_ct_is_logged) over same_change as _ct_is_logged_alone,
        max(case when _ct_is_delivery then struct(_parts, _has_tracking) end) over same_change as _ct_completeness,
        case
            when
                _change_id is not null
                and (min(_changed_at) over same_change <> max(_changed_at) over same_change or min(_transaction_id) over same_change <> max(_transaction_id) over same_change)
                then raise_error(concat(
                    'change_tables: model \'dedup_feed__openedge_level_0\': source \'feed.openedge_level_0\': changes that differ in _changed_at or _transaction_id have landed at one _change_id: ',
                    _change_id,
                    '. The numbers have begun anew, and nothing says which rows are the older ones: either have the new rows land under numbers above the old ones, for which a view over lake_raw.tracking will do, or remove the old rows from it, then build the log and the models after it anew with --full-refresh --vars \'{change_tables_allow_loss: true}\''
                ))
            else
                min(_row_hash) over same_change <> max(_row_hash) over same_change
        end as _ct_differs
    from deliveries
    window same_change as (partition by _change_seq, coalesce(_change_id, _raw_id), _change_id is null)

),

-- the most complete ones, and where they differ, by what
weighed_deliveries as (

    select
        *,
        case when _ct_differs and _ct_is_delivery then if(_change_op in ('delete', 'truncate'), xxhash64(_change_op), xxhash64(_change_op, _partition_id, _recid, _present_columns, array(_change_op is null, _partition_id is null, _recid is null, _present_columns is null))) end as _ct_content_hash,
        case when _ct_copies > 1 and _ct_is_delivery then struct(
            case when _ct_differs then struct(
                to_json(struct(_partition_id, _recid), map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')), _change_op, _present_columns, _changed_columns, _changed_at, _transaction_id, _raw_id, _parts, _has_tracking
            ) end,
            _ct_is_logged, _ct_place
        ) end as _ct_rank
    from gathered_deliveries
    where
        not _ct_is_logged_alone
        and (not _ct_is_delivery or struct(_parts, _has_tracking) = _ct_completeness)

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
                _ct_logged['_ct_said_hash'] = xxhash64(_partition_id, _recid, _change_op, _present_columns, _changed_columns, _changed_at, _transaction_id, _parts, _has_tracking, array(_partition_id is null, _recid is null, _change_op is null, _present_columns is null, _changed_columns is null, _changed_at is null, _transaction_id is null, _parts is null, _has_tracking is null))
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
        _parts,
        _has_tracking,
        _partition_id,
        _recid,
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
            not struct(_partition_id, _recid, _change_op) <=> struct(_ct_logged['_partition_id'], _ct_logged['_recid'], _ct_logged['_change_op'])
            or (_ct_logged['_key_before'] is not null and not _key_before <=> _ct_logged['_key_before'])
        ) as _ct_overrules
    from compared_deliveries

)

select
    _change_seq, _change_id, _batch_id, _key_before, _report, _is_conflicting, _change_op, _changed_at, _transaction_id, _present_columns, _changed_columns, _raw_id, _row_hash, _form, _parts, _has_tracking, _partition_id, _recid,
    _ct_quarantine_id, _status, _status_reason, _raw_row,
    _ct_is_change,
    _ct_is_known, _ct_overrules
from reduced_deliveries
where _ct_is_change or _ct_quarantine_id is not null
