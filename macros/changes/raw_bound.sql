{#-
    Which raw rows a run of the log reads, by what the runs before have settled:

    predicate   SQL over the raw table; none = every row
    snapshot    whether the table's snapshot is read
    arrival     {name, kind} of the arrival column; none where the feed has none. Of kind `positions`, where each group of
                rows counts for itself: `group`, the columns that tell the group, and `columns`, whole numbers that tell the
                position in it, the first one first
    edge        how far the raw table had landed before it was read: {arrival, rows} of the rows with the highest arrival,
                and their fingerprint; of positions, the list of them (see `_landed_positions`). None where nothing had
    until       of positions, SQL that keeps a run to what had landed then; else none
    is_whole    whether the rows at the arrival up to which the runs before have settled are passed over, too
    highest_seq the highest sequence that the log holds; none where there is no log
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
    {% set bound = {'predicate': none, 'snapshot': true, 'arrival': arrival, 'edge': none, 'until': none, 'is_whole': false, 'highest_seq': mark.highest_seq if mark else none} %}
    {% set settled = none if mark is none or rescan else mark.settled %}
    {#- settled by another kind of arrival: everything is read again -#}
    {% if arrival and settled is not none and (settled is string) == (arrival.kind == 'positions') %}
        {% set settled = none %}
    {% endif %}
    {% set edges = {} %}
    {% if arrival and arrival.kind == 'positions' %}
        {% do bound.update({'edge': change_tables._landed_positions(spec, arrival, settled)}) %}
        {% do bound.update({'until': change_tables._positions_until(arrival, bound.edge)}) %}
    {% elif arrival and spec.lookback == 0 %}
        {% do edges.update(change_tables._landed_edges(spec, arrival, settled)) %}
        {% do bound.update({'edge': edges.values() | list | last if edges else none}) %}
    {% endif %}
    {% if mark is not none and not rescan %}
        {% do bound.update({'snapshot': wanted is not none and (loaded is none or wanted > loaded)}) %}
        {% if arrival and arrival.kind == 'positions' %}
            {% do bound.update({'predicate': change_tables._positions_since(arrival, settled or [], spec.lookback)}) %}
        {% elif arrival and settled is not none %}
            {% set is_whole = mark.edge is not none and edges.get(settled, {}).rows == mark.edge %}
            {% do bound.update({'is_whole': is_whole, 'predicate': change_tables._arrived_since(arrival, settled, spec.lookback, is_whole)}) %}
        {% endif %}
    {% endif %}
    {% do return(bound) %}
{% endmacro %}


{#-
    The rows that bear the highest arrival, and those at the arrival up to which the raw table had settled: arrival ->
    {arrival, rows}, in order. `rows` is their number and the sums of both halves of their hashes: a run that finds the same at
    the arrival up to which it was settled has read these rows, and need not read them again; others may have landed there
    meanwhile.
-#}
{% macro _landed_edges(spec, arrival, settled) %}
    {% set hashed = [] %}
    {% for column in change_tables.landed_columns(spec, spec.relation, [], '').values() if 'variant' not in column.data_type %}
        {% do hashed.append(column) %}
    {% endfor %}
    {% set edges = {} %}
    {% if hashed %}
        {% set name = change_tables.quoted(arrival.name) %}
        {% set since = 'true' if settled is none else name ~ ' >= ' ~ change_tables._arrival_literal(arrival, settled) %}
        {% set places = [name ~ ' = (select max(' ~ name ~ ') from ' ~ spec.relation ~ ' where ' ~ since ~ ')'] %}
        {% if settled is not none %}
            {% do places.append(name ~ ' = ' ~ change_tables._arrival_literal(arrival, settled)) %}
        {% endif %}
        {% set rows = run_query(
            "select " ~ change_tables._arrival_as_text(name, arrival) ~ " as arrival,"
            ~ " concat_ws(':', count(*), sum(shiftright(_hash, 32)), sum(_hash & 4294967295)) as landed_rows"
            ~ " from (select " ~ name ~ ", " ~ change_tables.hash_of(hashed) ~ " as _hash from " ~ spec.relation
            ~ " where " ~ places | join(' or ') ~ ") group by " ~ name ~ " order by " ~ name
        ).rows %}
        {% for row in rows %}
            {% do edges.update({row['arrival']: {'arrival': row['arrival'], 'rows': row['landed_rows']}}) %}
        {% endfor %}
    {% endif %}
    {% do return(edges) %}
{% endmacro %}


{#-
    Positions up to which rows have landed, a list of {group: [value…], position: [number…], is_whole}, as `settled` has it:
    that of each group which has rows behind what the runs before have settled, and those of the others as they were.
-#}
{% macro _landed_positions(spec, arrival, settled) %}
    {% set groups = change_tables.column_list(arrival.group) %}
    {% set told = change_tables._as_texts(arrival.group) + change_tables._as_texts(arrival.columns, '_last') %}
    {% set since = change_tables._positions_since(arrival, settled, 0) if settled else 'true' %}
    {% set positions = {} %}
    {% for known in settled or [] %}
        {% do positions.update({tojson(known.group): known}) %}
    {% endfor %}
    {% if change_tables.landed_columns(spec, spec.relation, arrival.group + arrival.columns, '') %}
        {% set rows = run_query(
            "select " ~ told | join(', ') ~ " from (select " ~ groups ~ ", max(" ~ change_tables._position_of_row(arrival) ~ ") as _last from "
            ~ spec.relation ~ " where not " ~ change_tables._tells_no_position(arrival) ~ " and " ~ since ~ " group by " ~ groups ~ ")"
        ).rows %}
        {% for row in rows %}
            {% set group = change_tables._group_of(row, arrival) %}
            {% do positions.update({
                tojson(group): {'group': group, 'position': change_tables._position_of(row, arrival), 'is_whole': true}
            }) %}
        {% endfor %}
    {% endif %}
    {% set sorted = [] %}
    {% for name in positions | sort(case_sensitive=true) %}
        {% do sorted.append(positions[name]) %}
    {% endfor %}
    {% do return(sorted) %}
{% endmacro %}


{#- The values of a row that tell its group, as texts. -#}
{% macro _group_of(row, arrival) %}
    {% set group = [] %}
    {% for name in arrival.group %}
        {% do group.append(row[loop.index0]) %}
    {% endfor %}
    {% do return(group) %}
{% endmacro %}


{#- The numbers of a row that tell its position, behind those that tell its group. -#}
{% macro _position_of(row, arrival) %}
    {% set position = [] %}
    {% for name in arrival.columns %}
        {% do position.append(row[arrival.group | length + loop.index0] | int) %}
    {% endfor %}
    {% do return(position) %}
{% endmacro %}


{#- Columns as texts, or fields of a struct. -#}
{% macro _as_texts(names, struct=none) %}
    {% set texts = [] %}
    {% for name in names %}
        {% do texts.append('cast(' ~ (struct ~ '.' if struct else '') ~ change_tables.quoted(name) ~ ' as string)') %}
    {% endfor %}
    {% do return(texts) %}
{% endmacro %}


{#- The position of a row in its group, which sorts. -#}
{% macro _position_of_row(arrival) -%}
    struct({{ change_tables.column_list(arrival.columns) }})
{%- endmacro %}


{% macro _tells_no_position(arrival) -%}
    (
    {%- for name in arrival.columns -%}
        {{ change_tables.quoted(name) }} is null{{ ' or ' if not loop.last }}
    {%- endfor -%}
    )
{%- endmacro %}


{#- Whether a row's position stands to another as `sign` says: `>`, `>=` or `<=`. Column by column, which Delta can skip files by. -#}
{% macro _compares(columns, position, sign) -%}
    {%- set name = change_tables.quoted(columns[0]) -%}
    {%- if columns | length == 1 -%}
        {{ name }} {{ sign }} {{ position[0] }}
    {%- else -%}
        ({{ name }} {{ sign[0] }} {{ position[0] }} or ({{ name }} = {{ position[0] }} and {{ change_tables._compares(columns[1:], position[1:], sign) }}))
    {%- endif -%}
{%- endmacro %}


{#- Rows behind their group's position, rows of groups that are not known, and rows that tell no position. -#}
{% macro _positions_since(arrival, settled, lookback) -%}
    {%- set known = [] -%}
    {%- set behind = [] -%}
    {%- for place in settled -%}
        {%- set is_of_group = change_tables._is_of_group(arrival, place) -%}
        {%- do known.append(is_of_group) -%}
        {%- if lookback -%}
            {%- set is_behind = change_tables.quoted(arrival.columns[0]) ~ ' >= ' ~ place.position[0] ~ ' - ' ~ lookback -%}
        {%- else -%}
            {%- set is_behind = change_tables._compares(arrival.columns, place.position, '>' if place.is_whole else '>=') -%}
        {%- endif -%}
        {%- do behind.append(is_of_group ~ ' and ' ~ is_behind) -%}
    {%- endfor -%}
    {%- if not settled -%}
        true
    {%- else -%}
        (
            {{ change_tables._tells_no_position(arrival) }}
            {%- for condition in behind %}
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


{#- Rows up to the position of their group, and rows that tell no position. -#}
{% macro _positions_until(arrival, edge) -%}
        (
            {{ change_tables._tells_no_position(arrival) }}
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


{#- The arrival of a raw row, as staging hands it on: a value, or a struct of the group and the position. -#}
{% macro arrival_of_row(arrival) -%}
    {%- if arrival.kind == 'positions' -%}
        struct({{ change_tables.column_list(arrival.group) }}, {{ change_tables._position_of_row(arrival) }} as _position)
    {%- else -%}
        {{- change_tables.quoted(arrival.name) -}}
    {%- endif -%}
{%- endmacro %}


{#- Whether a format's staging tells rows that hold back by a column of their own: where its natural arrival are positions. -#}
{% macro tells_what_holds_back(spec) %}
    {% set natural = context['change_tables'][spec.format ~ '_arrival'](spec) %}
    {% do return(natural is not none and natural.kind == 'positions') %}
{% endmacro %}


{#- Whether a row that was read holds back up to where the raw table has settled. -#}
{% macro _holds_back(spec) -%}
    {%- set of_format = context['change_tables'].get(spec.format ~ '_holds_back') -%}
    {%- if of_format -%}
        {{- of_format(spec) -}}
    {%- else -%}
        {{- '_holds_back' if change_tables.tells_what_holds_back(spec) else "_status = 'waiting'" -}}
    {%- endif -%}
{%- endmacro %}


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
    {% if modules.re.match('(var)?char\\b', type) %}
        {% do return('text') %}
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


{% macro _arrival_literal(arrival, text) %}
    {% do return({
        'number': text,
        'date': "date '" ~ text ~ "'",
        'timestamp': 'timestamp_micros(' ~ text ~ ')',
        'timestamp_ntz': "timestamp_ntz '" ~ text ~ "'",
        'text': change_tables.text_literal(text),
    }[arrival.kind]) %}
{% endmacro %}


{#-
    Rows with no arrival at all are read every time: nothing tells that they were read before. `is_whole`: the rows at the
    arrival itself are known to have been read, all of them.
-#}
{% macro _arrived_since(arrival, settled, lookback, is_whole=false) -%}
    {%- set name = change_tables.quoted(arrival.name) -%}
    {%- if lookback == 0 -%}
        {%- set back = '' -%}
    {%- elif arrival.kind == 'number' -%}
        {%- set back = ' - ' ~ lookback -%}
    {%- elif arrival.kind == 'date' -%}
        {%- set back = ' - ' ~ lookback | round(0, 'ceil') | int -%}
    {%- else -%}
        {%- set back = " - interval '" ~ (lookback * 86400) | int ~ "' second" -%}
    {%- endif -%}
    ({{ name }} {{ '>' if is_whole else '>=' }} {{ change_tables._arrival_literal(arrival, settled) }}{{ back }} or {{ name }} is null)
{%- endmacro %}
