with unclaimed as (

    select /*+ broadcast(io_types) */
        coalesce(
            concat(trail_name, '/', lpad(cast(trail_seqno as string), 10, '0'), '/', lpad(cast(trail_rba as string), 19, '0')),
            to_json(struct(trail_name, trail_seqno, trail_rba))
        ) as _raw_id,
        case
            when table_name <> '' then concat('table_not_declared: ', table_name)
            when io_types.kind in ('control', 'ddl', 'metadata') and hdr_ind = 'E'
                then concat('no_table: io_type ', io_type, ' is no change of a row')
            else concat('table_unknown: table_name is null or empty, io_type is ', coalesce(cast(io_type as string), 'null'))
        end as _status_reason,
        to_json(struct(trail_name, trail_seqno, trail_rba, hdr_ind, undo_flag, rec_length, io_type, trans_ind, syskey_len, audit_rba, audit_pos, continued, partition_ind, before_after, io_time, orig_node, format_type, incomplete, rec_count, table_name, before_data, after_data, tokens), map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')) as raw_row
    from lake_raw.trail as landed
    left join lake.goldengate_io_types as io_types
        on landed.io_type = io_types.code
    where
        not coalesce(
            table_name in ('APP.ORDERS'),
            false
        )

)

select
    _raw_id,
    if(startswith(_status_reason, 'table_unknown'), 'rejected', 'ignored') as _status,
    _status_reason,
    raw_row
from unclaimed
