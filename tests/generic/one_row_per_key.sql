{#-
    Fails for every key that is in more than one row. Two nulls are equal.

    key   the key columns
-#}
{% test one_row_per_key(model, key) %}
select
    {{ change_tables.column_list(key) }},
    count(*) as rows_of_key
from {{ model }}
group by {{ change_tables.column_list(key) }}
having count(*) > 1
{% endtest %}
