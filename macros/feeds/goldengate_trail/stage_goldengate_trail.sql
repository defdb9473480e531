{#-
    From the records of GoldenGate trails to `staged`. Records get their transactions and are put together (trail_records.sql), which a run may
    have done for all tables of the trail at once (see `shared_rows`). They are unpacked into the table's columns as texts, which are then typed
    and judged. A record of another table that begins an open transaction (`not _ct_is_own`) only blocks the watermark.
-#}
{% macro stage_goldengate_trail(spec, bound) %}
{%- if not bound.shared -%}
{{ change_tables.trail_put_together_steps([spec], bound) }},

{% endif -%}
records as (

    select
        {{ change_tables.columns_as_matched(spec) }},
        coalesce(_ct_table = {{ change_tables.text_literal(spec.settings.table_name) }}, false) as _ct_is_own
    from {{ change_tables.rows_put_together(spec, bound) }}

),

{{ change_tables.unpacked_and_typed_steps(spec, 'records') }},

judged as (

    select
        *,
        case
            when not _ct_is_own
                then {{ change_tables.not_of_entry() }}
            when _ct_position is null
                then {{ change_tables.verdict('rejected', "concat('position_missing: ', " ~ change_tables.trail_position_fault('_ct_landed_row') | indent(8) ~ ')') }}
            when _ct_kind = 'metadata'
                then {{ change_tables.ignored('metadata: the record says how a table is made') }}
            when _ct_kind = 'ddl'
                then {{ change_tables.ignored('ddl_record: the record has a statement that changed a definition') }}
            when _ct_kind = 'control'
                then {{ change_tables.ignored('control_record: io_type {_ct_io_type} is no change of a row') }}
            when _ct_transaction = 'abandoned'
                then {{ change_tables.ignored('transaction_abandoned: another transaction begins before the end of this one') }}
            when _ct_transaction = 'repeated'
                then {{ change_tables.ignored('transaction_repeated: transaction {_transaction_id} with the CSN {_csn} stands in the trail before') }}
            when _ct_transaction = 'open'
                then {{ change_tables.waiting('transaction_open: the end of the transaction has not landed') }}
            when _ct_fault is not null
                then {{ change_tables.rejected('{_ct_fault}') }}
            when _ct_transaction = 'none'
                then {{ change_tables.rejected('transaction_start_missing: trans_ind is {_ct_trans_ind} and no transaction is open') }}
            when _ct_run_error is not null
                then {{ change_tables.rejected('chunk_run_broken: {_ct_run_error}') }}
            when not _ct_is_first
                then {{ change_tables.merged('chunk: the record goes on from {_ct_first_position}') }}
            when _ct_is_paired
                then {{ change_tables.merged('before_image: half of an update') }}
            when _ct_kind = 'truncate'
                then null
            when _ct_is_half
                then {{ change_tables.rejected('after_half_missing: the next record of the table in the transaction is not the half after') }}
            when _ct_row is null
                then {{ change_tables.rejected("data_missing: {if(_ct_kind = 'delete', 'before_data and after_data are', 'after_data is')} null or empty") }}
            when _ct_names_fault is not null
                then {{ change_tables.rejected('{_ct_names_fault}') }}
            when _ct_missing_key is not null
                then {{ change_tables.rejected('key_missing: no image has the key column {_ct_missing_key}') }}
            {{ change_tables.value_verdicts(spec, "_ct_kind <> 'delete'", 'before_data') }}
        end as _ct_verdict
    from typed

),

{{ change_tables.staged_rows(spec, bound, {
    'operation': '_ct_kind',
    'id': '_ct_first_position',
    'seq': change_tables._trail_sequence(spec),
    'changed_at': '_ct_io_time',
    'raw_id': "coalesce(_ct_position, to_json(struct(_ct_landed_row['trail_name'] as trail_name, _ct_landed_row['trail_seqno'] as trail_seqno, _ct_landed_row['trail_rba'] as trail_rba)))",
    'present_columns': [(
        "_ct_kind not in ('delete', 'truncate')",
        change_tables.present_columns(spec, change_tables.names_as_declared(spec, 'map_keys(_ct_row)')),
    )],
    'moves': "_ct_kind = 'update' and _ct_row_before is not null",
    'report': [
        ('_ct_parts_differ', "'conflicting_content: pieces of the record were delivered with different contents; the greater ones count'"),
        ('_ct_is_key_update and _ct_row_before is null', "'key_move_without_before: the record says that the key changed, and has no key before'"),
    ],
    'blocks': "coalesce(_ct_transaction = 'open', false)",
}) }}
{%- endmacro %}


{% macro goldengate_trail_mistakes(node, given) %}
    {% set found = [] %}
    {% do found.append("`table_name` must be the table's name as the trail has it, got ''") if given.table_name == '' %}
    {% if given.get('hold_open_transactions') == false %}
        {% do found.append("`hold_open_transactions` is always true for trails, got false: a transaction that has not ended may be abandoned") %}
    {% endif %}
    {% do found.extend(change_tables.snapshot_seq_mistakes(
        given, '^.+/[0-9]{10}/[0-9]{19}$', "a position as `_change_seq` has it (name/seqno/rba, of ten and nineteen digits)"
    )) %}
    {% do return(found + change_tables.nested_column_mistakes(change_tables.declared_columns(node))) %}
{% endmacro %}


{#-
    The sequence of a change: its position, with the name of the trail as the trail sorts. Of the trails in `trail_order` the first one
    keeps its name, and each later one sorts behind it: a `~` sorts after the `/` of a position.
-#}
{% macro _trail_sequence(spec) -%}
    {%- set trail = "_ct_landed_row['trail_name']" -%}
    {%- do return('_ct_first_position') if spec.trail_order | default([], true) | length < 2 -%}
        concat(
            case {{ trail }}
                {%- for name in spec.trail_order[1:] %}
                when {{ change_tables.text_literal(name) }} then {{ change_tables.text_literal('%s~%03d' % (spec.trail_order[0], loop.index)) }}
                {%- endfor %}
                else {{ trail }}
            end,
            substring(_ct_first_position, length({{ trail }}) + 1)
        )
{%- endmacro %}


{#- Whether the sequences in a log stay as they are under another `trail_order`: only trails were added, of which it has no change. -#}
{% macro goldengate_trail_keeps_sequences(spec, before, log) %}
    {% set trails, trails_before = spec.trail_order or [], before.trail_order or [] %}
    {% do return(false) if trails[:trails_before | length] != trails_before %}
    {% set added = trails[[trails_before | length, 1] | max:] %}
    {% do return(not added or not run_query(
        "select 1 from " ~ log ~ " where _checkpoint is null and split_part(_raw_id, '/', 1) in (" ~ change_tables.text_literals(added) ~ ") limit 1"
    ).rows) %}
{% endmacro %}


{#-
    The first change of a file whose commit numbers are lower than those of the file before it, which no trail that goes on has. A trail
    starts again with a file. Numbers are compared within each trail where the order of trails is set.
-#}
{% macro goldengate_trail_reports(spec, log) -%}
select
    _ct_first['_change_id'] as _change_id,
    _ct_first['_change_seq'] as _change_seq,
    'csn_out_of_order' as code,
    concat('commit number ', _ct_lowest, ' comes after ', _ct_highest_before, ', which is in the file before: the trail has started again, or trails do not sort as they were written') as detail
from (
    select
        *,
        lag(_ct_highest) over ({{ 'partition by _ct_trail ' if spec.trail_order }}order by _ct_file) as _ct_highest_before
    from (
        select
            substring_index(_change_seq, '/', 1) as _ct_trail,
            substring_index(_change_seq, '/', 2) as _ct_file,
            min(struct(_change_seq, _change_id)) as _ct_first,
            min(try_cast(_csn as decimal(38, 0))) as _ct_lowest,
            max(try_cast(_csn as decimal(38, 0))) as _ct_highest
        from {{ log }}
        where _checkpoint is null and _csn is not null
        group by all
    )
)
where _ct_lowest < _ct_highest_before
{%- endmacro %}


{#- The trail of a sequence, or of the identity of a change, as that has its name. -#}
{% macro trail_of_sequence(sequence) -%}
    left({{ sequence }}, length({{ sequence }}) - 31)
{%- endmacro %}


{% macro goldengate_trail_commits(spec) %}
    {% do return(none) if spec.settings.repeated_transactions != 'ignore' %}
    {% do return({
        'group': change_tables.trail_of_sequence('_change_seq'),
        'number': "concat(lpad(cast(length(_csn) as string), 4, '0'), _csn)",
        'name': ['_csn', '_transaction_id'],
    }) %}
{% endmacro %}


{% macro goldengate_trail_unclaimed_steps(specs) %}
    {%- do change_tables.landed_columns(
        specs[0], specs[0].relation, change_tables.trail_columns(),
        "trails land one row a record, with the fields of its header and its two images as maps", numbers=['io_type']
    ) -%}
unclaimed as (

    select /*+ broadcast(io_types) */
        coalesce(
            {{ change_tables.trail_position('trail_seqno', 'trail_rba') }},
            to_json(struct(trail_name, trail_seqno, trail_rba))
        ) as _raw_id,
        case
            when table_name <> '' then concat('table_not_declared: ', table_name)
            when io_types.kind in ('control', 'ddl', 'metadata') and hdr_ind = 'E'
                then concat('no_table: io_type ', io_type, ' is no change of a row')
            else concat('table_unknown: table_name is null or empty, io_type is ', coalesce(cast(io_type as string), 'null'))
        end as _status_reason,
        to_json(struct({{ change_tables.column_list(change_tables.trail_columns()) }}), {{ change_tables.json_options() }}) as raw_row
    from {{ specs[0].relation }} as landed
    left join {{ ref('goldengate_io_types').render() }} as io_types
        on landed.io_type = io_types.code
    where
        not coalesce(
            table_name in ({{ change_tables.text_literals(specs | map(attribute='settings') | map(attribute='table_name')) }}),
            false
        )

)
{%- endmacro %}


{#- The tables of which rows are put together for an entry, as `_ct_table` has them. -#}
{% macro goldengate_trail_tables(spec) %}
    {% do return([spec.settings.table_name]) %}
{% endmacro %}


{% macro goldengate_trail_likeness(spec) %}
    {% do return([spec.repeated_transactions]) %}
{% endmacro %}


{% macro goldengate_trail_format() %}
    {% do return({
        'stage': change_tables.stage_goldengate_trail,
        'settings': dict({
            'table_name': {'required': true, 'type': 'text', 'meaning': "the table's name as the trail has it"},
            'trail_order': {
                'default': none, 'type': 'names',
                'meaning': "the trails [in the order in which they were written](feeds/goldengate_trail.md#a-trail-that-starts-again). null: by their names",
            },
            'repeated_transactions': {
                'default': 'ignore', 'type': 'text', 'values': ['ignore', 'apply'],
                'meaning': "what becomes of a [repeated transaction](feeds/goldengate_trail.md#transactions-that-are-sent-again)",
            },
            'hold_open_transactions': {'default': true, 'type': 'flag', 'meaning': "always `true`"},
        }, **change_tables.settings_of_several(['column_names', 'images'])),
        'mistakes': change_tables.goldengate_trail_mistakes,
        'columns': [
            {'name': '_csn', 'data_type': 'string', 'description': "the commit's number"},
            {'name': '_format_type', 'data_type': 'string', 'description': 'R (read) or F (fetched)'},
            {'name': '_audit_rba', 'data_type': 'bigint', 'description': "the place in the source's log: which log"},
            {'name': '_audit_pos', 'data_type': 'bigint', 'description': "the place in the source's log: where in it"},
        ],
        'settings_of_order': ['trail_order'],
        'keeps_sequences': change_tables.goldengate_trail_keeps_sequences,
        'reports': change_tables.goldengate_trail_reports,
        'origin': ['_changed_at', '_csn', '_transaction_id'],
        'arrival': {'kind': 'whole_number', 'group': ['trail_name'], 'columns': ['trail_seqno', 'trail_rba'], 'record': ['io_time']},
        'unclaimed_steps': change_tables.goldengate_trail_unclaimed_steps,
        'numbers': {
            'column': 'trail_seqno', 'group': ['trail_name'], 'only': none,
            'remedy': 'files of the trail have not landed: land them, then rebuild the log, since a later file may have seemed to end a transaction',
        },
        'commits': change_tables.goldengate_trail_commits,
        'group_of_sequence': change_tables.trail_of_sequence,
        'put_together': {
            'steps': change_tables.trail_put_together_steps, 'alike': change_tables.goldengate_trail_likeness, 'tables': change_tables.goldengate_trail_tables,
        },
    }) %}
{% endmacro %}
