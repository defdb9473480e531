{#-
    Stands on a staging model. Fails when its rows are not as many as the raw rows behind it, and for every row whose
    status is not one of the five, or whose reason is there where it must not be, or the reverse.

    raw   the relations behind the model: the raw table, and the snapshot where there is one
-#}
{% test raw_rows_accounted_for(model, raw) %}
{%- set relations = raw if raw is sequence else [raw] %}
with raw_counts as (

    {%- for relation in relations %}
    select count(*) as raw_rows
    from {{ relation }}
    {%- if not loop.last %}
    union all
    {%- endif %}
    {%- endfor %}

),

staged_count as (

    select count(*) as staged_rows
    from {{ model }}

),

counts_that_differ as (

    select concat('staged ', staged_rows, ' of ', raw_rows, ' raw rows') as mistake
    from staged_count
    cross join (select sum(raw_rows) as raw_rows from raw_counts) as landed
    where staged_rows <> raw_rows

),

statuses_that_do_not_fit as (

    select concat('status ', coalesce(_status, 'null'), ', reason ', coalesce(_status_reason, 'null')) as mistake
    from {{ model }}
    where
        _status is null
        or _status not in ('accepted', 'merged', 'ignored', 'waiting', 'rejected')
        or (_status = 'accepted') <> (_status_reason is null)
        or (_status = 'accepted') <> (_raw_row is null)

)

select mistake
from counts_that_differ
union all
select mistake
from statuses_that_do_not_fit
{% endtest %}
