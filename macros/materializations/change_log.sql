{#- The log of a table's changes: see deduplicated_changes. -#}
{% materialization change_log, adapter='spark' %}
    {%- set view = this.incorporate(type='view') -%}
    {%- set state = change_tables.state_relation(this) -%}
    {%- set spec = change_tables.table_spec_of_model(model) -%}
    {%- set run = change_tables.read_run_note(sql) -%}
    {%- do spec.update(change_tables.log_form(spec, run.mark_before)) -%}
    {%- set batch = change_tables.batch_id() -%}

    {%- do change_tables.refuse_foreign_table(view) -%}
    {%- do change_tables.refuse_other_contract(spec, change_tables._log_view_columns(spec)) -%}

    {{ run_hooks(pre_hooks) }}

    {%- set mark = run.mark_before -%}
    {%- set number_of_marks = run.marks -%}
    {%- set is_written = false -%}
    {%- set is_shown = true -%}
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
        {%- set settled = none if run.run == 'since' else change_tables._look_how_far_it_settled(spec, run) -%}
        {%- if run.run == 'first' -%}
            {%- do change_tables.refuse_unseen_table(state) -%}
            {%- do change_tables._refuse_loss(spec, state) -%}
            {%- do change_tables.take_cached_mark_back(view) -%}
            {%- call statement('main') -%}
                {{ change_tables.create_state_table(state, sql) }}
            {%- endcall -%}
            {%- set found = change_tables._probe_changes(state) -%}
            {%- set mark = change_tables._log_mark(spec, run, batch, found, settled) -%}
            {%- call statement('mark') -%}
                {{ change_tables.first_mark(state, mark, found.changes) }}
            {%- endcall -%}
            {%- set number_of_marks = 1 -%}
            {%- set is_written = true -%}
        {%- else -%}
            {%- if change_tables.columns_have_changed(spec, run.mark_before) -%}
                {%- do change_tables.take_cached_mark_back(view) -%}
                {%- do change_tables.follow_spec(spec, state, nested=['_key_before']) -%}
                {%- do change_tables.ensure_state_view(view, state, spec, change_tables._log_view_columns(spec), '_mark is null') -%}
            {%- endif -%}
            {%- set new_changes = change_tables._batch_relation(this, batch) -%}
            {%- call statement('batch') -%}
                {{ change_tables.create_batch_table(new_changes, sql) }}
            {%- endcall -%}
            {%- if run.run == 'everything' -%}
                {%- set found = change_tables._probe_changes(new_changes, compared=true) -%}
                {#- of what the log holds otherwise, the lesser copy tells nothing new, and does so in every run -#}
                {%- if found.known > 0 and not change_tables.withdraws_changes(spec) -%}
                    {%- do change_tables._compare_with_log(spec, state, new_changes, found) -%}
                {%- endif -%}
            {%- else -%}
                {%- set found = change_tables._probe_changes(new_changes, arrival=run.arrival) -%}
                {%- set settled = change_tables._settled_by_batch(run, new_changes, found) -%}
                {%- if found.changes > 0 and not found.lowest_seq > run.mark_before.highest_seq -%}
                    {%- do change_tables._compare_with_log(spec, state, new_changes, found) -%}
                {%- endif -%}
                {%- if change_tables.withdraws_changes(spec) -%}
                    {%- do change_tables._find_withdrawals(spec, state, new_changes, found) -%}
                {%- endif -%}
            {%- endif -%}
            {%- do change_tables.refuse_other_records(spec, state, new_changes, run, found) -%}
            {%- if change_tables._has_late_rows_unforeseen(run, found) -%}
                {%- do log(this ~ ': rows of changes that it may hold have landed while this run was looking; the next run takes them in', info=true) -%}
            {%- else -%}
                {%- set mark = change_tables._log_mark(spec, run, batch, found, settled) -%}
            {%- endif -%}
            {%- if mark == run.mark_before -%}
                {%- call noop_statement('main', 'nothing new') -%}{%- endcall -%}
            {%- else -%}
                {%- set adds_only = found.changes > 0 and found.known == 0 and run.marks < change_tables._most_marks() -%}
                {%- set number_of_marks = run.marks + 1 if adds_only else 1 -%}
                {#- to insert touches no file that is there -#}
                {%- if not adds_only and mark.changes >= change_tables.rows_of_large_table() and not run.mark_before.marks_rows -%}
                    {%- do change_tables.mark_rows_of_large_table(state, mark.changes) -%}
                    {%- do mark.update({'marks_rows': true}) -%}
                {%- endif -%}
                {%- do change_tables.take_cached_mark_back(view) -%}
                {%- call statement('main') -%}
                    {%- if adds_only -%}
                    {{ change_tables.insert_changes(spec, state, new_changes, run.mark_before, mark, found) }}
                    {%- else -%}
                    {{ change_tables.merge_changes(spec, state, new_changes, run, mark, found) }}
                    {%- endif -%}
                {%- endcall -%}
                {%- set is_written = true -%}
                {%- do change_tables._drop_stale_batches(this, batch) -%}
            {%- endif -%}
            {%- do adapter.drop_relation(new_changes) -%}
        {%- endif -%}
    {%- endif -%}

    {%- if is_shown -%}
        {%- do change_tables.ensure_state_view(view, state, spec, change_tables._log_view_columns(spec), '_mark is null', mark, number_of_marks, is_written) -%}
        {%- do change_tables.ensure_view(
            change_tables.reports_relation(this), change_tables.reports_of_log(spec, state, mark or change_tables.mark_of_unbuilt_log())
        ) -%}
    {%- endif -%}
    {%- do apply_grants(view, config.get('grants'), should_revoke(view, full_refresh_mode=run.run == 'first')) -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [view, state, change_tables.reports_relation(this)]}) }}
{% endmaterialization %}


