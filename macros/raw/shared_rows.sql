{#-
    Where logs share a raw table, what a run finds out about it holds for all of them, and its new rows are put together once.

    A query about the table is asked by the first log, and its answer is kept in `graph`, which all models of a run see. Logs with the same
    watermark send the same query, so they read up to the same high water. A log with another watermark looks for itself.

    The format's steps up to `put_together` (see `format_of`) are the same for all logs that read the same rows with the same settings (`alike`).
    If enough logs are about to read the same rows, the first one writes `put_together` for all their tables to a batch table of its model, with a
    partition for each table. The others read their partition instead of the raw table. A log that starts from another place, or starts while
    that table is being written, reads the raw table. The result is the same.
-#}

{#- The rows of a query about a raw table: asked once a run. -#}
{% macro ask_once(sql) %}
    {% set answers = change_tables.known_in_run('answers') %}
    {% if sql not in answers %}
        {#- of two models that ask at the same time both take the answer of the first -#}
        {% do answers.setdefault(sql, run_query(sql).rows) %}
    {% endif %}
    {% do return(answers[sql]) %}
{% endmacro %}


{#- How many other logs must be about to read the rows, so that they are written for all. -#}
{% macro least_other_logs() %}
    {% do return(2) %}
{% endmacro %}


{#-
    The bound with the `kind` of the run, and

    shared   the table in which its rows are put together; none where the run does it itself
-#}
{% macro share_rows(spec, bound, kind) %}
    {% set part = change_tables.format_of(spec.format).put_together %}
    {% do change_tables.known_in_run('begun').update({model.unique_id: true}) %}
    {% set run = dict(bound, kind=kind, shared=none) %}
    {% set is_of_run = kind in ['first', 'since'] and flags.WHICH in ['run', 'build'] %}
    {% do return(run) if not (part and bound.arrival and is_of_run and change_tables._can_be_written(spec)) %}
    {% set likeness = change_tables._likeness(spec, part) %}
    {% set shared = change_tables.known_in_run('shared').setdefault(
        tojson([spec.relation | string, bound.predicate, bound.until, likeness]), {'writer': model.unique_id, 'table': none}
    ) %}
    {% if shared.writer == model.unique_id %}
        {% set specs = change_tables._specs_that_share(spec, run, part, likeness) %}
        {% if specs | length >= change_tables.least_other_logs() %}
            {% set table = change_tables.batch_relation(this, change_tables.batch_id() ~ 's') %}
            {% do change_tables.prepare_session() %}
            {% do run_query(change_tables._create_shared_rows(table, part.steps([spec] + specs, bound))) %}
            {% do shared.update({'table': table}) %}
            {% do log('change_tables: ' ~ spec.relation ~ ': new rows are put together for ' ~ (specs | length + 1) ~ ' logs', info=true) %}
        {% endif %}
    {% endif %}
    {% do return(dict(run, shared=shared.table)) %}
{% endmacro %}


{% macro _create_shared_rows(table, steps) -%}
create table {{ table }} using parquet partitioned by (_ct_partition) as
with {{ steps | trim }}

select /*+ rebalance(_ct_partition) */
    *,
    case when not _ct_is_of_all then _ct_table end as _ct_partition
from put_together
{%- endmacro %}


{#- Of the rows in such a table those that the entry needs. -#}
{% macro where_shared(spec, bound) -%}
    {%- set tables = change_tables.format_of(spec.format).put_together.tables(spec) if bound.shared else none -%}
    {{- change_tables.where(['(_ct_partition in (' ~ change_tables.text_literals(tables) ~ ') or _ct_partition is null)']) if tables is not none -}}
{%- endmacro %}


{#- Whether files can have the rows: a view over raw can have columns of no type, and no file has these. -#}
{% macro _can_be_written(spec) %}
    {% do return('void' not in change_tables.landed_columns(spec, spec.relation, [], '').values() | map(attribute='data_type') | join(' ')) %}
{% endmacro %}


{#- The settings that two entries must have in common before one can read what was put together for the other. -#}
{% macro _likeness(spec, part) %}
    {% set found = [spec.source_name, spec.format, change_tables.arrival_in_checkpoint(change_tables.arrival_of(spec))] %}
    {% for setting in part.alike %}
        {% do found.append(spec[setting]) %}
    {% endfor %}
    {% do return(tojson(found)) %}
{% endmacro %}


{#- The specs of the other logs that read the same rows and have not begun: they were left by the same run at the same watermark, or are new. -#}
{% macro _specs_that_share(spec, run, part, likeness) %}
    {% set specs = [] %}
    {% for node in change_tables._logs_by_raw_table().get(spec.relation | string | lower, []) if node.unique_id not in change_tables.known_in_run('begun') %}
        {% set other = change_tables.table_spec_of_model(node) %}
        {% set relation = change_tables.relation_of_node(node) %}
        {% set is_there = not change_tables.is_rebuild() and load_cached_relation(change_tables.state_relation(relation, node)) is not none %}
        {% set checkpoint = (change_tables.cached_checkpoint(relation) or {}).checkpoint if is_there else none %}
        {% set is_alike = checkpoint and checkpoint.watermark == run.watermark_before if run.kind == 'since' else not is_there %}
        {% if is_alike and other.format == spec.format and change_tables._likeness(other, part) == likeness %}
            {% do specs.append(other) %}
        {% endif %}
    {% endfor %}
    {% do return(specs) %}
{% endmacro %}


{#- The logs that dbt was asked to build, as nodes, by the name of their raw table. -#}
{% macro _logs_by_raw_table() %}
    {% set known = change_tables.known_in_run('logs') %}
    {% if not known %}
        {% set logs = {} %}
        {% for unique_id in selected_resources if (graph.nodes.get(unique_id) or {}).get('config', {}).get('materialized') == 'change_log' %}
            {% for entry in change_tables.staged_entries(graph.nodes[unique_id]) %}
                {% set relation = change_tables.source_relation(change_tables.find_source(entry.source, entry.table)) %}
                {% do logs.setdefault(relation | string | lower, []).append(graph.nodes[unique_id]) %}
            {% endfor %}
        {% endfor %}
        {% do known.update(logs) %}
    {% endif %}
    {% do return(known) %}
{% endmacro %}


{#- Drops what this run has put together, once all its models have ended. -#}
{% macro drop_shared_rows() %}
    {% for shared in change_tables.known_in_run('shared').values() if shared.table %}
        {% do adapter.drop_relation(shared.table) %}
    {% endfor %}
    {% do change_tables.forget_run() %}
    {% do return('') %}
{% endmacro %}
