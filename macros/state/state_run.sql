{#- What a run of a model over a log has to do (see `fold_run`), from the log's checkpoint and its own. -#}
{% macro state_run(spec, dedup, history=false, keeps_deleted=false, from_tables=false) %}
    {% set state = change_tables.state_relation(this) %}
    {% set checkpoints = change_tables.read_checkpoints([dedup] if change_tables.is_rebuild() else [dedup, this], from_tables or change_tables.is_rebuild()) %}
    {#- before the log is built, `dbt compile` shows what a first run would be -#}
    {% set log_checkpoint = checkpoints[0].checkpoint or change_tables.checkpoint_of_unbuilt_log() %}
    {% set checkpoint = none if change_tables.is_rebuild() else checkpoints[1].checkpoint %}
    {% set renaming = change_tables.renaming(spec, checkpoint) %}
    {% set checkpoint = change_tables.renamed_checkpoint(renaming, checkpoint) %}
    {% set follows = change_tables._follows(log_checkpoint, checkpoint, keeps_deleted) %}
    {% set checkpoint_before = checkpoint if follows else none %}
    {% do change_tables.refuse_changed_columns(spec, checkpoint_before, state) %}
    {#- a run that began before the last one that wrote leaves the news to the next: see `changes_since` -#}
    {% set is_new = follows and checkpoint.written < change_tables.batch_id()
        and (checkpoint.batch < log_checkpoint.batch or change_tables.columns_have_changed(spec, checkpoint)) %}
    {% set run = change_tables.fold_run(spec, log_checkpoint, history, keeps_deleted, checkpoint_before, is_new) %}
    {% if run.moves and run.kind != 'nothing new' and spec.images == 'partial' and not run.log_is_outdated %}
        {% do change_tables.refuse_moves_without_functions(spec) %}
    {% endif %}
    {#- a cached checkpoint may be old: the tables are asked before one is rebuilt -#}
    {% if run.kind == 'first' and checkpoint is not none and checkpoints[1].is_cached %}
        {% do return(change_tables.state_run(spec, dedup, history, keeps_deleted, from_tables=true)) %}
    {% endif %}
    {% if run.kind == 'first' and checkpoint is not none and checkpoint.log == log_checkpoint.log and checkpoint.batch > log_checkpoint.batch %}
        {% do log(this ~ ': its log was set back to an older version; it has to be rebuilt', info=true) %}
    {% elif run.kind == 'first' and checkpoint is none and not change_tables.is_rebuild() and change_tables.batch_once_cached(this) %}
        {% do log(this ~ ': its table was emptied, replaced or dropped by something other than a run; it is rebuilt', info=true) %}
    {% endif %}
    {% do change_tables._name_loads_without_time(spec, run) if history %}
    {% do return(dict(
        run, replaced=checkpoint if run.kind == 'first' else none, log=change_tables.state_relation(dedup), state=state,
        renaming=renaming if follows else none
    )) %}
{% endmacro %}


{#- Whether a run can add to a state, by its checkpoint and its log's; else it builds the state whole. -#}
{% macro _follows(log_checkpoint, checkpoint, keeps_deleted) %}
    {% do return(false) if checkpoint is none or checkpoint.log != log_checkpoint.log %}
    {#- the log has retracted more than it names, or it was restored, and lacks some of what the state has -#}
    {% do return(false) if checkpoint.batch < log_checkpoint.rebuild or checkpoint.batch > log_checkpoint.batch %}
    {% do return(checkpoint.keeps_deleted == keeps_deleted) %}
{% endmacro %}


{#- Says which loads have no time, where the state has not taken them in before. -#}
{% macro _name_loads_without_time(spec, run) %}
    {% set known = run.checkpoint_before.loads if run.checkpoint_before else [] %}
    {% for load in run.checkpoint.loads if load not in known and not change_tables.time_of_load(spec, load, run.load_times) %}
        {% do log(
            this ~ ": the load at '" ~ load ~ "' has no time. As of earlier times, rows that it ended are missing, and rows that it began are there;"
            ~ " set `snapshot_time` of " ~ spec.source_name ~ "." ~ spec.table_name ~ " when you raise `snapshot_seq`", info=true
        ) %}
    {% endfor %}
{% endmacro %}


{#-
    What a run of a model over a log has to do:

    kind                   first (build whole), since (add what is new), nothing new; `empty` is made by `empty_run`
    checkpoint_before      the checkpoint that it adds to; none for a first run
    checkpoint             the checkpoint that it leaves: `storage_version`, `key` and `columns` as a log's has them, `log`, `batch`,
                           `origin`, `reset_seq` and `loads` of the log's, `log_changes`: how many it holds; `built` and `written`: the
                           runs that built the state whole and that wrote it last; `keeps_deleted` as below
    replaced               by `state_run`: the checkpoint that a first run finds and replaces; none: there is none, or it is a full refresh
    log, state             by `state_run`: the table of the log, and that of the model
    renaming               by `state_run`: what the state has under names of before, as `renaming` has it
    history, folds         whether the model keeps versions; whether older events of a key decide its row (see `folded_steps`)
    keeps_deleted          whether the model shows the last row of a key that has ended
    moves                  whether keys have ever moved
    load_times             when loads were taken, where the log's checkpoint says so: sequence -> text
    has_resets             whether the table was ever truncated or loaded again
    ends_older_keys        whether it has been since the last run
    in_time                whether all new events come after all that the state has folded
    retracted_keys         the keys, by their hashes, of which the log has retracted something that the state has folded: they are replayed
    looks                  whether events may have come late, or keys are to be replayed anyway: the run keeps the input events in a table
                           and looks (see `input_event_steps`)
    log_is_outdated        whether the log was built with other columns than are declared by now
    schema_version, added  that of the log, and the versions in which columns were added to it (see `spec_in_version`)

    log_checkpoint      the checkpoint of the log
    checkpoint_before   the checkpoint that the run adds to; none: it builds all
    is_new              whether the log has something that the state has not
-#}
{% macro fold_run(spec, log_checkpoint, history=false, keeps_deleted=false, checkpoint_before=none, is_new=true) %}
    {% set types = change_tables.column_types(spec) %}
    {% set is_first = checkpoint_before is none %}
    {% if is_first %}
        {% set kind = 'first' %}
    {% else %}
        {% set kind = 'since' if is_new else 'nothing new' %}
    {% endif %}
    {% set retracted = log_checkpoint.retracted_keys | selectattr(0, 'gt', checkpoint_before.batch) if not is_first else [] %}
    {% set retracted_keys = retracted | map(attribute=1) | sum(start=[]) %}
    {#- of full images the last event decides, but where rows may have exchanged their keys in one transaction; what has come since may be older than what was retracted -#}
    {% set folds = history or keeps_deleted or spec.images == 'partial' or log_checkpoint.moves or retracted_keys | length > 0 %}
    {% set in_time = not is_first and log_checkpoint.extends == checkpoint_before.batch and log_checkpoint.loads == checkpoint_before.loads %}
    {#- of a transaction that goes on, a state has but the newest row of a key -#}
    {% set looks = kind == 'since' and folds and (log_checkpoint.moves or not in_time or retracted_keys | length > 0) %}
    {% do return({
        'kind': kind,
        'checkpoint_before': checkpoint_before,
        'checkpoint': {
            'storage_version': change_tables.storage_version(), 'log': log_checkpoint.log, 'origin': log_checkpoint.origin,
            'batch': log_checkpoint.batch, 'log_changes': log_checkpoint.held_changes, 'reset_seq': log_checkpoint.reset_seq, 'loads': log_checkpoint.loads,
            'key': spec.key, 'columns': types,
            'built': change_tables.batch_id() if is_first else checkpoint_before.built, 'written': change_tables.batch_id(),
            'keeps_deleted': keeps_deleted,
        },
        'history': history,
        'folds': folds,
        'keeps_deleted': keeps_deleted,
        'moves': log_checkpoint.moves,
        'load_times': log_checkpoint.load_times,
        'has_resets': log_checkpoint.reset_seq > '',
        'ends_older_keys': not is_first and log_checkpoint.reset_seq > checkpoint_before.reset_seq,
        'in_time': in_time,
        'retracted_keys': retracted_keys,
        'looks': looks,
        'log_is_outdated': log_checkpoint.log > '' and (log_checkpoint.key != spec.key or log_checkpoint.columns != types),
        'schema_version': log_checkpoint.schema_version,
        'added': log_checkpoint.added,
    }) %}
{% endmacro %}


{#-
    Stops a state, or its full refresh, before a log that lacks some of what the state has folded.

    A state is a function of its log. Where it finds another log than it has followed, it is built whole from that one, and what only the
    log before held would go without a word: raw was purged, and a first build in another schema has taken in what raw has left.

    Another log is one of another `origin` (see `log_checkpoint`), or one that was set back and has not run since. Of the same origin no log is
    refused, also where it holds fewer changes: some were retracted, or its full refresh has judged what it loses.
-#}
{% macro refuse_lesser_log(state, run) %}
    {% do return('') if run.kind != 'first' or var('change_tables_allow_loss', false) %}
    {% set replaced = run.replaced %}
    {% if change_tables.is_rebuild() %}
        {% set replaced = (change_tables.table_to_be_replaced(state) or {}).checkpoint %}
    {% endif %}
    {% if replaced %}
        {% set is_set_back = replaced.log == run.checkpoint.log %}
        {% set is_same = replaced.origin == run.checkpoint.origin and not (is_set_back and replaced.batch > run.checkpoint.batch) %}
        {% set lacks = none if is_same else change_tables._what_the_log_lacks(state, run, replaced) %}
        {% if lacks %}
            {% do change_tables.refuse_model(
                ("its log was set back to an older version: " if is_set_back else "it follows another log than before: ") ~ lacks ~ "; "
                ~ ("build the log with --vars '{change_tables_rescan: true}'" if is_set_back else "if the log was moved or renamed, move its table as docs/operations.md says")
                ~ ", or allow the loss with --vars '{change_tables_allow_loss: true}'"
            ) %}
        {% endif %}
    {% endif %}
{% endmacro %}


{#-
    What a log lacks of that which a state has folded, as a text; none: nothing. A log can hold as many changes as the one before, since more have
    landed: then the changes are looked for from which the state has its rows.
-#}
{% macro _what_the_log_lacks(state, run, replaced) %}
    {% set held_before = replaced.log_changes %}
    {% if run.checkpoint.log_changes < held_before %}
        {% do return(run.log ~ ' holds ' ~ run.checkpoint.log_changes ~ ' changes, and the log before held ' ~ held_before) %}
    {% endif %}
    {% set lost = run_query(
        'select count(*) as lost_rows from ' ~ state ~ ' as kept left anti join ' ~ run.log ~ ' as logged'
        ~ ' on kept._change_id = logged._change_id and logged._checkpoint is null where kept._checkpoint is null and not kept._is_deleted'
    ).rows[0][0] | int %}
    {% do return(run.log ~ ' lacks the changes of ' ~ lost ~ ' rows of ' ~ state if lost else none) %}
{% endmacro %}
