{#-
    What operators have acknowledged: rejected and waiting raw rows, and changes that are reported, of which somebody has said in a note that
    nothing is to be done. They are no trouble any more in data tests and reports, which count them apart.

    They are in a table of their own, beside the table of runs, which no run writes. A row of it is known by entry, code and `id`: the
    `_row_id` of a raw row, a hash of what landed, or the `_change_id` of a change. Neither depends on runs, on the name of a model or its
    schema, so a rescan, a full refresh or another name leaves it as it is. Nothing that decides what becomes of a row reads it: a row that
    is acknowledged heals as any other. With another code it is not acknowledged.
-#}

{#- The table. It is there once somebody has acknowledged something. -#}
{% macro acknowledgements() %}
    {% do return(change_tables.table_of_package('change_table_acknowledgements')) %}
{% endmacro %}


{% macro columns_of_acknowledgements() %}
    {% do return({
        'source_name': ['string', 'the source of the entry'],
        'table_name': ['string', 'the entry'],
        'code': ['string', 'the reason code'],
        'id': ['string', 'of a raw row, its _row_id in quarantine; of a reported change, its _change_id'],
        'note': ['string', 'why nothing is to be done'],
        'acknowledged_at': ['timestamp', 'when'],
        'acknowledged_by': ['string', 'the user of the session'],
    }) %}
{% endmacro %}


{#- Whether a row of a table that has rows of many entries is of this one. `of`: the alias of the row, with the dot. -#}
{% macro is_of_entry(spec, of='') -%}
    {{ of }}source_name = {{ change_tables.text_literal(spec.source_name) }} and {{ of }}table_name = {{ change_tables.text_literal(spec.table_name) }}
{%- endmacro %}


{#-
    The join of rows with what is acknowledged of them, each id and code once: these have `acknowledged_at`. `id` and `code` are SQL. With none
    where there is no table.
-#}
{% macro join_acknowledged(spec, id, code) -%}
    {%- set table = change_tables.acknowledgements() -%}
left join {% if load_cached_relation(table) is none -%}
(select cast(null as string) as _ct_acknowledged_id, cast(null as string) as _ct_acknowledged_code, cast(null as timestamp) as acknowledged_at where false)
    {%- else -%}
(
        select id as _ct_acknowledged_id, code as _ct_acknowledged_code, min(acknowledged_at) as acknowledged_at
        from {{ table }}
        where {{ change_tables.is_of_entry(spec) }}
        group by id, code
    )
    {%- endif %} as acknowledged
    on {{ id }} = acknowledged._ct_acknowledged_id and {{ code }} = acknowledged._ct_acknowledged_code
{%- endmacro %}


{#-
    What a log has that can be acknowledged, one row a raw row or change and code: `id`, `code`, `rows`, and `shown_id`, by which
    `rejected_changes` and `reported_changes` show it.
-#}
{% macro open_troubles(relation) -%}
    {%- set parts = [] -%}
    {%- if load_cached_relation(change_tables.quarantine_relation(relation)) is not none -%}
        {%- do parts.append(
            'select ' ~ change_tables.row_id_column() ~ ' as id, ' ~ change_tables.code_of('_status_reason') ~ ' as code, _equal_rows as rows, _raw_id as shown_id from '
            ~ change_tables.quarantine_relation(relation) ~ ' where _healed_at is null'
        ) -%}
    {%- endif -%}
    {%- if load_cached_relation(change_tables.reports_relation(relation)) is not none -%}
        {%- do parts.append('select distinct _change_id, code, 1, _change_id from ' ~ change_tables.reports_relation(relation)) -%}
    {%- endif -%}
    {{- parts | join('\nunion all\n') -}}
{%- endmacro %}
