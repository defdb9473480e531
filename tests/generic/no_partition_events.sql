{#-
    For a model of openedge_events. Fails, as a warning by default, for every event that removed rows of a partition without
    a change that says so, until the table has been loaded again.
-#}
{% test no_partition_events(model) %}
{{ config(severity='warn') }}
select
    source_name,
    table_name,
    partition_id,
    event,
    _change_seq,
    _changed_at
from {{ model }}
where kind = 'partition' and not is_covered
{% endtest %}
