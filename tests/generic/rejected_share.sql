{#-
    For a deduplicated model. Fails, with one row, where too many raw rows are rejected, against the changes that were used: so a batch that
    is rejected as a whole does not build green. Rows that are acknowledged count apart. Reads what the log keeps; nothing is staged, and where
    it keeps no rejected row, nothing is read.

    above   a share between 0 and 1, which is still allowed
    hours   only what runs of so many hours have met; by default all that the log has
-#}
{% test rejected_share(model, above, hours=none) %}
{%- do return(change_tables.nothing_to_look_at()) if not change_tables.data_test_looks() -%}
{%- set spec = change_tables.spec_of_data_test('deduplicated_changes') -%}
{%- set log = change_tables.table_of_data_test(model) -%}
{%- set quarantine = change_tables.quarantine_of_data_test(model) -%}
{%- if above is not number or above is boolean or above < 0 or above >= 1 -%}
    {%- do change_tables.refuse_data_test("`above` must be a share from 0 to less than 1, got " ~ change_tables.shown_value(above)) -%}
{%- endif -%}
{%- if hours is not none and (hours is not number or hours is boolean or hours <= 0) -%}
    {%- do change_tables.refuse_data_test("`hours` must be a number above 0, got " ~ change_tables.shown_value(hours)) -%}
{%- endif -%}
{%- set of_hours = change_tables.age_of_batch() ~ ' <= ' ~ hours * 3600 if hours is not none else 'true' -%}
{%- set known = change_tables.known_checkpoint(model) -%}
{%- do return("select 'the log keeps no rejected row' as what_to_do\nwhere false") if known and known.quarantined.rejected == 0 -%}
with met as (

    select
        (select count(*) from {{ log }} where _checkpoint is null and {{ of_hours }}) as changes,
        coalesce(sum(if(acknowledged_at is null, _equal_rows, 0)), 0) as rejected_rows,
        coalesce(sum(if(acknowledged_at is null, 0, _equal_rows)), 0) as acknowledged_rows
    from {{ quarantine }}
    {{ change_tables.join_acknowledged(spec, change_tables.row_id_column(), change_tables.code_of('_status_reason')) | indent(4) }}
    where {{ change_tables.is_open('rejected') }} and {{ of_hours }}

)

select
    {{ change_tables.text_literal(spec.source_name) }} as source_name,
    {{ change_tables.text_literal(spec.table_name) }} as table_name,
    changes,
    rejected_rows,
    acknowledged_rows,
    cast(rejected_rows / (rejected_rows + changes) as decimal(9, 4)) as share,
    'see their codes in rejected_changes, and what each means in reason_codes; correct the entry or the landing, then rescan; or acknowledge them (change-tables acknowledge)' as what_to_do
from met
where rejected_rows > {{ above }} * (rejected_rows + changes)
{% endtest %}
