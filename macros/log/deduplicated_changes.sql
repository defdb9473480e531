{#-
    The log of one table's changes: one row an accepted change, however often it was delivered. Incremental: a run adds
    the changes that are new since the runs before, and revises those of which it now knows more.

    stg   the relation of the table's staging model
-#}
{% macro deduplicated_changes(stg) %}
    {{- config(materialized='change_log') -}}
    {%- do change_tables.refer_to_seeds() -%}
    {%- if execute and change_tables.is_empty_run() -%}
        {%- set spec = change_tables.table_spec_of_model(model) -%}
{{ change_tables.empty_run(change_tables.columns_of_table(spec, ['_mark'] + change_tables.log_columns(spec) + change_tables.kept_columns())) }}
    {%- elif execute -%}
        {%- set spec = change_tables.table_spec_of_model(model) -%}
        {%- set state = change_tables.state_relation(this) -%}
        {%- set found = change_tables.read_marks([] if change_tables.is_rebuild() else [this]) | first | default({}, true) -%}
        {%- set mark = found.mark or none -%}
        {%- do change_tables.refuse_changed_columns(spec, mark, state) -%}
        {%- set spec = change_tables.spec_in_form(spec, mark) -%}
        {%- set bound = change_tables.raw_bound(spec, mark) -%}
        {%- set run = {
            'run': change_tables._log_run(mark, bound),
            'mark_before': mark,
            'marks': found.number or 0,
            'edge': bound.edge,
            'until': bound.until,
            'is_late': bound.is_late,
            'arrival': bound.arrival,
            'settled_before': bound.settled_before,
            'snapshot': bound.snapshot,
            'landed_rows': bound.landed_rows,
            'counts_all': bound.counts_all,
            'rows_below': bound.rows_below,
            'rows_until': bound.rows_until,
            'rereads': change_tables.rereads_kept_rows(spec, mark, bound.is_late),
        } -%}
        {#- then every raw row is taken: it says how far the raw table has settled, and counts in what the run says of itself -#}
        {%- set with_others = run.run in ['since', 'nothing new'] -%}
        {#- rows that are no change are each for themselves, also where a change has the same position -#}
        {%- set same_change = '_change_seq, ' ~ ('coalesce(_change_id, _raw_id), _change_id is null' if with_others else 'coalesce(_ct_kept_id, _change_id)') -%}
        {#- of changes that the log may have to give up -#}
        {%- set withdraws = run.run != 'first' and change_tables.withdraws_changes(spec) -%}
        {%- set same_identity = '(partition by _change_seq, _change_id)' -%}
        {%- set contents_differ -%}
            min(_ct_content_hash) over same_change <> max(_ct_content_hash) over same_change
or not min(_key_before) over same_change <=> max(_key_before) over same_change
        {%- endset -%}
        {%- set rank -%}
            struct({{ change_tables.content_text(spec) }}, {{ change_tables.header_columns(spec) | join(', ') }}, _ct_place)
        {%- endset -%}
        {%- set counts = '_ct_copies = 1 or ' ~ rank ~ ' = _ct_highest_rank' -%}
        {%- do change_tables.hand_over(run) -%}
with {{ change_tables.staging_steps(spec, bound) }},

delivered as (

    select
        *,
        {{ change_tables.kept_id(spec, bound) | indent(8) }} as _ct_kept_id,
        {{ change_tables.hash_of(change_tables.delivery_columns(spec)) }} as _row_hash,
        {#- of a delete or a truncate the other columns do not count #}
        if(_change_op in ('delete', 'truncate'), xxhash64(_change_op), {{ change_tables.hash_of([{'name': '_change_op', 'data_type': 'string'}] + change_tables.content_columns(spec)) }}) as _ct_content_hash
    from staged
    {%- if not with_others %}
    where _status = 'accepted' or ({{ change_tables.is_to_be_kept(spec, bound) }})
    {%- endif %}

),

gathered as (

    select
        *,
        count(*) over same_change as _ct_copies,
        count(_report) over same_change as _ct_reports,
        max(_report) over same_change as _ct_known_report,
        max(_key_before) over same_change as _ct_known_key_before,
        {{ change_tables.of_one_origin(spec, contents_differ, 'same_change' if with_others or not withdraws else same_identity) | indent(8) }} as _ct_contents_differ
        {%- if with_others %},
        min(case when {{ change_tables.holds_back(spec) }} then _ct_arrival end) over same_change as _ct_waiting_since
        {%- elif withdraws %},
        max(case when {{ change_tables.is_withdrawal() }} then _ct_place end) over {{ same_identity }} as _ct_last_withdrawal
        {%- endif %}
    from delivered
    window same_change as (partition by {{ same_change }})

),

-- copies that differ: the greater text wins, and the key before is kept that only one of them has
compared as (

    select
        *,
        max(case when _ct_copies > 1 then {{ rank }} end) over (partition by {{ same_change }}) as _ct_highest_rank
    from gathered

),

changes as (

    select
        {%- if run.run == 'first' %}
        _ct_kept_id as _mark,
        if(_ct_kept_id is null, _change_seq, null) as _change_seq,
        _change_op,
        if(_ct_kept_id is null, _change_id, null) as _change_id,
        {%- else %}
        cast(null as string) as _mark,
        _change_seq,
        _change_op,
        _change_id,
        {%- endif %}
        '{{ change_tables.batch_id() }}' as _batch_id,
        _changed_at,
        _transaction_id,
        _present_columns,
        _changed_columns,
        _ct_known_key_before as _key_before,
        _raw_id,
        case when _ct_reports = _ct_copies and not startswith(_ct_known_report, 'conflicting_content') then _ct_known_report end as _report,
        _ct_contents_differ or coalesce(startswith(_ct_known_report, 'conflicting_content'), false) as _is_conflicting,
        _row_hash,
        {{ spec.form }} as _form,
        {%- for column in change_tables.further_columns(spec) %}
        {{ column.name }},
        {%- endfor %}
        {%- if withdraws %}
        {{ change_tables.is_withdrawal() }} and {{ '(' ~ counts ~ ')' if with_others else '_ct_place = _ct_last_withdrawal' }} as _ct_withdraws,
        {%- endif %}
        {%- if with_others %}
        _status <=> 'accepted' and ({{ counts }}) as _ct_is_accepted,
        _ct_waiting_since,
        {%- endif %}
        {{ change_tables.column_list(spec.column_names) }},
        {%- if run.run != 'first' %}
        _ct_kept_id,
        {%- endif %}
        {%- if with_others %}
        _status,
        _status_reason,
        {%- else %}
        case when _ct_kept_id is not null then _status end as _status,
        case when _ct_kept_id is not null then _status_reason end as _status_reason,
        {%- endif %}
        case when _ct_kept_id is not null then _raw_row end as _raw_row,
        {#- a run that reads on has each copy of a kept row #}
        {{ 'cast(1 as bigint)' if with_others else 'case when _ct_kept_id is not null then _ct_copies end' }} as _equal_rows
        {%- if run.run == 'first' %},
        cast(null as timestamp) as _healed_at
        {%- endif %}
    from compared
    {%- if not with_others %}
    where {{ counts }}
    {%- endif %}

)
        {%- if run.run == 'everything' -%}
,

{{ change_tables.reduction_steps(spec, state, 'changes') }}

select *
from new_changes
        {%- else %}

select *
from changes
        {%- endif -%}
    {%- else -%}
select 1 as placeholder
    {%- endif -%}
{% endmacro %}


{#-
    What a run of the log does: first (build whole), everything (compare all raw rows with it), since (add what has landed since
    the runs before), nothing new. Only where no raw row has landed since, and nothing else is to be written in the mark.
-#}
{% macro _log_run(mark, bound) %}
    {% if mark is none %}
        {% do return('first') %}
    {% elif bound.predicate is none %}
        {% do return('everything') %}
    {% endif %}
    {% do return('nothing new' if bound.is_read else 'since') %}
{% endmacro %}
