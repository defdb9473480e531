with numbered as (

    select
        cast(`_Source-Table-Number` as bigint) as _ct_table_number,
        cast(`_Source-Table-Number` as string) as _ct_landed_table_number,
        cast(`_Change-Sequence` as bigint) as _ct_sequence,
        cast(`_Change-Sequence` as string) as _ct_landed_sequence,
        cast(`_Operation` as string) as _ct_landed_operation,
        struct(*) as _ct_landed_row
    from lake_raw.tracking

),

others as (

    select
        *,
        case
            when _ct_landed_table_number is null
                then 'table_unknown: _Source-Table-Number is null'
            when _ct_table_number is null
                then concat('table_unknown: _Source-Table-Number is \'', _ct_landed_table_number, '\'')
            else concat('table_not_declared: number ', _ct_table_number)
        end as _status_reason
    from numbered
    where coalesce(_ct_table_number not in (12, 12), true)

),

unclaimed as (

    select
        concat_ws('/', 'tracking', coalesce(_ct_landed_table_number, 'null'), coalesce(case when _ct_sequence >= 0 then lpad(cast(_ct_sequence as string), 19, '0') end, _ct_landed_sequence, 'null'), coalesce(_ct_landed_operation, 'null')) as _raw_id,
        _status_reason,
        to_json(_ct_landed_row, map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')) as raw_row
    from others

)

select
    _raw_id,
    if(startswith(_status_reason, 'table_unknown'), 'rejected', 'ignored') as _status,
    _status_reason,
    raw_row
from unclaimed
