{#- What a run of a model over a log has to do (see `fold_run`), from the log's mark and its own, and from a look at the new changes. -#}
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
    {% set mark_before = mark if follows else none %}
    {% do change_tables.refuse_changed_columns(spec, mark_before, state) %}
    {% set is_new = follows and (mark.batch < log_mark.batch or change_tables.columns_have_changed(spec, mark)) %}
    {% set run = change_tables.fold_run(spec, log_mark, folds, history, mark_before, is_new) %}
    {#- what came in since was all later than what the state has folded: none of it can be late -#}
    {% set is_in_time = follows and log_mark.get('extends') == mark.batch and log_mark.loads == mark.loads %}
    {% if log_mark.log and not run.log_is_outdated and run.run != 'nothing new' and (run.moves or (folds and run.run == 'since' and not is_in_time)) %}
        {% set found = change_tables._look_at_new_events(spec, run, log, state) %}
        {% if found.get('rebuild') or found.get('late_moves') or found.get('open_exchanges') %}
            {% set mark_before = none %}
            {% set run = change_tables.fold_run(spec, log_mark, folds, history) %}
            {% set found = change_tables._look_at_new_events(spec, run, log, state) if run.moves else {} %}
        {% endif %}
        {% set run = change_tables.fold_run(spec, log_mark, folds, history, mark_before, is_new, found) %}
    {% endif %}
    {#- what is there is not replaced by what dbt saw when it began -#}
    {% if run.run == 'first' and mark is not none and marks[1].is_cached %}
        {% do return(change_tables.state_run(spec, dedup, folds, history, from_tables=true)) %}
    {% endif %}
    {% do return(run) %}
{% endmacro %}


{#-
    What a run needs besides adding its events, name -> whether: most runs need nothing.

    late, exchanges   see `fold_run`
    rebuild           a truncate or a load came late: events after it are folded already, or rows entered keys by them
    late_moves        changes have only some columns, and one came late to a key that rows have moved to or from: that
                      reaches from key to key
    open_exchanges    the rest of a transaction came in which rows exchange their keys: a state has only the newest row of a key

    By any of the last three the model is built anew.
-#}
{% macro _look_at_new_events(spec, run, log, state) %}
    {% set meets = run.folds and run.run == 'since' %}
    {% set steps = [change_tables.new_event_steps(spec, run, log)] %}
    {% set found = {} %}
    {% if meets %}
        {% do steps.append(change_tables._met_event_steps(spec, run, log, state)) %}
        {% do found.update({
            'late': 'count_if(_ct_is_late)',
            'rebuild': '(select count(*) from last_events where _change_seq >= (select min(_change_seq) from new_floors))',
        }) %}
        {% if run.follows_rows %}
            {% do found.update({'late_moves': 'count_if(_ct_is_late and _ct_is_moved)', 'open_exchanges': 'count_if(_ct_is_open)'}) %}
        {% endif %}
    {% endif %}
    {% if run.moves and spec.images == 'full' %}
        {% do steps.append(change_tables.exchanged_key_steps(spec, run, log)) %}
        {% do found.update({'exchanges': '(select count(*) from (select 1 from exchanged_keys limit 1))'}) %}
        {% if run.ends_older_keys and not meets %}
            {% do found.update({
                'rebuild': "(select count(*) from entries_and_ends as known where _ct_enters and _change_seq >= " ~ change_tables.text_literal(run.mark.floor)
                    ~ " and not exists (select 1 from events where events._change_id = known._change_id and events._change_seq = known._change_seq))",
            }) %}
        {% endif %}
    {% endif %}
    {% if not found %}
        {% do return({}) %}
    {% endif %}
    {% set row = run_query(
        'with ' ~ steps | join(', ') ~ ' select ' ~ found.values() | join(', ') ~ (' from met_events' if meets)
    ).rows[0] %}
    {% for name in found %}
        {% do found.update({name: row[loop.index0] | int > 0}) %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}


{#- The new events of keys that the state knows, and what ends keys, as steps `met_events` and `new_floors`. -#}
{% macro _met_event_steps(spec, run, log, state) -%}
{{ change_tables.last_event_steps(run, state) }},

{% if run.follows_rows -%}
{{ change_tables.entry_and_end_steps(spec, run, log) }},

moved_keys as (

    select
        {{ change_tables.column_list(spec.key, 'entries_and_ends') }},
        collect_set(case when entries_and_ends._ct_enters then entries_and_ends._transaction_id end) as _ct_entered_by,
        -- an end that took a row which another had covered has left no trace in the state
        max(case when events._change_id is null then entries_and_ends._change_seq end) as _ct_last_seq
    from entries_and_ends
    left join events
        on
            entries_and_ends._change_id = events._change_id
            and entries_and_ends._change_seq = events._change_seq
    group by {{ change_tables.column_list(spec.key, 'entries_and_ends') }}
    having count_if(entries_and_ends._ct_enters or entries_and_ends._precedence = {{ change_tables.precedence_of('departure') }}) > 0

),

{% endif -%}
met_events as (

    select
        {%- if run.follows_rows %}
        moved_keys._ct_entered_by is not null as _ct_is_moved,
        events._transaction_id = last_events._transaction_id
        and array_contains(moved_keys._ct_entered_by, events._transaction_id) as _ct_is_open,
        {%- endif %}
        events._change_seq <= {{ 'greatest(last_events._change_seq, moved_keys._ct_last_seq)' if run.follows_rows else 'last_events._change_seq' }} as _ct_is_late
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
        {{- change_tables.until_mark(run) }}
    {%- for load in run.mark.loads[run.mark_before.loads | length:] %}
    union all
    select {{ change_tables.text_literal(load) }} as _change_seq
    {%- endfor %}

)
{%- endmacro %}
