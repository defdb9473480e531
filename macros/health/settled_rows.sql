{#-
    The query of the test `raw_rows_accounted_for` on a log: one row where the raw table has another number of rows below the watermark than
    the log's checkpoint has, or the log another number of changes. Where the feed has no arrival, all raw rows count, and rows that have
    landed since are no mistake.
-#}
{% macro settled_rows_accounted_for(log, may_be_purged) -%}
{%- do return(change_tables.nothing_to_look_at()) if not change_tables.data_test_looks() -%}
{%- if may_be_purged is not boolean -%}
    {%- do change_tables.refuse_data_test("`may_be_purged` must be true or false, got " ~ change_tables.shown_value(may_be_purged)) -%}
{%- endif -%}
{%- set spec = change_tables.spec_of_data_test('deduplicated_changes') -%}
{%- set state = change_tables.table_of_data_test(log) -%}
{%- set checkpoint = change_tables.checkpoint_of_table(log) or {} -%}
{%- set arrival = change_tables.arrival_of(spec) -%}
{%- set counted = checkpoint.watermark_rows if checkpoint and change_tables.is_arrival_of(checkpoint, spec, arrival) else none -%}
{%- set condition = change_tables.is_below_watermark(arrival, checkpoint.watermark, checkpoint.lookback) if arrival else 'true' -%}
{%- set raw = spec.relation if change_tables.has_landed(spec.relation) else '(select 1 where false)' -%}
{%- set number = 'count_if(' ~ condition ~ ')' -%}
{#- a record that lands again has its old position. To count positions costs more: only where there are not as many rows -#}
{%- if arrival and arrival.record and counted is not none -%}
    {%- if run_query('select ' ~ number ~ ' from ' ~ raw).rows[0][0] | int == counted -%}
        {%- set number, raw = counted, none -%}
    {%- else -%}
        {%- set number = change_tables.count_below_watermark(arrival, condition, arrival.record) -%}
    {%- endif -%}
{%- endif -%}
with raw_rows as (

    select
        cast({{ 'null' if counted is none else counted }} as bigint) as settled_rows,
        {{ number }} as raw_rows
    {%- if raw is not none %}
    from {{ raw }}
    {%- endif %}

),

-- with the checkpoint of the same version of the table: a run may write meanwhile
changes as (

    select
        count_if(_checkpoint is null) as changes,
        cast(
            get_json_object(max_by(_checkpoint, get_json_object(_checkpoint, '$.batch')) filter (where {{ change_tables.is_checkpoint() }}), '$.held_changes') as bigint
        ) as held_changes
    from {{ state if load_cached_relation(state) is not none else '(select cast(null as string) as _checkpoint where false)' }}

)

select
    {{ change_tables.text_literal(spec.source_name) }} as source_name,
    {{ change_tables.text_literal(spec.table_name) }} as table_name,
    settled_rows,
    raw_rows,
    held_changes,
    changes,
    case
        when settled_rows is null
            then 'the log does not say how many rows are below the watermark of this arrival: build it'
        when changes < held_changes
            then 'changes are gone from the log that its runs have put there: build with --vars {change_tables_rescan: true}, which puts back what raw still has'
        when changes > held_changes
            then 'something other than its runs has written to the log: rebuild it and the models after it with --full-refresh, or restore its table'
        when raw_rows > settled_rows
            then 'rows have landed at arrivals that were read for good: build with --vars {change_tables_rescan: true}, and set lookback, or have rows land in the order of their arrival'
        else 'raw rows are gone that were read: if they were purged, build with --vars {change_tables_rescan: true}, or allow it by may_be_purged: true'
    end as what_to_do
from raw_rows
cross join changes
where
    settled_rows is null
    or changes <> held_changes
    {%- if arrival %}
    or raw_rows > settled_rows
    {%- endif %}
    {%- if not may_be_purged %}
    or raw_rows < settled_rows
    {%- endif %}
{%- endmacro %}
