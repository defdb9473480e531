{#-
    What the models of a dbt run know of each other, and what was found out once for all: a dict for each name. By the id of the invocation, since
    a program can give one manifest, and so one `graph`, to several. No macros are kept: a macro sees the model that it was got for.

    answers                  see `ask_once`
    begun                    the logs that have begun, by their ids
    landed                   see `landed_columns`
    logs, shared             see `shared_rows`
    format                   see `file_format_of_project`
    quiet                    see `is_quiet`
    relations                see `found_relation`
    specs                    see `table_spec`
    types, canonical_types   see `type_tree`, `column_types`
    views                    see `shown_of_view`
-#}
{% macro known_in_run(name) %}
    {% do return(graph.setdefault('change_tables_known', {}).setdefault(invocation_id, {}).setdefault(name, {})) %}
{% endmacro %}


{#- That is over. -#}
{% macro forget_run() %}
    {% do graph.get('change_tables_known', {}).pop(invocation_id, none) %}
    {% do return('') %}
{% endmacro %}
