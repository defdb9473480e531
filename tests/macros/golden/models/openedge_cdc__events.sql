with entries as (

    select
        'lake_raw.tracking' as tracking_table,
        12 as table_number,
        'feed' as source_name,
        'openedge_by_recid' as table_name,
        '' as snapshot_seq
    union all
    select
        'lake_raw.tracking' as tracking_table,
        12 as table_number,
        'feed' as source_name,
        'openedge_level_1' as table_name,
        '' as snapshot_seq

),

events_1 as (

    select
        'lake_raw.tracking' as tracking_table,
        cast(`_Source-Table-Number` as bigint) as source_table_number,
        cast(`_Partition-Id` as string) as partition_id,
        cast(`_Operation` as bigint) as operation,
        filter(transform(split(`_Change-FieldMap`, ';'), name -> trim(name)), name -> name <> '') as field_map,
        case when cast(`_Change-Sequence` as bigint) >= 0 then lpad(cast(cast(`_Change-Sequence` as bigint) as string), 19, '0') end as _change_seq,
        `_Time-Stamp` as _changed_at,
        cast(`_Tran-Id` as string) as _transaction_id,
        cast(`_Policy-Id` as string) as policy_id,
        cast(`_Tenant-Id` as string) as tenant_id,
        cast(`_User-Name` as string) as user_name,
        cast(`_User-Misc` as string) as user_misc,
        concat_ws('/', 'tracking', cast(`_Source-Table-Number` as string), coalesce(case when cast(`_Change-Sequence` as bigint) >= 0 then lpad(cast(cast(`_Change-Sequence` as bigint) as string), 19, '0') end, cast(`_Change-Sequence` as string), 'null'), cast(`_Operation` as string)) as _raw_id
    from lake_raw.tracking
    where cast(`_Operation` as bigint) between 5 and 12

),

events as (

    select *
    from events_1

)

-- an event that has landed more than once is one
select distinct
    entries.source_name,
    entries.table_name,
    events.source_table_number,
    events.partition_id,
    if(events.operation in (5, 12), 'schema', 'partition') as kind,
    element_at(map(5, 'field_deleted', 6, 'partition_dropped', 7, 'partition_truncated', 8, 'partition_deallocated', 9, 'tenant_partition_deallocated', 10, 'tenant_partition_dropped', 11, 'merged_partition_dropped', 12, 'field_added'), cast(events.operation as int)) as event,
    events.operation,
    events.field_map,
    coalesce(events._change_seq <= entries.snapshot_seq, false) as is_covered,
    events._change_seq,
    events._changed_at,
    events._transaction_id,
    events.policy_id,
    events.tenant_id,
    events.user_name,
    events.user_misc,
    events._raw_id
from events
inner join entries
    on events.tracking_table = entries.tracking_table and events.source_table_number = entries.table_number
