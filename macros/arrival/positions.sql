{#- The group of a position, as texts: the first values of a row. -#}
{% macro group_of_position(row, arrival) %}
    {% set group = [] %}
    {% for name in arrival.group %}
        {% do group.append(row[loop.index0]) %}
    {% endfor %}
    {% do return(group) %}
{% endmacro %}


{#- The numbers of a position in its group: the values of a row after those of the group. -#}
{% macro position_in_group(row, arrival) %}
    {% set position = [] %}
    {% for name in arrival.columns %}
        {% do position.append(row[arrival.group | length + loop.index0] | int) %}
    {% endfor %}
    {% do return(position) %}
{% endmacro %}


{#- Columns as texts, or fields of a struct. -#}
{% macro columns_as_texts(names, struct=none) %}
    {% set texts = [] %}
    {% for name in names %}
        {% do texts.append('cast(' ~ (struct ~ '.' if struct else '') ~ change_tables.quoted(name) ~ ' as string)') %}
    {% endfor %}
    {% do return(texts) %}
{% endmacro %}


{#- The position of a row in its group, which sorts. -#}
{% macro position_of_row(arrival) -%}
    struct({{ change_tables.column_list(arrival.columns) }})
{%- endmacro %}


{% macro lacks_position(arrival) -%}
    (
    {%- for name in arrival.columns -%}
        {{ change_tables.quoted(name) }} is null{{ ' or ' if not loop.last }}
    {%- endfor -%}
    )
{%- endmacro %}


{#- Compares a row's position with another one by `sign`: `>`, `>=` or `<=`. Column by column, so that Delta can skip files. -#}
{% macro _compares(columns, position, sign) -%}
    {%- set name = change_tables.quoted(columns[0]) -%}
    {%- if columns | length == 1 -%}
        {{ name }} {{ sign }} {{ position[0] }}
    {%- else -%}
        ({{ name }} {{ sign[0] }} {{ position[0] }} or ({{ name }} = {{ position[0] }} and {{ change_tables._compares(columns[1:], position[1:], sign) }}))
    {%- endif -%}
{%- endmacro %}


{#- Rows after the position of their group, rows of groups that are not known, and rows without a position. -#}
{% macro positions_since(arrival, settled, lookback) -%}
    {%- set known = [] -%}
    {%- set since = [] -%}
    {%- for place in settled -%}
        {%- set is_of_group = change_tables._is_of_group(arrival, place) -%}
        {%- do known.append(is_of_group) -%}
        {%- if lookback -%}
            {%- set is_since = change_tables.quoted(arrival.columns[0]) ~ ' >= ' ~ place.position[0] ~ ' - ' ~ lookback -%}
        {%- else -%}
            {%- set is_since = change_tables._compares(arrival.columns, place.position, '>' if place.is_whole else '>=') -%}
        {%- endif -%}
        {%- do since.append(is_of_group ~ ' and ' ~ is_since) -%}
    {%- endfor -%}
    {%- if not settled -%}
        true
    {%- else -%}
        (
            {{ change_tables.lacks_position(arrival) }}
            {%- for condition in since %}
            or ({{ condition }})
            {%- endfor %}
            or not (
                {%- for condition in known %}
                {{ 'or ' if not loop.first }}({{ condition }})
                {%- endfor %}
            )
        )
    {%- endif -%}
{%- endmacro %}


{#- Rows up to the position of their group, and rows without a position. -#}
{% macro positions_until(arrival, edge) -%}
        (
            {{ change_tables.lacks_position(arrival) }}
            {%- for place in edge %}
            or ({{ change_tables._is_of_group(arrival, place) }} and {{ change_tables._compares(arrival.columns, place.position, '<=') }})
            {%- endfor %}
        )
{%- endmacro %}


{#- Whether a row is of the group of a position. -#}
{% macro _is_of_group(arrival, place) -%}
    {%- for name in arrival.group -%}
        {%- set value = place.group[loop.index0] -%}
        {{- change_tables.quoted(name) }} <=> {{ 'null' if value is none else change_tables.text_literal(value) }}{{ ' and ' if not loop.last -}}
    {%- endfor -%}
{%- endmacro %}
