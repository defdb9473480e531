{#- Compares a row's position, by SQL for its columns, with another one by `sign`: `=`, `>`, `>=` or `<=`. Column by column, so that Delta can skip files. -#}
{% macro _compares(columns, position, sign) -%}
    {%- set name = columns[0] -%}
    {%- do return(name ~ ' ' ~ sign ~ ' ' ~ position[0]) if position | length == 1 -%}
    ({{ name }} {{ sign[0] }} {{ position[0] }} or ({{ name }} = {{ position[0] }} and {{ change_tables._compares(columns[1:], position[1:], sign) }}))
{%- endmacro %}


{#-
    How many groups a bound has conditions of: by these Delta skips files. More than that are rows of a list that is joined, since a
    statement with a condition a group takes longer to plan than to run.
-#}
{% macro most_groups_as_conditions() %}
    {% do return(30) %}
{% endmacro %}


{#-
    The rows of a group from `place` on, or all of it, and up to `until`, if there is one: {group, sign, since, until}, of which the last two are
    lists of SQL, or none. Rows at the place itself are among them unless it is whole. With a `lookback`, so much less in the first column.
-#}
{% macro _span(arrival, place, lookback, is_whole, until=none) %}
    {% set since = change_tables._values_of_place(arrival, place) if place else none %}
    {% if place and lookback %}
        {% set since = [change_tables.arrival_below(arrival, place.position[0], lookback)] %}
    {% endif %}
    {% do return({
        'group': (place or until).group,
        'sign': '>' if is_whole and not lookback else '>=',
        'since': since,
        'until': change_tables._values_of_place(arrival, until) if until else none,
    }) %}
{% endmacro %}


{% macro _values_of_place(arrival, place) %}
    {% set values = [] %}
    {% for value in place.position %}
        {% do values.append(change_tables.arrival_literal(arrival, value)) %}
    {% endfor %}
    {% do return(values) %}
{% endmacro %}


{#-
    What a run reads that goes on from the watermark, and up to the high water, of each group in which rows have landed. `is_same`: those at
    the watermark are as they were, by its fingerprint.
-#}
{% macro spans_of_run(arrival, watermark, high_water, lookback, is_same=false) %}
    {% set known = change_tables.places_by_group(watermark) %}
    {% set spans = [] %}
    {% for place in high_water %}
        {% set before = known.get(tojson(place.group)) %}
        {% if lookback or place != before %}
            {% set is_whole = before and (is_same or before.is_whole) %}
            {% do spans.append(change_tables._span(arrival, before, lookback, is_whole, place)) %}
        {% endif %}
    {% endfor %}
    {% do return(spans) %}
{% endmacro %}


{% macro places_by_group(places) %}
    {% set by_group = {} %}
    {% for place in places or [] %}
        {% do by_group.update({tojson(place.group): place}) %}
    {% endfor %}
    {% do return(by_group) %}
{% endmacro %}


{#- Rows in these spans, and rows without a position. -#}
{% macro positions_in(arrival, spans) -%}
    (
            {{ change_tables.lacks_position(arrival) }}
            {%- if spans | length > change_tables.most_groups_as_conditions() %}
            or {{ change_tables._is_listed(arrival, spans) | indent(8) }}
            {%- else %}
            {%- for span in spans %}
            or ({{ change_tables._is_in(arrival, span) }})
            {%- endfor %}
            {%- endif %}
        )
{%- endmacro %}


{#-
    Rows from the place of their group on, rows of groups that are not known, and rows without a position. Those at the place itself are
    among them unless one record is there, which was read.
-#}
{% macro positions_since(arrival, watermark, lookback) -%}
    {%- set spans = [] -%}
    {%- for place in watermark -%}
        {%- do spans.append(change_tables._span(arrival, place, lookback, place.is_whole)) -%}
    {%- endfor -%}
    {%- if not watermark -%}
        true
    {%- elif watermark | length > change_tables.most_groups_as_conditions() -%}
        ({{ change_tables.lacks_position(arrival) }} or not {{ change_tables._is_listed(arrival, spans, is_below=true) }})
    {%- else -%}
        (
            {{ change_tables.lacks_position(arrival) }}
            {%- for span in spans %}
            or ({{ change_tables._is_in(arrival, span) }})
            {%- endfor %}
            {%- if arrival.group %}
            or not (
                {%- for span in spans %}
                {{ 'or ' if not loop.first }}({{ change_tables._is_in_group(arrival, span.group) | join(' and ') }})
                {%- endfor %}
            )
            {%- endif %}
        )
    {%- endif -%}
{%- endmacro %}


{#- Whether a raw row is below the watermark, and no run reads it again: SQL over the raw table. -#}
{% macro is_below_watermark(arrival, watermark, lookback) %}
    {% do return('not ' ~ change_tables.positions_since(arrival, watermark, lookback) if watermark else 'false') %}
{% endmacro %}


{% macro _is_in(arrival, span) %}
    {% set conditions = change_tables._is_in_group(arrival, span.group) %}
    {% set position = change_tables.positions_of(arrival) %}
    {% do conditions.append(change_tables._compares(position, span.since, span.sign)) if span.since %}
    {% do conditions.append(change_tables._compares(position, span.until, '<=')) if span.until %}
    {% do return(conditions | join(' and ')) %}
{% endmacro %}


{% macro _is_in_group(arrival, group) %}
    {% set conditions = [] %}
    {% for name in arrival.group %}
        {% set value = group[loop.index0] %}
        {% do conditions.append(change_tables.quoted(name) ~ ' <=> ' ~ ('null' if value is none else change_tables.text_literal(value))) %}
    {% endfor %}
    {% do return(conditions) %}
{% endmacro %}


{#-
    Whether a row is in one of these spans, as a join with a list of them; or, with `is_below`, before them in their group. An end that
    is null limits nothing. These are whole numbers, so a span that begins at a number begins after the one before it.
-#}
{% macro _is_listed(arrival, spans, is_below=false) -%}
    {%- set widths = {} -%}
    {%- set names = change_tables.each(arrival.group, '_ct_group_{number}') -%}
    {%- set conditions = change_tables.each(arrival.group, '{name} <=> _ct_group_{number}') -%}
    {%- for end, sign in {'since': '<=' if is_below else '>', 'until': '<='}.items() -%}
        {%- set width = spans | map(attribute=end) | select | first | default([]) | length -%}
        {%- set numbers = change_tables.each(arrival.columns[:width], '_ct_' ~ end ~ '_{number}') -%}
        {%- do names.extend(numbers) -%}
        {%- do widths.update({end: width}) -%}
        {%- if numbers -%}
            {%- do conditions.append('(' ~ numbers[0] ~ ' is null or ' ~ change_tables._compares(change_tables.positions_of(arrival), numbers, sign) ~ ')') -%}
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
        {%- for end, width in widths.items() %}
            {%- do values.extend(span[end] or ['null'] * width) %}
        {%- endfor %}
        {%- if span.since and span.sign == '>=' %}
            {%- set last = arrival.group | length + widths.since - 1 %}
            {%- do values.insert(last, values.pop(last) - 1) %}
        {%- endif %}
            ({{ values | join(', ') }}){{ ',' if not loop.last }}
    {%- endfor %}
            as spans ({{ names | join(', ') }})
        where {{ conditions | join(' and ') }}
    )
{%- endmacro %}
