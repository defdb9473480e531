{#- The log of a table's changes: see deduplicated_changes. -#}
{% materialization change_log, adapter='spark' %}
    {%- set view = this.incorporate(type='view') -%}
    {%- set state = change_tables.state_relation(this) -%}
    {%- set spec = change_tables.table_spec_of_model(model) -%}
    {%- set run = change_tables.handed_over().run -%}
    {%- set spec = change_tables.spec_in_version(spec, run.checkpoint_before) -%}

    {%- do change_tables.refuse_foreign_table(view, [state, change_tables.quarantine_relation(this)]) -%}
    {%- do change_tables.refuse_lost_door(spec, run.checkpoint_before) -%}
    {%- do change_tables.refuse_other_contract(spec, change_tables.log_view_columns(spec)) -%}

    {{ run_hooks(pre_hooks) }}
    {%- do change_tables.refuse_tables_not_there(sql) -%}

    {%- if change_tables.is_set_back(view, run.checkpoint_before) -%}
        {%- do log(this ~ ': its table was set back to an older version; it reads on from there, and the models after it are rebuilt', info=true) -%}
    {%- endif -%}
    {%- if run.renaming -%}
        {%- set names = dict.fromkeys(spec.columns_of_format | selectattr('is_name') | map(attribute='name'), false) -%}
        {%- do change_tables.follow_names(view, state, run.renaming, dict({'_present_columns': true, '_changed_columns': true}, **names)) -%}
        {#- else the table has not all columns yet: see `_add_to_log` -#}
        {%- if not change_tables.columns_have_changed(spec, run.checkpoint_before) -%}
            {%- do change_tables.ensure_state_view(view, state, spec, change_tables.log_view_columns(spec), '_checkpoint is null') -%}
        {%- endif -%}
    {%- endif -%}
    {%- set is_shown = true -%}
    {%- set checkpoint, checkpoints = run.checkpoint_before, run.checkpoints -%}
    {%- if run.kind == 'empty' -%}
        {%- set is_shown = change_tables.make_empty_table(view, state, sql) -%}
        {%- do change_tables.ensure_quarantine(change_tables.quarantine_relation(this)) if is_shown -%}
    {%- elif run.kind == 'first' -%}
        {%- set checkpoint, checkpoints = change_tables._build_log(spec, view, run, sql) -%}
    {%- elif run.kind == 'nothing new' or run.checkpoint_before.batch >= change_tables.batch_id() -%}
        {%- do log(this ~ ' was written by a run that began later; it has taken in what this run would', info=true) if run.kind != 'nothing new' -%}
        {%- call noop_statement('main', 'nothing new') -%}{%- endcall -%}
    {%- else -%}
        {%- set checkpoint, checkpoints = change_tables._add_to_log(spec, view, run, sql) -%}
    {%- endif -%}

    {%- do change_tables.report_run(spec, run, checkpoint) -%}

    {%- if is_shown -%}
        {%- do change_tables.ensure_state_view(
            view, state, spec, change_tables.log_view_columns(spec), '_checkpoint is null', checkpoint=checkpoint, number=checkpoints,
            is_written=checkpoint != run.checkpoint_before or run.renaming
        ) -%}
        {%- do change_tables.ensure_view(
            change_tables.reports_relation(this), change_tables.reports_of_log(spec, state, checkpoint or change_tables.checkpoint_of_unbuilt_log())
        ) -%}
    {%- endif -%}
    {%- do apply_grants(view, config.get('grants'), should_revoke(view, full_refresh_mode=run.kind == 'first')) -%}

    {{ run_hooks(post_hooks) }}

    {{ return(change_tables.made_relations([view, state, change_tables.quarantine_relation(this), change_tables.reports_relation(this)])) }}
{% endmaterialization %}


{#-
    Builds a log whole. Returns what `_add_to_log` does.

    sql   the query for the changes, with the rows to be quarantined among them
-#}
{% macro _build_log(spec, view, run, sql) %}
    {% set state = change_tables.state_relation(this) %}
    {% set quarantine = change_tables.quarantine_relation(this) %}
    {% do change_tables.prepare_session() %}
    {% do change_tables.refuse_unseen_table(state) %}
    {% do change_tables._refuse_loss(spec, view, state, quarantine) %}
    {% set replaced = change_tables.table_to_be_replaced(state) if change_tables.is_rebuild() else none %}
    {% do change_tables.refuse_lost_door(spec, replaced.checkpoint) if replaced %}
    {#- the origin stays where the replaced log still had all its changes, of which `_refuse_loss` lets none be lost unsaid -#}
    {% set is_whole = replaced is not none and replaced.rows >= replaced.checkpoint.held_changes %}
    {% set origin = replaced.checkpoint.origin if is_whole else change_tables.batch_id() %}
    {% do change_tables.remove_cached_checkpoint(view) %}
    {% call statement('main') %}
        {{ change_tables.create_state_table(state, sql, found_by=['_checkpoint', '_change_seq', '_batch_id', '_changed_at']) }}
    {% endcall %}
    {% set found = change_tables.summarize_batch(spec, run, state) %}
    {% do change_tables._refuse_moves_that_reports_cannot_follow(spec, run, found) %}
    {% set reached = change_tables.count_watermark_rows(spec, run, change_tables.watermark_after_run(spec, run, found.waiting)) %}
    {% set checkpoint = dict(change_tables.log_checkpoint(spec, run, found, reached), origin=origin) %}
    {#- what is there is replaced by the run alone whose rows the log has: another one can be building it -#}
    {% if found.quarantined_rows > 0 or change_tables.found_relation(quarantine) is not none %}
        {% call statement('quarantine') %}
            {{ change_tables.create_state_table(quarantine, change_tables.quarantined_rows(change_tables.rows_of_first_run(state, alone=true)), found_by=[change_tables.row_id_column()]) }}
        {% endcall %}
    {% else %}
        {% do change_tables.ensure_quarantine(quarantine) %}
    {% endif %}
    {% do change_tables.use_deletion_vectors_once_large(state, 0, checkpoint.held_changes) %}
    {% set checkpoint = dict(checkpoint, facts=change_tables.facts_of_log(spec, run, found, reached)) %}
    {% call statement('checkpoint') %}
        {{ change_tables.first_checkpoint(spec, state, checkpoint, found) }}
    {% endcall %}
    {% do return((checkpoint, 1)) %}
{% endmacro %}


{#-
    Adds to a log what a run finds. Returns the log's latest checkpoint, which is the one before where nothing was written, and how many
    checkpoints its table has.

    sql   the query for the batch
-#}
{% macro _add_to_log(spec, view, run, sql) %}
    {% set state = change_tables.state_relation(this) %}
    {% do change_tables.prepare_session() %}
    {% do change_tables.ensure_quarantine(change_tables.quarantine_relation(this)) %}
    {% if change_tables.columns_have_changed(spec, run.checkpoint_before) %}
        {% do change_tables.remove_cached_checkpoint(view) %}
        {% do change_tables.follow_spec(spec, state, nested=['_key_before']) %}
        {% do change_tables.ensure_state_view(view, state, spec, change_tables.log_view_columns(spec), '_checkpoint is null') %}
    {% endif %}
    {% set batch, found = change_tables._write_batch(spec, run, sql) %}
    {#-
        Rows that landed after the run had looked can be of sequences that the log holds. Rows of one sequence are judged together, and those
        that landed before were not read: so the next run takes all of them in.
    -#}
    {% if found.reaches_log and not run.is_late and not change_tables.format_of(spec.format).read_with %}
        {% do log(this ~ ': rows of changes that it may hold have landed while this run was looking; the next run takes them in', info=true) %}
        {% call noop_statement('main', 'nothing new') %}{% endcall %}
        {% do adapter.drop_relation(batch) %}
        {% do return((run.checkpoint_before, run.checkpoints)) %}
    {% endif %}
    {% set reached = change_tables.count_watermark_rows(spec, run, change_tables.watermark_after_run(spec, run, found.waiting)) %}
    {#- where the log can hold some of the changes: what they come to with those -#}
    {% set reduced = batch %}
    {% if found.reaches_log %}
        {% set reduced = change_tables.batch_relation(this, change_tables.batch_id() ~ 'l') %}
        {% call statement('reduced') %}
            {{ change_tables.create_batch_table(reduced, change_tables.reduced_with_log(spec, run, batch, found)) }}
        {% endcall %}
        {% set found = change_tables.summarize_reduction(spec, reduced, found) %}
    {% endif %}
    {% do change_tables.refuse_other_records(spec, batch, reduced, run) %}
    {% do change_tables._refuse_moves_that_reports_cannot_follow(spec, run, found) %}
    {% set found = change_tables.compare_with_quarantine(spec, batch, run, found) %}
    {% set checkpoint = change_tables.log_checkpoint(spec, run, found, reached) %}
    {% set log_after = (run.checkpoint_before, run.checkpoints) %}
    {% if found.has_quarantine_news or not change_tables.has_same_news(run, checkpoint) %}
        {% set checkpoint = dict(checkpoint, facts=change_tables.facts_of_log(spec, run, found, reached)) %}
        {% set log_after = change_tables._write_log(spec, run, batch, reduced, found, checkpoint) %}
    {% else %}
        {% call noop_statement('main', 'nothing new') %}{% endcall %}
    {% endif %}
    {% do adapter.drop_relation(batch) %}
    {% do adapter.drop_relation(reduced) if reduced != batch %}
    {% do return(log_after) %}
{% endmacro %}


{#-
    Writes the raw rows of a run to a table of its own. Returns that, and what was found in it. A run that reads on stages its rows without the
    log. Where the log has some of their transactions from an earlier place, it stages them again, and asks the log.
-#}
{% macro _write_batch(spec, run, sql) %}
    {% set batch = change_tables.batch_relation(this, change_tables.batch_id()) %}
    {% call statement('batch') %}
        {{ change_tables.create_batch_table(batch, sql) }}
    {% endcall %}
    {% set found = change_tables.summarize_batch(spec, run, batch) %}
    {% do return((batch, found)) if run.kind != 'since' or not found.may_repeat or not change_tables.repeats_transactions(spec, run, batch) %}
    {% set judged = change_tables.batch_relation(this, change_tables.batch_id() ~ 'r') %}
    {% call statement('judged') %}
        {{ change_tables.create_batch_table(judged, change_tables.query_of_run(spec, dict(run, shared=none, asks_log=true))) }}
    {% endcall %}
    {% do adapter.drop_relation(batch) %}
    {% do return((judged, change_tables.summarize_batch(spec, run, judged))) %}
{% endmacro %}


{#- Writes what a run has found: the rows in quarantine, then the log with its checkpoint. To insert touches no file that is there. -#}
{% macro _write_log(spec, run, batch, reduced, found, checkpoint) %}
    {#- an insert costs far less than a merge, but to read many checkpoints costs, too: the next merge removes them -#}
    {% set adds_only = change_tables.inserts_are_guarded() and found.changes > 0 and found.revised == 0 and run.checkpoints < 30 %}
    {% do change_tables.use_deletion_vectors_once_large(run.log, run.checkpoint_before.held_changes, checkpoint.held_changes) %}
    {% if found.has_quarantine_news %}
        {% call statement('quarantined') %}
            {{ change_tables.merge_into_quarantine(batch, run) }}
        {% endcall %}
    {% endif %}
    {% do change_tables.remove_cached_checkpoint(this) %}
    {% call statement('main') %}
        {% if adds_only %}
        {{ change_tables.insert_changes(spec, reduced, run, checkpoint) }}
        {% else %}
        {{ change_tables.merge_changes(spec, reduced, run, checkpoint, found) }}
        {% endif %}
    {% endcall %}
    {% do change_tables.drop_stale_batches(run.checkpoint_before) %}
    {% do return((checkpoint, run.checkpoints + 1 if adds_only else 1)) %}
{% endmacro %}


{#-
    The first move of a table with partial images changes the view of reports: it looks for updates without a base along the moves.
    A first build that is stopped here has no checkpoint yet, and counts as never built.
-#}
{% macro _refuse_moves_that_reports_cannot_follow(spec, run, found) %}
    {% set has_moved = run.checkpoint_before is not none and run.checkpoint_before.moves %}
    {% if found.moves and not has_moved and spec.images == 'partial' and spec.orphans == 'report' %}
        {% do change_tables.refuse_moves_without_functions(spec) %}
    {% endif %}
{% endmacro %}


{#- The retired columns of which the log has values that raw, or the load, no longer has of the same changes. -#}
{% macro _lost_values(spec, state) %}
    {% set held = change_tables.types_in_relation(state, spec.column_names).keys() | map('lower') | list if spec.retired else [] %}
    {% set names, counted, compared, lost = [], [], [], [] %}
    {% for name in spec.retired if name | lower in held %}
        {% do names.append(name) %}
        {% do counted.append('count(' ~ change_tables.quoted(name) ~ ') as _ct_values_' ~ loop.index) %}
        {% do compared.append('bool_or(logged.' ~ change_tables.quoted(name) ~ ' is not null and _ct_values_' ~ loop.index ~ ' = 0)') %}
    {% endfor %}
    {% do return([]) if not names %}
    {% set row = run_query(
        "with " ~ change_tables.staging_steps(spec) ~ " select " ~ compared | join(', ') ~ " from " ~ state ~ " as logged"
        ~ " inner join (select _change_id, " ~ counted | join(', ') ~ " from staged where _status = 'accepted' group by _change_id) as raw_changes"
        ~ " on logged._change_id = raw_changes._change_id where logged._checkpoint is null"
    ).rows[0] %}
    {% for name in names %}
        {% do lost.append('the values of ' ~ name) if row[loop.index0] %}
    {% endfor %}
    {% do return(lost) %}
{% endmacro %}


{#-
    A log is rebuilt from the raw table: refused where the raw table no longer has all that the log holds. A change whose content comes from
    another table (see `reads` of `format_of`) is read again: it is not lost while its raw row is there.
-#}
{% macro _refuse_loss(spec, view, state, quarantine) %}
    {% do return('') if var('change_tables_allow_loss', false) %}
    {% do change_tables._refuse_emptied_log(spec, view, state) if not change_tables.is_rebuild() %}
    {% set reads = change_tables.format_of(spec.format).reads %}
    {% set known = [] %}
    {% if change_tables.found_relation(state) is not none %}
        {% do known.append(
            'select true as _ct_is_change, _change_id as _ct_id, _raw_id, ' ~ (reads or 'false') ~ ' as _ct_is_read from ' ~ state ~ ' where _checkpoint is null'
        ) %}
    {% endif %}
    {% if change_tables.found_relation(quarantine) is not none %}
        {% do known.append('select false, ' ~ change_tables.row_id_column() ~ ', _raw_id, false from ' ~ quarantine ~ ' where ' ~ change_tables.is_open('rejected')) %}
    {% endif %}
    {% do return('') if not known or not run_query('select 1 from (' ~ known | join(' union all ') ~ ') limit 1').rows %}
    {% set row = run_query(
        "with " ~ change_tables.staging_steps(spec)
        ~ " select count_if(known._ct_is_change) as lost_changes, count_if(not known._ct_is_change) as lost_rows from (" ~ known | join(' union all ') ~ ") as known"
        ~ " left anti join (select coalesce(" ~ change_tables.quarantine_id(spec, {'snapshot': true}) ~ ", _change_id) as _ct_id"
        ~ " from staged where _status in ('accepted', 'rejected', 'waiting')) as raw_changes"
        ~ " on known._ct_id = raw_changes._ct_id"
        ~ ("" if not reads else " where not (known._ct_is_read and known._raw_id in (select _raw_id from staged where _status = 'accepted' or _status_reason like 'row_gone%'))")
    ).rows[0] %}
    {% set lost = [] %}
    {% do lost.append(row['lost_changes'] ~ ' changes') if row['lost_changes'] | int > 0 %}
    {#- a row that is rejected no more is not lost -#}
    {% set lost_rows = change_tables.count_lost_rows(spec, quarantine) if row['lost_rows'] | int > 0 else 0 %}
    {% do lost.append(lost_rows ~ ' rejected rows') if lost_rows > 0 %}
    {% do lost.extend(change_tables._lost_values(spec, state)) if change_tables.found_relation(state) is not none %}
    {% if lost %}
        {% set why = "a full refresh" if change_tables.is_rebuild() else "to begin again, since the first build has died before its end," %}
        {% do change_tables.refuse_model(
            why ~ " would lose " ~ lost | join(' and ') ~ " that the log holds and "
            ~ spec.relation ~ " no longer has; " ~ ("leave out --full-refresh, or " if change_tables.is_rebuild())
            ~ "allow the loss with --vars '{change_tables_allow_loss: true}'"
        ) %}
    {% endif %}
{% endmacro %}


{#- Stops where the view says that runs have written to the log, and it has no row of theirs. -#}
{% macro _refuse_emptied_log(spec, view, state) %}
    {% do return('') if not change_tables.batch_once_cached(view) %}
    {% set rows_of_runs = 'select 1 from ' ~ state ~ ' where _checkpoint is null or not ' ~ change_tables.is_checkpoint() ~ ' limit 1' %}
    {% do return('') if change_tables.found_relation(state) is not none and run_query(rows_of_runs).rows %}
    {% do change_tables.refuse_model(
        state ~ " was built, and was emptied or dropped since by something other than a run: restore it,"
        ~ " or rebuild the log from " ~ spec.relation ~ " with --full-refresh, which loses what was purged there"
    ) %}
{% endmacro %}
