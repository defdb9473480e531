{#-
    For a deduplicated model. Fails, with one row, where the newest change of the log is older than `at_most`. Also where it is as far
    ahead of now, where no change has a time, and where the log is empty: then its age is not known.

    at_most   hours, such as 24 or 0.5
-#}
{% test log_freshness(model, at_most) %}
{%- do return(change_tables.nothing_to_look_at()) if not change_tables.data_test_looks() -%}
{%- set spec = change_tables.spec_of_data_test('deduplicated_changes') -%}
{%- if at_most is not number or at_most is boolean or at_most <= 0 -%}
    {%- do change_tables.refuse_data_test("`at_most` must be a number of hours above 0, got " ~ change_tables.shown_value(at_most)) -%}
{%- endif -%}
with log as (

    select
        count(*) as changes,
        max(_changed_at) as newest_change,
        timestampdiff(second, max(_changed_at), current_timestamp()) as age_in_seconds
    from {{ model }}

)

select
    {{ change_tables.text_literal(spec.source_name) }} as source_name,
    {{ change_tables.text_literal(spec.table_name) }} as table_name,
    changes,
    newest_change,
    cast(age_in_seconds / 3600 as decimal(18, 2)) as age_in_hours,
    case
        when changes = 0
            then 'the log is empty: see whether raw rows have landed, then build'
        when newest_change is null
            then 'no change of the log has a time, so its age is not known: take this test off, and ask for the freshness of the raw table (dbt source freshness)'
        when age_in_seconds < 0
            then 'the newest change is ahead of now: its time is not UTC, or a clock is wrong; correct what lands the time'
        else 'nothing newer is in the log: see whether the source has changed since, the replication runs and raw rows land, then build'
    end as what_to_do
from log
where coalesce(abs(age_in_seconds) > {{ at_most }} * 3600, true)
{% endtest %}
