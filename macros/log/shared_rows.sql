{#-
    Where logs share a raw table, what a run finds out about it holds for all of them, and its new rows are put together once.

    A query about the table is asked by the first log, and its answer is kept in `graph`, which all models of a run see. Logs with the same
    watermark send the same query, so they read up to the same high water. A log with another watermark looks for itself.

    The format's steps up to `put_together` (see `format_of`) are the same for all logs that read the same rows with the same settings (`alike`).
    If enough logs are about to read the same rows, the first one writes `put_together` for all their tables to a batch table of its model, with a
    partition for each table. The others read their partition instead of the raw table. A log that starts from another place, or starts while
    that table is being written, reads the raw table. The result is the same.
-#}

{#-
    The table in which the rows of a run are put together; none where the run does it itself. A log takes the table only if it was written for it:
    equal queries say nothing of that, since a watermark also has groups without new rows.
-#}
{% macro shared_rows(spec, run) %}
    {% set part = change_tables.part_of_format(spec, 'put_together') %}
    {% set is_of_run = run.kind in ['first', 'since'] and flags.WHICH in ['run', 'build'] %}
    {% do return(none) if not (part and run.arrival and is_of_run) %}
    {% set likeness = change_tables._likeness(spec, part) %}
    {#- a view over raw can have columns of no type, which no file has; a name in a `char(n)` has blanks at its end that count once it is a text -#}
    {% set types = change_tables.landed_columns(spec, spec.relation).values() | map(attribute='data_type') | join(' ') %}
    {% do return(none) if modules.re.search('void|\\bchar\\(', types) %}
    {% set shared = change_tables.known_in_run('shared').setdefault(
        tojson([spec.relation | string, run.predicate, run.until, likeness]), {'writer': model.unique_id, 'table': none, 'logs': {}}
    ) %}
    {% set others = change_tables._other_logs(spec, run, part, likeness) if shared.writer == model.unique_id else {} %}
    {% if others | length >= 2 %}
        {% set table = change_tables.batch_relation(this, change_tables.batch_id() ~ 's') %}
        {% do change_tables.prepare_session() %}
        {% do run_query(change_tables._create_shared_rows(table, part, [spec] + others.values() | list, run)) %}
        {% do shared.update({'table': table, 'logs': dict(others, **{model.unique_id: spec})}) %}
        {% do log('change_tables: ' ~ spec.relation ~ ': new rows are put together for ' ~ (others | length + 1) ~ ' logs', info=true) %}
    {% endif %}
    {% do return(shared.table if model.unique_id in shared.logs else none) %}
{% endmacro %}


{#- The rows that one of these entries needs, in a partition for each table, and in one those that all need. -#}
{% macro _create_shared_rows(table, part, specs, bound) -%}
{%- set tables = [] -%}
{%- for spec in specs -%}
    {%- do tables.append(part.tables(spec)) -%}
{%- endfor -%}
create table {{ table }} {{ change_tables.storage_of_batch() }} partitioned by (_ct_partition) as
with {{ part.steps(specs, bound) | trim }}

select /*+ rebalance(_ct_partition) */
    *,
    case when not _ct_is_of_all then _ct_table end as _ct_partition
from put_together
{%- if none not in tables %}
where _ct_is_of_all or _ct_table is null or _ct_table in ({{ change_tables.text_literals(tables | sum(start=[]) | unique(case_sensitive=true) | list) }})
{%- endif %}
{%- endmacro %}


{#- What two entries of a raw table must have in common before one can read what was put together for the other. -#}
{% macro _likeness(spec, part) %}
    {% do return(tojson([spec.source_name, spec.format, spec.arrival, part.alike(spec)])) %}
{% endmacro %}


{#-
    The other logs that read the same rows and have not begun, by their ids, with their specs: those that a run has left at the same watermark,
    or new ones. By cached checkpoints, so that no table is read: a log without one reads raw itself.
-#}
{% macro _other_logs(spec, run, part, likeness) %}
    {% set others = {} %}
    {% for node in change_tables._logs_by_raw_table().get(spec.relation | string | lower, []) if node.unique_id not in change_tables.known_in_run('begun') %}
        {% set other = change_tables.table_spec_of_model(node) %}
        {% set relation = change_tables.relation_of_node(node) %}
        {% set is_there = not change_tables.is_rebuild() and change_tables.found_relation(change_tables.state_relation(relation, node)) is not none %}
        {% set checkpoint = (change_tables.cached_checkpoint(relation) or {}).checkpoint if is_there else none %}
        {% set is_alike = checkpoint and checkpoint.watermark == run.watermark_before if run.kind == 'since' else not is_there %}
        {% do others.update({node.unique_id: other}) if is_alike and change_tables._likeness(other, part) == likeness %}
    {% endfor %}
    {% do return(others) %}
{% endmacro %}


{#- The logs that dbt was asked to build, as nodes, by the name of their raw table. -#}
{% macro _logs_by_raw_table() %}
    {% set known = change_tables.known_in_run('logs') %}
    {% if not known %}
        {% set logs = {} %}
        {% for unique_id in selected_resources if (graph.nodes.get(unique_id) or {}).get('config', {}).get('materialized') == 'change_log' %}
            {% for entry in change_tables.staged_entries(graph.nodes[unique_id]) %}
                {% set relation = change_tables.relation_of_node(change_tables.find_source(entry.source, entry.table)) %}
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
    {% do return('') %}
{% endmacro %}
