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


{#- Compares a row's position with another one by `sign`: `>` or `<=`. Column by column, so that Delta can skip files. -#}
{% macro _compares(columns, position, sign) -%}
    {%- set name = change_tables.quoted(columns[0]) -%}
    {%- if position | length == 1 -%}
        {{ name }} {{ sign }} {{ position[0] }}
    {%- else -%}
        ({{ name }} {{ sign[0] }} {{ position[0] }} or ({{ name }} = {{ position[0] }} and {{ change_tables._compares(columns[1:], position[1:], sign) }}))
    {%- endif -%}
{%- endmacro %}


{#-
    How many groups a bound has conditions of: by these Delta skips files. More than that are rows of a list that is joined, since a
    statement with a condition a group takes longer to plan than to run.
-#}
{% macro most_groups_as_conditions() %}
    {% do return(30) %}
{% endmacro %}


{#-
    The position after which rows of a group are read: that up to which it has settled, or of one that is to be read again the one
    before; with a `lookback`, so much less in the first column.
-#}
{% macro _read_after(place, lookback) %}
    {% if lookback %}
        {% do return([place.position[0] - lookback - 1]) %}
    {% endif %}
    {% do return(place.position if place.is_whole else place.position[:-1] + [place.position[-1] - 1]) %}
{% endmacro %}


{#- What a run reads that goes on where `settled` ends, and up to `edge`: of each group in which rows have landed, {group, after, until}. -#}
{% macro spans_of_run(settled, edge, lookback) %}
    {% set known = {} %}
    {% for place in settled %}
        {% do known.update({tojson(place.group): place}) %}
    {% endfor %}
    {% set spans = [] %}
    {% for place in edge %}
        {% set before = known.get(tojson(place.group)) %}
        {% if lookback or place != before %}
            {% do spans.append({'group': place.group, 'after': change_tables._read_after(before, lookback) if before, 'until': place.position}) %}
        {% endif %}
    {% endfor %}
    {% do return(spans) %}
{% endmacro %}


{#- Rows in these spans, and rows without a position. -#}
{% macro positions_in(arrival, spans) -%}
    (
            {{ change_tables.lacks_position(arrival) }}
            {%- if spans | length > change_tables.most_groups_as_conditions() %}
            or {{ change_tables._is_listed(arrival, spans, {'after': '>', 'until': '<='}) | indent(8) }}
            {%- else %}
            {%- for span in spans %}
            or (
                {{- change_tables._is_of_group(arrival, span) }}
                {%- if span.after %} and {{ change_tables._compares(arrival.columns, span.after, '>') }}{% endif %} and {{ change_tables._compares(arrival.columns, span.until, '<=') }})
            {%- endfor %}
            {%- endif %}
        )
{%- endmacro %}


{#- Rows after the position of their group, rows of groups that are not known, and rows without a position. -#}
{% macro positions_since(arrival, settled, lookback) -%}
    {%- set spans = [] -%}
    {%- for place in settled -%}
        {%- do spans.append({'group': place.group, 'after': change_tables._read_after(place, lookback)}) -%}
    {%- endfor -%}
    {%- if not settled -%}
        true
    {%- elif settled | length > change_tables.most_groups_as_conditions() -%}
        ({{ change_tables.lacks_position(arrival) }} or not {{ change_tables._is_listed(arrival, spans, {'after': '<='}) }})
    {%- else -%}
        (
            {{ change_tables.lacks_position(arrival) }}
            {%- for span in spans %}
            or ({{ change_tables._is_of_group(arrival, span) }} and {{ change_tables._compares(arrival.columns, span.after, '>') }})
            {%- endfor %}
            or not (
                {%- for span in spans %}
                {{ 'or ' if not loop.first }}({{ change_tables._is_of_group(arrival, span) }})
                {%- endfor %}
            )
        )
    {%- endif -%}
{%- endmacro %}


{#-
    Whether a row is of a group of a list and, by these signs, at the positions that the list has of it. A position that is null limits
    nothing.
-#}
{% macro _is_listed(arrival, spans, signs) -%}
    {%- set names, conditions, widths = [], [], {} -%}
    {%- for column in arrival.group -%}
        {%- do names.append('_ct_group_' ~ loop.index) -%}
        {%- do conditions.append(change_tables.quoted(column) ~ ' <=> ' ~ names[-1]) -%}
    {%- endfor -%}
    {%- for bound, sign in signs.items() -%}
        {%- set numbers = [] -%}
        {%- for number in spans | map(attribute=bound) | select | first | default([]) -%}
            {%- do numbers.append('_ct_' ~ bound ~ '_' ~ loop.index) -%}
        {%- endfor -%}
        {%- do names.extend(numbers) -%}
        {%- do widths.update({bound: numbers | length}) -%}
        {%- if numbers -%}
            {%- do conditions.append('(' ~ numbers[0] ~ ' is null or ' ~ change_tables._compares(arrival.columns, numbers, sign) ~ ')') -%}
        {%- endif -%}
    {%- endfor -%}
exists (
        select 1
        from values
    {%- for span in spans %}
        {%- set values = [] %}
        {%- for value in span.group %}
            {%- do values.append('null' if value is none else change_tables.text_literal(value)) %}
        {%- endfor %}
        {%- for bound, width in widths.items() %}
            {%- do values.extend(span[bound] or ['null'] * width) %}
        {%- endfor %}
            ({{ values | join(', ') }}){{ ',' if not loop.last }}
    {%- endfor %}
            as spans ({{ names | join(', ') }})
        where {{ conditions | join(' and ') }}
    )
{%- endmacro %}


{#- Whether a row is of the group of a position. -#}
{% macro _is_of_group(arrival, place) -%}
    {%- for name in arrival.group -%}
        {%- set value = place.group[loop.index0] -%}
        {{- change_tables.quoted(name) }} <=> {{ 'null' if value is none else change_tables.text_literal(value) }}{{ ' and ' if not loop.last -}}
    {%- endfor -%}
{%- endmacro %}
