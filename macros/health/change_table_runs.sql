{#-
    The table of runs, `change_table_runs`: one row a run of a log that has taken something in. It is filled when dbt has run all models,
    by one statement for all of them. What a run that died could not write, the next one writes that takes anything in.
-#}

{#- The columns: name -> [type, comment]. The types are those that JSON can be read as; times are made of texts and microseconds. -#}
{% macro columns_of_runs() %}
    {% do return({
        'log': ['string', 'the deduplicated model, with its schema'],
        'source_name': ['string', 'the source of the entry'],
        'table_name': ['string', 'the entry'],
        'batch_id': ['string', 'the run; new changes have it in _batch_id. With log it names a row'],
        'started_at': ['timestamp', 'when dbt began'],
        'run_kind': ['string', 'first: built whole; everything: all raw rows were compared; since: what had landed since'],
        'raw_rows': ['bigint', 'raw rows that were read; null where not counted: a shared raw table that was read whole'],
        'accepted': ['bigint', 'of the rows read; null where all was read'],
        'merged': ['bigint', 'of the rows read; null where all was read'],
        'ignored': ['bigint', 'of the rows read; null where all was read'],
        'rejected': ['bigint', 'of the rows read'],
        'waiting': ['bigint', 'of the rows read'],
        'codes': ['map<string, bigint>', 'rows that were read and are no changes, by status and code'],
        'new_changes': ['bigint', 'changes that the log did not have'],
        'revised_changes': ['bigint', 'changes that it had otherwise, or gave up'],
        'reports': ['map<string, bigint>', 'new and revised changes by the code of their report'],
        'first_seq': ['string', 'the lowest sequence of the new and revised changes'],
        'last_seq': ['string', 'the highest one'],
        'first_changed_at': ['timestamp', 'the earliest time of them at the source'],
        'last_changed_at': ['timestamp', 'the latest one'],
        'kept_rejected': ['bigint', 'raw rows that the log keeps as rejected after the run'],
        'kept_waiting': ['bigint', 'raw rows that it keeps as waiting'],
        'waiting_since': ['timestamp', 'when the run began that met the oldest of these'],
        'settled': ['string', 'the watermark: the arrival up to which raw was read for good; of positions, as JSON'],
        'settled_rows': ['bigint', 'raw rows below it; without an arrival, all of them'],
        'seconds': ['double', 'what the model took; null where dbt died before it had run all models'],
        'package_version': ['string', 'of change_tables'],
        'dbt_version': ['string', 'of dbt-core'],
    }) %}
{% endmacro %}


{% macro record_runs(results) %}
    {% do return('') if not execute or change_tables.is_empty_run() %}
    {% set runs = change_tables.table_of_runs() %}
    {% set own, before = [], [] %}
    {% for result in results if result.node.resource_type == 'model' and result.node.config.materialized == 'change_log' %}
        {% set code = result.adapter_response.get('code') or '' %}
        {% set said = fromjson(code, {}) if code is string and 'change_table_runs' in code else {} %}
        {% for row in said.get('change_table_runs', []) %}
            {% if loop.last and said.is_new %}
                {% do own.append(dict(row, seconds=result.execution_time)) %}
            {% else %}
                {% do before.append(row) %}
            {% endif %}
        {% endfor %}
    {% endfor %}
    {% do return('') if runs is none or not own %}
    {% set written = own[:] %}
    {% do change_tables.ensure_described_table(runs, change_tables.columns_of_runs(), 'one row a run of a log that has taken something in') %}
    {#- asked apart: a statement that only adds meets no other one that does -#}
    {% if before %}
        {% set known = run_query(
            "select log, batch_id from " ~ runs ~ " where batch_id >= " ~ change_tables.text_literal(before | map(attribute='batch_id') | min)
        ).rows | map('list') | list %}
        {% for row in before if [row.log, row.batch_id] not in known %}
            {% do written.append(row) %}
        {% endfor %}
    {% endif %}
    {% do run_query(change_tables.add_runs(runs, written)) %}
    {% do return('') %}
{% endmacro %}


{% macro add_runs(runs, rows) -%}
{%- set fields, values = [], [] -%}
{%- set columns = change_tables.columns_of_runs() -%}
{%- for name, column in columns.items() -%}
    {%- if name in ['first_changed_at', 'last_changed_at'] -%}
        {%- set type, value = 'bigint', 'timestamp_micros(' ~ name ~ ')' -%}
    {%- elif column[0] == 'timestamp' -%}
        {%- set type, value = 'string', 'cast(' ~ name ~ ' as timestamp)' -%}
    {%- else -%}
        {%- set type, value = column[0], name -%}
    {%- endif -%}
    {%- do fields.append(name ~ ': ' ~ type) -%}
    {%- do values.append(value) -%}
{%- endfor -%}
insert into {{ runs }} ({{ columns | join(', ') }})
select
    {{ values | join(',\n    ') }}
from (
    select inline(from_json({{ change_tables.text_literal(tojson(rows)) }}, 'array<struct<{{ fields | join(', ') }}>>'))
)
{%- endmacro %}
