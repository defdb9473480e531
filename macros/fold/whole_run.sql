{#- A run that folds all that a log holds, by the log's mark. -#}
{% macro whole_run(spec, log_mark, folds, history=false) %}
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
