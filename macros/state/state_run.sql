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
    {% if run.kind == 'first' and run.exchanges and spec.images == 'full' and not run.log_is_outdated %}
        {% set exchanges = change_tables.has_exchanges(spec, run, change_tables.state_relation(dedup)) %}
        {% set run = change_tables.fold_run(spec, log_checkpoint, history, keeps_deleted, exchanges=exchanges) %}
    {% endif %}
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
        run, replaced=checkpoint if run.kind == 'first' else none, log=change_tables.state_relation(dedup), renaming=renaming if follows else none
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
