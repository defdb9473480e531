{#- The arrival of a raw row, as staging hands it on: a value, or a struct of the group and the position. -#}
{% macro arrival_of_row(arrival) -%}
    {%- if arrival.kind == 'positions' -%}
        struct({{ change_tables.column_list(arrival.group) }}, {{ change_tables.position_of_row(arrival) }} as _ct_position)
    {%- else -%}
        {{- change_tables.quoted(arrival.name) -}}
    {%- endif -%}
{%- endmacro %}


{#- Whether staging has the column `_ct_holds_back`: where the natural arrival of the format is a position. -#}
{% macro says_what_holds_back(spec) %}
    {% set natural = change_tables.natural_arrival(spec) %}
    {% do return(natural is not none and natural.kind == 'positions') %}
{% endmacro %}


{#- Whether a row that was read holds back: later runs must read it again, so the raw table settles no further. -#}
{% macro holds_back(spec) -%}
    {%- set of_format = change_tables.format_of(spec.format).holds_back -%}
    {%- if of_format -%}
        {{- of_format(spec) -}}
    {%- else -%}
        {{- '_ct_holds_back' if change_tables.says_what_holds_back(spec) else "_status = 'waiting'" -}}
    {%- endif -%}
{%- endmacro %}


{#- An arrival as the mark has it: which column it is, how it compares, and of which rows. -#}
{% macro arrival_in_mark(arrival) %}
    {% do return(arrival.kind ~ ':' ~ (arrival.name or arrival.columns | join(',')) ~ (':' ~ arrival.reads if arrival.reads else '') if arrival else none) %}
{% endmacro %}


{#- The arrival that a format has without a column that the user names; none where it has none. -#}
{% macro natural_arrival(spec) %}
    {% set of_format = change_tables.format_of(spec.format).arrival %}
    {% do return(of_format(spec) if of_format else none) %}
{% endmacro %}


{% macro arrival_column(spec) %}
    {% if spec.arrival == 'none' %}
        {% do return(none) %}
    {% elif spec.arrival == 'auto' %}
        {% do return(change_tables.natural_arrival(spec)) %}
    {% endif %}
    {% set landed = change_tables.landed_columns(spec, spec.relation, [spec.arrival], "`arrival` must be one of its columns") %}
    {% set type = landed[spec.arrival | lower].data_type if landed else 'string' %}
    {% set kind = change_tables._arrival_kind(type) %}
    {% if kind is none or (kind == 'text' and spec.lookback != 0) %}
        {% do exceptions.raise_compiler_error(
            "change_tables: source '" ~ spec.source_name ~ "." ~ spec.table_name ~ "': `arrival` must be a column of whole numbers, decimals, dates"
            ~ (" or times where `lookback` is set" if kind == 'text' else ", times or text") ~ ", got '" ~ spec.arrival ~ "' of type " ~ type
        ) %}
    {% endif %}
    {% do return({'name': spec.arrival, 'kind': kind, 'type': type}) %}
{% endmacro %}


{#- How arrivals of a landed type are written and compared. None for floating point: equal numbers can have different texts. -#}
{% macro _arrival_kind(type) %}
    {% if type in ['tinyint', 'smallint', 'int', 'bigint'] %}
        {% do return('whole_number') %}
    {% elif type.startswith('decimal') %}
        {% do return('decimal') %}
    {% elif modules.re.match('(var)?char\\b', type) %}
        {% do return('text') %}
    {% endif %}
    {% do return({'date': 'date', 'timestamp': 'timestamp', 'timestamp_ntz': 'timestamp_ntz', 'string': 'text'}.get(type)) %}
{% endmacro %}


{#-
    An arrival as a text that keeps all of it, for the mark. Dates are days and times are microseconds since 1970: no time zone
    changes these, and every value can be read back.
-#}
{% macro arrival_as_text(expression, arrival) -%}
    {%- set number = {
        'date': 'unix_date(' ~ expression ~ ')',
        'timestamp': 'unix_micros(' ~ expression ~ ')',
        'timestamp_ntz': "timestampdiff(microsecond, timestamp_ntz '1970-01-01', " ~ expression ~ ')',
    }.get(arrival.kind, expression) -%}
    cast({{ number }} as string)
{%- endmacro %}


{% macro arrival_literal(arrival, text) %}
    {% do return({
        'whole_number': text,
        'decimal': "cast('" ~ text ~ "' as " ~ (arrival.type or '') | replace(',', ', ') ~ ")",
        'date': 'date_from_unix_date(' ~ text ~ ')',
        'timestamp': 'timestamp_micros(' ~ text ~ ')',
        'timestamp_ntz': "timestampadd(microsecond, " ~ text ~ ", timestamp_ntz '1970-01-01')",
        'text': change_tables.text_literal(text),
    }[arrival.kind]) %}
{% endmacro %}


{#- The literal of an arrival less `lookback`: a number for numbers, days for dates and times. Never below the least of the type. -#}
{% macro _arrival_below(arrival, text, lookback) %}
    {% set least = {'date': -2147483648, 'timestamp': -9223372036854775808, 'timestamp_ntz': -9223372036854775808} %}
    {% if lookback == 0 %}
        {% do return(change_tables.arrival_literal(arrival, text)) %}
    {% elif arrival.kind == 'decimal' %}
        {% set digits, places = modules.re.match('decimal\\((\\d+),(\\d+)\\)', arrival.type).groups() %}
        {% set least_decimal = '-' ~ '9' * (digits | int - places | int) ~ '.' ~ '9' * (places | int) %}
        {% do return(
            "coalesce(try_subtract(" ~ change_tables.arrival_literal(arrival, text) ~ ", " ~ lookback ~ "), "
            ~ change_tables.arrival_literal(arrival, least_decimal) ~ ")"
        ) %}
    {% elif arrival.kind == 'whole_number' %}
        {% do return((text | int - lookback) | string) %}
    {% endif %}
    {% set units = lookback | round(0, 'ceil') | int if arrival.kind == 'date' else (lookback * 86400) | int * 1000000 %}
    {% do return(change_tables.arrival_literal(arrival, [text | int - units, least[arrival.kind]] | max)) %}
{% endmacro %}


{#-
    Whether a row arrived at the settled arrival or after it. Rows without an arrival are read every time: nothing says that they were
    read before.

    skips_settled   all rows at the settled arrival itself were read before, so they are left out
-#}
{% macro arrived_since(arrival, settled, lookback, skips_settled=false) -%}
    {%- set name = change_tables.quoted(arrival.name) -%}
    ({{ name }} {{ '>' if skips_settled else '>=' }} {{ change_tables._arrival_below(arrival, settled, lookback) }} or {{ name }} is null)
{%- endmacro %}
