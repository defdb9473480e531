{#-
    Stands on a deduplicated model. Fails for every change that staging accepted and the log lacks, and for every change
    that the log holds more than once. A log may hold what the raw table no longer has.

    staging   the relation of the table's staging model
-#}
{% test accepted_changes_once(model, staging) %}
with logged as (

    select
        _change_id,
        count(*) as times
    from {{ model }}
    group by _change_id

),

accepted as (

    select distinct _change_id
    from {{ staging }}
    where _status = 'accepted'

)

select
    accepted._change_id,
    'not in the log' as mistake
from accepted
left anti join logged
    on accepted._change_id = logged._change_id
union all
select
    _change_id,
    concat(times, ' times in the log') as mistake
from logged
where times > 1
{% endtest %}
