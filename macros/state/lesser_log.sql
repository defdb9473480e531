{#-
    A state is a function of its log. Where it finds another log than it has followed, it is built whole from that one, and what only the
    log before held would go without a word: raw was purged, and a first build in another schema has taken in what raw has left.

    Another log is one of another `origin` (see `log_checkpoint`), or one that was set back and has not run since. Of the same origin no log is
    refused, also where it holds fewer changes: some were retracted, or its full refresh has judged what it loses.
-#}

{#- Stops a state, or its full refresh, before a log that lacks some of what the state has folded. -#}
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
