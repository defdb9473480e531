{#-
    For a staging model. Fails for every code in `_status_reason` that the seed of reason codes does not explain
    for that status.
-#}
{% test reason_codes_known(model) %}
with given as (

    select distinct
        _status,
        {{ change_tables.code_of('_status_reason') }} as code
    from {{ model }}
    where _status_reason is not null

)

select given.*
from given
left anti join {{ ref('change_tables', 'reason_codes') }} as reason_codes
    on given._status = reason_codes.status and given.code = reason_codes.code
{% endtest %}
