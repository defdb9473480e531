{#-
    From the rows of a Qlik change table, as they landed, to `staged`. A before image is part of the update with the same
    change_seq, and no change of its own.
-#}
{% macro stage_qlik_change_tables(spec, bound) %}
    {%- set header, expected = {}, [] -%}
    {%- for name in spec.headers -%}
        {%- do header.update({name: change_tables.quoted(spec.header_prefix ~ name)}) -%}
        {%- do expected.append(spec.header_prefix ~ name) -%}
    {%- endfor -%}
    {%- set landed = change_tables.landed_row(
        spec, spec.relation, expected, "declare the columns that it has, and list its header columns in `headers`"
    ) -%}
    {%- set in_raw = change_tables.columns_in_raw(spec) -%}
    {%- set sequence = change_tables.qlik_change_tables_landed_sequence(spec) -%}
    {%- set sequence_of_others = change_tables.qlik_change_tables_landed_sequence(spec, 'raw_rows.') -%}
    {%- set words = change_tables.operation_words(spec, {'I': 'I', 'U': 'U', 'D': 'D', 'B': 'B', 'T': 'T'}) -%}
    {%- set has_loaded = 'R' in words.values() or spec.without_sequence == 'load' -%}
    {%- set codes = "map('I', 'insert', 'U', 'update', 'D', 'delete', 'T', 'truncate'" ~ (", 'R', 'snapshot'" if has_loaded) ~ ')' -%}
    {%- set has_row = "_ct_operation_code in ('I', 'U'" ~ (", 'R'" if has_loaded) ~ ')' -%}
    {%- set timestamp = [{'name': spec.header_prefix ~ 'timestamp', 'data_type': 'timestamp'}] if header.timestamp else [] -%}
    {%- set mask = landed.get((spec.header_prefix ~ 'change_mask') | lower) if header.change_mask -%}
    {%- if mask and change_tables.type_tree(mask.data_type).kind != spec.mask_type -%}
        {%- do change_tables.refuse_entry(spec,
            "`mask_type` must be the type of " ~ mask.name ~ " in " ~ spec.relation ~ ", which is " ~ mask.data_type ~ ", got '"
            ~ spec.mask_type ~ "'"
        ) -%}
    {%- endif -%}
    {%- do change_tables.refuse_landed_types(spec, spec.relation, landed, spec.columns + timestamp) -%}
    {%- set key = 'struct(' ~ change_tables.column_list(spec.key) ~ ')' -%}
    {%- set others = spec.column_names | reject('in', spec.key) | list -%}
    {%- set mask_order = change_tables._mask_order(spec) -%}
    {%- set is_late = bound.predicate is not none and bound.is_late %}
{{ 'landed_since' if is_late else 'landed' }} as (

    select
        *,
        {{- change_tables.arrival_column(bound.arrival) }}
        struct(*) as _ct_landed_row
    from {{ spec.relation }}
    {{- change_tables.where([bound.predicate]) }}

),
{%- if is_late %}

-- sequences up to the highest of the log: other rows of theirs may have landed before
late_sequences as (

    select distinct {{ sequence }} as _change_seq
    from landed_since
    where {{ sequence }} <= {{ change_tables.text_literal(bound.highest_seq) }}

),

landed as (

    select *
    from landed_since
    union all
    select /*+ broadcast(late_sequences) */
        raw_rows.*,
        {{- change_tables.arrival_column(bound.arrival) }}
        struct(raw_rows.*) as _ct_landed_row
    from {{ spec.relation }} as raw_rows
    left semi join late_sequences
        on {{ sequence_of_others }} = late_sequences._change_seq
    where
        {{ change_tables.is_operation('raw_rows.' ~ header.change_oper, words, ['U', 'B']) }}
        {%- if bound.lowest_seq %}
        and {{ sequence_of_others }} between {{ change_tables.text_literal(bound.lowest_seq) }} and {{ change_tables.text_literal(bound.highest_seq) }}
        {%- endif %}
        and not coalesce({{ bound.predicate }}, false)

),
{%- endif %}

typed as (

    select
    {{- change_tables.typed_columns(spec, landed) }}
        {{ sequence }} as {{ '_ct_landed_seq' if has_loaded else '_change_seq' }},
        case
        {%- if header.operation %}
            when {{ header.operation }} = 'TRUNCATE' then 'T'
        {%- endif %}
        {%- if spec.without_sequence == 'load' %}
            when not coalesce({{ sequence }}, '') rlike '[^0]' and ({{ header.change_oper }} is null or {{ change_tables.is_operation(header.change_oper, words, ['I']) }}) then 'R'
        {%- endif %}
        {%- if spec.operations %}
            when {{ header.change_oper }} is not null then element_at({{ change_tables.map_of_texts(words) }}, {{ header.change_oper }})
        {%- else %}
            when {{ change_tables.is_operation(header.change_oper, words, words.values()) }} then {{ header.change_oper }}
        {%- endif %}
        end as _ct_operation_code,
        {{ header.change_oper }} as _ct_landed_code,
        {{ change_tables.read_value(header.timestamp, change_tables.landed_tree(timestamp[0], landed), change_tables.type_tree('timestamp')) if timestamp else 'cast(null as timestamp)' }} as _changed_at,
        {{ change_tables.misfit({'columns': timestamp}, timestamp | map(attribute='name') | list, landed) }} as _ct_timestamp_misfit,
        {%- set column = landed.get((spec.header_prefix ~ 'transaction_id') | lower, {'data_type': 'string'}) %}
        {{ change_tables.text_of_landed(header.transaction_id, column.data_type) if header.transaction_id else 'cast(null as string)' }} as _transaction_id,
        {{ header.change_mask or 'null' }} as _ct_landed_mask,
        {{ change_tables.mask_words(header.change_mask, spec.mask_type, mask_order, spec.headers | length + in_raw | length) if header.change_mask else 'cast(null as array<bigint>)' }} as _ct_mask_words,
        {{ change_tables.misfit(spec, spec.key, landed) }} as _ct_key_misfit,
        {{ change_tables.misfit(spec, others, landed) }} as _ct_column_misfit,
        {{ change_tables.qlik_change_tables_raw_id(spec) }} as _raw_id,
        {{- '\n        _ct_arrival,' if bound.arrival }}
        _ct_landed_row
    from landed

),

{% if has_loaded -%}
-- rows of the load come before every change; none is judged together with others
sequenced as (

    select
        *,
        if(_ct_operation_code = 'R', repeat('0', 35), _ct_landed_seq) as _change_seq,
        if(_ct_operation_code = 'R', _raw_id, null) as _ct_loaded_row
    from typed

),

{% endif -%}
-- what rejects a row by itself
checked as (

    select
        *,
        case
            when _ct_operation_code is null
                then {{ change_tables.rejected('unknown_operation: change_oper is {_ct_landed_code?}') }}
            when _change_seq is null
                then {{ change_tables.rejected('change_seq_missing: change_seq is null') }}
            when length(_change_seq) <> 35 or _change_seq rlike '[^0-9]'
                then {{ change_tables.rejected("change_seq_malformed: '{_change_seq}' is not 35 digits") }}
            when _ct_timestamp_misfit is not null
                then {{ change_tables.rejected('value_does_not_fit: {_ct_timestamp_misfit}') }}
            when _ct_operation_code = 'T'
                then null
            {{ change_tables.value_verdicts(spec, has_row) }}
            {%- if spec.mask_type == 'string' and header.change_mask %}
            when _ct_landed_mask is not null and _ct_mask_words is null
                then {{ change_tables.rejected("change_mask_malformed: '{_ct_landed_mask}' is not a hex number") }}
            {%- endif %}
        end as _ct_fault
    from {{ 'sequenced' if has_loaded else 'typed' }}

),

-- only rows that are no change of their own keep what has landed: the others do not carry it through what follows
narrowed as (

    select
        * except (_ct_landed_row),
        case
            when _ct_fault is not null or _ct_operation_code = 'B'
                then to_json(_ct_landed_row, {{ change_tables.json_options() }})
        end as _raw_row,
        _ct_operation_code = 'U' and _ct_fault is null as _ct_is_update
    from checked

),

-- each row with the keys of the before images and updates of its change_seq; two keys of either kind are a mistake of the feed
paired as (

    select
        *,
        min(case when _ct_operation_code = 'B' and _ct_fault is null then {{ key }} end) over same_sequence as _ct_lowest_before_key,
        max(case when _ct_operation_code = 'B' and _ct_fault is null then {{ key }} end) over same_sequence as _ct_highest_before_key,
        min(case when _ct_is_update then {{ key }} end) over same_sequence as _ct_lowest_update_key,
        max(case when _ct_is_update then {{ key }} end) over same_sequence as _ct_highest_update_key,
        bool_or(_ct_is_update) over same_sequence as _ct_has_update,
        bool_or(_ct_operation_code = 'U') over same_sequence as _ct_has_landed_update
    from narrowed
    window same_sequence as (partition by _change_seq{{ ', _ct_loaded_row' if has_loaded }})

),

judged as (

    select
        *,
        if({{ key }} <=> _ct_highest_before_key, _ct_lowest_before_key, _ct_highest_before_key) as _ct_key_before,
        case
            when _ct_fault is not null or _ct_operation_code <> 'B'
                then _ct_fault
            when _ct_has_update
                then {{ change_tables.merged('before_image: part of the update with the same change_seq') }}
            when _ct_has_landed_update
                then {{ change_tables.waiting('after_image_rejected: the update with the same change_seq is rejected') }}
            else {{ change_tables.waiting('after_image_missing: no update with the same change_seq has landed') }}
        end as _ct_verdict
    from paired

),

{% set masked -%}
    array_compact(array(
                {%- for name in in_raw %}
                    case when {{ change_tables._mask_names(spec, in_raw, name) }} then {{ change_tables.text_literal(name) }} end{{ ',' if not loop.last }}
                {%- endfor %}
                ))
{%- endset -%}
{%- set key_is_masked = [] -%}
{%- for name in spec.key -%}
    {%- do key_is_masked.append(change_tables._mask_names(spec, in_raw, name)) -%}
{%- endfor -%}
{{ change_tables.staged_rows(spec, bound, {
    'operation': 'element_at(' ~ codes ~ ', _ct_operation_code)',
    'seq': 'cast(_change_seq as string)',
    'id': "concat_ws(':', _change_seq, _ct_operation_code, if(_ct_operation_code = 'T', null, " ~ change_tables.key_text(spec) ~ '))',
    'present_columns': [('_ct_is_update', change_tables._sparse_columns(spec, in_raw))],
    'changed_columns': [("_ct_operation_code in ('I', 'U') and _ct_mask_words is not null", masked)],
    'moves': '_ct_is_update',
    'key_before': '_ct_key_before',
    'has_raw_row': true,
    'report': [
        (
            '_ct_is_update and _ct_highest_before_key is null and (' ~ key_is_masked | join(' or ') ~ ')',
            "'key_move_without_before: the mask says that the key changed, and no before image has the key before'",
        ),
        (
            '_ct_is_update and not _ct_lowest_before_key <=> _ct_highest_before_key',
            change_tables.reason(
                'conflicting_content: two before images with the same change_seq, keys {to_json(_ct_lowest_before_key)} and {to_json(_ct_highest_before_key)}'
            ),
        ),
        (
            '_ct_is_update and _ct_highest_before_key is not null and not _ct_lowest_update_key <=> _ct_highest_update_key',
            change_tables.reason(
                'conflicting_content: a before image and two updates with the same change_seq, keys {to_json(_ct_lowest_update_key)} and {to_json(_ct_highest_update_key)}'
            ),
        ),
    ],
}) }}
{%- endmacro %}


{% macro qlik_change_tables_mistakes(node, given) %}
    {% set found = [] %}
    {% for name in ['change_seq', 'change_oper'] if 'headers' in given and name not in given.headers %}
        {% do found.append("`headers` must hold " ~ name ~ ", got " ~ (given.headers | list | string)) %}
    {% endfor %}
    {% do return(
        found + change_tables.feed_mistakes(given, 'change tables')
        + (change_tables.operations_mistakes(given.operations, change_tables._meanings()) if given.get('operations') is not none else [])
        + change_tables.snapshot_seq_mistakes(given, '^[0-9]{0,35}$', "a change_seq of at most 35 digits")
    ) %}
{% endmacro %}


{#-
    The sequence of a landed row, as text. The rows of one sequence are judged together. Of a decimal its digits count; stops where it
    lands in a type that cannot hold all of them.

    of   what the name of the column begins with, with the dot
-#}
{% macro qlik_change_tables_landed_sequence(spec, of='') %}
    {% set name = spec.header_prefix ~ 'change_seq' %}
    {% set value = of ~ change_tables.quoted(name) %}
    {% set column = change_tables.landed_columns(spec, spec.relation).get(name | lower) %}
    {% set type = change_tables.type_tree(column.data_type if column else 'string') %}
    {% if type.kind == 'string' %}
        {% do return(value) %}
    {% elif type.kind != 'decimal' or type.places != 0 or type.digits < 35 %}
        {% do change_tables.refuse_entry(spec,
            name ~ " of " ~ spec.relation
            ~ " must land as text, or as decimal(35,0) to decimal(38,0), since other numbers cannot hold its 35 digits, got "
            ~ column.data_type
        ) %}
    {% endif %}
    {% set digits = 'cast(' ~ value ~ ' as string)' %}
    {% do return('lpad(' ~ digits ~ ', greatest(35, length(' ~ digits ~ ")), '0')") %}
{% endmacro %}


{#- The `_raw_id` of a landed row: a hash of its headers and of the declared columns. -#}
{% macro qlik_change_tables_raw_id(spec) %}
    {% set landed = change_tables.landed_row(spec, spec.relation) %}
    {% set names = [] %}
    {% for name in spec.headers %}
        {% do names.append(spec.header_prefix ~ name) %}
    {% endfor %}
    {% do return(change_tables.hash_as_id(change_tables.as_landed(names + spec.column_names, landed))) %}
{% endmacro %}


{% macro _meanings() %}
    {% do return(['insert', 'update', 'delete', 'before_image', 'truncate', 'snapshot']) %}
{% endmacro %}


{#- Whether there is a mask: its bits mean columns by the order in which they are declared. -#}
{% macro qlik_change_tables_counts_columns(spec) %}
    {% do return('change_mask' in spec.headers) %}
{% endmacro %}


{#- Which byte of a mask comes first. Nothing in a mask shows it. -#}
{% macro _mask_order(spec) %}
    {% do return(spec.mask_order or ('most_significant_first' if spec.mask_type == 'string' else 'least_significant_first')) %}
{% endmacro %}


{#- Whether the mask names a column: its bits count the columns that the change table has, header columns first, then `in_raw`. -#}
{% macro _mask_names(spec, in_raw, name) -%}
    {{ change_tables.mask_has('_ct_mask_words', spec.headers | length + in_raw.index(name), change_tables._mask_order(spec)) }}
{%- endmacro %}


{#- The columns that a sparse update has: those with a value, and those with a bit in the mask. Null where it has all. -#}
{% macro _sparse_columns(spec, in_raw) -%}
    nullif(
                    array_compact(array(
                    {%- for name in in_raw %}
                    {%- if name in spec.key %}
                        {{ change_tables.text_literal(name) }}
                    {%- else %}
                        case
                            when {{ change_tables.quoted(name) }} is not null or {{ change_tables._mask_names(spec, in_raw, name) }}
                                then {{ change_tables.text_literal(name) }}
                        end
                    {%- endif -%}
                    {{- ',' if not loop.last -}}
                    {%- endfor %}
                    )),
                    {{ change_tables.names_array(spec.column_names) }}
                )
{%- endmacro %}


{#- The raw columns that are neither declared nor headers. A prefix makes a header of a column that `headers` does not list, too. -#}
{% macro qlik_change_tables_undeclared_columns(spec) %}
    {% set prefix = spec.header_prefix | lower %}
    {% set known = spec.column_names | map('lower') | list + (spec.headers | list if not prefix else []) %}
    {% set found = [] %}
    {% for name, column in change_tables.landed_columns(spec, spec.relation, has_row=true).items() if name not in known %}
        {% do found.append(column) if not (prefix and name.startswith(prefix)) %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}


{#-
    It has no natural arrival: rows of a change table have no position. Before images may wait for their update. Rows of one sequence are read
    together; once none of them is read again, none is needed.
-#}
{% macro qlik_change_tables_format() %}
    {% do return({
        'stage': change_tables.stage_qlik_change_tables,
        'settings': dict({
            'headers': {
                'default': ['change_seq', 'change_oper', 'change_mask', 'stream_position', 'operation', 'transaction_id', 'timestamp'],
                'type': 'names',
                'values': [
                    'change_seq', 'change_oper', 'change_mask', 'stream_position', 'operation', 'transaction_id',
                    'timestamp', 'partition_name'
                ],
                'meaning': "all header columns of the change table, in its order, because masks count them; with `change_seq` and `change_oper`",
            },
            'header_prefix': {'default': 'header__', 'type': 'text', 'meaning': "prefix of the names of header columns"},
            'mask_order': {
                'default': none, 'type': 'text', 'values': ['most_significant_first', 'least_significant_first'],
                'meaning': "which byte of a mask comes first; null: the most significant of a text, the least significant of a binary mask",
            },
            'mask_type': {'default': 'binary', 'type': 'text', 'values': ['binary', 'string'], 'meaning': "type in which the mask lands"},
            'operations': change_tables.operations_setting(change_tables._meanings()),
            'without_sequence': {
                'default': 'reject', 'type': 'text', 'values': ['reject', 'load'],
                'meaning': "what an insert, or a row without `change_oper`, is whose `change_seq` is null, empty or zeros: `load`, a row of the full load",
            },
        }, **change_tables.settings_of_several(['waiting_days'])),
        'time_in_sequence': change_tables.time_in_digits,
        'mistakes': change_tables.qlik_change_tables_mistakes,
        'counts_columns': change_tables.qlik_change_tables_counts_columns,
        'landed_sequence': change_tables.qlik_change_tables_landed_sequence,
        'read_again': {'passed': ['after_image_missing', 'after_image_rejected'], 'for_good': 'false'},
        'raw_id': change_tables.qlik_change_tables_raw_id,
        'undeclared_columns': change_tables.qlik_change_tables_undeclared_columns,
        'absent_columns': change_tables.columns_absent_from_raw,
    }) %}
{% endmacro %}
