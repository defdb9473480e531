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
    is_late     whether rows that the run reads may have a sequence that the log reaches, so that rows which landed before
                can belong to the same change
    lowest_seq  the lowest sequence of such rows where that is known, else none
    is_read     whether no row that a run reads by the predicate has landed: none of the raw table, which is all that it reads
    settled_before  how far the raw table had settled by the runs before; none where nothing had, by this arrival
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
    {% set bound = {
        'predicate': none, 'snapshot': true, 'arrival': arrival, 'edge': none, 'until': none, 'is_whole': false,
        'highest_seq': mark.highest_seq if mark else none, 'is_late': mark is not none, 'lowest_seq': none, 'is_read': false,
    } %}
    {#- what has settled by another arrival tells nothing of this one: everything is read again -#}
    {% do bound.update({'settled_before': mark.settled if mark and mark.arrival == change_tables.arrival_in_mark(arrival) else none}) %}
    {% set settled = none if rescan else bound.settled_before %}
    {% set landed = {} %}
    {% if arrival and arrival.kind == 'positions' %}
        {% do landed.update(change_tables._landed_positions(spec, arrival, settled)) %}
        {% do bound.update({'edge': landed.positions}) %}
        {% do bound.update({'until': change_tables._positions_until(arrival, bound.edge)}) %}
    {% elif arrival and spec.lookback == 0 %}
        {% do landed.update(change_tables._landed_edge(spec, arrival, settled)) %}
        {% do bound.update({'edge': landed.edge}) %}
    {% endif %}
    {% if mark is not none and not rescan %}
        {% do bound.update({'snapshot': wanted is not none and (loaded is none or wanted > loaded)}) %}
        {% if arrival and arrival.kind == 'positions' %}
            {% do bound.update({'predicate': change_tables._positions_since(arrival, settled or [], spec.lookback)}) %}
            {% set has_landed = spec.lookback != 0 or bound.edge != settled or landed.unplaced %}
            {% do bound.update({'is_read': change_tables._reads_one_table(spec, bound) and not has_landed}) %}
        {% elif arrival and settled is not none %}
            {% set is_whole = mark.edge is not none and landed.settled_rows == mark.edge %}
            {% do bound.update({'is_whole': is_whole, 'predicate': change_tables._arrived_since(arrival, settled, spec.lookback, is_whole)}) %}
            {#- no row at what had settled, or after: they were purged -#}
            {% set is_beyond = landed.edge is not none and (not is_whole or landed.edge.arrival != settled) %}
            {% set has_landed = 'unplaced' not in landed or landed.unplaced or is_beyond %}
            {% do bound.update({'is_read': change_tables._reads_one_table(spec, bound) and not has_landed}) %}
            {% if 'lowest_seq' in landed %}
                {% set lowest_seq = landed.lowest_seq_above if is_whole else landed.lowest_seq %}
                {% do bound.update({'lowest_seq': lowest_seq, 'is_late': lowest_seq is not none and lowest_seq <= bound.highest_seq}) %}
            {% endif %}
        {% endif %}
    {% endif %}
    {% set natural = change_tables._natural_arrival(spec) %}
    {% if natural and natural.record and not (arrival and arrival.kind == 'positions') %}
        {% if change_tables.landed_columns(spec, spec.relation, natural.group + natural.columns, '') %}
            {% do change_tables._refuse_two_records(spec, natural, bound.predicate or 'true') %}
        {% endif %}
    {% endif %}
    {% do return(bound) %}
{% endmacro %}


{#- Whether a run reads no other table than the raw one: neither a load, nor another entry of the source. -#}
{% macro _reads_one_table(spec, bound) %}
    {% set others = [] %}
    {% for setting in change_tables.format_of(spec.format).other_tables if spec[setting] %}
        {% do others.append(setting) %}
    {% endfor %}
    {% do return(not (bound.snapshot or others)) %}
{% endmacro %}


{#-
    What had landed before a run reads, by one scan of the rows from `settled` on:

    edge              {arrival, rows} of the rows with the highest arrival; none where no row has an arrival
    settled_rows      the rows at `settled`, likewise: a run that finds what the mark has (`edge`) has read these rows, and need
                      not read them again; others may have landed there meanwhile
    unplaced          whether there are rows without an arrival, which are read every time
    lowest_seq        the lowest sequence of all these rows, `lowest_seq_above` without those at `settled`; none where no row has
                      one. Only where the format says what the sequence of a landed row is (`landed_sequence` of `format_of`)

    `rows` is their number and the sums of both halves of their hashes. Before anything has settled, only the rows with the
    highest arrival are looked at.
-#}
{% macro _landed_edge(spec, arrival, settled) %}
    {% set hashed = [] %}
    {% for column in change_tables.landed_columns(spec, spec.relation, [], '').values() if 'variant' not in column.data_type %}
        {% do hashed.append(column) %}
    {% endfor %}
    {% if not hashed %}
        {% do return({'edge': none}) %}
    {% endif %}
    {% set name = change_tables.quoted(arrival.name) %}
    {% set from = settled if settled is not none else change_tables._highest_arrival(spec, arrival) %}
    {% if from is none %}
        {% do return({'edge': none}) %}
    {% endif %}
    {% set sequence_of_format = change_tables.format_of(spec.format).landed_sequence %}
    {% set sequence = sequence_of_format(spec) if sequence_of_format else 'cast(null as string)' %}
    {% set row = run_query(
        "select " ~ change_tables._arrival_as_text("max(_arrival)", arrival) ~ " as edge, max_by(_rows, _arrival) as edge_rows,"
        ~ " count_if(_arrival is null) as unplaced,"
        ~ " max(case when _is_settled then _rows end) as settled_rows, min(_lowest_seq) as lowest_seq,"
        ~ " min(case when not coalesce(_is_settled, false) then _lowest_seq end) as lowest_seq_above"
        ~ " from (select _arrival, _arrival = " ~ change_tables._arrival_literal(arrival, from) ~ " as _is_settled,"
        ~ " concat_ws(':', count(*), sum(shiftright(_hash, 32)), sum(_hash & 4294967295)) as _rows, min(_sequence) as _lowest_seq"
        ~ " from (select " ~ name ~ " as _arrival, " ~ sequence ~ " as _sequence, " ~ change_tables.hash_of(hashed) ~ " as _hash from "
        ~ spec.relation ~ " where " ~ change_tables._arrived_since(arrival, from, 0) ~ ") group by _arrival)"
    ).rows[0] %}
    {% set landed = {
        'edge': none if row['edge'] is none else {'arrival': row['edge'], 'rows': row['edge_rows']},
        'settled_rows': row['settled_rows'],
        'unplaced': row['unplaced'] | int > 0,
    } %}
    {% if sequence_of_format %}
        {% do landed.update({'lowest_seq': row['lowest_seq'], 'lowest_seq_above': row['lowest_seq_above']}) %}
    {% endif %}
    {% do return(landed) %}
{% endmacro %}


{#- The highest arrival that has landed, as text. Spark cannot answer for dates of a Delta table without a condition. -#}
{% macro _highest_arrival(spec, arrival) %}
    {% set name = change_tables.quoted(arrival.name) %}
    {% do return(run_query(
        "select " ~ change_tables._arrival_as_text("max(" ~ name ~ ")", arrival) ~ " from " ~ spec.relation ~ " where " ~ name ~ " is not null"
    ).rows[0][0]) %}
{% endmacro %}


{#-
    positions   up to which rows have landed, a list of {group: [value…], position: [number…], is_whole}, as `settled` has it:
                that of each group which has rows after what the runs before have settled, and those of the others as they were
    unplaced    whether there are rows that tell no position, which are read every time

    Stops the run where two records that differ have landed at one position, and the format says that it names one (see `_refuse_two_records`).
-#}
{% macro _landed_positions(spec, arrival, settled) %}
    {% set groups = change_tables.column_list(arrival.group) %}
    {% set told = change_tables._as_texts(arrival.group) + change_tables._as_texts(arrival.columns, '_last') %}
    {% set since = change_tables._positions_since(arrival, settled, 0) if settled else 'true' %}
    {% set positions = {} %}
    {% set unplaced = [] %}
    {% for known in settled or [] %}
        {% do positions.update({tojson(known.group): known}) %}
    {% endfor %}
    {% if change_tables.landed_columns(spec, spec.relation, arrival.group + arrival.columns, '') %}
        {#- one row a group, or of positions that name one record, a row each at first -#}
        {% set position = "case when not " ~ change_tables._tells_no_position(arrival) ~ " then " ~ change_tables._position_of_row(arrival) ~ " end" %}
        {% set landed = "select " ~ groups ~ ", " ~ position ~ " as _position, 1 as _copies from " ~ spec.relation ~ " where " ~ since %}
        {% if arrival.record %}
            {% set landed = "select " ~ groups ~ ", _position, count(*) as _copies from (" ~ landed ~ ") group by " ~ groups ~ ", _position" %}
        {% endif %}
        {% set rows = run_query(
            "select " ~ told | join(', ') ~ ", _copies, _unplaced from (select " ~ groups ~ ", max(_position) as _last,"
            ~ " max(case when _position is not null then _copies end) as _copies, count_if(_position is null) as _unplaced from ("
            ~ landed ~ ") group by " ~ groups ~ ")"
        ).rows %}
        {% for row in rows %}
            {% if row['_unplaced'] | int > 0 %}
                {% do unplaced.append(row) %}
            {% endif %}
            {% if row['_copies'] is not none %}
                {% set group = change_tables._group_of(row, arrival) %}
                {% do positions.update({
                    tojson(group): {'group': group, 'position': change_tables._position_of(row, arrival), 'is_whole': true}
                }) %}
            {% endif %}
            {% if (row['_copies'] or 0) > 1 %}
                {% do change_tables._refuse_two_records(spec, arrival, since) %}
            {% endif %}
        {% endfor %}
    {% endif %}
    {% set sorted = [] %}
    {% for name in positions | sort(case_sensitive=true) %}
        {% do sorted.append(positions[name]) %}
    {% endfor %}
    {% do return({'positions': sorted, 'unplaced': unplaced | length > 0}) %}
{% endmacro %}


{#-
    Stops where two records that differ have landed at one position which names one record: `record` of an arrival are the
    columns that they are compared by, `only` a condition on the rows that matter. Nothing orders them, so no state can be made of both. A record that has landed again is one.
-#}
{% macro _refuse_two_records(spec, arrival, condition) %}
    {% set place = change_tables.column_list(arrival.group + arrival.columns) %}
    {% set record = [] %}
    {% for name in arrival.record %}
        {% do record.append({'name': name, 'data_type': ''}) %}
    {% endfor %}
    {% set rows = run_query(
        "select concat_ws(':', " ~ place ~ ") as place from (select " ~ place ~ ", " ~ change_tables.hash_of(record) ~ " as _hash from "
        ~ spec.relation ~ " where not " ~ change_tables._tells_no_position(arrival) ~ " and " ~ condition
        ~ (" and " ~ arrival.only if arrival.only else "") ~ ")"
        ~ " group by " ~ place ~ " having min(_hash) <> max(_hash) order by place limit 3"
    ).rows %}
    {% if rows %}
        {% do change_tables._refuse_positions_used_again(spec, arrival, rows, "two records that differ have landed") %}
    {% endif %}
{% endmacro %}


{#-
    Stops where the log holds another record of a position than the one that this run has read, for formats whose positions name
    one record. A run that reads on by these positions reads none twice, and is not asked.
-#}
{% macro refuse_other_records(spec, log, new_changes, run, found) %}
    {% set natural = change_tables._natural_arrival(spec) %}
    {% set reads_on = run.run == 'since' and run.arrival.kind == 'positions' and spec.lookback == 0 %}
    {% if natural and natural.record and not reads_on %}
        {% set rows = run_query(
            "select source._raw_id from (select * from " ~ new_changes ~ " where " ~ found.is_change ~ ") as source inner join " ~ log ~ " as target"
            ~ " on source._raw_id = target._raw_id where source._change_id <> target._change_id or source._change_op <> target._change_op"
            ~ " or (source._change_op <> 'delete' and " ~ change_tables.hash_of(change_tables.comparable_columns(spec, spec.columns))
            ~ " <> " ~ change_tables.hash_of(spec.columns, 'target') ~ ") order by source._raw_id limit 3"
        ).rows %}
        {% if rows %}
            {% do adapter.drop_relation(new_changes) %}
            {% do change_tables._refuse_positions_used_again(spec, natural, rows, "another record has landed than the log holds") %}
        {% endif %}
    {% endif %}
{% endmacro %}


{% macro _refuse_positions_used_again(spec, arrival, rows, what) %}
    {% set places = [] %}
    {% for row in rows %}
        {% do places.append(row[0]) %}
    {% endfor %}
    {% do exceptions.raise_compiler_error(
        "change_tables: model '" ~ model.name ~ "': source '" ~ spec.source_name ~ "." ~ spec.table_name ~ "': " ~ what ~ " at one "
        ~ (arrival.group + arrival.columns) | join(', ') ~ ": " ~ places | join('; ')
        ~ ". They count anew, and nothing orders what they name now and what they named before: remove the old rows from "
        ~ spec.relation ~ ", then build the log and the models behind it anew with --full-refresh --vars '{change_tables_allow_loss: true}'"
    ) %}
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
    {% set natural = change_tables._natural_arrival(spec) %}
    {% do return(natural is not none and natural.kind == 'positions') %}
{% endmacro %}


{#- Whether a row that was read holds back up to where the raw table has settled. -#}
{% macro _holds_back(spec) -%}
    {%- set of_format = change_tables.format_of(spec.format).holds_back -%}
    {%- if of_format -%}
        {{- of_format(spec) -}}
    {%- else -%}
        {{- '_holds_back' if change_tables.tells_what_holds_back(spec) else "_status = 'waiting'" -}}
    {%- endif -%}
{%- endmacro %}


{#- An arrival as the mark has it: which column it is and how it compares. -#}
{% macro arrival_in_mark(arrival) %}
    {% do return(arrival.kind ~ ':' ~ (arrival.name or arrival.columns | join(',')) if arrival else none) %}
{% endmacro %}


{#- The arrival that a format has without a column that the user names; none where it has none. -#}
{% macro _natural_arrival(spec) %}
    {% set of_format = change_tables.format_of(spec.format).arrival %}
    {% do return(of_format(spec) if of_format else none) %}
{% endmacro %}


{% macro _arrival_column(spec) %}
    {% if spec.arrival == 'none' %}
        {% do return(none) %}
    {% elif spec.arrival == 'auto' %}
        {% do return(change_tables._natural_arrival(spec)) %}
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


{#- How arrivals of a landed type are written and compared. None of floating point: of two equal ones the texts can differ. -#}
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
    An arrival as text that keeps all of it: what the mark has. Dates as days and times as microseconds since 1970, which no time
    zone changes and which are read again whatever they are.
-#}
{% macro _arrival_as_text(expression, arrival) -%}
    {%- set number = {
        'date': 'unix_date(' ~ expression ~ ')',
        'timestamp': 'unix_micros(' ~ expression ~ ')',
        'timestamp_ntz': "timestampdiff(microsecond, timestamp_ntz '1970-01-01', " ~ expression ~ ')',
    }.get(arrival.kind, expression) -%}
    cast({{ number }} as string)
{%- endmacro %}


{% macro _arrival_literal(arrival, text) %}
    {% do return({
        'whole_number': text,
        'decimal': "cast('" ~ text ~ "' as " ~ (arrival.type or '') | replace(',', ', ') ~ ")",
        'date': 'date_from_unix_date(' ~ text ~ ')',
        'timestamp': 'timestamp_micros(' ~ text ~ ')',
        'timestamp_ntz': "timestampadd(microsecond, " ~ text ~ ", timestamp_ntz '1970-01-01')",
        'text': change_tables.text_literal(text),
    }[arrival.kind]) %}
{% endmacro %}


{#- The literal so much below an arrival: `lookback` of numbers is a number, of dates and times days. Never below what the type holds. -#}
{% macro _arrival_below(arrival, text, lookback) %}
    {% set least = {'date': -2147483648, 'timestamp': -9223372036854775808, 'timestamp_ntz': -9223372036854775808} %}
    {% if lookback == 0 %}
        {% do return(change_tables._arrival_literal(arrival, text)) %}
    {% elif arrival.kind == 'decimal' %}
        {% set digits, places = modules.re.match('decimal\\((\\d+),(\\d+)\\)', arrival.type).groups() %}
        {% set least_decimal = '-' ~ '9' * (digits | int - places | int) ~ '.' ~ '9' * (places | int) %}
        {% do return(
            "coalesce(try_subtract(" ~ change_tables._arrival_literal(arrival, text) ~ ", " ~ lookback ~ "), "
            ~ change_tables._arrival_literal(arrival, least_decimal) ~ ")"
        ) %}
    {% elif arrival.kind == 'whole_number' %}
        {% do return((text | int - lookback) | string) %}
    {% endif %}
    {% set units = lookback | round(0, 'ceil') | int if arrival.kind == 'date' else (lookback * 86400) | int * 1000000 %}
    {% do return(change_tables._arrival_literal(arrival, [text | int - units, least[arrival.kind]] | max)) %}
{% endmacro %}


{#-
    Rows with no arrival at all are read every time: nothing tells that they were read before. `is_whole`: the rows at the
    arrival itself are known to have been read, all of them.
-#}
{% macro _arrived_since(arrival, settled, lookback, is_whole=false) -%}
    {%- set name = change_tables.quoted(arrival.name) -%}
    ({{ name }} {{ '>' if is_whole else '>=' }} {{ change_tables._arrival_below(arrival, settled, lookback) }} or {{ name }} is null)
{%- endmacro %}
