{#-
    The records of a trail that any of these entries stages: each with its transaction, pieces and the halves of an update
    joined. Records of other tables begin and end transactions, and separate runs of pieces. After that they are left out, apart
    from those that begin an open transaction. The last step is `put_together`:

    _ct_table           the table of the record
    _ct_is_of_all       whether every entry needs it: it begins an open transaction
    _ct_kind            what the record does, by the reference seed of IOTypes; null where that does not know it
    _ct_transaction     closed, open, abandoned, repeated (closed, and written before; of a run that reads everything, also where only the
                        log has that), none (no transaction is open before the record); null where it has no position
    _ct_fault           what cannot be read of the record, or of another piece of it
    _ct_run_error       what the pieces of the record lack
    _ct_is_first        whether a record begins here: a whole one, or the first of its pieces
    _ct_is_half         whether it is the half before of an update
    _ct_is_paired       whether it is, and the other half follows
    _ct_row             the image that the change leaves; of a delete, the image that it ends
    _ct_row_before      of an update, the image before
    _ct_parts_differ    whether pieces or halves of it have landed with different contents
    _ct_position        the position of the record
    _ct_first_position  the position of its first piece
-#}
{% macro trail_put_together_steps(specs, bound) %}
    {%- set spec = specs[0] -%}
    {%- set landed = change_tables.landed_columns(
        spec, spec.relation, change_tables.trail_columns(),
        "trails land one row a record, with the fields of its header and its two images as maps",
        numbers=['trail_seqno', 'trail_rba', 'io_type', 'trans_ind']
    ) -%}
    {%- do change_tables.refuse_landed_types(spec, spec.relation, landed, change_tables.header_columns(change_tables.trail_columns())) -%}
    {%- set names = change_tables.text_literals(specs | map(attribute='settings') | map(attribute='table_name')) -%}
    {%- set opens_all = "_ct_transaction = 'open' and struct(trail_seqno, trail_rba) = struct(_ct_start_seqno, _ct_start_rba)" -%}
    {%- set transaction = 'partition by _ct_identity, trail_name, _ct_start_rba, _ct_start_seqno' -%}
    {%- set here = 'struct(trail_seqno, trail_rba)' -%}
    {#- of a DDL record the names do not count: the changes that it makes can have the same -#}
    {%- set start = "struct(trail_rba, _ct_landed_csn, if(_ct_kind = 'ddl', null, _ct_landed_transaction_id) as _ct_landed_transaction_id)" -%}
    {%- set leaves_out = spec.settings.repeated_transactions == 'ignore' -%}
    {%- set asks_log = leaves_out and bound.asks_log -%}
    {%- set stands_before = '_ct_first_start < struct(_ct_start_seqno, _ct_start_rba) and _ct_first_start < _ct_last_writing' -%}
    {%- if asks_log -%}
        {%- set stands_before = '(' ~ stands_before ~ ' or _ct_first_logged < ' ~ change_tables.trail_position('_ct_start_seqno', '_ct_start_rba') ~ ')' -%}
    {%- endif -%}
{{ change_tables.trail_header_steps(spec, bound, landed) }},

-- transactions are looked for file by file, so that no trail is sorted as a whole
files as (

    select
        trail_name,
        trail_seqno,
        max(case when _ct_opens then {{ start }} end) as _ct_last_start
    from headers
    group by trail_name, trail_seqno

),

file_starts as (

    select
        trail_name as _ct_file_trail,
        trail_seqno as _ct_file_seqno,
        max(case when _ct_last_start is not null then struct(trail_seqno, _ct_last_start) end) over (
            partition by trail_name
            order by trail_seqno
            rows between unbounded preceding and 1 preceding
        ) as _ct_start_before,
        max(case when _ct_last_start is not null then struct(trail_seqno, _ct_last_start['trail_rba'] as trail_rba) end) over (partition by trail_name) as _ct_last_start_of_trail
    from files

),

placed as (

    select
        *,
        coalesce(table_name {{ '= ' ~ names if specs | length == 1 else 'in (' ~ names ~ ')' }}, false) as _ct_is_staged,
        row_number() over in_file as _ct_number,
        max(case when _ct_opens then {{ start }} end) over in_file as _ct_start_in_file
    from headers
    window in_file as (
        partition by trail_seqno, trail_name
        order by trail_rba, _ct_opens, _ct_content
        rows between unbounded preceding and current row
    )

),

copied as (

    select
        *,
        case
            when not hdr_ind <=> 'E'
                then concat('header_malformed: hdr_ind is ', coalesce(concat('\'', hdr_ind, '\''), 'null'))
            when _ct_kind is null
                then concat('unknown_operation: io_type is ', coalesce(cast(io_type as string), 'null'))
            when not coalesce(trans_ind in (0, 1, 2, 3), false)
                then concat('header_malformed: trans_ind is ', coalesce(cast(trans_ind as string), 'null'))
            when continued not in ('Y', 'N')
                then concat('header_malformed: continued is \'', continued, '\'')
            when _ct_kind = 'update' and not coalesce(before_after in ('A', 'B'), false)
                then concat('header_malformed: before_after is ', coalesce(concat('\'', before_after, '\''), 'null'))
            when _ct_header_misfit is not null
                then concat('value_does_not_fit: ', _ct_header_misfit)
        end as _ct_own_fault,
        min(_ct_content) over same_position <> max(_ct_content) over same_position as _ct_differs
    from placed
    window same_position as (partition by trail_seqno, trail_name, trail_rba)

),

-- of a record that landed more than once, one row counts: the greatest of those that can be read
numbered as (

    select
        *,
        case
            when not _ct_differs
                then _ct_number > min(_ct_number) over same_position
            else
                struct(_ct_own_fault is null, to_json(struct(after_data, before_data)), _ct_number)
                < max(case when _ct_differs then struct(_ct_own_fault is null, to_json(struct(after_data, before_data)), _ct_number) end) over same_position
        end as _ct_is_copy
    from copied
    window same_position as (partition by trail_seqno, trail_name, trail_rba)

),

started as (

    select /*+ broadcast(file_starts) */
        numbered.*,
        if(_ct_start_in_file is null, _ct_start_before['trail_seqno'], trail_seqno) as _ct_start_seqno,
        coalesce(_ct_start_in_file, _ct_start_before['_ct_last_start']) as _ct_start,
        _ct_last_start_of_trail
    from numbered
    left join file_starts
        on numbered.trail_name = file_starts._ct_file_trail and numbered.trail_seqno = file_starts._ct_file_seqno

),

-- a transaction is the same as another of its trail where both its number of the commit and its name are
identified as (

    select
        *,
        _ct_start['trail_rba'] as _ct_start_rba,
        _ct_start['_ct_landed_csn'] as _csn,
        coalesce(_ct_start['_ct_landed_transaction_id'], {{ change_tables.trail_position('_ct_start_seqno', "_ct_start['trail_rba']") }}) as _transaction_id,
        coalesce(
            concat(_ct_start['_ct_landed_csn'], ' ', _ct_start['_ct_landed_transaction_id']),
            {{ change_tables.trail_position('_ct_start_seqno', "_ct_start['trail_rba']") }}
        ) as _ct_identity
    from started

),

{% if leaves_out -%}
-- the windows from here on need no other order than this one
writings as (

    select
        *,
        max(struct(_ct_start_seqno, _ct_start_rba)) over every_writing as _ct_last_writing
    from identified
    window every_writing as (
        partition by _ct_identity, trail_name
        order by _ct_start_rba, _ct_start_seqno, trail_seqno, trail_rba, not _ct_is_copy
        rows between unbounded preceding and unbounded following
    )

),

{% endif -%}
ended as (

    select
        *,
        min(case when _ct_closes then {{ here }} end) over whole_transaction as _ct_end
    from {{ 'writings' if leaves_out else 'identified' }}
    window whole_transaction as (
        {{ transaction }}
        order by trail_seqno, trail_rba, not _ct_is_copy
        rows between unbounded preceding and unbounded following
    )

),

in_transactions as (

    select
        *,
        case
            when not _ct_has_position then null
            when _ct_start_rba is null or {{ here }} > _ct_end then 'none'
            when _ct_end is not null then 'closed'
            when struct(_ct_start_seqno, _ct_start_rba) = _ct_last_start_of_trail then 'open'
            else 'abandoned'
        end as _ct_transaction
    from ended

),

{% if asks_log -%}
{#- raw may no longer have the writing that the log has -#}
logged_transactions as (

    select
        concat(_csn, ' ', _transaction_id) as _ct_logged_identity,
        {{ change_tables.trail_of_sequence('_change_id') }} as _ct_logged_trail,
        min(_change_id) as _ct_first_logged
    from {{ bound.log }}
    where _checkpoint is null and _csn is not null
    group by concat(_csn, ' ', _transaction_id), {{ change_tables.trail_of_sequence('_change_id') }}

),

{% endif -%}
{% if leaves_out -%}
written as (

    select
        *,
        min(case when _ct_transaction = 'closed' then struct(_ct_start_seqno, _ct_start_rba) end) over (
            partition by _ct_identity, trail_name
        ) as _ct_first_start
    from in_transactions
    {%- if asks_log %}
    left join logged_transactions
        on _ct_identity = _ct_logged_identity and trail_name = _ct_logged_trail
    {%- endif %}

),

{% endif -%}
-- records of no change, and those outside of a transaction, do not separate pieces
counted as (

    select
        {%- if leaves_out %}
        * except (_ct_transaction),
        if(_ct_transaction = 'closed' and {{ stands_before }}, 'repeated', _ct_transaction) as _ct_transaction,
        {%- else %}
        *,
        {%- endif %}
        coalesce(_ct_transaction <> 'none', false) and coalesce(_ct_kind, '') not in ('control', 'metadata', 'ddl') as _ct_counts
    from {{ 'written' if leaves_out else 'in_transactions' }}

),

-- a record goes on from the one before it; the copy that counts is the last one at its position
begun as (

    select
        *,
        not lag(case when _ct_counts and not _ct_is_copy then struct(table_name, continued) end) ignore nulls over in_order
        <=> struct(table_name, 'Y' as continued) as _ct_is_first
    from counted
    window in_order as ({{ transaction }} order by trail_seqno, trail_rba, not _ct_is_copy)

),

-- all copies are of the run of the one that counts
runs as (

    select
        *,
        count_if(_ct_counts and not _ct_is_copy and _ct_is_first) over (
            {{ transaction }}
            order by trail_seqno, trail_rba
            range between unbounded preceding and current row
        ) as _ct_run
    from begun

),

own as (

    select
        *,
        case when _ct_is_staged then before_data end as _ct_data_before,
        case when _ct_is_staged then after_data end as _ct_data_after,
        struct({{ change_tables.column_list(change_tables.trail_columns()) }}) as _ct_landed_row
    from runs
    where _ct_is_staged{{ ' or (' ~ opens_all ~ ')' if bound.arrival }}

),

piece_runs as (

    select
        *,
        collect_list(
            case
                when _ct_counts and not _ct_is_copy and not (_ct_is_first and coalesce(continued, 'N') = 'N')
                    then struct(if(size(_ct_data_before) > 0, _ct_data_before, null) as `before`, if(size(_ct_data_after) > 0, _ct_data_after, null) as `after`)
            end
        ) over whole_run as _ct_pieces,
        min(case when _ct_counts and not _ct_is_copy then {{ here }} end) over whole_run as _ct_first_piece,
        max(case when _ct_counts and not _ct_is_copy then struct(trail_seqno, trail_rba, continued) end) over whole_run as _ct_last_piece,
        max(case when _ct_counts and _ct_is_first then _ct_kind end) over whole_run as _ct_kind_of_run,
        max(case when _ct_counts and not _ct_is_copy then _ct_own_fault end) over whole_run as _ct_fault_in_run,
        max(_ct_counts and _ct_differs) over whole_run as _ct_differs_in_run
    from own
    window whole_run as (
        {{ transaction ~ (', table_name' if specs | length > 1) }}, _ct_run
        order by trail_seqno, trail_rba, _ct_is_copy
        rows between unbounded preceding and unbounded following
    )

),

joined as (

    select
        *,
        {{ change_tables._filled_image('before') }} as _ct_image_before,
        {{ change_tables._filled_image('after') }} as _ct_image_after,
        coalesce(_ct_own_fault, if(_ct_counts, _ct_fault_in_run, null)) as _ct_fault,
        case
            when not _ct_counts then null
            when _ct_last_piece['continued'] = 'Y'
                then concat('the pieces end at ', {{ change_tables.trail_position("_ct_last_piece['trail_seqno']", "_ct_last_piece['trail_rba']") }}, ' without the last one')
            when _ct_kind_of_run = 'fragment'
                then 'the piece has no record that it goes on from'
        end as _ct_run_error
    from piece_runs

),

halves as (

    select
        *,
        if(_ct_kind = 'delete' or (_ct_kind = 'update' and before_after = 'B'), coalesce(_ct_image_before, _ct_image_after), _ct_image_after) as _ct_row,
        if(_ct_kind = 'update' and before_after = 'A', _ct_image_before, null) as _ct_own_row_before,
        _ct_counts and not _ct_is_copy and _ct_is_first and _ct_is_staged as _ct_is_head,
        coalesce(_ct_counts and _ct_kind = 'update' and before_after = 'B', false) as _ct_is_half
    from joined

),

{% set half -%}
    struct({{ here }} as place, _ct_is_half and _ct_run_error is null and _ct_fault is null as is_half, _ct_row as image, _ct_differs_in_run as differs)
{%- endset -%}
-- runs are numbered in the order of the trail
paired as (

    select
        *,
        lag(case when _ct_is_head then {{ half }} end, 1) ignore nulls over in_order as _ct_head_before,
        lag(case when _ct_is_head then {{ half }} end, 2) ignore nulls over in_order as _ct_second_head_before,
        lead(case when _ct_is_head then coalesce(_ct_kind = 'update' and before_after = 'A', false) end, 1) ignore nulls over in_order as _ct_half_follows
    from halves
    window in_order as ({{ transaction ~ (', table_name' if specs | length > 1) }} order by _ct_run, trail_seqno, trail_rba, _ct_is_copy)

),

with_other_half as (

    select
        *,
        case
            when not coalesce(_ct_kind = 'update' and before_after = 'A', false) then null
            when _ct_head_before['place'] = {{ here }} then if(_ct_second_head_before['is_half'], _ct_second_head_before, null)
            else if(_ct_head_before['is_half'], _ct_head_before, null)
        end as _ct_other_half,
        case when _ct_has_position then {{ change_tables.trail_position('trail_seqno', 'trail_rba') }} end as _ct_position
    from paired

),

-- columns of the raw table get names that no column of the source table has
put_together as (

    select
        table_name as _ct_table,
        {%- if bound.arrival %}
        coalesce({{ opens_all }}, false) as _ct_is_of_all,
        _ct_arrival,
        {%- endif %}
        _ct_kind,
        _ct_is_key_update,
        _ct_transaction,
        _ct_fault,
        _ct_run_error,
        _ct_is_first,
        _ct_is_half,
        _ct_is_half and coalesce(_ct_half_follows, false) as _ct_is_paired,
        (size(_ct_pieces) > 0 and _ct_differs_in_run) or coalesce(_ct_other_half['differs'], false) as _ct_parts_differ,
        _ct_row,
        coalesce(_ct_own_row_before, _ct_other_half['image']) as _ct_row_before,
        _ct_position,
        -- two transactions can have records at one position: the copy that does not count can be without a run of its own
        coalesce(
            if(_ct_counts and not _ct_is_first, {{ change_tables.trail_position("_ct_first_piece['trail_seqno']", "_ct_first_piece['trail_rba']") }}, null),
            _ct_position
        ) as _ct_first_position,
        _transaction_id,
        io_type as _ct_io_type,
        trans_ind as _ct_trans_ind,
        {%- for column in change_tables.header_columns(change_tables.trail_columns(), ['io_time', 'audit_rba', 'audit_pos']) %}
        {{ change_tables.read_landed(column, landed) }} as {{ '_ct_io_time' if column.name == 'io_time' else '_' ~ column.name }},
        {%- endfor %}
        _csn,
        format_type as _format_type,
        _ct_landed_row
    from with_other_half

)
{%- endmacro %}


{#- The records by their headers: of what kind they are, and whether a transaction begins or ends. The last step is `headers`. -#}
{% macro trail_header_steps(spec, bound, landed) -%}
{%- set maps = change_tables.header_columns(change_tables.trail_columns(), ['before_data', 'after_data', 'tokens']) -%}
{%- set checked = maps + change_tables.header_columns(change_tables.trail_columns(), ['io_time', 'audit_rba', 'audit_pos']) -%}
landed as (

    select
        {{ change_tables.column_list(change_tables.trail_columns() | reject('in', maps | map(attribute='name') | list)) }},
        {{- change_tables.typed_columns({'columns': maps}, landed) }}
        {{ change_tables.misfit({'columns': checked}, checked | map(attribute='name') | list, landed) }} as _ct_header_misfit,
        {{- change_tables.arrival_column(bound.arrival) }}
        {{ change_tables.trail_position_fault() }} is null as _ct_has_position
    from {{ spec.relation }}
    {{- change_tables.where([bound.predicate, bound.get('until')]) }}

),

kinds as (

    select /*+ broadcast(io_types) */
        landed.*,
        case when trans_ind in (0, 3) then coalesce(tokens['LOGCSN'], tokens['L']) end as _ct_landed_csn,
        case when trans_ind in (0, 3) then coalesce(tokens['TRANID'], tokens['6']) end as _ct_landed_transaction_id,
        xxhash64(
            hdr_ind, table_name, io_type, trans_ind, before_after, continued,
            map_keys(before_data), map_values(before_data), map_keys(after_data), map_values(after_data)
        ) as _ct_content,
        if(io_types.kind = 'key_update', 'update', io_types.kind) as _ct_kind,
        coalesce(io_types.kind = 'key_update', false) as _ct_is_key_update
    from landed
    left join {{ ref('goldengate_io_types').render() }} as io_types
        on landed.io_type = io_types.code and landed.hdr_ind = 'E'

),

headers as (

    select
        *,
        _ct_has_position and coalesce(trans_ind in (0, 3), false) and coalesce(_ct_kind, '') not in ('control', 'metadata') as _ct_opens,
        -- a control record may end a transaction, but is not a transaction by itself
        _ct_has_position and coalesce(_ct_kind, '') <> 'metadata'
        and coalesce(trans_ind = 2 or (trans_ind = 3 and coalesce(_ct_kind, '') <> 'control'), false) as _ct_closes
    from kinds

)
{%- endmacro %}


{#- The columns of a record, with the types in which they are read; none: not at all. -#}
{% macro trail_columns() %}
    {% do return({
        'trail_name': 'string', 'trail_seqno': 'bigint', 'trail_rba': 'bigint', 'hdr_ind': 'string', 'undo_flag': none, 'rec_length': none,
        'io_type': 'int', 'trans_ind': 'int', 'syskey_len': none, 'audit_rba': 'bigint', 'audit_pos': 'bigint', 'continued': 'string',
        'partition_ind': none, 'before_after': 'string', 'io_time': 'timestamp', 'orig_node': none, 'format_type': 'string',
        'incomplete': none, 'rec_count': none, 'table_name': 'string', 'before_data': 'map<string, string>',
        'after_data': 'map<string, string>', 'tokens': 'map<string, string>',
    }) %}
{% endmacro %}


{#- A position in a trail as a text that sorts, since the names of trails have one length. -#}
{% macro trail_position(seqno, rba) -%}
    concat(trail_name, '/', lpad(cast({{ seqno }} as string), 10, '0'), '/', lpad(cast({{ rba }} as string), 19, '0'))
{%- endmacro %}


{#- Why a record has no position in a trail; null where it has one. Numbers are as wide as a position writes them. -#}
{% macro trail_position_fault(row='') -%}
    case
            {%- for name, most in {'trail_name': none, 'trail_seqno': '9999999999', 'trail_rba': '9223372036854775807'}.items() %}
            {%- set value = row ~ "['" ~ name ~ "']" if row else name %}
            {%- if most is none %}
            when {{ value }} = ''
                then '{{ name }} is empty'
            {%- else %}
            when {{ value }} not between 0 and {{ most }}
                then concat('{{ name }} is ', {{ value }})
            {%- endif %}
            when {{ value }} is null
                then '{{ name }} is null'
            {%- endfor %}
        end
{%- endmacro %}


{#- An image of a record, null where it is empty: of a run of pieces, the texts of each column one after the other. -#}
{% macro _filled_image(image) -%}
    {%- set data = '_ct_data_' ~ image -%}
    case
            when size(_ct_pieces) > 0
                then aggregate(
                    slice(_ct_pieces, 2, size(_ct_pieces)),
                    _ct_pieces[0]['{{ image }}'],
                    (joined, piece) -> coalesce(
                        map_zip_with(
                            joined,
                            piece['{{ image }}'],
                            (name, text, following) -> if(text is null or following is null, coalesce(text, following), concat(text, following))
                        ),
                        joined,
                        piece['{{ image }}']
                    )
                )
            when size({{ data }}) > 0
                then {{ data }}
        end
{%- endmacro %}
