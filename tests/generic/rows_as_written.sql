{#-
    For a deduplicated model, a current model or a history: fails where its table is not as its runs have left it. It was emptied or
    replaced, set back to an older version, or has fewer or more rows than they have written. Rows whose values were changed are not seen.
-#}
{% test rows_as_written(model) %}
{%- do return(change_tables.nothing_to_look_at()) if not change_tables.data_test_looks() -%}
{%- set spec = change_tables.spec_of_data_test(['deduplicated_changes', 'current_state', 'history']) -%}
{%- set state = change_tables.table_of_data_test(model, 'the whole table') -%}
{%- set cached = change_tables.cached_checkpoint(model) or {} -%}
-- rows and checkpoint of one version of the table: a run may write meanwhile
with written as (

    select
        count_if(_checkpoint is null) as table_rows,
        max_by(_checkpoint, get_json_object(_checkpoint, '$.batch')) filter (where {{ change_tables.is_checkpoint() }}) as checkpoint
    from {{ state if load_cached_relation(state) is not none else '(select cast(null as string) as _checkpoint where false)' }}

),

compared as (

    select
        table_rows,
        checkpoint,
        coalesce(
            cast(get_json_object(checkpoint, '$.held_changes') as bigint),
            {%- if cached and cached.rows is not none %}
            case when checkpoint = {{ change_tables.text_literal(tojson(cached.checkpoint)) }} then {{ cached.rows }} end,
            {%- endif %}
            cast(null as bigint)
        ) as written_rows,
        get_json_object(checkpoint, '$.held_changes') is not null as is_log,
        get_json_object(checkpoint, '$.batch') < {{ change_tables.text_literal(change_tables.batch_once_cached(model)) }} as is_set_back
    from written

)

select
    {{ change_tables.text_literal(spec.source_name) }} as source_name,
    {{ change_tables.text_literal(spec.table_name) }} as table_name,
    written_rows,
    table_rows,
    case
        when checkpoint is null
            then 'its table has no checkpoint of a run: it was emptied or replaced by hand, or its first build is not at its end: build it with --vars {change_tables_rescan: true}'
        when is_set_back
            then 'its table was set back to an older version: build it, and the models after it, with --vars {change_tables_rescan: true}'
        when table_rows > written_rows
            then 'something other than its runs has written to its table: rebuild it and the models after it with --full-refresh, or restore its table'
        when is_log
            then 'changes are gone that its runs have put there: build it with --vars {change_tables_rescan: true}, which puts back what raw still has'
        else 'rows are gone that its runs have written: rebuild it with --full-refresh'
    end as what_to_do
from compared
where checkpoint is null or is_set_back or table_rows <> written_rows
{% endtest %}
