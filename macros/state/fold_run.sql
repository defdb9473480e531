{#-
    What a run of a model over a log has to do:

    kind                   first (build whole), since (add what is new), nothing new; `empty` is made by `empty_run`
    checkpoint_before      the checkpoint that it adds to; none for a first run
    checkpoint             the checkpoint that it leaves: `storage_version`, `key` and `columns` as a log's has them, `log`, `batch`,
                           `origin`, `reset_seq` and `loads` of the log's, `log_changes`: how many it holds, and `counted`: how many
                           changes that had when the rows of the state were last counted; `built` and `written`: the runs that built the
                           state whole and that wrote it last; `keeps_deleted` as below
    replaced               by `state_run`: the checkpoint that a first run finds and replaces; none: there is none, or it is a full refresh
    log                    by `state_run`: the table of the log
    renaming               by `state_run`: what the state has under names of before, as `renaming` has it
    history, folds         whether the model keeps versions; whether older events of a key decide its row (see `folded_steps`)
    keeps_deleted          whether the model shows the last row of a key that has ended
    moves                  whether keys have ever moved
    load_times             when loads were taken, where the log's checkpoint says so: sequence -> text
    has_resets             whether the table was ever truncated or loaded again
    ends_older_keys        whether it has been since the last run
    exchanges              whether rows may have exchanged their keys in one transaction: full images need nothing else of moves
    in_time                whether all new events come after all that the state has folded
    retracted_keys         the keys, by their hashes, of which the log has retracted something that the state has folded: they are replayed
    looks                  whether events may have come late, or keys are to be replayed anyway: the run keeps the input events in a table
                           and looks (see `input_event_steps`)
    is_to_be_counted       whether the rows of the state are to be counted, for it may be large by now
    log_is_outdated        whether the log was built with other columns than are declared by now
    schema_version, added  that of the log, and the versions in which columns were added to it (see `spec_in_version`)

    log_checkpoint      the checkpoint of the log
    checkpoint_before   the checkpoint that the run adds to; none: it builds all
    is_new              whether the log has something that the state has not
    exchanges           whether a first run of full images has found such rows
-#}
{% macro fold_run(spec, log_checkpoint, history=false, keeps_deleted=false, checkpoint_before=none, is_new=true, exchanges=true) %}
    {% set types = change_tables.column_types(spec) %}
    {% set is_first = checkpoint_before is none %}
    {% if is_first %}
        {% set kind = 'first' %}
    {% else %}
        {% set kind = 'since' if is_new else 'nothing new' %}
    {% endif %}
    {#- a state has no more rows than its log: they are counted when that is large, and again when it is twice as large -#}
    {% set changes = log_checkpoint.changes %}
    {% set counted = 0 if is_first else checkpoint_before.counted %}
    {% set is_to_be_counted = not is_first and changes >= [change_tables.rows_of_large_table(), 2 * counted] | max %}
    {% set exchanges = exchanges and log_checkpoint.moves %}
    {% set retracted = log_checkpoint.retracted_keys | selectattr(0, 'gt', checkpoint_before.batch) if not is_first else [] %}
    {% set retracted_keys = retracted | map(attribute=1) | sum(start=[]) %}
    {#- of full images the last event decides, but where rows may have exchanged their keys; what has come since may be older than what was retracted -#}
    {% set folds = history or keeps_deleted or spec.images == 'partial' or exchanges or retracted_keys | length > 0 %}
    {% set in_time = not is_first and log_checkpoint.extends == checkpoint_before.batch and log_checkpoint.loads == checkpoint_before.loads %}
    {#- of a transaction that goes on, a state has but the newest row of a key -#}
    {% set looks = kind == 'since' and folds and (log_checkpoint.moves or not in_time or retracted_keys | length > 0) %}
    {% do return({
        'kind': kind,
        'checkpoint_before': checkpoint_before,
        'checkpoint': {
            'storage_version': change_tables.storage_version(), 'log': log_checkpoint.log, 'origin': log_checkpoint.origin,
            'batch': log_checkpoint.batch, 'log_changes': log_checkpoint.held_changes, 'reset_seq': log_checkpoint.reset_seq, 'loads': log_checkpoint.loads,
            'key': spec.key, 'columns': types, 'counted': changes if is_to_be_counted else counted,
            'built': change_tables.batch_id() if is_first else checkpoint_before.built, 'written': change_tables.batch_id(),
            'keeps_deleted': keeps_deleted,
        },
        'history': history,
        'folds': folds,
        'keeps_deleted': keeps_deleted,
        'moves': log_checkpoint.moves,
        'exchanges': exchanges,
        'load_times': log_checkpoint.load_times,
        'has_resets': log_checkpoint.reset_seq > '',
        'ends_older_keys': not is_first and log_checkpoint.reset_seq > checkpoint_before.reset_seq,
        'in_time': in_time,
        'retracted_keys': retracted_keys,
        'looks': looks,
        'is_to_be_counted': is_to_be_counted,
        'log_is_outdated': log_checkpoint.log > '' and (log_checkpoint.key != spec.key or log_checkpoint.columns != types),
        'schema_version': log_checkpoint.schema_version,
        'added': log_checkpoint.added,
    }) %}
{% endmacro %}
