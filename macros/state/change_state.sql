{#- A model that is folded from a log: see current_state and history. -#}
{% materialization change_state, adapter='spark' %}
    {%- set view = this.incorporate(type='view') -%}
    {%- set state = change_tables.state_relation(this) -%}
    {%- set spec = change_tables.table_spec_of_model(model) -%}
    {%- set handed = change_tables.handed_over() -%}
    {%- set run = handed.run -%}

    {%- set shown = change_tables.state_view_columns(run.history, run.keeps_deleted) -%}
    {#- `current_` does not show hidden columns -#}
    {%- set columns = spec.columns | rejectattr('name', 'in', [] if run.history else spec.hidden) | list -%}
    {%- set shown_spec = dict(spec, columns=columns, column_names=columns | map(attribute='name') | list) -%}
    {%- do change_tables.refuse_foreign_table(view, [state]) -%}
    {%- do change_tables.refuse_moved_table(view, state) -%}
    {%- do change_tables.refuse_other_contract(shown_spec, shown) -%}
    {%- do change_tables.refuse_unfinished_log(run.checkpoint) -%}
    {%- do change_tables.refuse_log_of_other_columns(spec) if run.log_is_outdated -%}
    {%- do change_tables.refuse_lesser_log(state, run) -%}

    {{ run_hooks(pre_hooks) }}

    {%- set predicate = '_checkpoint is null and ' ~ ('_has_row' if run.keeps_deleted else 'not _is_deleted') -%}
    {%- set is_written = run.kind in ['first', 'since'] -%}
    {%- set cached = change_tables.cached_checkpoint(view) -%}
    {%- set rows_before = cached.rows if cached and cached.checkpoint == run.checkpoint_before else none -%}
    {%- set rows = rows_before -%}
    {%- if is_written -%}
        {%- do change_tables.prepare_session() -%}
        {%- do change_tables.remove_cached_checkpoint(view) -%}
    {%- endif -%}
    {%- do change_tables.follow_names(view, state, run.renaming) if run.renaming -%}
    {%- set has_other_columns = change_tables.columns_have_changed(spec, run.checkpoint_before) -%}
    {%- do change_tables.follow_spec(spec, state) if has_other_columns -%}
    {%- do change_tables.ensure_state_view(view, state, shown_spec, shown, predicate) if has_other_columns or run.renaming -%}
    {#- the last versions of a history are in files of their own: by them a run finds its keys -#}
    {%- set partitioned_by = ['_is_last'] if run.history else [] -%}
    {%- set is_shown = true -%}
    {%- if run.kind in ['empty', 'first'] and state.schema != view.schema -%}
        {%- call statement('schema') -%}
            create schema if not exists {{ state.without_identifier() }}
        {%- endcall -%}
    {%- endif -%}
    {%- if run.kind == 'empty' -%}
        {%- set is_shown = change_tables.make_empty_table(view, state, sql, partitioned_by) -%}
    {%- elif run.kind == 'first' -%}
        {%- do change_tables.refuse_unseen_table(state) -%}
        {%- call statement('main') -%}
            {{ change_tables.create_state_table(
                state, change_tables._with_checkpoint(spec, sql, run), partitioned_by=partitioned_by,
                found_by=['_checkpoint', '_change_seq'] + (['_valid_from', '_valid_to'] if run.history else ['_batch_id'])
            ) }}
        {%- endcall -%}
        {%- set rows = change_tables._count_rows_of_state(state) -%}
    {%- elif run.kind == 'since' -%}
        {%- set rows = change_tables._add_to_state(spec, state, run, sql, handed.statements, rows) -%}
    {%- else -%}
        {%- call noop_statement('main', 'nothing new') -%}{%- endcall -%}
    {%- endif -%}
    {#- once for a table: what a run wrote that died before this is not in a cached checkpoint -#}
    {%- do change_tables.use_deletion_vectors_once_large(state, rows_before or 0, rows or 0) -%}

    {%- if is_shown -%}
        {%- do change_tables.ensure_state_view(
            view, state, shown_spec, shown, predicate, checkpoint=run.checkpoint if is_written else run.checkpoint_before,
            is_written=is_written or run.renaming, rows=rows
        ) -%}
    {%- endif -%}
    {%- do apply_grants(view, config.get('grants'), should_revoke(view, full_refresh_mode=run.kind == 'first')) -%}

    {{ run_hooks(post_hooks) }}

    {{ return(change_tables.made_relations([view, state])) }}
{% endmaterialization %}


{#-
    Adds to a state what its log has more. Returns how many rows it has then, its checkpoint aside: what the merge says is added to what there
    was, so that rows which something else has added or removed are never counted as those of a run. None where the merge says nothing, as of
    a table in another format.

    sql          the query of the model
    statements   what a run sends instead that looks for late events (see `folded_query`)
    rows         how many rows the state has; none: that is not known, and they are counted
-#}
{% macro _add_to_state(spec, state, run, sql, statements, rows) %}
    {% set kept = change_tables.batch_relation(this, change_tables.batch_id()) %}
    {% if run.looks %}
        {% set run = dict(run, replays=change_tables._keep_events(run, statements, kept)) %}
        {% set sql = 'with ' ~ change_tables.all_events_of_table(spec, kept, run.replays) ~ ',\n\n' ~ statements.rows %}
    {% endif %}
    {% call statement('main', fetch_result=True) %}
        {{ change_tables.merge_state(spec, state, sql, run, kept) }}
    {% endcall %}
    {% set merged = load_result('main').table.rows | first %}
    {% if not merged %}
        {% set rows = none %}
    {% elif rows is none %}
        {% set rows = change_tables._count_rows_of_state(state) %}
    {% else %}
        {% set rows = rows + merged['num_inserted_rows'] | int - merged['num_deleted_rows'] | int %}
    {% endif %}
    {% if run.looks %}
        {% do change_tables.drop_stale_batches(run.checkpoint_before) %}
        {% do adapter.drop_relation(kept) %}
    {% endif %}
    {% do return(rows) %}
{% endmacro %}


{#- Writes the input events to a table of their own, with all events of the keys that are replayed. Returns whether there are such. -#}
{% macro _keep_events(run, statements, kept) %}
    {% call statement('kept') %}
        {{ change_tables.create_batch_table(kept, statements.input) }}
    {% endcall %}
    {% set late = run_query('select count(*) as late from ' ~ kept ~ ' where _ct_is_late').rows[0][0] | int %}
    {% set replays = late > 0 or run.retracted_keys | length > 0 %}
    {% if replays %}
        {% call statement('replayed') %}
            insert into {{ kept }}
            {{ statements.replayed }}
        {% endcall %}
    {% endif %}
    {% do return(replays) %}
{% endmacro %}


{#- Delta answers this from its log. -#}
{% macro _count_rows_of_state(state) %}
    {% do return(run_query('select count(*) as written_rows from ' ~ state).rows[0][0] | int - 1) %}
{% endmacro %}


{#- A log without a checkpoint is not there, or does not say what it has: no state can follow it. `taken_in` has its `log`. -#}
{% macro refuse_unfinished_log(taken_in) %}
    {% do change_tables.refuse_model("the log that it follows has not been built to its end; build that first") if taken_in.log == '' %}
{% endmacro %}


{#- A log that was built with other columns than are declared by now cannot be read as the spec says. -#}
{% macro refuse_log_of_other_columns(entry) %}
    {% do change_tables.refuse_model(
        "source '" ~ entry.source_name ~ "." ~ entry.table_name ~ "' has changed since the log that the model follows was built; build that first"
    ) %}
{% endmacro %}


{#-
    The rows that a run writes, with the checkpoint among them. Of the keys that a history has replayed, these are also the versions that
    it has: they are deleted where no version takes their place.
-#}
{% macro _with_checkpoint(spec, sql, run, state=none, kept=none) -%}
{%- set has_stale = run.history and run.replays -%}
{%- set columns = (['_ct_is_stale'] if run.history and run.kind == 'since' else []) + change_tables.state_columns(spec, run.history, run.keeps_deleted) -%}
with state_rows as (

{{ sql }}

)
{%- if has_stale -%}
,

ranked_rows as (

    select
        *,
        row_number() over (
            partition by {{ change_tables.column_list(spec.key) }}, _valid_from_seq
            order by _ct_is_stale
        ) as _ct_rank
    from (
        select {{ change_tables.column_list(columns) }}
        from state_rows
        union all
        select
            true as _ct_is_stale,
            {{ change_tables.column_list(columns[1:], 'stale_versions') }}
        from {{ state }} as stale_versions
        left semi join ({{ change_tables.replayed_keys(kept, spec) }}) as replayed_keys
            on {{ change_tables.key_hash(spec.key, 'stale_versions') }} = replayed_keys._ct_key
        where stale_versions._checkpoint is null
    )

)
{%- endif %}

select
    cast(null as string) as _checkpoint,
    {{ "'" ~ run.checkpoint.written ~ "' as _batch_id,\n    " if not run.history }}{{ change_tables.column_list(columns) }}
from {{ 'ranked_rows' if has_stale else 'state_rows' }}
{%- if has_stale %}
where _ct_rank = 1
{%- endif %}
union all
select
    {{ change_tables.text_literal(tojson(run.checkpoint)) }} as _checkpoint,
    {{ 'null as _batch_id, ' if not run.history }}{% for name in columns %}{{ 'true' if name == '_is_last' else 'null' }} as {{ change_tables.quoted(name) }}{{ ', ' if not loop.last }}{% endfor %}
{%- endmacro %}


{#-
    Writes what a run has made of its events, in one statement with the checkpoint. What was folded replaces what the state has of its
    keys. Where nothing is folded, an event that is older than what the state has of its key changes nothing; the same event again
    replaces itself, so that its revision counts. Where a history has no key to replay, only the last version of a key can change:
    the row becomes the key's new last version, those that have ended are inserted, and the files of ended versions are not read.
-#}
{% macro merge_state(spec, state, sql, run, kept) -%}
{%- set columns = ([] if run.history else ['_batch_id']) + change_tables.state_columns(spec, run.history, run.keeps_deleted) -%}
merge into {{ state }} as target
using (
    {{ change_tables._with_checkpoint(spec, sql, run, state, kept) }}
) as source
    on
        {{ change_tables.same_key(spec.key, 'source', 'target') }}
        {%- if run.replays and run.history %}
        and source._valid_from_seq <=> target._valid_from_seq
        {%- elif run.history %}
        and source._is_last and target._is_last
        {%- endif %}
        and (source._checkpoint is null) = (target._checkpoint is null)
when matched and source._checkpoint is not null then update set
    _checkpoint = {{ change_tables.guarded_checkpoint(run.checkpoint_before) }}
{%- if run.history %}
when matched and source._ct_is_stale then delete
{%- endif %}
when
    matched
    {%- if not run.folds %}
    and struct(source._change_seq, source._precedence, source._change_id)
    >= struct(target._change_seq, target._precedence, target._change_id)
    {%- endif %}
    then update set
    {{ change_tables.each(columns, '{name} = source.{name}') | join(',\n    ') }}
when not matched then insert (_checkpoint, {{ change_tables.column_list(columns) }})
    values ({{ change_tables.checkpoint_of_new_row() }}, {{ change_tables.column_list(columns, 'source') }})
{%- endmacro %}


{#-
    The columns of a state table after `_checkpoint` and, of a current model, `_batch_id`, the run that wrote the row last. Where rows of
    ended keys are kept, `_has_row` says whether the key has ever had one: that is what the others are of. What a
    table is partitioned by comes last, as Spark keeps it.
-#}
{% macro state_columns(spec, history=false, keeps_deleted=false) %}
    {% do return(
        ['_change_seq', '_change_op', '_change_id', '_precedence', '_is_deleted', '_changed_at', '_transaction_id']
        + (['_latest_at'] + change_tables._interval_columns() if history else [])
        + (['_has_row'] if keeps_deleted else []) + spec.column_names + (['_is_last'] if history else [])
    ) %}
{% endmacro %}


{#- The columns that a current model or a history shows after the table's own. -#}
{% macro state_view_columns(history, keeps_deleted=false) %}
    {% do return(
        ['_change_op', '_change_seq', '_changed_at', '_transaction_id'] + (change_tables._interval_columns() if history else [])
        + (['_is_deleted'] if keeps_deleted else [])
    ) %}
{% endmacro %}


{% macro _interval_columns() %}
    {% do return(['_valid_from', '_valid_to', '_valid_from_seq', '_valid_to_seq', '_is_current']) %}
{% endmacro %}
