with others as (

    select
        table_name,
        struct(record_id, status, event_type, event_time, perpetrator, table_name, table_key, column_name, old_value, new_value) as _ct_landed_row
    from lake_raw.events
    where
        not coalesce(
            table_name in ('usr', 'multi'),
            false
        )

),

unclaimed as (

    select
        coalesce(cast(_ct_landed_row['record_id'] as string), lower(hex(xxhash64(to_json(_ct_landed_row))))) as _raw_id,
        if(table_name <> '', concat('table_not_declared: ', table_name), 'table_unknown: table_name is null or empty') as _status_reason,
        to_json(_ct_landed_row, map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')) as raw_row
    from others

)

select
    _raw_id,
    if(startswith(_status_reason, 'table_unknown'), 'rejected', 'ignored') as _status,
    _status_reason,
    raw_row
from unclaimed
