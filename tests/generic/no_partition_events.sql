{#-
    Stands on a model of openedge_events. Fails, as a warning by default, for every event that removed rows of a partition
    of which no change tells, until a load of the table has been taken since.
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
