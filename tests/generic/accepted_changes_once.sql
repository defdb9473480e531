{#-
    For a deduplicated model. Fails for every change that staging accepted and the log lacks, and for every change that the
    log has more than once. A log may have changes that the raw table no longer has. If raw_rows_accounted_for is given the
    log, it proves the same without staging the rows again.

    Without `staging` nothing is staged: fails for every change that the log has more than once.

    staging   the relation of the table's staging model
-#}
{% test accepted_changes_once(model, staging=none) %}
{%- if staging is none -%}
select
    _change_id,
    concat(count(*), ' times in the log') as mistake
from {{ model }}
group by _change_id
having count(*) > 1
{%- else -%}
-- rows of both go through one aggregate, which reads each once
with all_changes as (

    select
        _change_id,
        true as is_logged
    from {{ model }}
    union all
    select
        _change_id,
        false as is_logged
    from {{ staging }}
    where _status = 'accepted'

),

compared as (

    select
        _change_id,
        count_if(is_logged) as times,
        not bool_and(is_logged) as is_accepted
    from all_changes
    group by _change_id

)

select
    _change_id,
    if(times > 1, concat(times, ' times in the log'), 'not in the log') as mistake
from compared
where times > 1 or is_accepted and (times = 0 or _change_id is null)
{%- endif %}
{% endtest %}
