{#-
    What a run of a model over a log has to do:

    run               first (build whole), since (add what is new), nothing new
    mark_before       the mark that it adds to; none for a first run
    mark              the mark that it leaves
    history, folds    whether the model keeps versions; whether older events of a key decide its row (see `folded_steps`)
    moves             whether keys have ever moved
    has_floors        whether the table was ever truncated or loaded again
    ends_older_keys   whether it has been since the last run
    exchanges, late   whether there are keys to replay: rows exchanged their keys; events came late (see `replayed_key_steps`)
    replays           either of these, in a run that adds
    follows_rows      whether what a change lacks may be at another key (see `followed_steps`)
    is_to_be_counted  whether the rows of the state are to be counted, for it may be large by now
    kept_step         the step whose rows are kept in a table of their own, before the rest is run; none where a run needs none
    log_is_outdated   whether the log was built with other columns than are declared by now
    form, added       the form of the log, and the forms in which columns were added to it (see `spec_in_form`)

    log_mark      the mark of the log
    mark_before   the mark that the run adds to; none: it builds all
    is_new        whether the log has something that the state has not
    found         what a look at the new events has found, as `_look_at_new_events` of `state_run` returns it
    keeps         whether the run can keep a step in a table: a view cannot
-#}
{% macro fold_run(spec, log_mark, folds, history=false, mark_before=none, is_new=true, found={}, keeps=true) %}
    {% set types = change_tables.column_types(spec) %}
    {% set run = 'first' if mark_before is none else ('since' if is_new else 'nothing new') %}
    {#- a state has no more rows than its log: they are counted when that is large, and again when it is twice as large -#}
    {% set changes = log_mark.get('changes', 0) %}
    {% set counted = 0 if mark_before is none else mark_before.get('counted', 0) %}
    {% set is_to_be_counted = mark_before is not none and changes >= [change_tables.rows_of_large_table(), 2 * counted] | max %}
    {% set has_floors = log_mark.floor > '' %}
    {% set follows_rows = folds and log_mark.moves and spec.images == 'partial' %}
    {% set late, exchanges = found.get('late', false), found.get('exchanges', false) %}
    {% set replays = run == 'since' and (late or exchanges) %}
    {% do return({
        'run': run,
        'mark_before': mark_before,
        'mark': {
            'layout': change_tables.layout(), 'log': log_mark.log, 'batch': log_mark.batch, 'floor': log_mark.floor, 'loads': log_mark.loads,
            'key': spec.key, 'columns': types, 'counted': changes if is_to_be_counted else counted,
        },
        'history': history,
        'folds': folds,
        'moves': log_mark.moves,
        'has_floors': has_floors,
        'ends_older_keys': mark_before is not none and log_mark.floor > mark_before.floor,
        'exchanges': exchanges,
        'late': late,
        'replays': replays,
        'follows_rows': follows_rows,
        'kept_step': change_tables._kept_step(run, folds, follows_rows, has_floors, replays) if keeps else none,
        'is_to_be_counted': is_to_be_counted,
        'log_is_outdated': log_mark.log > '' and (log_mark.key != spec.key or log_mark.columns != types),
        'form': log_mark.form,
        'added': log_mark.added,
    }) %}
{% endmacro %}


{#-
    The step that a run keeps in a table of its own. Spark plans the steps before it anew for each of its readers, and each
    scan of a Delta table in a plan looks up the files that it needs: where rows move or keys are replayed, that
    takes far longer than to write the few rows of a run and to read them again.
-#}
{% macro _kept_step(run, folds, follows_rows, has_floors, replays) %}
    {% if folds %}
        {% do return('given_events' if follows_rows or (run == 'since' and (has_floors or replays)) else none) %}
    {% endif %}
    {% do return('key_events' if replays else none) %}
{% endmacro %}
