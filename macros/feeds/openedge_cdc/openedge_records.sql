{#-
    The rows of a change table, each with all rows of its sequence: these are one change. The two parts of an image are joined, and
    before image and tracking row are put beside the after image. The last step is `records`:

    the declared columns   of the after image; of an array, its elements as texts, and its text in `_ct_text_<n>`
    _ct_before_<n>         the key by the before image, where it can be read whole
    _ct_fault_in_change    what is wrong with the headers of a row of the change
    _ct_after_state, _ct_before_state
                           whether the parts of an image are all there, as far as they show it: `whole`, `none`, or the code of what is missing
    _ct_after_clash, _ct_before_clash
                           the first column that differs between the parts of an image and is not the field at the cut
    _ct_position, _ct_is_before
                           more than 0, or true: the row is part of another row's change, as a second part or as a before image
    _ct_differs            whether a part has landed with different contents
    _ct_is_tracked         whether the tracking row is there; `_ct_field_map` is its field map, in lower case
    _parts                 how many of the rows are read
-#}
{% macro openedge_record_steps(spec, bound, change, tracking) %}
    {%- set own_key = spec.key_from == 'recid' -%}
    {%- set declared = spec.columns | selectattr('name', 'in', change.declared) | list -%}
    {#- by this text the copies of one row are compared, as in the log. It is costly, so null where there are none -#}
    {%- set text_of_copy = 'case when _ct_landed_rows > size(_ct_landed_ids) then to_json(_ct_values) end' -%}
    {%- set copy = 'struct(' ~ text_of_copy ~ ' as text, _ct_values as `values`)' -%}
{%- if bound.predicate is none %}
{{ change_tables._openedge_change_step(spec, bound, change, 'landed', none, none) }},
{%- else %}
{{ change_tables._openedge_change_step(spec, bound, change, 'landed_since', bound.predicate, none) }},

wanted_sequences as (

    select
        _ct_sequence as _ct_wanted_sequence,
        count_if(_ct_record_position > 0) as _ct_second_parts,
        count_if(_ct_operation_code = 3) as _ct_before_images,
        count_if(_ct_operation_code <> 3) as _ct_after_images
    from landed_since
    where _ct_sequence is not null
    group by _ct_sequence
    {%- if bound.waiting %}
    union all
    -- of rows that wait, read again as if a second part had landed: their tracking row may have
    select
        try_cast(substring_index(_raw_id, '/', 1) as bigint) as _ct_wanted_sequence,
        1 as _ct_second_parts,
        0 as _ct_before_images,
        0 as _ct_after_images
    from {{ bound.waiting }}
    where {{ change_tables.is_open('waiting') }}
    {%- endif %}

),

-- sequences of which rows may have landed before: the first part, the after image, or what the log has of them
late_sequences as (

    select _ct_wanted_sequence
    from wanted_sequences
    where
        _ct_second_parts > 0
        or (_ct_before_images > 0 and _ct_after_images = 0)
        or _ct_wanted_sequence <= {{ bound.highest_seq | int(0) }}

),

{{ change_tables._openedge_change_step(spec, bound, change, 'landed_before', 'not coalesce(' ~ bound.predicate ~ ', false)', 'late_sequences') }},

landed as (

    select *
    from landed_since
    union all
    select *
    from landed_before

),
{%- endif %}

{{ change_tables.openedge_tracking_step(spec, tracking, semi_join='wanted_sequences' if bound.predicate is not none else none) }},

tracked as (

    select
        _ct_sequence as _ct_tracked_sequence,
        sort_array(collect_set(coalesce(_ct_landed_operation, 'null'))) as _ct_tracked_operations,
        sort_array(collect_set(coalesce(_ct_operation_code, -1))) as _ct_tracked_numbers,
        max(struct(
            _ct_field_map, _partition_id, _recid, _ct_time, _transaction_id,
            {{ change_tables.openedge_time_misfit(tracking.headers.time_stamp) }} as _ct_time_misfit
        )) as _ct_tracking
    from tracking_rows
    where _ct_sequence is not null
    group by _ct_sequence

),

placed as (

    select
        *,
        {{ change_tables.openedge_change_seq('_ct_sequence') }} as _change_seq,
        coalesce(_ct_record_position, 0) as _ct_position,
        _ct_operation_code = 3 as _ct_is_before,
        coalesce(_ct_array_index, 0) as _ct_index,
        coalesce(_ct_fragment = 1, false) as _ct_is_fragment,
        {{ change_tables.openedge_time_misfit(change.headers.time_stamp) }} as _ct_timestamp_misfit
    from landed

),

identified as (

    select
        *,
        case
            when _change_seq is not null and _ct_operation_code is not null and _ct_position >= 0
                then concat_ws('/', _change_seq, _ct_operation_code, _ct_position)
            else to_json(struct(_ct_landed_sequence as `_Change-Sequence`, _ct_landed_operation as `_Operation`, _ct_landed_position as `_Continuation-Position`), {{ change_tables.json_options() }})
        end as _raw_id,
        case
            {{ change_tables.openedge_sequence_faults(change_tables.reason) }}
            when coalesce(_ct_operation_code, 0) not between 1 and 4
                then concat('unknown_operation: operation is ', coalesce(concat('\'', _ct_landed_operation, '\''), 'null'))
            when _ct_landed_position is not null and coalesce(_ct_record_position, -1) < 0
                then concat('header_malformed: _Continuation-Position is \'', _ct_landed_position, '\'')
            when _ct_landed_array_index is not null and coalesce(_ct_array_index, -1) < 0
                then concat('header_malformed: _ArrayIndex is \'', _ct_landed_array_index, '\'')
            when _ct_landed_fragment is not null and not coalesce(_ct_fragment in (0, 1), false)
                then concat('header_malformed: _Fragment is \'', _ct_landed_fragment, '\'')
            when _ct_timestamp_misfit is not null
                then concat('value_does_not_fit: ', _ct_timestamp_misfit)
            {%- if change.two_values %}
            when _ct_two_values is not null
                then concat('value_does_not_fit: ', _ct_two_values)
            {%- endif %}
        end as _ct_own_fault
    from placed

),

counted as (

    select
        *,
        count(*) over same_change as _ct_landed_rows,
        collect_set(_raw_id) over same_change as _ct_landed_ids
    from identified
    window same_change as (partition by coalesce(_change_seq, _raw_id))

),

-- of a row that landed more than once, the greatest counts
images as (

    select
        *,
        min(_ct_own_fault) over same_change as _ct_fault_in_change,
        sort_array(collect_set(_ct_operation_code) over same_change) as _ct_operations,
        {%- for image in ['after', 'before'] %}
        {%- set is_of_image = '_ct_is_before' if image == 'before' else 'not _ct_is_before' %}
        max(case when {{ is_of_image }} and _ct_position = 0 then {{ copy }} end) over same_change as _ct_{{ image }}_first,
        max(case when {{ is_of_image }} and _ct_position > 0 then {{ copy }} end) over same_change as _ct_{{ image }}_second,
        sort_array(collect_set(case when {{ is_of_image }} and _ct_position > 0 then _ct_position end) over same_change) as _ct_{{ image }}_positions,
        coalesce(max(case when {{ is_of_image }} then _ct_index end) over same_change, 0) as _ct_{{ image }}_index,
        coalesce(bool_or({{ is_of_image }} and _ct_is_fragment) over same_change, false) as _ct_{{ image }}_is_fragment,
        {%- endfor %}
        size(collect_set(struct(_raw_id, {{ text_of_copy }})) over same_change) > size(_ct_landed_ids) as _ct_differs
    from counted
    window same_change as (partition by coalesce(_change_seq, _raw_id))

),

with_tracking as (

    select
        images.*,
        tracked._ct_tracking,
        tracked._ct_tracked_operations,
        tracked._ct_tracked_numbers,
        tracked._ct_tracked_sequence is not null as _ct_is_tracked,
        transform(tracked._ct_tracking['_ct_field_map'], name -> lower(name)) as _ct_field_map,
        {%- for image in ['after', 'before'] %}
        case
            when _ct_{{ image }}_first is null and _ct_{{ image }}_second is not null then 'first_part_missing'
            when _ct_{{ image }}_first is null then 'none'
            when _ct_{{ image }}_second is null and (_ct_{{ image }}_is_fragment or _ct_{{ image }}_index > 0) then 'second_part_missing'
            else 'whole'
        end as _ct_{{ image }}_state,
        get(_ct_{{ image }}_positions, 0) as _ct_{{ image }}_last_field{{ ',' if not loop.last }}
        {%- endfor %}
    from images
    left join tracked
        on images._ct_sequence = tracked._ct_tracked_sequence

),

clashes as (

    select
        *,
        {%- for image in ['after', 'before'] %}
        case
            when _ct_{{ image }}_second is null then null
            {%- for column in declared %}
            {%- set is_cut = change_tables._openedge_is_cut(column, image, change) %}
            when
                {{ change_tables._openedge_in_part(column, image, 'first') }} <> {{ change_tables._openedge_in_part(column, image, 'second') }}
                {%- if is_cut %}
                and not ({{ is_cut }})
                {%- endif %}
                then {{ change_tables.text_literal(column.name) }}
            {%- endfor %}
        end as _ct_{{ image }}_clash{{ ',' if not loop.last }}
        {%- endfor %}
    from with_tracking

),

joined as (

    select
    {%- for column in declared %}
        {%- if change_tables.openedge_is_extent(column, change) %}
        {{ change_tables._openedge_joined(column, 'after', change) }} as _ct_text_{{ loop.index }},
        {%- elif column.name in spec.key %}
        {%- set unless = " or _ct_before_state <> 'whole'" %}
        {{ change_tables._openedge_key_value(spec, column, 'after', change, unless) }} as {{ change_tables.quoted(column.name) }},
        {%- else %}
        {{ change_tables._openedge_joined(column, 'after', change) }} as {{ change_tables.quoted(column.name) }},
        {%- endif %}
    {%- endfor %}
    {%- if own_key %}
        _ct_tracking['_partition_id'] as _partition_id,
        _ct_tracking['_recid'] as _recid,
    {%- else %}
        {%- for name in spec.key %}
        if(
            _ct_before_state = 'whole',
            {{ change_tables._openedge_key_value(spec, change_tables.column_of(spec, name), 'before', change) }},
            null
        ) as _ct_before_{{ loop.index }},
        {%- endfor %}
    {%- endif %}
        _ct_before_state = 'whole' as _ct_has_before,
        size(_ct_after_positions) + if(_ct_after_first is null, 0, 1)
        + if(_ct_before_state = 'whole', size(_ct_before_positions) + 1, 0) as _parts,
        *
    from clashes

),

records as (

    select
    {%- for column in declared if change_tables.openedge_is_extent(column, change) %}
        {{ change_tables._openedge_elements(column, declared.index(column) + 1, change) }} as {{ change_tables.quoted(column.name) }},
    {%- endfor %}
        *
    from joined

)
{%- endmacro %}


{#- The rows of a change table that a run reads, as a step of that name: their headers, and the declared columns in one. -#}
{% macro _openedge_change_step(spec, bound, change, name, condition, semi_join) -%}
{%- set header = change.headers -%}
{%- set hint = ' /*+ broadcast(' ~ semi_join ~ ') */' if semi_join -%}
{%- set columns = {
    'change_sequence': ['_ct_sequence', '_ct_landed_sequence'], 'operation': ['_ct_operation_code', '_ct_landed_operation'],
    'continuation_position': ['_ct_record_position', '_ct_landed_position'], 'array_index': ['_ct_array_index', '_ct_landed_array_index'],
} -%}
{%- call change_tables.openedge_landed_step(name, spec.relation, header, columns, bound.arrival, [condition], semi_join, hint) %}
        {{ change_tables.openedge_text(header.fragment) }} as _ct_landed_fragment,
        case lower({{ change_tables.openedge_text(header.fragment) }})
            when 'true' then 1
            when 'false' then 0
            else {{ change_tables.openedge_number(header.fragment) }}
        end as _ct_fragment,
        {{ change_tables.openedge_time(header.time_stamp) }} as _ct_time,
        {{ change_tables.openedge_landed(header.time_stamp, 'timestamp') }} as _ct_landed_time,
        {{ change_tables.openedge_text(header.tran_id) }} as _ct_landed_transaction_id,
        struct(
        {%- for name, column in change.declared.items() -%}
            {{ column.value or change_tables.openedge_quoted(column.name) }} as {{ change_tables.quoted(name) }}{{ ', ' if not loop.last }}
        {%- endfor -%}
        ) as _ct_values,
        {%- if change.two_values %}
        {{ change.two_values }} as _ct_two_values,
        {%- endif %}
{%- endcall -%}
{%- endmacro %}


{#- Whether a column is an array that lands as one text. -#}
{% macro openedge_is_extent(column, change) %}
    {% do return(
        change_tables.type_tree(column.data_type).kind == 'array'
        and not change.declared[column.name].data_type.startswith('array')
    ) %}
{% endmacro %}


{% macro _openedge_in_part(column, image, part) -%}
    _ct_{{ image }}_{{ part }}['values'][{{ change_tables.text_literal(column.name) }}]
{%- endmacro %}


{#-
    SQL for whether a column can be the field at the cut: by its place, and where the raw table has lost retired columns, also by those that
    it had before.
-#}
{% macro _openedge_may_be_cut(column, image, change) -%}
    {%- set place = change.ordinals[column.name] - 1 -%}
    _ct_{{ image }}_last_field {{ 'between ' ~ place ~ ' and ' ~ (place + change.absent) if change.absent else '= ' ~ place }}
{%- endmacro %}


{#- SQL for whether a column is the field at the cut, and its parts can be joined. Empty where its type rules that out. -#}
{% macro _openedge_is_cut(column, image, change) -%}
    {%- set landed = change_tables.type_tree(change.declared[column.name].data_type) -%}
    {%- set marks = [] -%}
    {%- if change_tables.openedge_is_extent(column, change) or landed.kind in ['string', 'binary'] -%}
        {%- do marks.append('_ct_' ~ image ~ '_is_fragment') -%}
    {%- endif -%}
    {%- do marks.append('_ct_' ~ image ~ '_index > 0') if change_tables.type_tree(column.data_type).kind == 'array' -%}
    {%- if marks -%}
        {{ change_tables._openedge_may_be_cut(column, image, change) }} and {{ marks[0] if marks | length == 1 else '(' ~ marks | join(' or ') ~ ')' }}
    {%- endif -%}
{%- endmacro %}


{#- A column of an image: of both parts at the cut, else of the one that has it. -#}
{% macro _openedge_joined(column, image, change) -%}
    {%- set first = change_tables._openedge_in_part(column, image, 'first') -%}
    {%- set second = change_tables._openedge_in_part(column, image, 'second') -%}
    {%- set is_cut = change_tables._openedge_is_cut(column, image, change) -%}
    {%- do return('coalesce(' ~ first ~ ', ' ~ second ~ ')') if not is_cut -%}
    {%- if change_tables.openedge_is_extent(column, change) -%}
        {%- set both = 'concat(' ~ first ~ ', if(_ct_' ~ image ~ "_is_fragment, '', ';'), " ~ second ~ ')' -%}
    {%- elif change_tables.type_tree(column.data_type).kind == 'array' -%}
        {%- set both = 'concat(slice(' ~ first ~ ', 1, try_cast(_ct_' ~ image ~ '_index as int)), ' ~ second ~ ')' -%}
    {%- else -%}
        {%- set both = 'concat(' ~ first ~ ', ' ~ second ~ ')' -%}
    {%- endif -%}
    if({{ is_cut }} and {{ first }} is not null and {{ second }} is not null, {{ both }}, coalesce({{ first }}, {{ second }}))
{%- endmacro %}


{#-
    A key column of an image. One that is null there is that of the other image, unless the field map names it, as it is declared or as
    it landed, or `unless` holds.
-#}
{% macro _openedge_key_value(spec, column, image, change, unless='') -%}
    {%- set names = change_tables.names_array(change_tables.openedge_names(spec, column.name, change.declared[column.name]) | reverse | list) -%}
    {%- set is_named = 'coalesce(arrays_overlap(_ct_field_map, ' ~ names ~ '), false)' -%}
    {%- set of_other = change_tables._openedge_joined(column, 'before' if image == 'after' else 'after', change) -%}
    coalesce({{ change_tables._openedge_joined(column, image, change) }}, if({{ is_named ~ unless }}, null, {{ of_other }}))
{%- endmacro %}


{#-
    The elements of an extent. Where the record was cut between two elements, those before the cut are in the first part, whose text
    can go on after them. Some texts can be split into elements in several ways. The place of the cut decides which way, but only
    where the text cannot be the whole extent.
-#}
{% macro _openedge_elements(column, place, change) -%}
    {%- set extent = column.meta.extent -%}
    {%- set first = change_tables._openedge_in_part(column, 'after', 'first') -%}
    {%- set second = change_tables._openedge_in_part(column, 'after', 'second') -%}
    {%- set most_elements = 'regexp_count(' ~ first ~ ", '(?<!~)(~~)*;') + 1" -%}
    {%- set is_between -%}
        {{ change_tables._openedge_may_be_cut(column, 'after', change) }} and _ct_after_index > 0 and not _ct_after_is_fragment and {{ first }} is not null and {{ second }} is not null
    {%- endset -%}
    if(
            {{ is_between }},
            concat(
                slice(
                    split_extent(
                        if({{ second }} is not null, {{ first }}, null),
                        case when {{ first }} rlike '(?<!~)(~~)+;' and ({{ most_elements }} = _ct_after_index{{ ' or ' ~ most_elements ~ ' < ' ~ extent if extent }}) then try_cast(_ct_after_index as int) end
                    ),
                    1,
                    try_cast(_ct_after_index as int)
                ),
                split_extent({{ second }}, try_cast({{ 'try_subtract(' ~ extent ~ ', _ct_after_index)' if extent else 'null' }} as int))
            ),
            split_extent(_ct_text_{{ place }}, {{ extent or 'cast(null as int)' }})
        )
{%- endmacro %}
