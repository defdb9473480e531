{#- The table of a log: its columns, and what is written to it. -#}

{% macro log_view_columns(spec) %}
    {% do return([
        '_change_op', '_change_seq', '_changed_at', '_transaction_id', '_change_id', '_present_columns',
        '_changed_columns', '_key_before', '_raw_id', '_batch_id', '_report', '_is_conflicting'
    ] + spec.columns_of_format | map(attribute='name') | list) %}
{% endmacro %}


{#- The columns of a log after `_checkpoint`: those that a change keeps, then those that its content brings. -#}
{% macro log_columns(spec) %}
    {% do return(
        [
            '_change_seq', '_change_id', '_batch_id', '_key_before', '_report', '_is_conflicting', '_change_op', '_changed_at', '_transaction_id',
            '_present_columns', '_changed_columns', '_raw_id', '_row_hash', '_schema_version'
        ]
        + spec.columns_of_format | map(attribute='name') | list + spec.column_names
    ) %}
{% endmacro %}


{#- Adds changes of which the log knows none, with the checkpoint, where the log is still what this run looked at. -#}
{% macro insert_changes(spec, reduced, run, checkpoint) -%}
insert into {{ run.log }} (_checkpoint, {{ change_tables.column_list(change_tables.log_columns(spec)) }})
select * from (
    {{ change_tables._changes_with_checkpoint(spec, reduced, checkpoint) | indent(4) }}
)
where {{ change_tables.stop_if_log_has_changed(run) | indent(4) }}
{%- endmacro %}


{#-
    Writes what the deliveries of a run have come to, in one statement with the checkpoint (see `reduction_steps`). A change has no
    `_checkpoint`, and all checkpoints match each other.
-#}
{% macro merge_changes(spec, reduced, run, checkpoint, found) -%}
{%- set columns = change_tables.log_columns(spec) -%}
{#- a batch that was not compared with the log has no such column -#}
{%- set retracts = found.retracted > 0 -%}
merge into {{ run.log }} as target
using (
    {{ change_tables._changes_with_checkpoint(spec, reduced, checkpoint, retracts) | indent(4) }}
) as source
    on
        source._change_id <=> target._change_id
        and source._change_seq <=> target._change_seq
        and (source._checkpoint is null) = (target._checkpoint is null)
        {%- if found.lowest_seq is not none %}
        and (target._checkpoint is not null or target._change_seq between {{ change_tables.text_literal(found.lowest_seq) }} and {{ change_tables.text_literal(found.highest_seq) }})
        {%- else %}
        and target._checkpoint is not null
        {%- endif %}
{%- if run.checkpoints > 1 %}
{#- any other than the one before meets the guard below #}
when matched and source._checkpoint is not null and get_json_object(target._checkpoint, '$.batch') < '{{ run.checkpoint_before.batch }}' then delete
{%- endif %}
when matched and source._checkpoint is not null then update set
    _checkpoint = {{ change_tables.guarded_checkpoint(run.checkpoint_before) }}
{%- if retracts %}
when matched and source._ct_retracts_logged then delete
{%- endif %}
when matched then update set
    {{ change_tables.each(columns, '{name} = source.{name}') | join(',\n    ') }}
when not matched then insert (_checkpoint, {{ change_tables.column_list(columns) }})
    values ({{ change_tables.checkpoint_of_new_row() }}, {{ change_tables.column_list(columns, 'source') }})
{%- endmacro %}


{% macro _changes_with_checkpoint(spec, reduced, checkpoint, retracts=false) -%}
{%- set columns = change_tables.log_columns(spec) -%}
select
    cast(null as string) as _checkpoint,
    {{ '_ct_retracts_logged, ' if retracts }}{{ change_tables.column_list(columns) }}
from {{ reduced }}
where _ct_is_change
union all
select
    {{ change_tables.text_literal(tojson(checkpoint)) }} as _checkpoint,
    {{ 'false as _ct_retracts_logged, ' if retracts }}{{ change_tables.each(columns, 'null as {name}') | join(', ') }}
{%- endmacro %}


{#- True, unless another run has written to the log since this run looked: then the statement stops. -#}
{% macro stop_if_log_has_changed(run) -%}
case
    when
        (select max_by(_checkpoint, get_json_object(_checkpoint, '$.batch')) from {{ run.log }} where {{ change_tables.is_checkpoint() }})
        = {{ change_tables.text_literal(tojson(run.checkpoint_before)) }}
        then true
    else {{ change_tables.refuse_meeting() }}
end
{%- endmacro %}
