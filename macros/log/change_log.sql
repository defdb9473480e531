{#- The log of a table's changes: see deduplicated_changes. -#}
{% materialization change_log, adapter='spark' %}
    {%- set view = this.incorporate(type='view') -%}
    {%- set state = change_tables.state_relation(this) -%}
    {%- set spec = change_tables.table_spec_of_model(model) -%}
    {%- set run = change_tables.handed_over().run -%}
    {%- set spec = change_tables.spec_in_form(spec, run.mark_before) -%}
    {%- set batch = change_tables.batch_id() -%}

    {%- do change_tables.refuse_foreign_table(view) -%}
    {%- do change_tables.refuse_other_contract(spec, change_tables.log_view_columns(spec)) -%}

    {{ run_hooks(pre_hooks) }}

    {%- set mark = run.mark_before -%}
    {%- if change_tables.is_set_back(view, mark) -%}
        {%- do log(this ~ ': its table was set back to an older version; it reads on from there, and the models after it are built anew', info=true) -%}
    {%- endif -%}
    {%- set number_of_marks = run.marks -%}
    {%- set is_written = false -%}
    {%- set is_shown = true -%}
    {%- set facts = none -%}
    {%- if run.run == 'empty' -%}
        {%- set is_shown = change_tables.make_empty_table(view, state, sql, anew=true) -%}
        {%- set mark = none -%}
    {%- elif run.run == 'nothing new' -%}
        {%- call noop_statement('main', 'nothing new') -%}{%- endcall -%}
    {%- elif run.run != 'first' and run.mark_before.batch >= batch -%}
        {%- do log(this ~ ' was written by a run that began later; it has taken in what this run would', info=true) -%}
        {%- call noop_statement('main', 'nothing new') -%}{%- endcall -%}
    {%- else -%}
        {%- do change_tables.prepare_session() -%}
        {%- set settled_at = none -%}
        {%- if run.run != 'since' -%}
            {%- set settled_at = change_tables.with_settled_rows(spec, run, change_tables.look_how_far_it_settled(spec, run)) -%}
        {%- endif -%}
        {%- if run.run == 'first' -%}
            {%- do change_tables.refuse_unseen_table(state) -%}
            {%- do change_tables._refuse_loss(spec, view, state) -%}
            {%- do change_tables.take_cached_mark_back(view) -%}
            {%- call statement('main') -%}
                {{ change_tables.create_state_table(state, sql) }}
            {%- endcall -%}
            {%- set found = change_tables.probe_changes(spec, run, state) -%}
            {%- do change_tables._refuse_moves_that_reports_cannot_follow(spec, run, found) -%}
            {%- set facts = change_tables.facts_of_log(spec, run, found, settled_at) -%}
            {%- set mark = dict(change_tables.log_mark(spec, run, batch, found, settled_at), facts=facts) -%}
            {%- call statement('mark') -%}
                {{ change_tables.first_mark(state, mark, found.changes + found.kept_rows) }}
            {%- endcall -%}
            {%- set number_of_marks = 1 -%}
            {%- set is_written = true -%}
        {%- else -%}
            {%- if change_tables.columns_have_changed(spec, run.mark_before) -%}
                {%- do change_tables.take_cached_mark_back(view) -%}
                {%- do change_tables.follow_spec(spec, state, nested=['_key_before']) -%}
                {%- do change_tables.ensure_state_view(view, state, spec, change_tables.log_view_columns(spec), '_mark is null') -%}
            {%- endif -%}
            {%- set new_changes = change_tables.batch_relation(this, batch) -%}
            {%- call statement('batch') -%}
                {{ change_tables.create_batch_table(new_changes, sql) }}
            {%- endcall -%}
            {%- set found = change_tables.probe_changes(spec, run, new_changes) -%}
            {%- set is_unforeseen = change_tables.has_late_rows_unforeseen(run, found) -%}
            {%- if run.run == 'since' and found.may_repeat -%}
                {%- set judged = change_tables.batch_relation(this, batch ~ 'r') -%}
                {%- call statement('repeated') -%}
                    {{ change_tables.create_batch_table(judged, change_tables.leave_out_repeated(spec, state, new_changes)) }}
                {%- endcall -%}
                {%- do adapter.drop_relation(new_changes) -%}
                {%- set new_changes = judged -%}
                {%- set found = change_tables.probe_changes(spec, run, new_changes) -%}
            {%- endif -%}
            {%- set reduced = new_changes -%}
            {%- if run.run == 'since' -%}
                {%- set settled_at = change_tables.with_settled_rows(spec, run, change_tables.settled_by_run(spec, run, found.waiting)) -%}
                {%- if found.changes + found.retractions > 0 and not found.landed_span[0] > run.mark_before.highest_seq and not is_unforeseen -%}
                    {%- set reduced = change_tables.batch_relation(this, batch ~ 'l') -%}
                    {%- call statement('reduced') -%}
                        {{ change_tables.create_batch_table(reduced, change_tables.reduced_with_log(spec, state, new_changes, found)) }}
                    {%- endcall -%}
                    {%- set found = change_tables.found_in_reduction(spec, reduced, found) -%}
                {%- endif -%}
            {%- endif -%}
            {%- do change_tables.refuse_other_records(spec, state, new_changes, reduced, run, found) -%}
            {%- do change_tables._refuse_moves_that_reports_cannot_follow(spec, run, found) -%}
            {%- if is_unforeseen -%}
                {%- do log(this ~ ': rows of changes that it may hold have landed while this run was looking; the next run takes them in', info=true) -%}
            {%- else -%}
                {%- set found = change_tables.compare_with_kept(state, new_changes, run, found) -%}
                {%- set mark = change_tables.log_mark(spec, run, batch, found, settled_at) -%}
            {%- endif -%}
            {%- if change_tables.has_same_news(run, mark) and not found.keeps -%}
                {%- set mark = run.mark_before -%}
                {%- call noop_statement('main', 'nothing new') -%}{%- endcall -%}
            {%- else -%}
                {%- set facts = change_tables.facts_of_log(spec, run, found, settled_at) -%}
                {%- set mark = dict(mark, facts=facts) -%}
                {%- set adds_only = found.changes > 0 and found.known == 0 and not found.revises_kept and run.marks < change_tables.most_marks() -%}
                {%- set number_of_marks = run.marks + 1 if adds_only else 1 -%}
                {#- to insert touches no file that is there -#}
                {%- if not adds_only and mark.changes >= change_tables.rows_of_large_table() and not run.mark_before.marks_rows -%}
                    {%- do change_tables.mark_rows_of_large_table(state, mark.changes) -%}
                    {%- set mark = dict(mark, marks_rows=true) -%}
                {%- endif -%}
                {%- do change_tables.take_cached_mark_back(view) -%}
                {%- call statement('main') -%}
                    {%- if adds_only -%}
                    {{ change_tables.insert_changes(spec, state, reduced, new_changes, run, mark, found) }}
                    {%- else -%}
                    {{ change_tables.merge_changes(spec, state, reduced, new_changes, run, mark, found) }}
                    {%- endif -%}
                {%- endcall -%}
                {%- set is_written = true -%}
                {%- do change_tables.drop_stale_batches(this, batch) -%}
            {%- endif -%}
            {%- do adapter.drop_relation(new_changes) -%}
            {%- if reduced != new_changes -%}
                {%- do adapter.drop_relation(reduced) -%}
            {%- endif -%}
        {%- endif -%}
    {%- endif -%}

    {%- do change_tables.say_facts(spec, run, mark, facts) -%}

    {%- if is_shown -%}
        {%- do change_tables.ensure_state_view(view, state, spec, change_tables.log_view_columns(spec), '_mark is null', mark, number_of_marks, is_written) -%}
        {%- do change_tables.ensure_view(
            change_tables.reports_relation(this), change_tables.reports_of_log(spec, state, mark or change_tables.mark_of_unbuilt_log())
        ) -%}
    {%- endif -%}
    {%- do apply_grants(view, config.get('grants'), should_revoke(view, full_refresh_mode=run.run == 'first')) -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [view, state, change_tables.reports_relation(this)]}) }}
{% endmaterialization %}


