{#-
    For a deduplicated model. Fails for every code that is reported of changes of the log, unless they are acknowledged: contents that conflict,
    and what staging has reported. Reads these columns of the log, and nothing where its runs have never met such a change.

    folds   also what only a fold of all changes finds, and what a format looks for: updates that wait for their base, rows that others have
            covered, trails that are out of order. That costs what the view `<model>__reports` costs
-#}
{% test no_reported_changes(model, folds=false) %}
{%- do return(change_tables.nothing_to_look_at()) if not change_tables.data_test_looks() -%}
{%- set spec = change_tables.spec_of_data_test('deduplicated_changes') -%}
{%- set log = change_tables.table_of_data_test(model) -%}
{%- if folds is not boolean -%}
    {%- do change_tables.refuse_data_test("`folds` must be true or false, got " ~ change_tables.shown_value(folds)) -%}
{%- endif -%}
{%- set known = change_tables.known_checkpoint(model) -%}
{%- do return("select 'no run of the log has reported a change' as what_to_do\nwhere false") if not folds and known and known.has_reported is sameas false -%}
with reports as (
    {%- if folds %}

    select
        _change_id,
        code
    from {{ change_tables.reports_relation(model) }}
    {%- else %}

    select
        _change_id,
        explode(array_compact(array({{ change_tables.code_of('_report') }}, if(_is_conflicting, 'conflicting_content', null)))) as code
    from {{ log }}
    where _checkpoint is null and (_report is not null or _is_conflicting)
    {%- endif %}

)

select
    {{ change_tables.text_literal(spec.source_name) }} as source_name,
    {{ change_tables.text_literal(spec.table_name) }} as table_name,
    code,
    count_if(acknowledged_at is null) as changes,
    count_if(acknowledged_at is not null) as acknowledged_changes,
    min(if(acknowledged_at is null, _change_id, null)) as first_change_id,
    'see them in reported_changes, and what the code means in reason_codes; or acknowledge them (change-tables acknowledge)' as what_to_do
from reports
{{ change_tables.join_acknowledged(spec, '_change_id', 'code') }}
group by code
having changes > 0
{% endtest %}
