{#-
    The records of a raw table of GoldenGate trails that a table stages, ending in `records`: told their transaction, with pieces
    rejoined and the halves of an update brought together. Rows of other tables count for transactions and part runs of pieces,
    and are left out behind that, but for those that begin an open transaction.

    _kind            what the record does, by the reference seed of IOTypes; null where that does not know it
    _transaction     closed, open, abandoned, none (no transaction is open before the record); null where it tells no position
    _fault           what cannot be read of the record, or of another piece of it
    _run_error       what the pieces of the record lack
    _is_first        whether a record begins here: a whole one, or the first of its pieces
    _is_half         whether it is the half before of an update; `_is_paired` whether the other half follows
    _row, _row_before  the image that the change leaves (of a delete: what it ends) and, of an update, what stood before
    _parts_differ    whether pieces or halves of it have landed with different contents
    _position, _first_position  where the record stands, and where its first piece does
-#}
{% macro trail_record_steps(spec, bound) %}
    {%- set landed = change_tables.landed_columns(
        spec, spec.relation, change_tables.trail_columns(),
        "trails land one row a record, with the fields of its header and its two images as maps"
    ) -%}
    {%- set is_own = 'table_name = ' ~ change_tables.text_literal(spec.settings.table_name) -%}
    {%- set transaction = 'partition by _start_rba, _start_seqno, trail_name' -%}
    {%- set here = 'struct(trail_seqno, trail_rba)' -%}
    {%- set image = "if(_kind = 'delete' or (_kind = 'update' and before_after = 'B'), coalesce(_image_before, _image_after), _image_after)" -%}
    {%- set own_image_before = "if(_kind = 'update' and before_after = 'A', _image_before, null)" -%}
{{ change_tables.trail_header_steps(spec, bound) }},

-- a trail is read file by file, so that none need be sorted whole
files as (

    select
        trail_name,
        trail_seqno,
        max(case when _opens then trail_rba end) as _last_start
    from headers
    group by trail_name, trail_seqno

),

file_starts as (

    select
        trail_name as _file_trail,
        trail_seqno as _file_seqno,
        max(case when _last_start is not null then struct(trail_seqno, _last_start as trail_rba) end) over (
            partition by trail_name
            order by trail_seqno
            rows between unbounded preceding and 1 preceding
        ) as _start_before,
        max(case when _last_start is not null then struct(trail_seqno, _last_start as trail_rba) end) over (partition by trail_name) as _last_start_of_trail
    from files

),

placed as (

    select
        *,
        case when {{ is_own }} then before_data end as _data_before,
        case when {{ is_own }} then after_data end as _data_after,
        row_number() over in_file as _number,
        max(case when _opens then trail_rba end) over in_file as _start_in_file
    from headers
    window in_file as (
        partition by trail_seqno, trail_name
        order by trail_rba, _content
        rows between unbounded preceding and current row
    )

),

copied as (

    select
        *,
        {{ change_tables._trail_fault() }} as _own_fault,
        min(_number) over same_position as _first_number,
        min(_content) over same_position <> max(_content) over same_position as _differs
    from placed
    window same_position as (partition by trail_seqno, trail_name, trail_rba)

),

-- of a record that landed more than once, one row counts, the greatest of those that can be read, and the others go the same way
numbered as (

    select
        *,
        case
            when not _differs
                then _number - _first_number
            when
                struct(_own_fault is null, to_json(struct(after_data, before_data)), _number)
                < max(case when _differs then struct(_own_fault is null, to_json(struct(after_data, before_data)), _number) end) over same_position
                then _number - _first_number + 1
            else 0
        end as _copy
    from copied
    window same_position as (partition by trail_seqno, trail_name, trail_rba)

),

started as (

    select /*+ broadcast(file_starts) */
        numbered.*,
        if(_start_in_file is null, _start_before['trail_seqno'], trail_seqno) as _start_seqno,
        coalesce(_start_in_file, _start_before['trail_rba']) as _start_rba,
        _last_start_of_trail
    from numbered
    left join file_starts
        on numbered.trail_name = file_starts._file_trail and numbered.trail_seqno = file_starts._file_seqno

),

ended as (

    select
        *,
        min(case when _closes then {{ here }} end) over whole_transaction as _end,
        max(case when _opens then _told_csn end) over whole_transaction as _csn,
        coalesce(
            max(case when _opens then _told_transaction_id end) over whole_transaction,
            {{ change_tables.trail_position('trail_name', '_start_seqno', '_start_rba') }}
        ) as _transaction_id
    from started
    window whole_transaction as (
        {{ transaction }}
        order by trail_seqno, trail_rba, _copy
        rows between unbounded preceding and unbounded following
    )

),

in_transactions as (

    select
        *,
        case
            when not _has_position then null
            when _start_rba is null or {{ here }} > _end then 'none'
            when _end is not null then 'closed'
            when struct(_start_seqno, _start_rba) = _last_start_of_trail then 'open'
            else 'abandoned'
        end as _transaction
    from ended

),

-- records of no change, and those outside of a transaction, part nothing
counted as (

    select
        *,
        coalesce(_transaction <> 'none', false) and coalesce(_kind, '') not in ('control', 'metadata', 'ddl') as _counts
    from in_transactions

),

neighboured as (

    select
        *,
        lag(case when _counts and _copy = 0 then struct({{ here }} as place, table_name, continued) end, 1) ignore nulls over in_order as _record_before,
        lag(case when _counts and _copy = 0 then struct({{ here }} as place, table_name, continued) end, 2) ignore nulls over in_order as _second_before
    from counted
    window in_order as ({{ transaction }} order by trail_seqno, trail_rba, _copy)

),

-- of a copy, the record before is the one before its first
begun as (

    select
        *,
        not coalesce(
            if(_record_before['place'] = {{ here }}, _second_before['continued'], _record_before['continued']) = 'Y'
            and if(_record_before['place'] = {{ here }}, _second_before['table_name'], _record_before['table_name']) <=> table_name,
            false
        ) as _is_first
    from neighboured

),

runs as (

    select
        *,
        count_if(_counts and _copy = 0 and _is_first) over (
            {{ transaction }}
            order by trail_seqno, trail_rba, _copy
            rows between unbounded preceding and current row
        ) as _run
    from begun

),

own as (

    select *
    from runs
    where _is_own{{ " or (_transaction = 'open' and struct(trail_seqno, trail_rba) = struct(_start_seqno, _start_rba))" if bound.arrival }}

),

piece_runs as (

    select
        *,
        collect_list(
            case
                when _counts and _copy = 0 and not (_is_first and coalesce(continued, 'N') = 'N')
                    then struct(if(size(_data_before) > 0, _data_before, null) as `before`, if(size(_data_after) > 0, _data_after, null) as `after`)
            end
        ) over whole_run as _pieces,
        min(case when _counts and _copy = 0 then {{ here }} end) over whole_run as _first_piece,
        max(case when _counts and _copy = 0 then struct(trail_seqno, trail_rba, continued) end) over whole_run as _last_piece,
        max(case when _counts and _is_first then _kind end) over whole_run as _kind_of_run,
        max(case when _counts and _copy = 0 then _own_fault end) over whole_run as _fault_in_run,
        max(_counts and _differs) over whole_run as _differs_in_run
    from own
    window whole_run as (
        {{ transaction }}, _run
        order by trail_seqno, trail_rba, _copy
        rows between unbounded preceding and unbounded following
    )

),

joined as (

    select
        *,
        {{ change_tables._filled_image('before') }} as _image_before,
        {{ change_tables._filled_image('after') }} as _image_after,
        coalesce(_own_fault, if(_counts, _fault_in_run, null)) as _fault,
        case
            when not _counts then null
            when _last_piece['continued'] = 'Y'
                then concat('the pieces end at ', {{ change_tables.trail_position('trail_name', "_last_piece['trail_seqno']", "_last_piece['trail_rba']") }}, ' without the last one')
            when _kind_of_run = 'fragment'
                then 'the piece has no record that it goes on from'
        end as _run_error
    from piece_runs

),

halves as (

    select
        *,
        {{ change_tables._names_as_matched(spec, image) }} as _row,
        {{ change_tables._names_as_matched(spec, own_image_before) }} as _own_row_before,
        _counts and _copy = 0 and _is_first and _is_own as _is_head,
        coalesce(_counts and _kind = 'update' and before_after = 'B', false) as _is_half
    from joined

),

{% set half -%}
    struct({{ here }} as place, _is_half and _run_error is null and _fault is null as is_half, _row as image, _differs_in_run as differs)
{%- endset -%}
-- runs are numbered as they stand in the trail
paired as (

    select
        *,
        lag(case when _is_head then {{ half }} end, 1) ignore nulls over in_order as _head_before,
        lag(case when _is_head then {{ half }} end, 2) ignore nulls over in_order as _second_head_before,
        lead(case when _is_head then coalesce(_kind = 'update' and before_after = 'A', false) end, 1) ignore nulls over in_order as _half_follows
    from halves
    window in_order as ({{ transaction }} order by _run, trail_seqno, trail_rba, _copy)

),

told_before as (

    select
        *,
        case
            when not coalesce(_kind = 'update' and before_after = 'A', false) then null
            when _head_before['place'] = {{ here }} then if(_second_head_before['is_half'], _second_head_before, null)
            else if(_head_before['is_half'], _head_before, null)
        end as _other_half,
        case when _has_position then {{ change_tables.trail_position('trail_name', 'trail_seqno', 'trail_rba') }} end as _position
    from paired

),

-- the columns of the raw table behind names that no column of the source table has
records as (

    select
        _kind,
        _is_key_update,
        _transaction,
        _fault,
        _run_error,
        _is_own,
        _is_first,
        _is_half,
        _is_half and coalesce(_half_follows, false) as _is_paired,
        (size(_pieces) > 0 and _differs_in_run) or coalesce(_other_half['differs'], false) as _parts_differ,
        _row,
        coalesce(_own_row_before, _other_half['image']) as _row_before,
        _position,
        if(_counts, {{ change_tables.trail_position('trail_name', "_first_piece['trail_seqno']", "_first_piece['trail_rba']") }}, _position) as _first_position,
        _transaction_id,
        io_type as _io_type,
        trans_ind as _trans_ind,
        io_time as _io_time,
        _csn,
        format_type as _format_type,
        audit_rba as _audit_rba,
        audit_pos as _audit_pos,
        {%- if bound.arrival %}
        _arrival,
        {%- endif %}
        _landed_row
    from told_before

)
{%- endmacro %}


{#- The records with what their headers tell, ending in `headers`: of what kind they are, and whether a transaction begins or ends. -#}
{% macro trail_header_steps(spec, bound) -%}
{%- set conditions = [] -%}
{%- for condition in [bound.predicate, bound.get('until')] if condition is not none -%}
    {%- do conditions.append(condition) -%}
{%- endfor -%}
landed as (

    select
        trail_name,
        trail_seqno,
        trail_rba,
        hdr_ind,
        io_type,
        trans_ind,
        continued,
        before_after,
        table_name,
        io_time,
        format_type,
        audit_rba,
        audit_pos,
        before_data,
        after_data,
        coalesce(table_name = {{ change_tables.text_literal(spec.settings.table_name) }}, false) as _is_own,
        {{ change_tables.trail_position_fault() }} is null as _has_position,
        case when trans_ind in (0, 3) then coalesce(tokens['LOGCSN'], tokens['L']) end as _told_csn,
        case when trans_ind in (0, 3) then coalesce(tokens['TRANID'], tokens['6']) end as _told_transaction_id,
        {%- if bound.arrival %}
        {{ change_tables.arrival_of_row(bound.arrival) }} as _arrival,
        {%- endif %}
        xxhash64(
            hdr_ind, table_name, io_type, trans_ind, before_after, continued,
            map_keys(before_data), map_values(before_data), map_keys(after_data), map_values(after_data)
        ) as _content,
        struct({{ change_tables.column_list(change_tables.trail_columns()) }}) as _landed_row
    from {{ spec.relation }}
    {%- if conditions %}
    where
        {{ conditions | join('\n        and ') }}
    {%- endif %}

),

kinds as (

    select /*+ broadcast(io_types) */
        landed.*,
        if(io_types.kind = 'key_update', 'update', io_types.kind) as _kind,
        coalesce(io_types.kind = 'key_update', false) as _is_key_update
    from landed
    left join {{ ref('goldengate_io_types').render() }} as io_types
        on landed.io_type = io_types.code and landed.hdr_ind = 'E'

),

headers as (

    select
        *,
        _has_position and coalesce(trans_ind in (0, 3), false) and coalesce(_kind, '') not in ('control', 'metadata') as _opens,
        -- a control record may end a transaction, but is none by itself
        _has_position and coalesce(_kind, '') <> 'metadata'
        and coalesce(trans_ind = 2 or (trans_ind = 3 and coalesce(_kind, '') <> 'control'), false) as _closes
    from kinds

)
{%- endmacro %}


{#- The columns of a raw table of trail records, as the format has them. -#}
{% macro trail_columns() %}
    {% do return([
        'trail_name', 'trail_seqno', 'trail_rba', 'hdr_ind', 'undo_flag', 'rec_length', 'io_type', 'trans_ind', 'syskey_len',
        'audit_rba', 'audit_pos', 'continued', 'partition_ind', 'before_after', 'io_time', 'orig_node', 'format_type', 'incomplete',
        'rec_count', 'table_name', 'before_data', 'after_data', 'tokens',
    ]) %}
{% endmacro %}


{#- A position in a trail as a text that sorts: of fixed width for trails with names of one length, as they have. -#}
{% macro trail_position(name, seqno, rba) -%}
    concat({{ name }}, '/', lpad(cast({{ seqno }} as string), 10, '0'), '/', lpad(cast({{ rba }} as string), 19, '0'))
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


{#- What cannot be read of a record by itself, as `code: detail`; null where all can. -#}
{% macro _trail_fault() -%}
    case
            when not hdr_ind <=> 'E'
                then concat('header_malformed: hdr_ind is ', coalesce(concat('\'', hdr_ind, '\''), 'null'))
            when _kind is null
                then concat('unknown_operation: io_type is ', coalesce(cast(io_type as string), 'null'))
            when not coalesce(trans_ind in (0, 1, 2, 3), false)
                then concat('header_malformed: trans_ind is ', coalesce(cast(trans_ind as string), 'null'))
            when continued not in ('Y', 'N')
                then concat('header_malformed: continued is \'', continued, '\'')
            when _kind = 'update' and not coalesce(before_after in ('A', 'B'), false)
                then concat('header_malformed: before_after is ', coalesce(concat('\'', before_after, '\''), 'null'))
        end
{%- endmacro %}


{#- An image of a record, null where it is empty: of a run of pieces, the texts of each column one after the other. -#}
{% macro _filled_image(image) -%}
    {%- set data = '_data_' ~ image -%}
    case
            when size(_pieces) > 0
                then aggregate(
                    slice(_pieces, 2, size(_pieces)),
                    _pieces[0]['{{ image }}'],
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


{#- An image with its names as the columns' are matched. Names that differ by case alone stay: such a record is rejected. -#}
{% macro _names_as_matched(spec, image) -%}
    {%- if spec.settings.column_names == 'exact' -%}
        {{ image }}
    {%- else -%}
        if(
            size(array_distinct(transform(map_keys({{ image }}), name -> lower(name)))) = size({{ image }}),
            transform_keys({{ image }}, (name, value) -> lower(name)),
            {{ image }}
        )
    {%- endif -%}
{%- endmacro %}
