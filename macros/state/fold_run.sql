{#-
    What a run of a model over a log has to do:

    run               first (build whole), since (add what is new), nothing new; `empty` is made by `empty_run`
    mark_before       the mark that it adds to; none for a first run
    mark              the mark that it leaves: `layout`, `key` and `columns` as a log's has them, `log`, `batch`, `floor` and `loads` of the
                      log's, and `counted`: how many changes that had when the rows of the state were last counted
    history, folds    whether the model keeps versions; whether older events of a key decide its row (see `folded_steps`)
    moves             whether keys have ever moved
    has_floors        whether the table was ever truncated or loaded again
    ends_older_keys   whether it has been since the last run
    exchanges         whether rows may have exchanged their keys in one transaction: full images need nothing else of moves
    in_time           whether all new events come after all that the state has folded
    taken_back        the keys, by their hashes, of which the log has taken back something that the state has folded: they are replayed
    looks             whether events may have come late, or keys are to be replayed anyway: the run keeps the given events in a table and
                      looks (see `given_event_steps`)
    is_to_be_counted  whether the rows of the state are to be counted, for it may be large by now
    log_is_outdated   whether the log was built with other columns than are declared by now
    form, added       the form of the log, and the forms in which columns were added to it (see `spec_in_form`)

    log_mark      the mark of the log
    history       whether the model keeps versions
    folds         whether older events decide its rows; where rows may have exchanged their keys, they always do
    mark_before   the mark that the run adds to; none: it builds all
    is_new        whether the log has something that the state has not
    exchanges     whether a first run of full images has found such rows
-#}
{% macro fold_run(spec, log_mark, folds, history=false, mark_before=none, is_new=true, exchanges=true) %}
    {% set types = change_tables.column_types(spec) %}
    {% set run = 'first' if mark_before is none else ('since' if is_new else 'nothing new') %}
    {#- a state has no more rows than its log: they are counted when that is large, and again when it is twice as large -#}
    {% set changes = log_mark.changes %}
    {% set counted = 0 if mark_before is none else mark_before.counted %}
    {% set is_to_be_counted = mark_before is not none and changes >= [change_tables.rows_of_large_table(), 2 * counted] | max %}
    {% set exchanges = exchanges and log_mark.moves %}
    {% set taken_back = [] %}
    {% for batch, keys in log_mark.taken_back if mark_before is not none and batch > mark_before.batch %}
        {% do taken_back.extend(keys) %}
    {% endfor %}
    {#- what has come since may be older than what was taken back -#}
    {% set folds = folds or exchanges or taken_back | length > 0 %}
    {% set in_time = mark_before is not none and log_mark.extends == mark_before.batch and log_mark.loads == mark_before.loads %}
    {#- of a transaction that goes on, a state has but the newest row of a key -#}
    {% set looks = run == 'since' and folds and (log_mark.moves or not in_time or taken_back | length > 0) %}
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
        'exchanges': exchanges,
        'has_floors': log_mark.floor > '',
        'ends_older_keys': mark_before is not none and log_mark.floor > mark_before.floor,
        'in_time': in_time,
        'taken_back': taken_back,
        'looks': looks,
        'is_to_be_counted': is_to_be_counted,
        'log_is_outdated': log_mark.log > '' and (log_mark.key != spec.key or log_mark.columns != types),
        'form': log_mark.form,
        'added': log_mark.added,
    }) %}
{% endmacro %}
