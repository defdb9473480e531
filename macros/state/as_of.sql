{#-
    A query for the rows of a table as they stood at a time, with the columns of its current model.

    history     the relation of the table's history model
    timestamp   SQL of a timestamp, e.g. "timestamp'2026-01-31 12:00:00'"
-#}
{% macro as_of(history, timestamp) -%}
select * except (_valid_from, _valid_to, _valid_from_seq, _valid_to_seq, _is_current)
from {{ history }}
where
    (_valid_from is null or _valid_from <= {{ timestamp }})
    and (_valid_to_seq is null or _valid_to > {{ timestamp }})
{%- endmacro %}
