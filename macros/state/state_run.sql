{#- What a run of a model over a log has to do (see `fold_run`), from the log's mark and its own. -#}
{% macro state_run(spec, dedup, folds, history=false, from_tables=false) %}
    {% set state = change_tables.state_relation(this) %}
    {% set marks = change_tables.read_marks([dedup] if change_tables.is_rebuild() else [dedup, this], from_tables or change_tables.is_rebuild()) %}
    {#- before the log is built, `dbt compile` shows what a first run would be -#}
    {% set log_mark = marks[0].mark or change_tables.mark_of_unbuilt_log() %}
    {% set mark = none if change_tables.is_rebuild() else marks[1].mark %}
    {#- a state that is ahead of its log has changes which that does not have: it was restored -#}
    {% set follows = mark is not none and mark.log == log_mark.log and log_mark.rebuild <= mark.batch and mark.batch <= log_mark.batch %}
    {% set mark_before = mark if follows else none %}
    {% do change_tables.refuse_changed_columns(spec, mark_before, state) %}
    {% set is_new = follows and (mark.batch < log_mark.batch or change_tables.columns_have_changed(spec, mark)) %}
    {% set run = change_tables.fold_run(spec, log_mark, folds, history, mark_before, is_new) %}
    {% if run.run == 'first' and run.exchanges and spec.images == 'full' and not run.log_is_outdated %}
        {% set exchanges = change_tables.has_exchanges(spec, run, change_tables.state_relation(dedup)) %}
        {% set run = change_tables.fold_run(spec, log_mark, folds, history, exchanges=exchanges) %}
    {% endif %}
    {% if run.moves and run.run != 'nothing new' and spec.images == 'partial' and not run.log_is_outdated %}
        {% do change_tables.refuse_moves_without_functions(spec) %}
    {% endif %}
    {#- what is there is not replaced by what dbt saw when it began -#}
    {% if run.run == 'first' and mark is not none and marks[1].is_cached %}
        {% do return(change_tables.state_run(spec, dedup, folds, history, from_tables=true)) %}
    {% endif %}
    {% if run.run == 'first' and mark is not none and mark.log == log_mark.log and mark.batch > log_mark.batch %}
        {% do log(this ~ ': its log was set back to an older version; it is built anew', info=true) %}
    {% elif run.run == 'first' and mark is none and not change_tables.is_rebuild() and change_tables.batch_once_cached(this) %}
        {% do log(this ~ ': its table was emptied, replaced or dropped by something other than a run; it is built anew', info=true) %}
    {% endif %}
    {% do return(run) %}
{% endmacro %}
