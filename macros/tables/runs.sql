{#- The name of a run. It begins with the time of its start, so names sort by it. -#}
{% macro batch_id() -%}
    {{- run_started_at.strftime('%Y%m%dT%H%M%S%f') ~ '_' ~ invocation_id[:8] -}}
{%- endmacro %}


{% macro is_rebuild() %}
    {% do return(should_full_refresh() and not change_tables.is_empty_run()) %}
{% endmacro %}


{#-
    What a model says to its materialization besides its SQL, through the `graph` that they share: what the run is, so that it records
    as taken in what this very SQL reads, and by name the statements that it sends where one does not do.
-#}
{% macro hand_over(run, statements={}) %}
    {% do graph.setdefault('change_tables_handed', {}).update({model.unique_id: {'run': run, 'statements': statements}}) %}
{% endmacro %}


{#- What the model has handed over: `run` and `statements`. -#}
{% macro handed_over() %}
    {% set handed = graph.get('change_tables_handed', {}).pop(model.unique_id, none) %}
    {% if handed is none %}
        {% do change_tables.refuse_model(
            "its materialization does what deduplicated_changes, current_state, history or"
            ~ " xds_documents finds to do; the model must call one of them"
        ) %}
    {% endif %}
    {% do return(handed) %}
{% endmacro %}
