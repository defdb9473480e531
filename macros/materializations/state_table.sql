{#-
    An incremental model `<name>` is a view over the table `<name>__state`. The table holds the model's rows, what must be
    remembered besides (keys that ended), and one row with a mark: a JSON object that tells what the table has taken in.
    Rows and mark are written by one statement, so that a run which dies leaves both as they were.
-#}
{% macro state_relation(relation) %}
    {% do return(change_tables._relation_beside(relation, '__state', 'table')) %}
{% endmacro %}


{#- A relation beside that of a model, quoted alike, and whole: of what `ref` gives, --empty and --sample leave rows out. -#}
{% macro _relation_beside(relation, suffix, type) %}
    {% do return(api.Relation.create(
        database=relation.database, schema=relation.schema, identifier=relation.identifier ~ suffix, type=type,
        quote_policy=relation.quote_policy.to_dict()
    )) %}
{% endmacro %}


{#- The view beside a log that lists which of its changes need a look. -#}
{% macro reports_relation(relation) %}
    {% do return(change_tables._relation_beside(relation, '__reports', 'view')) %}
{% endmacro %}


{% macro mark_of_unbuilt_log() %}
    {% do return({'log': '', 'batch': '', 'floor': '', 'loads': [], 'moves': false, 'rebuild': '', 'form': 0, 'added': {}}) %}
{% endmacro %}


{#- A run is told apart by its start; the text sorts by it. -#}
{% macro batch_id() -%}
    {{- run_started_at.strftime('%Y%m%dT%H%M%S%f') ~ '_' ~ invocation_id[:8] -}}
{%- endmacro %}


{% macro is_rebuild() %}
    {% do return(should_full_refresh() and not change_tables.is_empty_run()) %}
{% endmacro %}


{#-
    The line in a rendered model that tells which run it is for. The materialization reads it there, so that what it
    records as taken in is what this very SQL reads.
-#}
{% macro run_note(run) -%}
-- change_tables run: {{ tojson(run) }}
{%- endmacro %}


{% macro read_run_note(sql) %}
    {% do return(fromjson(modules.re.search('-- change_tables run: (.*)', sql).group(1))) %}
{% endmacro %}


{#-
    What a run of a model over a log has to do, from the log's mark and its own, and from a look at the new changes:

    run               first (build whole), since (add what is new), nothing new
    mark_before       the mark that it adds to; none for a first run
    mark              the mark that it leaves
    history, folds    whether the model keeps versions; whether older events of a key decide its row (see `_folded_steps`)
    moves             whether keys have ever moved
    has_floors        whether the table was ever truncated or loaded again
    ends_older_keys   whether it has been since the last run
    exchanges, late   whether there are keys to replay: rows exchanged their keys; events came late (see `_replayed_key_steps`)
    replays           either of these, in a run that adds
    follows_rows      whether what a change lacks may stand at another key (see `_followed_steps`)
    is_to_be_counted  whether the rows of the state are to be counted, for it may be large by now
    kept_step         the step whose rows are kept in a table of their own, before the rest is run; none where a run needs none
    log_is_behind     whether the log was built with other columns than are declared by now
    form, added       the form of the log, and the forms in which columns were added to it (see `log_form`)
-#}
{% macro state_run(spec, dedup, folds, history=false, from_tables=false) %}
    {% set log = change_tables.state_relation(dedup) %}
    {% set state = change_tables.state_relation(this) %}
    {% set marks = change_tables.read_marks([dedup] if change_tables.is_rebuild() else [dedup, this], from_tables or change_tables.is_rebuild()) %}
    {#- before the log is built, `dbt compile` shows what a first run would be -#}
    {% set log_mark = marks[0].mark or change_tables.mark_of_unbuilt_log() %}
    {% set mark = none if change_tables.is_rebuild() else marks[1].mark %}
    {#- a history of layout 0 keeps all its versions together: it is built anew, from its log -#}
    {% set is_of_layout = mark is not none and not (history and mark.get('layout', 0) < 1) %}
    {% set follows = is_of_layout and mark.log == log_mark.log and log_mark.rebuild <= mark.batch %}
    {% do change_tables.refuse_changed_columns(spec, mark if follows else none, state) %}
    {% set run = change_tables._whole_run(spec, log_mark, folds, history) %}
    {% if follows %}
        {% set is_new = mark.batch < log_mark.batch or change_tables.columns_have_changed(spec, mark) %}
        {% do run.update({
            'run': 'since' if is_new else 'nothing new',
            'mark_before': mark,
            'ends_older_keys': log_mark.floor > mark.floor,
        }) %}
        {#- a state has no more rows than its log: they are counted when that is large, and again when it is twice as large -#}
        {% set counted = mark.get('counted', 0) %}
        {% set changes = log_mark.get('changes', 0) %}
        {% do run.update({'is_to_be_counted': changes >= [change_tables.rows_of_large_table(), 2 * counted] | max}) %}
        {% do run.mark.update({'counted': changes if run.is_to_be_counted else counted}) %}
    {% endif %}
    {#- what came in since was all later than what the state has folded: none of it can be late -#}
    {% set is_in_time = follows and log_mark.get('extends') == mark.batch and log_mark.loads == mark.loads %}
    {% if log_mark.log and not run.log_is_behind and run.run != 'nothing new' and (run.moves or (folds and run.run == 'since' and not is_in_time)) %}
        {% do change_tables._look_at_new_events(spec, run, log, state) %}
    {% endif %}
    {#- what is there is not replaced by what dbt saw when it began -#}
    {% if run.run == 'first' and mark is not none and marks[1].is_cached %}
        {% do return(change_tables.state_run(spec, dedup, folds, history, from_tables=true)) %}
    {% endif %}
    {% do run.update({'kept_step': change_tables._kept_step(run)}) %}
    {% do return(run) %}
{% endmacro %}


{#-
    The step that a run keeps in a table of its own. Spark plans the steps before it anew for each of its readers, and each
    scan of a Delta table that a plan bears looks up the files that it needs: where rows move or keys are replayed, that
    takes far longer than to write the few rows of a run and to read them again.
-#}
{% macro _kept_step(run) %}
    {% if run.folds %}
        {% do return('given_events' if run.follows_rows or (run.run == 'since' and (run.has_floors or run.replays)) else none) %}
    {% endif %}
    {% do return('key_events' if run.run == 'since' and run.replays else none) %}
{% endmacro %}


{% macro kept_from_here() -%}
    -- change_tables: kept in a table of its own, from here
{%- endmacro %}


{% macro kept_to_here() -%}
    -- change_tables: to here
{%- endmacro %}


{#- The two statements that a run makes of its SQL: which rows it keeps, and what it makes of them. -#}
{% macro split_at_kept_step(sql, run, kept) %}
    {% set before, rest = sql.split(change_tables.kept_from_here(), 1) %}
    {% set body, behind = rest.split(change_tables.kept_to_here(), 1) %}
    {% do return({
        'kept': before ~ body ~ '\n)\n\nselect * from ' ~ run.kept_step,
        'rest': before ~ 'select * from ' ~ kept ~ behind,
    }) %}
{% endmacro %}


{#- A run that folds all that a log holds, by the log's mark. -#}
{% macro _whole_run(spec, log_mark, folds, history=false) %}
    {% do return({
        'run': 'first',
        'mark_before': none,
        'mark': {
            'layout': change_tables.layout(), 'log': log_mark.log, 'batch': log_mark.batch, 'floor': log_mark.floor, 'loads': log_mark.loads,
            'key': spec.key, 'columns': change_tables.column_types(spec), 'counted': 0,
        },
        'history': history,
        'folds': folds,
        'moves': log_mark.moves,
        'has_floors': log_mark.floor > '',
        'ends_older_keys': false,
        'exchanges': false,
        'late': false,
        'replays': false,
        'follows_rows': folds and log_mark.moves and spec.images == 'partial',
        'kept_step': none,
        'is_to_be_counted': false,
        'log_is_behind': log_mark.log > '' and (log_mark.key != spec.key or log_mark.columns != change_tables.column_types(spec)),
        'form': log_mark.form,
        'added': log_mark.added,
    }) %}
{% endmacro %}


{#-
    Looks up what a run needs besides adding its events: most runs need nothing. The model is built whole where a truncate
    or a load came late, with events behind it that are folded already, or by which rows entered keys. So it is where changes bear only some columns and one
    of them came late to a key that rows have moved to or from, since that reaches from key to key; or where the rest of a
    transaction came in which rows exchange their keys, since a state holds only the row that stands in front.
-#}
{% macro _look_at_new_events(spec, run, log, state) %}
    {% set meets = run.folds and run.run == 'since' %}
    {% set steps = [change_tables._new_event_steps(spec, run, log)] %}
    {% set found = {} %}
    {% if meets %}
        {% do steps.append(change_tables._met_event_steps(spec, run, log, state)) %}
        {% do found.update({
            'late': 'count_if(_is_late)',
            'rebuild': '(select count(*) from last_events where _change_seq >= (select min(_change_seq) from new_floors))',
        }) %}
        {% if run.follows_rows %}
            {% do found.update({'late_moves': 'count_if(_is_late and _is_moved)', 'open_exchanges': 'count_if(_is_open)'}) %}
        {% endif %}
    {% endif %}
    {% if run.moves and spec.images == 'full' %}
        {% do steps.append(change_tables._exchanged_key_steps(spec, run, log)) %}
        {% do found.update({'exchanges': '(select count(*) from (select 1 from exchanged_keys limit 1))'}) %}
        {% if run.ends_older_keys and not meets %}
            {% do found.update({
                'rebuild': "(select count(*) from entries_and_ends as known where _enters and _change_seq >= " ~ change_tables.text_literal(run.mark.floor)
                    ~ " and not exists (select 1 from events where events._change_id = known._change_id and events._change_seq = known._change_seq))",
            }) %}
        {% endif %}
    {% endif %}
    {% if not found %}
        {% do return(none) %}
    {% endif %}
    {% set row = run_query(
        'with ' ~ steps | join(', ') ~ ' select ' ~ found.values() | join(', ') ~ (' from met_events' if meets)
    ).rows[0] %}
    {% for name in found %}
        {% do found.update({name: row[loop.index0] | int > 0}) %}
    {% endfor %}
    {% if found.get('rebuild') or found.get('late_moves') or found.get('open_exchanges') %}
        {% do run.update({'run': 'first', 'mark_before': none, 'ends_older_keys': false, 'is_to_be_counted': false}) %}
        {% do run.mark.update({'counted': 0}) %}
        {% if run.moves %}
            {% do change_tables._look_at_new_events(spec, run, log, state) %}
        {% endif %}
    {% else %}
        {% do run.update({'late': found.get('late', false), 'exchanges': found.get('exchanges', false)}) %}
        {% do run.update({'replays': run.run == 'since' and (run.late or run.exchanges)}) %}
    {% endif %}
{% endmacro %}


{#- The new events of keys that the state knows, and what ends keys, as steps `met_events` and `new_floors`. -#}
{% macro _met_event_steps(spec, run, log, state) -%}
{{ change_tables._last_event_steps(run, state) }},

{% if run.follows_rows -%}
{{ change_tables._entry_and_end_steps(spec, run, log) }},

moved_keys as (

    select
        {{ change_tables.column_list(spec.key, 'entries_and_ends') }},
        collect_set(case when entries_and_ends._enters then entries_and_ends._transaction_id end) as _entered_by,
        -- an end that took a row which another had covered has left no trace in the state
        max(case when events._change_id is null then entries_and_ends._change_seq end) as _last_seq
    from entries_and_ends
    left join events
        on
            entries_and_ends._change_id = events._change_id
            and entries_and_ends._change_seq = events._change_seq
    group by {{ change_tables.column_list(spec.key, 'entries_and_ends') }}
    having count_if(entries_and_ends._enters or entries_and_ends._precedence = {{ change_tables.precedence_of('departure') }}) > 0

),

{% endif -%}
met_events as (

    select
        {%- if run.follows_rows %}
        moved_keys._entered_by is not null as _is_moved,
        events._transaction_id = last_events._transaction_id
        and array_contains(moved_keys._entered_by, events._transaction_id) as _is_open,
        {%- endif %}
        events._change_seq <= {{ 'greatest(last_events._change_seq, moved_keys._last_seq)' if run.follows_rows else 'last_events._change_seq' }} as _is_late
    from events
    inner join last_events
        on {{ change_tables.same_key(spec.key, 'events', 'last_events') }}
    {%- if run.follows_rows %}
    left join moved_keys
        on {{ change_tables.same_key(spec.key, 'events', 'moved_keys') }}
    {%- endif %}

),

new_floors as (

    select _change_seq
    from {{ log }}
    where
        _mark is null
        and _change_op = 'truncate'
        and _batch_id > '{{ run.mark_before.batch }}'
        {{- change_tables._until_mark(run) }}
    {%- for load in run.mark.loads[run.mark_before.loads | length:] %}
    union all
    select {{ change_tables.text_literal(load) }} as _change_seq
    {%- endfor %}

)
{%- endmacro %}


{#-
    over             also where the table is there
    partitioned_by   the columns whose values lie in files of their own
    marks_rows       whether updates mark rows, instead of writing their files anew (see `mark_rows_of_large_table`)
-#}
{% macro create_state_table(state, sql, over=true, partitioned_by=[], marks_rows=false) -%}
    {%- set file_format = change_tables.state_file_format() -%}
    create {{ 'or replace table' if over else 'table if not exists' }} {{ state }}
    using {{ file_format }}
    tblproperties (
    {%- for name, value in change_tables._state_table_properties(file_format, marks_rows).items() -%}
        '{{ name }}' = '{{ value }}'{{ ', ' if not loop.last }}
    {%- endfor -%}
    )
    {%- if partitioned_by %}
    partitioned by ({{ change_tables.column_list(partitioned_by) }})
    {%- endif %}
    {{ location_clause() }}
    as
    {{ sql }}
{%- endmacro %}


{#-
    A table that is written once, read by the run that made it, and dropped. Not a cached table: Spark reads those anew when
    raw rows land meanwhile, and keeps those of runs that fail until the server stops.
-#}
{% macro create_batch_table(batch, sql) -%}
    create table {{ batch }}
    using parquet
    as
    {{ sql }}
{%- endmacro %}


{#- The model's `file_format`; dbt-spark gives parquet where none is set, which no state can be kept in. -#}
{% macro state_file_format() %}
    {% set file_format = config.get('file_format') %}
    {% set file_format = 'delta' if file_format in [none, '', 'parquet'] else file_format %}
    {% if file_format not in ['delta', 'iceberg'] %}
        {% do exceptions.raise_compiler_error(
            "change_tables: model '" ~ model.name ~ "': `file_format` must be one of delta, iceberg, got '" ~ file_format ~ "'"
        ) %}
    {% endif %}
    {% do return(file_format) %}
{% endmacro %}


{#- What a state table asks of its file format: any column name, and cheap updates. The one place that knows formats apart. -#}
{% macro _state_table_properties(file_format, marks_rows=false) %}
    {% do return({
        'delta': {
            'delta.columnMapping.mode': 'name',
            'delta.enableDeletionVectors': 'true' if marks_rows else 'false',
            'delta.enableTypeWidening': 'true',
        },
        'iceberg': {
            'format-version': '2',
            'write.merge.mode': 'merge-on-read',
        },
    }[file_format]) %}
{% endmacro %}


{#- From how many rows on it is dearer to write the files of a few rows anew than to mark these rows: see docs/performance.md. -#}
{% macro rows_of_large_table() %}
    {% do return(250000) %}
{% endmacro %}


{#-
    Has the updates of a table mark rows from now on (deletion vectors), where it is large. A small table is read and merged into in
    half the time without. What has been marked once costs every reader, so no table goes back.

    rows   how many rows the table has; none: to be counted
-#}
{% macro mark_rows_of_large_table(state, rows=none) %}
    {% if change_tables.state_file_format() == 'delta' %}
        {% set rows = rows if rows is not none else run_query('select count(*) from ' ~ state).rows[0][0] | int %}
        {% if rows >= change_tables.rows_of_large_table() %}
            {% call statement('marks_rows') %}
                alter table {{ state }} set tblproperties ('delta.enableDeletionVectors' = 'true')
            {% endcall %}
        {% endif %}
    {% endif %}
{% endmacro %}


{#- Stops before anything is written when the model's name is taken by a table that it did not make. -#}
{% macro refuse_foreign_table(view) %}
    {% set existing = load_cached_relation(view) %}
    {% if existing is not none and not existing.is_view and not change_tables.is_rebuild() %}
        {% do exceptions.raise_compiler_error(
            "change_tables: model '" ~ model.name ~ "': " ~ view ~ " is a " ~ existing.type ~ " that this model did not make;"
            ~ " rename or drop it, or build the model anew with --full-refresh, which drops it"
        ) %}
    {% endif %}
{% endmacro %}


{#-
    Stops a first run that would replace a table which dbt has not seen, though it is there: it was made since dbt listed the schema,
    or dbt saw an empty schema, which dbt-spark does where a table is dropped while Spark lists them.
-#}
{% macro refuse_unseen_table(state) %}
    {% if not change_tables.is_rebuild() and load_cached_relation(state) is none %}
        {% if run_query('show tables in ' ~ state.without_identifier() ~ " like '" ~ state.identifier | lower ~ "'").rows %}
            {% do exceptions.raise_compiler_error(
                "change_tables: model '" ~ model.name ~ "': " ~ state ~ " is there, and was not when dbt listed its schema; nothing was changed, run again"
            ) %}
        {% endif %}
    {% endif %}
{% endmacro %}


{#-
    Spark infers constraints of every column from every other, which over a wide table takes minutes and all of the
    memory. The server of this package has that off; this is for others. And it goes through a statement that writes anew for
    each of its steps, unless they are put into each other at once (see docs/performance.md). For the session of this model alone,
    since what others write is theirs.
-#}
{% macro prepare_session() %}
    {% do run_query('set spark.sql.constraintPropagation.enabled = false') %}
    {% do run_query('set spark.sql.legacy.inlineCTEInCommands = true') %}
{% endmacro %}


{#-
    The view that readers see: the table's own columns and `further_columns`. Its text tells their types: a run that died after
    the table was changed may have left the view as it was before.

    mark, number   the latest mark of the table, and how many it has; none where it has none
    is_written     whether this run has written them: then the view gets the mark, too (see read_marks). Else a cached mark that is
                   another one is taken back
-#}
{% macro ensure_state_view(view, state, spec, further_columns, predicate, mark=none, number=1, is_written=false) %}
    {% set properties = change_tables.mark_as_properties(mark, number) if is_written else {} %}
    {% if not is_written and change_tables.properties_of_view(load_cached_relation(view)).get('change_tables.mark') %}
        {% if (change_tables._cached_mark(view) or {}).mark != mark %}
            {% do properties.update({'change_tables.mark': ''}) %}
        {% endif %}
    {% endif %}
    {% set query %}
select
    {%- for name, type in change_tables.column_types(spec).items() %}
    {{ change_tables.quoted(name) }}, -- {{ type }}
    {%- endfor %}
    {{ change_tables.column_list(further_columns) }}
from {{ state }}
where {{ predicate }}
    {%- endset %}
    {% do change_tables.ensure_view(
        view, query, change_tables.described_columns(spec, further_columns), properties, anew=change_tables.is_rebuild()
    ) %}
{% endmacro %}


{#- `left.a <=> right.a and …`, for keys that may hold nulls. -#}
{% macro same_key(names, left, right) -%}
    {%- for name in names -%}
        {{ left }}.{{ change_tables.quoted(name) }} <=> {{ right }}.{{ change_tables.quoted(name) }}{{ ' and ' if not loop.last }}
    {%- endfor -%}
{%- endmacro %}


{#- The guard of a merge: stops it when the state has taken in something since this run looked at its mark. -#}
{% macro guarded_mark(mark_before) -%}
    case
        when target._mark = {{ change_tables.text_literal(tojson(mark_before)) }} then source._mark
        else {{ change_tables.refuse_meeting() }}
    end
{%- endmacro %}


{% macro refuse_meeting() -%}
    raise_error('change_tables: another run has written to this table at the same time; nothing was changed, run again')
{%- endmacro %}
