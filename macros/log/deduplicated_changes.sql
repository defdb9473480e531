{#-
    The log of one table's changes: one row an accepted change, however often it was delivered. Incremental: a run adds
    the changes that are new since the runs before, and revises those of which it now knows more.

    stg   the relation of the table's staging model

    It hands to its materialization what the run has to do: what `raw_bound` says of it, and

    shared              see `shared_rows`
    kind                first (build whole), everything (compare all raw rows with it), since (add what has landed since the runs before),
                        nothing new: no raw row has landed since, and nothing else is to be written in the checkpoint; `empty` is made
                        by `empty_run`
    checkpoint_before   the checkpoint that it adds to; none for a first run
    checkpoints         how many checkpoints the log has: a run that only inserts leaves those before
    renaming            what the log has under names of before, as `renaming` has it; `checkpoint_before` has those of today
-#}
{% macro deduplicated_changes(stg) %}
    {{- config(materialized='change_log') -}}
    {%- do change_tables.refer_to_seeds() -%}
    {%- do return('select 1 as placeholder') if not execute -%}
    {%- if change_tables.is_empty_run() -%}
        {%- set spec = change_tables.table_spec_of_model(model) -%}
        {%- do return(change_tables.empty_run(change_tables.columns_of_table(spec, ['_checkpoint'] + change_tables.log_columns(spec)))) -%}
    {%- endif -%}
    {%- set spec, run = change_tables._run_of_log() -%}
    {%- do change_tables.hand_over(run) -%}
    {%- if run.kind == 'nothing new' -%}
        {%- do return('-- nothing has landed\n' ~ change_tables.no_rows(change_tables.columns_of_table(spec, change_tables.log_columns(spec)))) -%}
    {%- endif -%}
{{ change_tables.query_of_run(spec, run) }}
{%- endmacro %}


{% macro query_of_run(spec, run) -%}
    {%- set with_log = run.kind == 'everything' -%}
    {#- a row can be a change and block the watermark -#}
    {%- set is_doubled = run.kind == 'first' and run.arrival and change_tables.part_of_format(spec, 'blocks_watermark') -%}
with {{ change_tables.staging_steps(spec, run) }},

{{ change_tables._staged_deliveries(spec, run) }},

{{ change_tables.reduction_steps(spec, with_log) }}

select
    {%- if run.kind == 'first' %}
    {{ change_tables.set_aside_as_checkpoint(run, '_ct_is_set_aside' if is_doubled else 'not _ct_is_change') | indent(4) }} as _checkpoint,
    {{ change_tables.column_list(change_tables.log_columns(spec)) }}
    {%- else %}
    {{ change_tables.column_list(change_tables.log_columns(spec)) }},
    {{ change_tables._columns_of_batch(spec, run) | join(', ') }}
    {%- endif %}
from reduced_deliveries
    {%- if is_doubled %}
    -- a change that blocks the watermark is set aside as well
    lateral view explode(if(_ct_is_change and _ct_waiting_since is not null, array(false, true), array(not _ct_is_change))) as _ct_is_set_aside
    {%- endif %}
    {%- if run.kind != 'since' %}
where _ct_is_change or _ct_quarantine_id is not null{{ ' or _ct_waiting_since is not null' if run.arrival }}
    {%- endif -%}
{% endmacro %}


{% macro _columns_of_raw_rows(run) %}
    {% do return(['_ct_quarantine_id', '_status', '_status_reason', '_raw_row'] + (['_ct_waiting_since'] if run.arrival else [])) %}
{% endmacro %}


{% macro _columns_of_batch(spec, run) %}
    {% set columns = change_tables._columns_of_raw_rows(run) %}
    {% if change_tables.retracts_changes(spec) and run.kind == 'since' %}
        {% do columns.append('_ct_is_retraction') %}
    {% endif %}
    {% do columns.append('_ct_is_change') %}
    {% if run.kind == 'everything' %}
        {% do columns.extend(change_tables.reduction_flags(spec)) %}
    {% endif %}
    {% do return(columns) %}
{% endmacro %}


{#- The step `deliveries` (see `reduction_steps`) from staged rows. A run that reads everything compares them with all that the log holds. -#}
{% macro _staged_deliveries(spec, run) -%}
{%- set with_log = run.kind == 'everything' -%}
{%- set retracts = change_tables.retracts_changes(spec) -%}
{%- set blocks = change_tables.blocks_watermark(spec) -%}
{%- set is_retraction = "coalesce(_status in ('rejected', 'ignored'), false) and _change_id is not null" -%}
{%- set change_id = "case when _status in ('accepted', 'rejected', 'ignored') then _change_id end" if retracts else '_change_id' -%}
{%- set made = {
    '_change_id': change_id,
    '_batch_id': "'" ~ change_tables.batch_id() ~ "'",
    '_key_before': "case when _status = 'accepted' then _key_before end",
    '_report': "case when _status = 'accepted' and not startswith(_report, 'conflicting_content') then _report end",
    '_is_conflicting': "_status = 'accepted' and coalesce(startswith(_report, 'conflicting_content'), false)",
    '_row_hash': "case when _status = 'accepted' then " ~ change_tables.hash_of(change_tables.delivery_columns(spec)) ~ ' end',
    '_schema_version': spec.schema_version,
} -%}
deliveries as (

    select
        {%- for name in change_tables.log_columns(spec) %}
        {{ made[name] ~ ' as ' ~ name if name in made and made[name] != name else change_tables.quoted(name) }},
        {%- endfor %}
        coalesce({{ change_id }}, concat('row:', _raw_id)) as _ct_identity,
        _status <=> 'accepted' as _ct_is_delivery,
        {%- if retracts %}
        {{ is_retraction }} as _ct_is_retraction,
        {%- endif %}
        {%- if with_log %}
        false as _ct_is_logged,
        {%- endif %}
        _ct_place,
        {{ change_tables.quarantine_id(spec, run) | indent(8) }} as _ct_quarantine_id,
        _status,
        _status_reason,
        case when _status in ('rejected', 'waiting') then _raw_row end as _raw_row
        {%- if run.arrival %},
        case when {{ blocks }} then _ct_arrival end as _ct_waiting_since
        {%- endif %}
    from staged
    {#- the batch of a run that reads on has every raw row that it reads, since each counts in what the run says of itself #}
    {%- if run.kind != 'since' %}
    where _status in ('accepted', 'rejected', 'waiting'){{ ' or ' ~ is_retraction if retracts and with_log }}{{ ' or (' ~ blocks ~ ')' if run.arrival }}
    {%- endif %}
    {%- if with_log %}
    union all
    {{ change_tables.logged_deliveries(spec, run, change_tables._columns_of_raw_rows(run)) | indent(4) }}
    {%- endif %}

)
{%- endmacro %}


{#- The spec as the run has it, and the run. Says what a load lacks that the run reads. -#}
{% macro _run_of_log() %}
    {% do change_tables.known_in_run('begun').update({model.unique_id: true}) %}
    {% set spec = change_tables.table_spec_of_model(model) %}
    {% set found = change_tables.read_checkpoints([] if change_tables.is_rebuild() else [this]) | first | default({}, true) %}
    {% set renaming = change_tables.renaming(spec, found.checkpoint or none) %}
    {% set checkpoint = change_tables.renamed_checkpoint(renaming, found.checkpoint or none) %}
    {% do change_tables.refuse_changed_columns(spec, checkpoint, change_tables.state_relation(this)) %}
    {% set spec = change_tables.spec_in_version(spec, checkpoint) %}
    {% set bound = change_tables.raw_bound(spec, checkpoint) %}
    {% if checkpoint is none %}
        {% set kind = 'first' %}
    {% elif bound.predicate is none %}
        {% set kind = 'everything' %}
    {% else %}
        {#- `dbt compile` shows the query of a run that has news -#}
        {% set kind = 'nothing new' if bound.has_no_news and flags.WHICH in ['run', 'build'] else 'since' %}
    {% endif %}
    {% set run = dict(bound, kind=kind, checkpoint_before=checkpoint, checkpoints=found.number or 0, renaming=renaming) %}
    {% set run = dict(run, shared=change_tables.shared_rows(spec, run)) %}
    {% do change_tables._say_what_load_lacks(spec, checkpoint) if spec.snapshot and bound.snapshot %}
    {% do return([spec, run]) %}
{% endmacro %}


{#- Of a load that the run reads. One that lands after an empty one would never be read; at a raised sequence, an empty one would end every key. -#}
{% macro _say_what_load_lacks(spec, checkpoint) %}
    {% set load = change_tables.relation_of_setting(spec, 'snapshot') %}
    {% set lacks = change_tables.columns_that_load_lacks(spec) %}
    {% if lacks %}
        {% do log(this ~ ': the load ' ~ load ~ ' lacks ' ~ lacks | join(', ') ~ ': null in its rows', info=true) %}
    {% endif %}
    {% do change_tables.refuse_tables_not_there(load | string) %}
    {% if not run_query('select 1 from ' ~ load ~ ' limit 1').rows %}
        {% set is_raised = checkpoint is not none and spec.snapshot_seq > (checkpoint.snapshot_seq or '') %}
        {% if is_raised and not var('change_tables_allow_loss', false) %}
            {% do change_tables.refuse_model(
                'the load ' ~ load ~ " is empty, and at the raised `snapshot_seq` '" ~ spec.snapshot_seq ~ "' it would end every key: land it first, or "
                ~ "allow the loss with --vars '{change_tables_allow_loss: true}'"
            ) %}
        {% endif %}
        {% do log(this ~ ': the load ' ~ load ~ ' is empty: once it has rows, run a rescan, or raise `snapshot_seq`', info=true) %}
    {% endif %}
{% endmacro %}
