{#-
    For a deduplicated model. Fails for every reason for which raw rows have waited longer than `at_most`, counted from the run that
    met them first; not for rows that are acknowledged. Reads what the log keeps; nothing is staged.

    at_most   hours, such as 24 or 0.5
-#}
{% test waiting_age(model, at_most) %}
{%- do return(change_tables.nothing_to_look_at()) if not change_tables.data_test_looks() -%}
{%- set spec = change_tables.spec_of_data_test('deduplicated_changes') -%}
{%- set quarantine = change_tables.quarantine_of_data_test(model) -%}
{%- if at_most is not number or at_most is boolean or at_most <= 0 -%}
    {%- do change_tables.refuse_data_test("`at_most` must be a number of hours above 0, got " ~ change_tables.shown_value(at_most)) -%}
{%- endif -%}
with waiting as (

    select
        {{ change_tables.code_of('_status_reason') }} as code,
        _raw_id,
        _equal_rows,
        {{ change_tables.age_of_batch() }} as age_in_seconds
    from {{ quarantine }}
    {{ change_tables.join_acknowledged(spec, change_tables.row_id_column(), change_tables.code_of('_status_reason')) | indent(4) }}
    where {{ change_tables.is_open('waiting') }} and acknowledged_at is null

)

select
    {{ change_tables.text_literal(spec.source_name) }} as source_name,
    {{ change_tables.text_literal(spec.table_name) }} as table_name,
    code,
    sum(_equal_rows) as raw_rows,
    max_by(_raw_id, age_in_seconds) as oldest_raw_id,
    cast(max(age_in_seconds) / 3600 as decimal(18, 2)) as age_in_hours,
    'what they wait for has not landed: see the remedy of the code in reason_codes' as what_to_do
from waiting
where age_in_seconds > {{ at_most }} * 3600
group by code
{% endtest %}
