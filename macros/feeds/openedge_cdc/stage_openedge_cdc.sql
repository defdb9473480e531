{#-
    From the change table and the tracking table of OpenEdge CDC to `staged`, by the level of the policy:

    0, 1   there are tracking rows alone: they are the changes
    2, 3   the change rows of one sequence are put together (openedge_records.sql), typed and judged. Tracking rows without a
           change row are staged as well, but not for a log that reads on by an arrival: it could not heal them
-#}
{% macro stage_openedge_cdc(spec, bound) %}
    {%- set tracking = change_tables.openedge_tracking_columns(spec) -%}
    {%- if spec.policy_level < 2 %}
{{ change_tables.openedge_tracking_step(spec, tracking, arrival=bound.arrival, condition=bound.predicate) }},

{{ change_tables._openedge_judged_tracking_steps(spec, tracking, 'tracking_rows') }},

{{ change_tables.staged_rows(spec, bound, change_tables._openedge_tracking_change(spec), 'judged_tracking_rows') }}
    {%- else -%}
        {%- set change = change_tables.openedge_change_columns(spec) -%}
        {%- set stages_lone_rows = bound.predicate is none and not bound.arrival -%}
{{ change_tables.openedge_record_steps(spec, bound, change, tracking) | trim }},

{{ change_tables._openedge_judged_record_steps(spec, change, tracking) }},
        {%- if stages_lone_rows %}

lone_tracking_rows as (

    select tracking_rows.*
    from tracking_rows
    left anti join landed
        on tracking_rows._ct_sequence = landed._ct_sequence

),

{{ change_tables._openedge_judged_tracking_steps(spec, tracking, 'lone_tracking_rows') }},
        {%- endif %}

staged_rows as (

    {{ change_tables.staged_select(spec, bound, change_tables._openedge_record_change(spec, change), 'judged') }}
        {%- if stages_lone_rows %}
    union all
    {{ change_tables.staged_select(spec, bound, change_tables._openedge_tracking_change(spec), 'judged_tracking_rows') }}
        {%- endif %}

),

{{ change_tables.staged_with_snapshot(spec, bound) }}
    {%- endif %}
{%- endmacro %}


{% macro _openedge_judged_record_steps(spec, change, tracking) -%}
{%- set own_key = spec.key_from == 'recid' -%}
{%- set landed, before, arrays = {}, {}, [] -%}
{#- the name of a column in the field map -> as it is declared -#}
{%- set declared_as = {} -%}
{%- for name, column in change.declared.items() -%}
    {%- for other in change_tables.openedge_names(spec, name, column) -%}
        {%- do declared_as.update({other: name}) -%}
    {%- endfor -%}
    {%- set is_extent = change_tables.openedge_is_extent(change_tables.column_of(spec, name), change) -%}
    {%- do landed.update({name | lower: {'name': name, 'data_type': 'array<string>' if is_extent else column.data_type}}) -%}
    {%- do arrays.append(name) if is_extent -%}
{%- endfor -%}
{%- do landed.update(change_tables.openedge_recid_types(tracking)) if own_key -%}
{%- for column in change_tables.columns_before(spec) if not own_key -%}
    {%- do before.update({column.name: {'data_type': change.declared[column.label].data_type}}) -%}
{%- endfor -%}
{%- set landed = change_tables.with_absent_columns(landed, spec.retired) -%}
{%- do change_tables.refuse_landed_types(spec, spec.relation, landed) -%}
{%- set further -%}
        {{ change_tables._openedge_extent_misfit(spec, arrays, change) }} as _ct_extent_misfit,
        array_intersect(
            {{ change_tables.names_array(change.declared.keys()) }},
            transform(
                _ct_field_map,
                field -> element_at({{ change_tables.map_of_texts(declared_as) }}, field)
            )
        ) as _ct_named_columns,
        case
            when array_contains(_ct_operations, 1) then 'insert'
            when array_contains(_ct_operations, 2) then 'delete'
            else 'update'
        end as _ct_kind
{%- endset -%}
{{ change_tables.typed_step(spec, landed, before, further, 'records', arrays) }},

judged as (

    select
        *,
        _ct_is_tracked as _has_tracking,
        case
            when _ct_fault_in_change is not null
                then {{ change_tables.rejected('{_ct_fault_in_change}') }}
            when _ct_operations not in (array(1L), array(2L), array(3L), array(4L), array(3L, 4L))
                then {{ change_tables.rejected("operations_contradict: the change rows are of operations {array_join(_ct_operations, ', ')}") }}
            when _ct_is_tracked and _ct_tracked_numbers <> if(array_contains(_ct_operations, 3), array(4L), _ct_operations)
                then {{ change_tables.rejected("operations_contradict: the change rows are of operation {array_join(_ct_operations, ', ')}, the tracking row is of {array_join(_ct_tracked_operations, ', ')}") }}
            {%- for image in ['after', 'before'] %}
            when size(_ct_{{ image }}_positions) > 1
                then {{ change_tables.rejected('continuation_broken: the ' ~ image ~ ' image has parts that go on from positions {array_join(_ct_' ~ image ~ "_positions, ', ')}, and there can be one") }}
            {%- endfor %}
            {%- for image in ['after', 'before'] %}
            when _ct_{{ image }}_clash is not null
                then {{ change_tables.rejected('parts_clash: ' ~ image ~ ' image: column {_ct_' ~ image ~ '_clash} differs between the two parts and is not the field at the cut') }}
            {%- endfor %}
            {%- if spec.without_tracking == 'wait' %}
            when not _ct_is_tracked
                then {{ change_tables.waiting('tracking_row_missing: no tracking row of this sequence has landed') }}
            {%- endif %}
            when _ct_after_state = 'none'
                then {{ change_tables.waiting('after_image_missing: no after image of this sequence has landed') }}
            when _ct_after_state <> 'whole'
                then {{ change_tables.waiting('{_ct_after_state}: the image is in two records, and one of them has not landed') }}
            when _ct_time is null and _ct_tracking['_ct_time_misfit'] is not null
                then {{ change_tables.rejected("value_does_not_fit: tracking row: {_ct_tracking['_ct_time_misfit']}") }}
            {{ change_tables.value_verdicts(spec, "_ct_kind <> 'delete'", 'before image' if not own_key, "_ct_kind = 'update'") }}
            when _ct_kind <> 'delete' and _ct_extent_misfit is not null
                then {{ change_tables.rejected('value_does_not_fit: {_ct_extent_misfit}') }}
            when _ct_is_before and _ct_before_state <> 'whole'
                then {{ change_tables.waiting('{_ct_before_state}: the image is in two records, and one of them has not landed') }}
            when _ct_position > 0
                then {{ change_tables.merged('chunk: the record goes on from the one at position 0') }}
            when _ct_is_before
                then {{ change_tables.merged('before_image: part of the update with the same sequence') }}
        end as _ct_verdict
    from typed

)
{%- endmacro %}


{#- How the columns of a change are read from the rows of the change table: see `staged_select`. -#}
{% macro _openedge_record_change(spec, change) %}
    {% set own_key = spec.key_from == 'recid' %}
    {% set report = [('_ct_differs', "'conflicting_content: rows of the change were delivered with different contents; the greater ones count'")] %}
    {% if not own_key %}
        {% do report.append((
            "_ct_kind = 'update' and not _ct_has_before and arrays_overlap(_ct_named_columns, " ~ change_tables.names_array(spec.key) ~ ')',
            "'key_move_without_before: the field map says that the key changed, and no before image has the key before'",
        )) %}
    {% endif %}
    {% if change.landed %}
        {% set declared = change.declared.keys() | list + spec.retired + change_tables.names_of_today(spec).keys() | list %}
        {% set known = (change.landed + declared | map('lower') | list) | unique %}
        {% set unknown = "filter(_ct_tracking['_ct_field_map'], field -> lower(field) not in (" ~ change_tables.text_literals(known) ~ '))' %}
        {% do report.append((
            "_ct_kind <> 'delete'",
            "concat('unknown_field: the field map names ', nullif(array_join(" ~ unknown ~ ", ', '), ''), ', and neither the change table nor the sources file has a column of that name')",
        )) %}
    {% endif %}
    {% do return({
        'operation': '_ct_kind',
        'id': '_change_seq',
        'has_id': "coalesce(_ct_verdict['status'] = 'rejected', true)",
        'changed_at': "coalesce(_ct_time, _ct_tracking['_ct_time'])",
        'transaction_id': "coalesce(_ct_landed_transaction_id, _ct_tracking['_transaction_id'])",
        'present_columns': [("_ct_kind = 'update'", change_tables.present_columns(spec, change_tables._openedge_present_names(spec)))],
        'changed_columns': [("_ct_kind <> 'delete'", '_ct_named_columns')],
        'moves': "_ct_kind = 'update' and _ct_has_before" if not own_key,
        'report': report,
    }) %}
{% endmacro %}


{#- The tracking rows of a step, typed and judged. The last step is `judged_tracking_rows`. -#}
{% macro _openedge_judged_tracking_steps(spec, tracking, rows) -%}
{%- set own_key = spec.key_from == 'recid' -%}
{%- set has_changes = spec.policy_level < 2 -%}
{%- if own_key -%}
{%- set types = change_tables.openedge_recid_types(tracking) -%}
{%- set columns = {'columns': spec.columns | selectattr('name', 'in', spec.key) | list} -%}
typed_tracking_rows as (

    select
    {{- change_tables.typed_columns(columns, types) }}
        {{ change_tables.misfit(columns, spec.key, types) }} as _ct_key_misfit,
        {{ change_tables.openedge_time_misfit(tracking.headers.time_stamp) }} as _ct_timestamp_misfit,
        * except (_partition_id, _recid)
    from {{ rows }}

),

{% endif -%}
judged_tracking_rows as (

    select
        {{ '*' if own_key else '* except (_partition_id, _recid)' }},
        {%- for column in spec.columns if not (own_key and column.name in spec.key) %}
        cast(null as {{ column.data_type }}) as {{ change_tables.quoted(column.name) }},
        {%- endfor %}
        {{ '1' if has_changes else 'cast(null as int)' }} as _parts,
        {{ 'true' if has_changes else 'cast(null as boolean)' }} as _has_tracking,
        case
            {{ change_tables.openedge_sequence_faults(change_tables.rejected) }}
            when _ct_operation_code = 3
                then {{ change_tables.rejected('unknown_operation: operation 3, a before image, is never in a tracking table') }}
            when coalesce(_ct_operation_code, 0) not between 1 and 12
                then {{ change_tables.rejected('unknown_operation: operation is {_ct_landed_operation?}') }}
            {%- if has_changes %}
            when _ct_timestamp_misfit is not null
                then {{ change_tables.rejected('value_does_not_fit: {_ct_timestamp_misfit}') }}
            when _ct_operation_code in (1, 2, 4) and _ct_key_misfit is not null
                then {{ change_tables.rejected('value_does_not_fit: {_ct_key_misfit}') }}
            when _ct_operation_code in (1, 2, 4) and {{ change_tables.key_is_null(spec) }}
                then {{ change_tables.verdict('rejected', change_tables.key_missing(spec)) }}
            {%- endif %}
            when _ct_operation_code in (5, 12)
                then {{ change_tables.ignored('schema_event: {' ~ change_tables.openedge_event('_ct_operation_code') ~ '}') }}
            when _ct_operation_code between 6 and 11
                then {{ change_tables.ignored('partition_event: {' ~ change_tables.openedge_event('_ct_operation_code') ~ "}, partition {coalesce(cast(_partition_id as string), 'null')}") }}
            {%- if not has_changes %}
            else {{ change_tables.waiting('change_row_missing: no change row of this sequence has landed') }}
            {%- endif %}
        end as _ct_verdict
    from {{ 'typed_tracking_rows' if own_key else rows }}

)
{%- endmacro %}


{#- The same of tracking rows: the changes of levels 0 and 1, and at levels 2 and 3 those without a change row, which are none. -#}
{% macro _openedge_tracking_change(spec) %}
    {% set sequence = change_tables.openedge_change_seq('_ct_sequence') %}
    {% set every_row = {'seq': sequence, 'changed_at': '_ct_time', 'raw_id': change_tables.openedge_tracking_id(spec.source_table_number | int)} %}
    {% do return(every_row if spec.policy_level >= 2 else dict(
        every_row,
        operation="element_at(map(1, 'insert', 2, 'delete', 4, 'update'), cast(_ct_operation_code as int))",
        id=sequence,
        changed_columns=[('_ct_operation_code <> 2', '_ct_field_map')],
    )) %}
{% endmacro %}


{% macro openedge_cdc_key_columns(given) %}
    {% do return(
        [{'name': '_partition_id', 'data_type': 'bigint', 'meta': {}}, {'name': '_recid', 'data_type': 'bigint', 'meta': {}}]
        if given.get('key_from') == 'recid' else []
    ) %}
{% endmacro %}


{% macro openedge_cdc_mistakes(node, given) %}
    {% set found = [] %}
    {% set level = given.get('policy_level', 2) %}
    {% set columns = change_tables.declared_columns(node) %}
    {% set tracking = given.get('tracking') %}
    {% set own_key = given.get('key_from') == 'recid' %}
    {% if given.source_table_number != given.source_table_number | int %}
        {% do found.append("`source_table_number` must be a whole number, got " ~ change_tables.shown_value(given.source_table_number)) %}
    {% endif %}
    {% if own_key and given.get('key') is not none %}
        {% do found.append("`key` must be left out with `key_from: recid`, got " ~ given.key | list | string) %}
    {% elif not own_key and level < 2 %}
        {% do found.append("`key_from` must be recid where `policy_level` is " ~ level ~ ", which writes no fields, got 'fields'") %}
    {% elif not own_key and given.get('key') is none %}
        {% do found.append("`key` must be given") %}
    {% endif %}
    {% if own_key and given.get('without_tracking') == 'apply' %}
        {% do found.append("`without_tracking` must be wait with `key_from: recid`, got 'apply': without tracking there is no recid") %}
    {% endif %}
    {% if level < 2 and columns %}
        {% do found.append(
            "`columns` must not be declared where `policy_level` is " ~ level ~ ", which writes no values, got "
            ~ columns | map(attribute='name') | join(', ')
        ) %}
    {% elif level >= 2 and not columns %}
        {% do found.append("`columns` must declare the source table's columns, got none") %}
    {% endif %}
    {% do found.append("`tracking` must be given") if level >= 2 and tracking is none %}
    {% if tracking is not none and (level >= 2 or tracking != node.name) %}
        {% set elsewhere = change_tables.other_entry_mistakes(node, given, 'tracking') %}
        {% do found.extend(elsewhere) %}
        {% if level < 2 and not elsewhere and change_tables.find_source(node.source_name, tracking).identifier != node.identifier %}
            {% do found.append(
                "`tracking` must be the entry's own raw table where `policy_level` is " ~ level ~ ", got '" ~ tracking ~ "' for "
                ~ node.identifier
            ) %}
        {% endif %}
    {% endif %}
    {% do found.extend(change_tables.feed_mistakes(given, 'tables of OpenEdge CDC')) %}
    {% do found.extend(change_tables.snapshot_seq_mistakes(given, '^[0-9]{19}$', "a sequence of 19 digits, as `_change_seq` has it")) %}
    {% for column in columns %}
        {% if own_key and column.name | lower in ['_partition_id', '_recid'] %}
            {% do found.append("`columns` must not use the name of a column that the models add, got '" ~ column.name ~ "'") %}
        {% endif %}
        {% set tree = change_tables.type_tree(column.data_type) %}
        {% if tree.kind in ['map', 'struct'] or (tree.element and tree.element.kind in ['array', 'map', 'struct']) %}
            {% do found.append("`columns` must be of simple types or arrays of them, got '" ~ column.name ~ "' of type " ~ column.data_type) %}
        {% endif %}
        {% set extent = column.meta.get('extent') %}
        {% if extent is not none and tree.kind != 'array' %}
            {% do found.append("`columns`: '" ~ column.name ~ "' has an `extent` and must be of type array<…>, got " ~ column.data_type) %}
        {% elif extent is not none and (extent is not integer or extent is boolean or extent < 1) %}
            {% do found.append("`columns`: `extent` of '" ~ column.name ~ "' must be a whole number of 1 or more, got " ~ change_tables.shown_value(extent)) %}
        {% endif %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}


{#- A second part, a copy or a tracking row may show that a change cannot be used: see `retracts_changes`. -#}
{% macro openedge_cdc_retracts_changes(spec) %}
    {% do return(spec.policy_level >= 2) %}
{% endmacro %}


{#- The columns that an update has: those with a value, and those that the field map names. -#}
{% macro _openedge_present_names(spec) -%}
    {%- set names = spec.column_names | reject('in', spec.key if spec.key_from == 'recid' else []) | list -%}
    array_union(
                                array_compact(array(
                                {%- for name in names %}
                                    case when {{ change_tables.quoted(name) }} is not null then {{ change_tables.text_literal(name) }} end
                                    {{- ',' if not loop.last }}
                                {%- endfor %}
                                )),
                                coalesce(_ct_named_columns, {{ change_tables.names_array(names | reject('in', change_tables.absent_columns(spec)) | list if spec.null_without_field_map == 'set' else []) }})
                            )
{%- endmacro %}


{#- The first array column whose text or elements do not fit, as text; else null. -#}
{% macro _openedge_extent_misfit(spec, arrays, change) -%}
    {%- do return('cast(null as string)') if not arrays -%}
    {%- set declared = change.declared.keys() | list -%}
    coalesce(
        {%- for name in arrays %}
            {%- set column = change_tables.column_of(spec, name) %}
            {%- set value = change_tables.quoted(name) %}
            {%- set text = '_ct_text_' ~ (declared.index(name) + 1) %}
            {%- set misfit = change_tables.does_not_fit('element', change_tables.type_tree(column.data_type).element.text) %}
            {%- set type = change_tables.shown_type(column) %}
            case
                when
                    {{ text }} is not null
                    and (
                        {{ value }} is null
                        {%- if column.meta.extent %}
                        or size({{ value }}) <> {{ column.meta.extent }}
                        {%- endif %}
                        {%- if misfit %}
                        or exists({{ value }}, element -> {{ misfit }})
                        {%- endif %}
                    )
                    then concat({{ change_tables.text_literal('column ' ~ name ~ ": '") }}, {{ text }}, {{ change_tables.text_literal("' is not " ~ type) }})
            end,
        {%- endfor %}
            null
        )
{%- endmacro %}


{#- The elements of an extent, out of the one text that SQL shows for it. -#}
{% macro openedge_cdc_array_of_text(column) -%}
    split_extent({{ column.value or change_tables.quoted(column.name) }}, {{ column.meta.extent or 'cast(null as int)' }})
{%- endmacro %}


{% macro openedge_cdc_unclaimed_steps(specs) %}
    {%- set header = change_tables.openedge_tracking_columns(specs[0]).headers -%}
numbered as (

    select
        {{ change_tables.openedge_number(header.source_table_number) }} as _ct_table_number,
        {{ change_tables.openedge_text(header.source_table_number) }} as _ct_landed_table_number,
        {{ change_tables.openedge_number(header.change_sequence) }} as _ct_sequence,
        {{ change_tables.openedge_text(header.change_sequence) }} as _ct_landed_sequence,
        {{ change_tables.openedge_text(header.operation) }} as _ct_landed_operation,
        struct(*) as _ct_landed_row
    from {{ change_tables.openedge_tracking_relation(specs[0]) }}

),

unclaimed as (

    select
        {{ change_tables.openedge_tracking_id("coalesce(_ct_landed_table_number, 'null')") }} as _raw_id,
        case
            when _ct_landed_table_number is null
                then 'table_unknown: _Source-Table-Number is null'
            when _ct_table_number is null
                then concat('table_unknown: _Source-Table-Number is \'', _ct_landed_table_number, '\'')
            else concat('table_not_declared: number ', _ct_table_number)
        end as _status_reason,
        to_json(_ct_landed_row, {{ change_tables.json_options() }}) as raw_row
    from numbered
    where coalesce(_ct_table_number not in ({{ specs | map(attribute='source_table_number') | join(', ') }}), true)

)
{%- endmacro %}


{#- Extents that land as texts are taken apart by a function. -#}
{% macro openedge_cdc_functions(spec) %}
    {% set texts = [] %}
    {% for column in spec.columns if change_tables.type_tree(column.data_type).kind == 'array' %}
        {% for relation in [spec.relation, change_tables.relation_of_setting(spec, 'snapshot')] | reject('none') %}
            {% set landed = change_tables.landed_columns(spec, relation, has_row=true).get(column.name | lower) %}
            {% do texts.append(column.name) if landed and not landed.data_type.startswith('array') %}
        {% endfor %}
    {% endfor %}
    {% do return({'staged': ['split_extent'] if texts else []}) %}
{% endmacro %}


{#-
    It has no natural arrival: rows of neither table have a position. A change is more complete the more change rows it was read from, and with
    its tracking row.
-#}
{% macro openedge_cdc_format() %}
    {% do return({
        'stage': change_tables.stage_openedge_cdc,
        'settings': dict({
            'key': {'default': none, 'type': 'names', 'meaning': "the key columns: only with `key_from: fields`, and then required"},
            'tracking': {
                'default': none, 'type': 'text',
                'meaning': "another entry of this source: the tracking table. Required at `policy_level` 2 and 3; at 0 and 1 it is the entry's own raw table",
            },
            'source_table_number': {'required': true, 'type': 'number', 'meaning': "the number of this table in the tracking table"},
            'policy_level': {
                'default': 2, 'type': 'number', 'values': [0, 1, 2, 3],
                'meaning': "[what the source writes](feeds/openedge_cdc.md#policy-levels)",
            },
            'null_without_field_map': {
                'default': 'keep', 'type': 'text', 'values': ['keep', 'set'],
                'meaning': "whether a null in an update keeps the value or sets null if the field map is not known",
            },
            'key_from': {
                'default': 'fields', 'type': 'text', 'values': ['fields', 'recid'],
                'meaning': "what the key is: `key`; or `_partition_id` and `_recid` (`bigint`), which the models have ahead of the declared columns",
            },
            'without_tracking': {
                'default': 'wait', 'type': 'text', 'values': ['wait', 'apply'],
                'meaning': "what a change row without its tracking row does",
            },
        }, **change_tables.settings_of_several(['images', 'waiting_days'])),
        'column_settings': {
            'extent': {
                'default': none, 'type': 'number',
                'meaning': "how many elements an [array column](feeds/openedge_cdc.md#extents) has; null: as many as its text has",
            },
        },
        'mistakes': change_tables.openedge_cdc_mistakes,
        'columns': [
            {'name': '_parts', 'data_type': 'int', 'completes': true, 'description': 'how many change rows the change was read from'},
            {'name': '_has_tracking', 'data_type': 'boolean', 'completes': true, 'description': 'whether the change was read with its tracking row'},
        ],
        'origin': ['_changed_at', '_transaction_id'],
        'key_columns': change_tables.openedge_cdc_key_columns,
        'array_of_text': change_tables.openedge_cdc_array_of_text,
        'other_tables': ['tracking'],
        'read_again': {'passed': ['tracking_row_missing', 'after_image_missing', 'first_part_missing', 'second_part_missing']},
        'blocks_watermark': "_status = 'waiting' or (_status = 'accepted' and not _has_tracking)",
        'retracts_changes': change_tables.openedge_cdc_retracts_changes,
        'unclaimed_steps': change_tables.openedge_cdc_unclaimed_steps,
        'shared_relation': change_tables.openedge_tracking_relation,
        'undeclared_columns': change_tables.openedge_cdc_undeclared_columns,
        'absent_columns': change_tables.openedge_cdc_absent_columns,
        'functions': change_tables.openedge_cdc_functions,
    }) %}
{% endmacro %}
