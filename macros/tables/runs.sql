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


{#-
    A run with --empty, which people use to see that a project builds: it makes what is missing, with its columns and without
    rows, and leaves what is there as it is, also with --full-refresh. A table that it makes has no checkpoint, so the next plain
    run builds it as if it were not there.

    dbt empties every ref() and source() by rendering it as a query of no rows. A view that names one would stay empty until
    the next plain run, so views of this package name relations in full: a view costs nothing before it is read.
-#}
{% macro is_empty_run() %}
    {% do return(flags.EMPTY or false) %}
{% endmacro %}


{#- What an incremental model renders in an empty run. -#}
{% macro empty_run(columns, history=false, keeps_deleted=false) -%}
{%- do change_tables.hand_over({'kind': 'empty', 'checkpoint_before': none, 'checkpoint': {'logs': {}}, 'outdated': [], 'history': history, 'keeps_deleted': keeps_deleted}) -%}
{{ change_tables.no_rows(columns) }}
{%- endmacro %}


{#- No rows of these columns: name -> type. -#}
{% macro no_rows(columns) -%}
select
    {%- for name, type in columns.items() %}
    cast(null as {{ change_tables.stored_type(type) }}) as {{ change_tables.quoted(name) }}{{ ',' if not loop.last }}
    {%- endfor %}
where false
{%- endmacro %}


{#-
    Makes the table of a model where neither the table nor the view over it is there, or where the table has no row, not even a checkpoint, so that
    it gets the columns that are declared by now. Returns whether it did.
-#}
{% macro make_empty_table(view, state, sql, partitioned_by=[]) %}
    {% set is_there = change_tables.found_relation(state) is not none %}
    {% set is_made = run_query('select 1 from ' ~ state ~ ' limit 1').rows | length == 0 if is_there else change_tables.found_relation(view) is none %}
    {% call statement('main') %}
        {{ change_tables.create_state_table(state, sql, over=is_there, partitioned_by=partitioned_by) if is_made else 'select 1' }}
    {% endcall %}
    {% do return(is_made) %}
{% endmacro %}


{#- The text of a view over raw tables. In an empty run, a query of no rows where one of these tables has never landed. -#}
{% macro rows_over_raw(sql, columns) -%}
    {{- change_tables.no_rows(columns) if change_tables._names_missing_source(sql) else sql -}}
{%- endmacro %}


{#- False where an empty run finds that a raw table is not there. Other runs do not look. -#}
{% macro has_landed(relation) %}
    {% do return(not change_tables.is_empty_run() or load_relation(relation) is not none) %}
{% endmacro %}


{% macro _names_missing_source(sql) %}
    {% for node in (graph.sources.values() if change_tables.is_empty_run() else []) %}
        {% set relation = change_tables.relation_of_node(node) %}
        {% do return(true) if change_tables._names_relation(sql, relation | string) and not change_tables.has_landed(relation) %}
    {% endfor %}
    {% do return(false) %}
{% endmacro %}


{% macro _names_relation(sql, name) %}
    {% do return(modules.re.search('(?<![\\w.`])' ~ modules.re.escape(name) ~ '(?![\\w`])', sql) is not none) %}
{% endmacro %}


{#- Stops before SQL that reads a raw table which was not there when its columns were asked for: Spark would say so by its whole plan. -#}
{% macro refuse_tables_not_there(sql) %}
    {% set missing = [] %}
    {#- it may have been made since, by a hook or another model -#}
    {% for name, relation in change_tables.known_in_run('not_there').copy().items() if relation and change_tables._names_relation(sql, name) %}
        {% do missing.append(name) if not adapter.get_columns_in_relation(relation) %}
    {% endfor %}
    {% if missing %}
        {% do change_tables.refuse_model(
            "no table " ~ missing | sort | join(', ') ~ " is there: land it, or correct its name in the sources file; --empty builds models without it"
        ) %}
    {% endif %}
{% endmacro %}
