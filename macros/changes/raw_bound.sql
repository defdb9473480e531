{#-
    Which raw rows a run of the log reads, by what the runs before have settled:

    predicate   SQL over the raw table; none = every row
    snapshot    whether the table's snapshot is read
    arrival     {name, data_type} of the arrival column; none where the feed has none
-#}
{% macro _raw_bound(spec, mark) %}
    {% set arrival = change_tables._arrival_column(spec) %}
    {% set rescan = var('change_tables_rescan', false) %}
    {% set loaded = none if mark is none else mark.snapshot_seq %}
    {% set wanted = spec.snapshot_seq if spec.snapshot else none %}
    {% if loaded is not none and wanted is not none and wanted < loaded %}
        {% do exceptions.raise_compiler_error(
            "change_tables: source '" ~ spec.source_name ~ "." ~ spec.table_name ~ "': `snapshot_seq` must not fall below the one that "
            ~ this ~ " has taken in, '" ~ loaded ~ "', got '" ~ wanted ~ "'; build it anew with --full-refresh"
        ) %}
    {% endif %}
    {% set bound = {'predicate': none, 'snapshot': true, 'arrival': arrival} %}
    {% if mark is not none and not rescan %}
        {% do bound.update({'snapshot': wanted is not none and (loaded is none or wanted > loaded)}) %}
        {% if arrival and mark.settled is not none %}
            {% do bound.update({'predicate': change_tables._arrived_since(arrival, mark.settled, spec.lookback)}) %}
        {% endif %}
    {% endif %}
    {% do return(bound) %}
{% endmacro %}


{% macro _arrival_column(spec) %}
    {% if spec.arrival == 'none' %}
        {% do return(none) %}
    {% elif spec.arrival == 'auto' %}
        {% do return(context['change_tables'][spec.format ~ '_arrival'](spec)) %}
    {% endif %}
    {% set landed = change_tables.landed_columns(spec, spec.relation, [spec.arrival], "`arrival` must be one of its columns") %}
    {% set type = landed[spec.arrival | lower].data_type if landed else 'string' %}
    {% set kind = change_tables._arrival_kind(type) %}
    {% if kind is none or (kind == 'text' and spec.lookback != 0) %}
        {% do exceptions.raise_compiler_error(
            "change_tables: source '" ~ spec.source_name ~ "." ~ spec.table_name ~ "': `arrival` must be a column of numbers, dates or times"
            ~ (" where `lookback` is set" if kind == 'text' else " or text") ~ ", got '" ~ spec.arrival ~ "' of type " ~ type
        ) %}
    {% endif %}
    {% do return({'name': spec.arrival, 'kind': kind}) %}
{% endmacro %}


{% macro _arrival_kind(type) %}
    {% if type in ['tinyint', 'smallint', 'int', 'bigint', 'float', 'double'] or type.startswith('decimal') %}
        {% do return('number') %}
    {% endif %}
    {% do return({'date': 'date', 'timestamp': 'timestamp', 'timestamp_ntz': 'timestamp_ntz', 'string': 'text'}.get(type)) %}
{% endmacro %}


{#- An arrival as text that keeps all of it: what the mark bears. Times as microseconds, free of any time zone. -#}
{% macro _arrival_as_text(expression, arrival) -%}
    {%- if arrival.kind == 'timestamp' -%}
        cast(unix_micros({{ expression }}) as string)
    {%- else -%}
        cast({{ expression }} as string)
    {%- endif -%}
{%- endmacro %}


{#- Rows with no arrival at all are read every time: nothing tells that they were read before. -#}
{% macro _arrived_since(arrival, settled, lookback) -%}
    {%- set name = change_tables.quoted(arrival.name) -%}
    {%- set since = {
        'number': settled,
        'date': "date '" ~ settled ~ "'",
        'timestamp': 'timestamp_micros(' ~ settled ~ ')',
        'timestamp_ntz': "timestamp_ntz '" ~ settled ~ "'",
        'text': change_tables.text_literal(settled),
    }[arrival.kind] -%}
    {%- if lookback == 0 -%}
        {%- set back = '' -%}
    {%- elif arrival.kind == 'number' -%}
        {%- set back = ' - ' ~ lookback -%}
    {%- elif arrival.kind == 'date' -%}
        {%- set back = ' - ' ~ lookback | round(0, 'ceil') | int -%}
    {%- else -%}
        {%- set back = " - interval '" ~ (lookback * 86400) | int ~ "' second" -%}
    {%- endif -%}
    ({{ name }} >= {{ since }}{{ back }} or {{ name }} is null)
{%- endmacro %}
