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

)

select
    _partition_id,
    _recid,
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
