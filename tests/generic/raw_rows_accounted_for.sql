{#-
    Stands on a staging model. Fails when its rows are not as many as the raw rows behind it, or when a row is misjudged:
    its status is not one of the five, or it bears a reason or a raw row where it must not, or the reverse.

    raw      the relations behind the model: the raw table, and the snapshot where there is one
    beside   where entries share the raw table: the models of the others, and that of unclaimed_rows
-#}
{% test raw_rows_accounted_for(model, raw, beside=[]) %}
{%- set relations = raw if raw is sequence else [raw] %}
with raw_counts as (

    {%- for relation in relations %}
    select count(*) as raw_rows
    from {{ relation if change_tables.has_landed(relation) else '(select 1 where false)' }}
    {%- if not loop.last %}
    union all
    {%- endif %}
    {%- endfor %}

),

landed as (

    select sum(raw_rows) as raw_rows
    from raw_counts

),

staged as (

    select
        count(*)
        {%- for relation in beside %} + (select count(*) from {{ relation }}){%- endfor %} as staged_rows,
        count_if(
            _status is null
            or _status not in ('accepted', 'merged', 'ignored', 'waiting', 'rejected')
            or (_status = 'accepted') <> (_status_reason is null)
            or (_status = 'accepted') <> (_raw_row is null)
        ) as misjudged_rows
    from {{ model }}

)

select
    landed.raw_rows,
    staged.staged_rows,
    staged.misjudged_rows
from staged
cross join landed
where staged.staged_rows <> landed.raw_rows or staged.misjudged_rows > 0
{% endtest %}