{#-
    The first move of a table with partial images changes the view of reports: it looks for updates without a base along the moves.
    A first build that is stopped here has no mark yet, and counts as never built.
-#}
{% macro _refuse_moves_that_reports_cannot_follow(spec, run, found) %}
    {% if found.moves and not (run.mark_before or {}).moves and spec.images == 'partial' and spec.orphans == 'report' %}
        {% do change_tables.refuse_moves_without_functions(spec) %}
    {% endif %}
{% endmacro %}


{#-
    A log is rebuilt from the raw table: refused where the raw table no longer has all that the log holds. A change whose
    content was read (see `reads` of `format_of`) is read anew: it is not lost while its raw row is there to be read for.
-#}
{% macro _refuse_loss(spec, view, state) %}
    {% set reads = change_tables.format_of(spec.format).reads %}
    {% set holds_rows = load_cached_relation(state) is not none and run_query(
        'select 1 from ' ~ state ~ ' where _mark is null or ' ~ change_tables.is_kept() ~ ' limit 1'
    ).rows %}
    {% if not holds_rows and not change_tables.is_rebuild() and change_tables.batch_once_cached(view) and not var('change_tables_allow_loss', false) %}
        {% do exceptions.raise_compiler_error(
            "change_tables: model '" ~ model.name ~ "': " ~ state ~ " was built, and was emptied or dropped since by something other than a run: restore it,"
            ~ " or build the log anew from " ~ spec.relation ~ " with --full-refresh, which loses what was purged there"
        ) %}
    {% endif %}
    {% if holds_rows and not var('change_tables_allow_loss', false) %}
        {#- a full refresh replaces a table of any layout: one can be without kept rows and their columns -#}
        {% set is_kept = change_tables.is_kept('known.') %}
        {% if '_healed_at' in change_tables.types_in_relation(state) %}
            {% set is_kept = is_kept ~ " and known._healed_at is null and known._status = 'rejected'" %}
        {% endif %}
        {% set row = run_query(
            "with " ~ change_tables.staging_steps(spec)
            ~ " select count_if(known._mark is null) as lost_changes, count_if(known._mark is not null) as lost_rows from " ~ state ~ " as known"
            ~ " left anti join (select coalesce(" ~ change_tables.kept_id(spec, {'snapshot': true}) ~ ", _change_id) as _ct_id"
            ~ " from staged where _status in ('accepted', 'rejected', 'waiting')) as raw_changes"
            ~ " on coalesce(known._mark, known._change_id) = raw_changes._ct_id"
            ~ " where (known._mark is null or " ~ is_kept ~ ")"
            ~ ("" if not reads else " and not (known._mark is null and " ~ reads ~ " and known._raw_id in (select _raw_id from staged where _status = 'accepted' or _status_reason like 'row_gone%'))")
        ).rows[0] %}
        {#- a row that is rejected no more is not lost -#}
        {% set lost_rows = change_tables.count_lost_rows(spec, state) if row['lost_rows'] | int > 0 else 0 %}
        {% set lost = [] %}
        {% for number, what in [(row['lost_changes'] | int, 'changes'), (lost_rows, 'rejected rows')] if number > 0 %}
            {% do lost.append(number ~ ' ' ~ what) %}
        {% endfor %}
        {% if lost %}
            {% set why = "a full refresh" if change_tables.is_rebuild() else "to begin again, since the first build has died before its end," %}
            {% do exceptions.raise_compiler_error(
                "change_tables: model '" ~ model.name ~ "': " ~ why ~ " would lose " ~ lost | join(' and ') ~ " that the log holds and "
                ~ spec.relation ~ " no longer has; " ~ ("leave out --full-refresh, or " if change_tables.is_rebuild())
                ~ "allow the loss with --vars '{change_tables_allow_loss: true}'"
            ) %}
        {% endif %}
    {% endif %}
{% endmacro %}
