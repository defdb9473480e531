{#-
    What becomes of raw rows, and the steps in which the staging of all formats ends.

    A format decides what becomes of a row in one ordered case, `_ct_verdict`: null where the row is a change, else a struct of `status` and
    `reason`. Rows of other entries, which only move the watermark, have a verdict whose `status` is null.
-#}

{#- SQL for `code: detail`, of a text in which `{…}` is SQL. Of `{…?}` the value is in quotes, and `null` where it is null. -#}
{% macro reason(text) -%}
    {%- set parts = [] -%}
    {%- for part in modules.re.split('[{}]', text) -%}
        {%- if loop.index0 % 2 == 0 -%}
            {%- do parts.append(change_tables.text_literal(part)) if part -%}
        {%- elif part.endswith('?') -%}
            {%- do parts.append("coalesce(concat('\\'', " ~ part[:-1] ~ ", '\\''), 'null')") -%}
        {%- else -%}
            {%- do parts.append(part) -%}
        {%- endif -%}
    {%- endfor -%}
    {{- parts[0] if parts | length == 1 else 'concat(' ~ parts | join(', ') ~ ')' -}}
{%- endmacro %}


{% macro code_of(reason) -%}
    substring_index({{ reason }}, ':', 1)
{%- endmacro %}


{% macro detail_of(reason) -%}
    trim(substring({{ reason }}, instr({{ reason }}, ':') + 1))
{%- endmacro %}


{#- A verdict. `reason`: SQL for `code: detail`. -#}
{% macro verdict(status, reason) -%}
    struct('{{ status }}' as status, {{ reason }} as reason)
{%- endmacro %}


{#- Verdicts of these statuses. `text`: as `reason` takes it. -#}
{% macro rejected(text) -%}
    {{- change_tables.verdict('rejected', change_tables.reason(text)) -}}
{%- endmacro %}

{% macro ignored(text) -%}
    {{- change_tables.verdict('ignored', change_tables.reason(text)) -}}
{%- endmacro %}

{% macro merged(text) -%}
    {{- change_tables.verdict('merged', change_tables.reason(text)) -}}
{%- endmacro %}

{% macro waiting(text) -%}
    {{- change_tables.verdict('waiting', change_tables.reason(text)) -}}
{%- endmacro %}


{% macro not_of_entry() -%}
    struct(cast(null as string) as status, cast(null as string) as reason)
{%- endmacro %}


{#-
    Branches of a verdict: values that do not fit, as far as the row has them, and a key that is null.

    has_columns   SQL for the rows of which the columns count that are no key
    before        how messages name the row before, where there is one
    has_before    SQL for the rows of which its key counts; none: all
-#}
{% macro value_verdicts(spec, has_columns, before=none, has_before=none) -%}
when _ct_key_misfit is not null
                then {{ change_tables.rejected('value_does_not_fit: {_ct_key_misfit}') }}
            when {{ change_tables.key_is_null(spec) }}
                then {{ change_tables.verdict('rejected', change_tables.key_missing(spec)) }}
            {%- if before %}
            when {{ has_before ~ ' and ' if has_before }}_ct_key_before_misfit is not null
                then {{ change_tables.rejected('value_does_not_fit: ' ~ before ~ ': {_ct_key_before_misfit}') }}
            {%- endif %}
            when {{ has_columns }} and _ct_column_misfit is not null
                then {{ change_tables.rejected('value_does_not_fit: {_ct_column_misfit}') }}
{%- endmacro %}


{#-
    The last steps of a staging: `staged_rows`, out of a step whose rows have a verdict, and `staged`, which has the load as well.

    change      how the columns of a change are read: see `staged_select`
    rows        the step
    condition   SQL for those of its rows that are staged; none: all
-#}
{% macro staged_rows(spec, bound, change, rows='judged', condition=none) -%}
staged_rows as (

    {{ change_tables.staged_select(spec, bound, change, rows) }}
    {{- '\n    where ' ~ condition if condition }}

),

{{ change_tables.staged_with_snapshot(spec, bound) }}
{%- endmacro %}


{#-
    The rows of a step in the columns of `staged`. The step has the declared columns, those of the format, `_ct_verdict`, `_ct_landed_row`
    and, where the bound has it, `_ct_arrival`. What differs from format to format is SQL. Where that is for rows on a condition, it is a list
    of pairs of condition and SQL. What is left out is null, if nothing else is said.

    A log made of a bare column has its type: of a `varchar(30)` the length, too, which nobody sees of a Delta table, and could not hold what a
    wider one has later. So texts are cast. Any other column has its type in the step: a cast here would lose in silence what does not fit.

    operation         what a change does
    id                its identity
    has_id            the rows that have the identity: where some that are no change do, see `retracts_changes` of `format_of`. Left out: those
                      that are changes
    seq, changed_at, transaction_id, raw_id
                      of all rows. Left out: the columns that have the names of the contract
    present_columns   names, of changes that can lack columns: a list of pairs. Full images lack none
    changed_columns   names
    moves             a condition for the changes that have a key before, which may be another one
    key_before        the key before. Left out: see `key_before`
    has_raw_row       whether the step has `_raw_row`, and no landed row
    report            see the contract
    blocks            the rows that block the watermark, where the format has an arrival of its own. Left out: none
    is_change         the rows that have operation, columns, key before and report. Left out: those that are changes
-#}
{% macro staged_select(spec, bound, change, rows) -%}
    {%- set is_change = change.is_change or '_ct_verdict is null' -%}
    {%- set has_id = change.has_id or '_ct_verdict is null' -%}
    {%- set key_before = change.key_before or change_tables.key_before(spec) -%}
    {%- set blocks = (change.blocks or 'false') ~ ' as _ct_blocks_watermark' if change_tables.natural_arrival(spec) -%}
    select
        {%- for column in spec.columns %}
        {%- set name, type = change_tables.quoted(column.name), change_tables.stored_type(column.data_type) %}
        {{ 'cast(' ~ name ~ ' as ' ~ type ~ ') as ' ~ name if 'string' in type | lower else name }},
        {%- endfor %}
        {{ change_tables._of_change(is_change, change.operation, 'string') }} as _change_op,
        {{ change.seq ~ ' as ' if change.seq }}_change_seq,
        {{ change.changed_at ~ ' as ' if change.changed_at }}_changed_at,
        {{ change.transaction_id ~ ' as ' if change.transaction_id }}_transaction_id,
        {{ change_tables._of_change(has_id, change.id, 'string') }} as _change_id,
        {{ change_tables._of_change(is_change, change.present_columns if spec.images == 'partial', 'array<string>') }} as _present_columns,
        {{ change_tables._of_change(is_change, change.changed_columns, 'array<string>') }} as _changed_columns,
        {%- set moves = [(change.moves ~ ' and not struct(' ~ change_tables.column_list(spec.key) ~ ') <=> ' ~ key_before, key_before)] if change.moves %}
        {{ change_tables._of_change(is_change, moves, change_tables.key_type(spec)) }} as _key_before,
        {{ change.raw_id ~ ' as ' if change.raw_id }}_raw_id,
        {{ "case when _ct_verdict['status'] is not null then to_json(_ct_landed_row, " ~ change_tables.json_options() ~ ') end as ' if not change.has_raw_row }}_raw_row,
        if(_ct_verdict is null, 'accepted', _ct_verdict['status']) as _status,
        _ct_verdict['reason'] as _status_reason,
        {%- for column in spec.columns_of_format %}
        {{ 'cast(' ~ column.name ~ ' as string) as ' if column.data_type == 'string' }}{{ column.name }},
        {%- endfor %}
        {{ change_tables._of_change(is_change, change.report, 'string') }} as _report,
        {#-
            A number by which rows differ that are the same in all else. It also keeps Spark from computing a row twice: a column that has
            another value at each evaluation stops conditions on staged rows from being pushed below it.
        #}
        monotonically_increasing_id() as _ct_place
        {%- for column in ['_ct_arrival', blocks] if bound.arrival and column %},
        {{ column }}
        {%- endfor %}
    from {{ rows }}
{%- endmacro %}


{#- A value that rows on a condition have, of that type: SQL, or pairs of a further condition and SQL; none: they have none. -#}
{% macro _of_change(is_change, value, type) -%}
    {%- if not value -%}
        cast(null as {{ type }})
    {%- elif value is string -%}
        case when {{ is_change }} then {{ value }} end
    {%- else -%}
        case
            {%- for condition, result in value %}
            when {{ is_change }} and {{ condition }}
                then {{ result }}
            {%- endfor %}
        end
    {%- endif -%}
{%- endmacro %}


{#-
    The step `staged`: the rows of a step, and those of the snapshot where the run reads it. Where the entry has forgotten keys, without
    what is of these.
-#}
{% macro staged_with_snapshot(spec, bound, rows='staged_rows') -%}
{%- set loads = spec.snapshot and bound.snapshot -%}
{%- set forgets = not bound.with_forgotten and change_tables.has_forgotten_keys(spec) -%}
{%- if loads -%}
{{ change_tables.snapshot_steps(spec, bound) }},

{% endif -%}
{{ 'staged_deliveries' if forgets else 'staged' }} as (

    select {{ '*, false as _ct_is_of_load' if loads else '*' }}
    from {{ rows }}
    {%- if loads %}
    union all
    select *, true as _ct_is_of_load
    from staged_snapshot
    {%- endif %}

)
{%- if forgets %},

{{ change_tables.steps_without_forgotten(spec, bound) }}
{%- endif -%}
{%- endmacro %}


{#- The same of the rows of the load alone. -#}
{% macro steps_of_load(spec) -%}
{%- set bound = {'snapshot': false, 'arrival': none} -%}
{{ change_tables.snapshot_steps(spec, bound) }},

{{ change_tables.staged_with_snapshot(spec, bound, rows='staged_snapshot') }}
{%- endmacro %}
