{#- What logs that share a raw table take from one another while they read it: see `shared_rows`. -#}

{#- The rows of a query about a raw table: asked once a run. -#}
{% macro ask_once(sql) %}
    {% set answers = change_tables.known_in_run('answers') %}
    {% if sql not in answers %}
        {#- of two models that ask at the same time both take the answer of the first -#}
        {% do answers.setdefault(sql, run_query(sql).rows) %}
    {% endif %}
    {% do return(answers[sql]) %}
{% endmacro %}


{#- The rows that were put together: by this run, or of those for several logs, the ones that the entry needs. -#}
{% macro rows_put_together(spec, bound) -%}
    {%- set tables = change_tables.part_of_format(spec, 'put_together').tables(spec) if bound.shared else none -%}
    {{- bound.shared or 'put_together' -}}
    {{- change_tables.where(['(_ct_partition in (' ~ change_tables.text_literals(tables) ~ ') or _ct_partition is null)']) if tables is not none -}}
{%- endmacro %}
