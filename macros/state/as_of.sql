{#-
    A query for the rows of a table as they stood at a time, with the columns of its current model. It fails for a time before a load of
    which no time is known: what that ended is missing by then, and what it began is there.

    history     the relation of the table's history model
    timestamp   SQL of a timestamp, e.g. "timestamp'2026-01-31 12:00:00'"
-#}
{% macro as_of(history, timestamp) -%}
    {%- set load = change_tables._load_without_time(history) if execute else none -%}
select * except (_valid_from, _valid_to, _valid_from_seq, _valid_to_seq, _is_current)
from {{ history }}
where
    (_valid_from is null or _valid_from <= {{ timestamp }})
    and (_valid_to_seq is null or _valid_to > {{ timestamp }})
    {%- if load %}
    -- all known times before the load that has none
    and (
        select
            if(
                {{ timestamp }} < max(greatest(_valid_from, if(_valid_to_seq < {{ load.seq }}, _valid_to, null))),
                raise_error({{ load.refusal }}),
                true
            )
        from {{ history }}
        where _valid_from_seq < {{ load.seq }}
    )
    {%- endif %}
{%- endmacro %}


{#- The last load that ended rows of a history, if it has no time: {seq, refusal}, as SQL. None too for SQL in the place of a model. -#}
{% macro _load_without_time(history) %}
    {% do return(none) if history is string %}
    {% set nodes = graph.nodes.values() | selectattr('alias', 'equalto', history.identifier) | selectattr('schema', 'equalto', history.schema) | list %}
    {% do return(none) if not nodes or change_tables.maker_of(nodes[0]) != 'history' %}
    {% set above = graph.nodes.values() | selectattr('unique_id', 'in', nodes[0].depends_on.nodes) %}
    {% set log = above | selectattr('config.materialized', 'equalto', 'change_log') | first %}
    {% set checkpoints = change_tables.read_checkpoints([change_tables.relation_of_node(log), history]) | map(attribute='checkpoint') | list %}
    {% do return(none) if none in checkpoints %}
    {% set spec = change_tables.table_spec_of_model(log) %}
    {% for load in checkpoints[1].loads | reverse if not change_tables.time_of_load(spec, load, checkpoints[0].load_times or {}) %}
        {% do return({
            'seq': change_tables.text_literal(load),
            'refusal': change_tables.text_literal(
                "change_tables: as of then the rows of '" ~ spec.source_name ~ '.' ~ spec.table_name ~ "' are not known: the load at '" ~ load
                ~ "' has no time; set `snapshot_time` when you raise `snapshot_seq`"
            ),
        }) %}
    {% endfor %}
    {% do return(none) %}
{% endmacro %}
