{#-
    The view `<name>__reports` of a log: what staging reported, contents that conflict, and what only the fold finds:
    updates that wait for their base, and rows that others covered. Each log has one, since a metastore need not
    take the text of one view over many tables.

    checkpoint   the log's; the view is made again where its text is another one than the view's
-#}
{% macro reports_of_log(spec, log, checkpoint) -%}
{#- no other values are needed -#}
{%- set keys = dict(spec, columns=spec.columns | selectattr('name', 'in', spec.key) | list, column_names=spec.key) -%}
{%- set run = dict(change_tables.fold_run(keys, dict(checkpoint, batch='', added={})), log=log) -%}
{%- set of_format = change_tables.format_of(spec.format).reports -%}
{%- set key = 'to_json(struct(' ~ change_tables.column_list(spec.key) ~ "), map('ignoreNullFields', 'false'))" -%}
{%- set reports_orphans = spec.images == 'partial' and spec.orphans == 'report' -%}
with {{ '' }}
{%- if reports_orphans or run.moves -%}
{{ change_tables.input_event_steps(keys, run) }},

{% endif -%}
{%- if reports_orphans -%}
{{ change_tables.row_event_steps(keys, run) }}
{{- change_tables.judged_steps(keys, run) }},

{% elif run.moves -%}
{% if run.has_resets -%}
{{ change_tables.reset_steps(spec, run) }},

{% endif -%}
{{ change_tables.row_steps(keys, run, exchanged_only=false) }},

{% endif -%}
reports as (

    select
        _change_id,
        _change_seq,
        inline(array_compact(array(
            case when _report is not null then struct({{ change_tables.code_of('_report') }}, {{ change_tables.detail_of('_report') }}) end,
            case when _is_conflicting then struct(
                'conflicting_content', 'delivered with different contents or before images; the greater ones count'
            ) end
        ))) as (code, detail)
    from {{ log }}
    where _checkpoint is null and (_report is not null or _is_conflicting)
    {%- if reports_orphans %}
    union all
    select
        _change_id,
        _change_seq,
        'orphan' as code,
        concat('no row lives at key ', {{ key }}, ', and the update lacks columns') as detail
    from decided_events
    where not _is_deleted and not _ct_lives
    {%- endif %}
    {%- if of_format %}
    union all
    {{ of_format(spec, log) | trim | indent(4) }}
    {%- endif %}
    {%- if run.moves %}
    union all
    select
        _change_id,
        _change_seq,
        'key_collision' as code,
        concat('its row at key ', {{ key }}, ' was covered by that of change ', _ct_covered_by) as detail
    from rows_of_events
    where _ct_covered_by is not null
    {%- endif %}

)

select *
from reports
{%- endmacro %}
