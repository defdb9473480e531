{#- The name of a run. It begins with the time of its start, so names sort by it. -#}
{% macro batch_id() -%}
    {{- run_started_at.strftime('%Y%m%dT%H%M%S%f') ~ '_' ~ invocation_id[:8] -}}
{%- endmacro %}


{% macro is_rebuild() %}
    {% do return(should_full_refresh() and not change_tables.is_empty_run()) %}
{% endmacro %}