{#-
    The mark of a first build comes behind its rows, since it tells what is counted in them: only where the table is still
    the one that this run made. Until it is there, the table counts as never built.
-#}
{% macro first_mark(state, mark, changes) -%}
insert into {{ state }} (_mark)
select {{ change_tables.text_literal(tojson(mark)) }} as _mark
where
    case
        when (select count_if(_mark is null and _batch_id = '{{ mark.batch }}') = {{ changes }} and count(*) = {{ changes }} from {{ state }}) then true
        else raise_error('change_tables: another run has built this table at the same time; run again')
    end
{%- endmacro %}


{% macro _log_view_columns(spec) %}
    {% do return([
        '_change_op', '_change_seq', '_changed_at', '_transaction_id', '_change_id', '_present_columns',
        '_changed_columns', '_key_before', '_raw_id', '_batch_id', '_report', '_is_conflicting'
    ] + change_tables.further_columns(spec) | map(attribute='name') | list) %}
{% endmacro %}


{#-
    Whether a run that read its new rows alone has met some which the log reaches: they landed after it had looked for such, and
    rows that landed before may be part of the same changes.
-#}
{% macro _has_late_rows_unforeseen(run, found) %}
    {% do return(run.run == 'since' and not run.is_late and found.lowest_seq is not none and found.lowest_seq <= run.mark_before.highest_seq) %}
{% endmacro %}


{#- The new changes of a run: a table of its own, which no other run touches while they need it. -#}
{% macro _batch_relation(relation, batch) %}
    {% do return(change_tables._relation_beside(relation, '__batch_' ~ batch | lower, 'table')) %}
{% endmacro %}


{#-
    Drops what runs that died have left of their batches, once this run has written. An older run that still lives has lost
    by then: the mark that it looked at is no more.
-#}
{% macro _drop_stale_batches(relation, batch) %}
    {% set prefix = relation.identifier | lower ~ '__batch_' %}
    {% for table in run_query('show tables in ' ~ relation.without_identifier() ~ " like '" ~ prefix ~ "*'").rows %}
        {% set found = table['tableName'][prefix | length:] %}
        {% if modules.re.fullmatch('[0-9]{8}t[0-9]{12}_[0-9a-f]{8}', found) and found < batch | lower %}
            {% do adapter.drop_relation(change_tables._batch_relation(relation, found)) %}
        {% endif %}
    {% endfor %}
{% endmacro %}


{#-
    What the mark and the merge need to know of a set of changes; `known` counts those that the log may hold, none before
    `_compare_with_log` has counted them.

    compared   they have been held against the log
    arrival    of a run that reads on from where the runs before have settled: rows that are no changes are among them, and
               tell how far the raw table has settled (`settled`), and whether rows wait (`waiting`)
-#}
{% macro _probe_changes(changes, compared=false, arrival=none) %}
    {% set is_change = '_is_accepted' if arrival else '_mark is null' %}
    {% set row = run_query(
        "select count_if(" ~ is_change ~ ") as changes,"
        ~ " min(case when " ~ is_change ~ " then _change_seq end) as lowest_seq,"
        ~ " max(case when " ~ is_change ~ " then _change_seq end) as highest_seq,"
        ~ " max(case when _change_op = 'truncate' then _change_seq end) as truncate_seq, count(_key_before) as moves,"
        ~ (" count_if(_overrules) as overruled, count_if(_is_known)" if compared else " 0 as overruled, 0") ~ " as known"
        ~ (", " ~ change_tables._settled_columns(arrival) if arrival else "")
        ~ " from " ~ changes
    ).rows[0] %}
    {% do return({
        'changes': row['changes'] | int, 'known': row['known'] | int,
        'lowest_seq': row['lowest_seq'], 'highest_seq': row['highest_seq'],
        'truncate_seq': row['truncate_seq'] or '', 'moves': row['moves'] | int > 0,
        'overruled': row['overruled'] | int > 0, 'is_change': is_change,
        'settled': row['settled'] if arrival else none, 'waiting': (row['waiting'] | int) > 0 if arrival else none,
    }) %}
{% endmacro %}


{#-
    Compares a run's changes with what the log holds: how many it knows, how many are new or tell more, and whether one
    overrules a key before. Asked only where one may be known: the run's own SQL, where it compares, goes by hashes.
-#}
{% macro _compare_with_log(spec, log, new_changes, found) %}
    {% set row = run_query(
        "select count_if(target._change_id is null or (" ~ change_tables._revises(spec) ~ ")) as new_changes,"
        ~ " count(target._change_id) as known,"
        ~ " count_if((" ~ change_tables.overrules_key_before(spec) ~ ") or (" ~ change_tables.overrules_row(spec) ~ ")) as overruled"
        ~ " from (select * from " ~ new_changes ~ " where " ~ found.is_change ~ ") as source left join " ~ log ~ " as target"
        ~ " on source._change_id = target._change_id and source._change_seq = target._change_seq"
        ~ " and target._change_seq between " ~ change_tables.text_literal(found.lowest_seq or '') ~ " and " ~ change_tables.text_literal(found.highest_seq or '')
    ).rows[0] %}
    {% do found.update({
        'changes': row['new_changes'] | int, 'known': row['known'] | int, 'overruled': row['overruled'] | int > 0
    }) %}
{% endmacro %}


{#- Whether a delivery is no less complete than what the log holds: a raw table that was purged in part takes nothing back. -#}
{% macro _is_as_complete(spec) -%}
    not {{ change_tables.compares_completeness(spec, 'target', '>', 'source') }}
{%- endmacro %}


{#- Adds to what was found the changes of the log that the run's rows take back: see `withdraws_changes`. -#}
{% macro _find_withdrawals(spec, log, new_changes, found) %}
    {% set row = run_query(
        "select count(*) as withdrawn, min(_change_seq) as lowest_seq, max(_change_seq) as highest_seq"
        ~ " from (select * from " ~ new_changes ~ " where _withdraws) as source left semi join " ~ log ~ " as target"
        ~ " on source._change_id = target._change_id and source._change_seq = target._change_seq"
        ~ " and " ~ change_tables._is_as_complete(spec)
    ).rows[0] %}
    {% set withdrawn = row['withdrawn'] | int %}
    {% if withdrawn > 0 %}
        {% do found.update({
            'changes': found.changes + withdrawn, 'known': found.known + withdrawn, 'overruled': true,
            'lowest_seq': [found.lowest_seq or row['lowest_seq'], row['lowest_seq']] | min(case_sensitive=true),
            'highest_seq': [found.highest_seq or row['highest_seq'], row['highest_seq']] | max(case_sensitive=true),
        }) %}
    {% endif %}
{% endmacro %}


{#-
    The mark of a log: which log it is, the last run that changed it, the sequence below which every key has ended
    (truncate or load), the highest that it holds, the loads that ended keys, whether keys have moved, the load it holds, what
    has settled of the raw table by which arrival and what had landed there (see `_landed_edge`), and the last run after which
    states must be built anew, because a change was withdrawn, or a key before was overruled and the move it told of is. Then
    what was declared, and the form of the log (see `log_form`). `extends` is the batch before the last one, where all that the
    last one took in comes after all that was there: a state of that batch need not look for late events. `changes` is how many
    changes it has taken in or revised, and `marks_rows` whether the table has deletion vectors since (see `mark_rows_of_large_table`).
-#}
{% macro _log_mark(spec, run, batch, found, settled) %}
    {% set mark_before = run.mark_before %}
    {% set before = mark_before or {
        'log': batch, 'batch': '', 'floor': '', 'highest_seq': '', 'loads': [], 'moves': false, 'rebuild': '', 'snapshot_seq': none,
        'changes': 0,
    } %}
    {% set changes = before.changes %}
    {% if changes is not defined %}
        {#- a mark of layout 0 does not say -#}
        {% set changes = run_query('select count(*) from ' ~ change_tables.state_relation(this)).rows[0][0] | int %}
    {% endif %}
    {% set snapshot_seq = spec.snapshot_seq if spec.snapshot else none %}
    {% set writes = mark_before is none or found.changes > 0 or (snapshot_seq is not none and snapshot_seq != mark_before.snapshot_seq) %}
    {% set extends = mark_before.get('extends') if mark_before else none %}
    {% if mark_before and writes %}
        {% set extends = mark_before.batch if found.lowest_seq is none or found.lowest_seq > [mark_before.highest_seq, mark_before.floor] | max(case_sensitive=true) %}
    {% endif %}
    {% do return({
        'layout': change_tables.layout(),
        'log': before.log,
        'batch': batch if writes else before.batch,
        'extends': extends or none,
        'changes': changes + found.changes,
        'marks_rows': before.marks_rows or false,
        'floor': [before.floor, found.truncate_seq, snapshot_seq or ''] | max(case_sensitive=true),
        'highest_seq': [before.highest_seq, found.highest_seq or ''] | max(case_sensitive=true),
        'loads': before.loads + ([snapshot_seq] if snapshot_seq and snapshot_seq not in before.loads else []),
        'moves': before.moves or found.moves,
        'rebuild': batch if found.overruled else before.rebuild,
        'snapshot_seq': before.snapshot_seq if snapshot_seq is none else snapshot_seq,
        'arrival': change_tables.arrival_in_mark(run.arrival),
        'settled': settled.arrival,
        'edge': settled.edge,
        'key': spec.key,
        'order': change_tables.settings_of_order(spec),
        'columns': change_tables.column_types(spec),
        'form': spec.form,
        'added': spec.added,
    }) %}
{% endmacro %}


{#-
    How far the raw table has settled, {arrival, edge}: the highest arrival, held back by rows that still wait. Looked up
    before the changes are read, so that a row which lands in between is read again.
-#}
{% macro _look_how_far_it_settled(spec, run) %}
    {% set bound = {'predicate': none, 'snapshot': false, 'arrival': run.arrival, 'until': run.until} %}
    {% if not bound.arrival %}
        {% do return({'arrival': none, 'edge': none}) %}
    {% endif %}
    {% if run.edge and change_tables._nothing_waits(spec) %}
        {% do return(change_tables._settled_at(run, bound.arrival, run.edge.arrival, [])) %}
    {% endif %}
    {% set waiting_positions = change_tables.format_of(spec.format).waiting_positions %}
    {% if waiting_positions and bound.arrival.kind == 'positions' %}
        {% do return(change_tables._settled_at(run, bound.arrival, none, run_query(waiting_positions(spec, bound)).rows)) %}
    {% endif %}
    {% set rows = "(with " ~ change_tables._staging_steps(spec, bound)
        ~ " select _arrival as _last_arrival, case when " ~ change_tables._holds_back(spec) ~ " then _arrival end as _waiting_since from staged)" %}
    {% if bound.arrival.kind == 'positions' %}
        {% do return(change_tables._settled_at(run, bound.arrival, none, change_tables._first_waiting(bound.arrival, rows))) %}
    {% endif %}
    {% set row = run_query("select " ~ change_tables._settled_columns(bound.arrival) ~ " from " ~ rows).rows[0] %}
    {% do return(change_tables._settled_at(run, bound.arrival, row['settled'], [row] if row['waiting'] | int > 0 else [])) %}
{% endmacro %}


{#- The same by what was found in the batch itself of a run that reads on from where the runs before have settled. -#}
{% macro _settled_by_batch(run, batch, found) %}
    {% if run.arrival.kind == 'positions' %}
        {% do return(change_tables._settled_at(run, run.arrival, none, change_tables._first_waiting(run.arrival, batch) if found.waiting else [])) %}
    {% endif %}
    {% do return(change_tables._settled_at(run, run.arrival, found.settled, [found] if found.waiting else [])) %}
{% endmacro %}


{#- Up to where the rows of a run have settled, as text, and how many wait. Positions settle group by group: see `_first_waiting`. -#}
{% macro _settled_columns(arrival) %}
    {% set settled = 'cast(null as string)' %}
    {% if arrival.kind != 'positions' %}
        {% set settled = change_tables._arrival_as_text('least(max(_last_arrival), min(_waiting_since))', arrival) %}
    {% endif %}
    {% do return(settled ~ ' as settled, count(_waiting_since) as waiting') %}
{% endmacro %}


{#- The first position of each group at which a row waits. -#}
{% macro _first_waiting(arrival, rows) %}
    {% set told = change_tables._as_texts(arrival.group, '_first') + change_tables._as_texts(arrival.columns, '_first._position') %}
    {% do return(run_query(
        "select " ~ told | join(', ') ~ " from (select min(_waiting_since) as _first from " ~ rows
        ~ " where _waiting_since is not null group by " ~ change_tables._as_texts(arrival.group, '_waiting_since') | join(', ') ~ ")"
    ).rows) %}
{% endmacro %}


{#-
    What the mark keeps of how far the raw table has settled. Of positions, up to where it had landed before it was read, held
    back by the rows that wait. Else of the arrival up to which it has settled (as before where a run met none) also the
    edge, which is known where that is the highest arrival that the run found before it read, and no row waits.
-#}
{% macro _settled_at(run, arrival, settled, waiting) %}
    {% if arrival.kind == 'positions' %}
        {% set settled_before = {} %}
        {% for place in run.settled_before or [] %}
            {% do settled_before.update({tojson(place.group): place}) %}
        {% endfor %}
        {% set held_back = {} %}
        {% for row in waiting %}
            {% do held_back.update({tojson(change_tables._group_of(row, arrival)): change_tables._position_of(row, arrival)}) %}
        {% endfor %}
        {% set positions = [] %}
        {% for place in run.edge or [] %}
            {% set position = held_back.get(tojson(place.group)) %}
            {% set before = settled_before.get(tojson(place.group)) %}
            {#- a row that is read again by `lookback` holds nothing back -#}
            {% if position is none %}
                {% do positions.append(place) %}
            {% elif before and position < before.position %}
                {% do positions.append(before) %}
            {% else %}
                {% do positions.append({'group': place.group, 'position': position, 'is_whole': false}) %}
            {% endif %}
        {% endfor %}
        {% do return({'arrival': positions, 'edge': none}) %}
    {% endif %}
    {% if settled is none %}
        {% do return({'arrival': run.settled_before, 'edge': run.mark_before.edge if run.settled_before else none}) %}
    {% endif %}
    {#- more rows of the arrival that was passed over can have landed beside those of the next, before they were read -#}
    {% if run.is_whole and run.edge.arrival == run.settled_before and settled != run.settled_before %}
        {% do return({'arrival': run.settled_before, 'edge': none}) %}
    {% endif %}
    {% set is_edge = run.edge and run.edge.arrival == settled and not waiting %}
    {% do return({'arrival': settled, 'edge': run.edge.rows if is_edge else none}) %}
{% endmacro %}


{#- Whether the format can tell from its raw rows alone that none of them will wait. -#}
{% macro _nothing_waits(spec) %}
    {% set may_wait = change_tables.format_of(spec.format).may_wait %}
    {% set predicate = may_wait(spec) if may_wait else 'true' %}
    {% if predicate in ['true', 'false'] %}
        {% do return(predicate == 'false') %}
    {% endif %}
    {% do return(run_query('select 1 from ' ~ spec.relation ~ ' where ' ~ predicate ~ ' limit 1').rows | length == 0) %}
{% endmacro %}


{#-
    A log is rebuilt from the raw table: refused where the raw table no longer has all that the log holds. A change whose
    content was read (see `reads` of `format_of`) is read anew: it is not lost while its raw row is there to be read for.
-#}
{% macro _refuse_loss(spec, state) %}
    {% set reads = change_tables.format_of(spec.format).reads %}
    {% set holds_changes = load_cached_relation(state) is not none and run_query('select 1 from ' ~ state ~ ' where _mark is null limit 1').rows %}
    {% if holds_changes and not var('change_tables_allow_loss', false) %}
        {% set lost = run_query(
            "with " ~ change_tables._staging_steps(spec)
            ~ " select count(*) from " ~ state ~ " as known"
            ~ " left anti join (select _change_id from staged where _status = 'accepted') as raw_changes"
            ~ " on known._change_id = raw_changes._change_id"
            ~ " where known._mark is null"
            ~ ("" if not reads else " and not (" ~ reads ~ " and known._raw_id in (select _raw_id from staged where _status = 'accepted' or _status_reason like 'row_gone%'))")
        ).rows[0][0] | int %}
        {% if lost > 0 %}
            {% set why = "a full refresh" if change_tables.is_rebuild() else "to begin again, since the first build has died before its end," %}
            {% do exceptions.raise_compiler_error(
                "change_tables: model '" ~ model.name ~ "': " ~ why ~ " would lose " ~ lost ~ " changes that the log holds and "
                ~ spec.relation ~ " no longer has; " ~ ("leave out --full-refresh, or " if change_tables.is_rebuild())
                ~ "allow the loss with --vars '{change_tables_allow_loss: true}'"
            ) %}
        {% endif %}
    {% endif %}
{% endmacro %}


{% macro _conflicts(spec) -%}
    {{- '(' if spec.added }}source._is_conflicting{{ ' and not ' ~ change_tables.lacks_columns(spec) ~ ')' if spec.added }}
    or (
        {%- if change_tables.completeness_columns(spec) %}
        {{ change_tables.compares_completeness(spec, 'source', '=', 'target') }} and
        {%- endif %}
        (
            not source._change_op <=> target._change_op
            or coalesce(source._key_before <> target._key_before, false)
            or (
                source._change_op not in ('delete', 'truncate')
                and {{ change_tables.hash_of(change_tables.comparable_columns(spec, change_tables._content_columns(spec))) }}
                <> {{ change_tables.hash_of(change_tables._content_columns(spec), 'target') }}
            )
        )
    )
{%- endmacro %}


{% macro _revises(spec) -%}
    ({{ change_tables.content_wins(spec) }})
    or {{ change_tables._tells_besides(spec) }}
{%- endmacro %}


{#- Whether a delivery tells something of a change that counts whichever content wins. -#}
{% macro _tells_besides(spec) -%}
    ({{ change_tables.key_before_wins(spec) }})
    or ({{ change_tables._report_is_settled(spec) }})
    or (not target._is_conflicting and ({{ change_tables._conflicts(spec) }}))
{%- endmacro %}


{#-
    The run that a revised change counts as new of. One that is told just so, from another place of the raw table alone, is
    known to the models behind the log already.
-#}
{% macro _batch_of_revision(spec) -%}
    {%- set told = change_tables._delivery_columns(spec) | rejectattr('name', 'equalto', '_raw_id') | list -%}
    case
        when
            {{ change_tables.hash_of(told, 'source') }} = {{ change_tables.hash_of(told, 'target') }}
            and not ({{ change_tables._tells_besides(spec) }})
            then target._batch_id
        else source._batch_id
    end
{%- endmacro %}


{#- Whether a delivery bears no report where the log bears one. -#}
{% macro _report_is_settled(spec) -%}
    source._report is null and target._report is not null
    {%- if change_tables.completeness_columns(spec) %}
    and not {{ change_tables.compares_completeness(spec, 'target', '>', 'source') }}
    {%- endif -%}
{%- endmacro %}


{#- A report stays while every delivery bears one; that of the more complete delivery stands. -#}
{% macro _report_together(spec) -%}
    {%- set together -%}
        case when source._report is not null and target._report is not null then greatest(source._report, target._report) end
    {%- endset -%}
    {%- if not change_tables.completeness_columns(spec) -%}
        {{ together }}
    {%- else -%}
        case
        when {{ change_tables.compares_completeness(spec, 'source', '>', 'target') }} then source._report
        when {{ change_tables.compares_completeness(spec, 'target', '>', 'source') }} then target._report
        else {{ together }}
    end
    {%- endif -%}
{%- endmacro %}


{#- What two deliveries of a change tell together, whichever content wins. -#}
{% macro _set_what_adds_up(spec) -%}
    _batch_id = {{ change_tables._batch_of_revision(spec) }},
    _key_before = case when {{ change_tables.key_before_wins(spec) }} then source._key_before else target._key_before end,
    _report = {{ change_tables._report_together(spec) }},
    _is_conflicting = target._is_conflicting or {{ change_tables._conflicts(spec) }}
{%- endmacro %}


{#- The columns of a log behind `_mark`: those that a change keeps, and those that go with its content. -#}
{% macro _log_columns(spec) %}
    {% do return(
        ['_change_seq', '_change_id', '_batch_id', '_key_before', '_report', '_is_conflicting']
        + change_tables._columns_taken_by_content(spec)
    ) %}
{% endmacro %}


{% macro _columns_taken_by_content(spec) %}
    {% do return([
        '_change_op', '_changed_at', '_transaction_id', '_present_columns', '_changed_columns', '_raw_id', '_row_hash', '_form'
    ] + change_tables.further_columns(spec) | map(attribute='name') | list + spec.column_names) %}
{% endmacro %}


{#- What a run writes: its new changes and the mark. -#}
{% macro _changes_with_mark(spec, new_changes, mark, found, with_withdrawals=false) -%}
    {%- set columns = change_tables._log_columns(spec) -%}
    select
        _mark,
        {%- if with_withdrawals %}
        _withdraws,
        {%- endif %}
        {{ change_tables.column_list(columns) }}
    from {{ new_changes }}
    where {{ found.is_change }}{{ ' or _withdraws' if with_withdrawals }}
    union all
    select
        {{ change_tables.text_literal(tojson(mark)) }} as _mark,
        {%- if with_withdrawals %}
        false as _withdraws,
        {%- endif %}
        {% for name in columns %}null as {{ change_tables.quoted(name) }}{{ ', ' if not loop.last }}{% endfor %}
{%- endmacro %}


{#-
    How many marks a log bears at most. A run that only adds puts its mark beside those before, which the next merge
    removes: an insert costs far less than a merge, but to read many marks costs, too.
-#}
{% macro _most_marks() %}
    {% do return(30) %}
{% endmacro %}


{#- Adds changes of which the log knows none, with the mark, where the log is still what this run looked at. -#}
{% macro insert_changes(spec, state, new_changes, mark_before, mark, found) -%}
insert into {{ state }} (_mark, {{ change_tables.column_list(change_tables._log_columns(spec)) }})
select * from (
    {{ change_tables._changes_with_mark(spec, new_changes, mark, found) }}
)
where
    case
        when
            (select max_by(_mark, get_json_object(_mark, '$.batch')) from {{ state }} where _mark is not null)
            = {{ change_tables.text_literal(tojson(mark_before)) }}
            then true
        else {{ change_tables.refuse_meeting() }}
    end
{%- endmacro %}


{#-
    Adds new changes to the log and revises known ones, in one statement with the mark. A revised change takes the
    greater content and whatever key before either tells, and counts as new to the models behind the log.
-#}
{% macro merge_changes(spec, state, new_changes, run, mark, found) -%}
{%- set columns = change_tables._log_columns(spec) -%}
{%- set withdraws = change_tables.withdraws_changes(spec) -%}
merge into {{ state }} as target
using (
    {{ change_tables._changes_with_mark(spec, new_changes, mark, found, withdraws) }}
) as source
    on
        source._change_id <=> target._change_id
        and source._change_seq <=> target._change_seq
        and (source._mark is null) = (target._mark is null)
        {%- if found.lowest_seq is not none %}
        and (target._mark is not null or target._change_seq between {{ change_tables.text_literal(found.lowest_seq) }} and {{ change_tables.text_literal(found.highest_seq) }})
        {%- else %}
        and target._mark is not null
        {%- endif %}
{%- if run.marks > 1 %}
when
    matched and source._mark is not null
    and case
        when get_json_object(target._mark, '$.batch') < '{{ run.mark_before.batch }}' then true
        when target._mark <> {{ change_tables.text_literal(tojson(run.mark_before)) }} then {{ change_tables.refuse_meeting() }}
    end
    then delete
{%- endif %}
when matched and source._mark is not null then update set
    _mark = {{ change_tables.guarded_mark(run.mark_before) }}
{%- if withdraws %}
when matched and source._withdraws and {{ change_tables._is_as_complete(spec) }} then delete
{%- endif %}
when matched and ({{ change_tables.content_wins(spec) }}) then update set
    {%- for name in change_tables._columns_taken_by_content(spec) %}
    {{ change_tables.quoted(name) }} = source.{{ change_tables.quoted(name) }},
    {%- endfor %}
    {{ change_tables._set_what_adds_up(spec) }}
when matched and ({{ change_tables._revises(spec) }}) then update set
    {{ change_tables._set_what_adds_up(spec) }}
when not matched{{ ' and not source._withdraws' if withdraws }} then insert (_mark, {{ change_tables.column_list(columns) }})
    values (source._mark, {{ change_tables.column_list(columns, 'source') }})
{%- endmacro %}
