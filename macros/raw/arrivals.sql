{#-
    An arrival says that a raw row landed after another. It is a dict:

    group     columns: the rows of each of their values have a watermark of their own. A column that a user names has none: all rows are one
              group
    columns   those of the position in the group, the highest in rank first. It never decreases as rows land
    hidden    where Spark has these of each row, and not the raw table: SQL for `{name}`, one of them. See `_arrival_of_files`
    table     of a hidden one, what tells the table from a later one of the same name
    earlier   where that changes with each commit: a query that has a row if `{relation}` was `{table}` once
    is_whole  whether no more rows can land at a position once one has, as where one record is at each
    kind      how these are written and compared: see `_arrival_kind`
    type      of a column that a user names, its type
    record    where a position has one record: the columns in which two rows at one must not differ. Of a column that a user names none: any
              number of rows are at one, and more can land there
    only      SQL for the rows that the entry reads, where there are others
-#}


{#- The arrival of a raw row, as staging hands it on: a struct, which sorts. Null where the row has no position. -#}
{% macro arrival_of_row(arrival) -%}
    if({{ change_tables.lacks_position(arrival) }}, null, struct({{ (change_tables.each(arrival.group, '{name}') + change_tables.positions_of(arrival)) | join(', ') }}))
{%- endmacro %}


{#- That as a line of a select list, where there is an arrival. -#}
{% macro arrival_column(arrival) -%}
    {{- '\n        ' ~ change_tables.arrival_of_row(arrival) ~ ' as _ct_arrival,' if arrival -}}
{%- endmacro %}


{% macro lacks_position(arrival) -%}
    {{- change_tables.positions_of(arrival, '{name} is null') | join(' or ') -}}
{%- endmacro %}


{#- SQL for each column of a position in the raw table, as `each` has it. -#}
{% macro positions_of(arrival, sql='{name}') %}
    {% do return(change_tables.each(arrival.columns, sql | replace('{name}', arrival.hidden or '{name}'))) %}
{% endmacro %}


{#- Such a struct as texts: the values of the group, then those of the position. -#}
{% macro arrival_as_texts(struct, arrival) %}
    {% do return(
        change_tables.each(arrival.group, 'cast(' ~ struct ~ '[{text}] as string)')
        + change_tables.each(arrival.columns, change_tables.arrival_as_text(struct ~ '[{text}]', arrival))
    ) %}
{% endmacro %}


{#- Such a struct out of an array of these texts. Dates and times are numbers in it, as in the texts. -#}
{% macro arrival_of_texts(arrival, texts) -%}
    {%- set type = {'text': 'string', 'decimal': arrival.type}.get(arrival.kind, 'decimal(38,0)') -%}
    {%- set fields = [] -%}
    {%- for name in arrival.group + arrival.columns -%}
        {%- set text = texts ~ '[' ~ loop.index0 ~ ']' -%}
        {%- do fields.append((text if loop.index0 < arrival.group | length else 'cast(' ~ text ~ ' as ' ~ type ~ ')') ~ ' as ' ~ change_tables.quoted(name)) -%}
    {%- endfor -%}
    if({{ texts }}[{{ arrival.group | length }}] is null, null, struct({{ fields | join(', ') }}))
{%- endmacro %}


{#-
    A place in the raw table, by these texts.

    is_whole     whether all that can ever land there was read
    fingerprint  else, of the rows that were read there: they need not be read again while it is the same. None where they must be
-#}
{% macro place_of(arrival, texts, is_whole=false, fingerprint=none) %}
    {% set first = arrival.group | length %}
    {% set position = texts[first:first + arrival.columns | length] %}
    {% set position = position if arrival.kind in ['decimal', 'text'] else position | map('int') | list %}
    {% do return({'group': texts[:first], 'position': position, 'is_whole': is_whole, 'fingerprint': fingerprint}) %}
{% endmacro %}


{#- Whether a place comes before another one of its group. Decimals of one column have one number of digits after the point. -#}
{% macro lies_before(arrival, place, other) %}
    {% do return(place.position[0].split('E')[0].replace('.', '') | int < other.position[0].split('E')[0].replace('.', '') | int) if arrival.kind == 'decimal' %}
    {% do return(place.position < other.position) %}
{% endmacro %}


{#- Whether a row that was read blocks the watermark: later runs must read it again. Where the format has an arrival of its own, staging says it. -#}
{% macro blocks_watermark(spec) -%}
    {{- change_tables.part_of_format(spec, 'blocks_watermark')
        or ('_ct_blocks_watermark' if change_tables.natural_arrival(spec) else "_status = 'waiting'") -}}
{%- endmacro %}


{#- An arrival as the checkpoint has it: how it compares, which columns it has, and of which rows it is. -#}
{% macro arrival_in_checkpoint(arrival) %}
    {% do return(none) if not arrival %}
    {% set columns = (arrival.group + arrival.columns) | join(',') %}
    {% do return([arrival.kind, (arrival.hidden or '{name}') | replace('{name}', columns), arrival.only, arrival.table] | select | join(':')) %}
{% endmacro %}


{#- Whether the watermark of a checkpoint is one of this arrival. One of another arrival says nothing of it: then all rows are read. -#}
{% macro is_arrival_of(checkpoint, spec, arrival) %}
    {% set now = change_tables.arrival_in_checkpoint(arrival) %}
    {% do return(checkpoint.arrival == now) if checkpoint.arrival == now or not (arrival or {}).earlier %}
    {% set columns, _, table = (checkpoint.arrival or '').rpartition(':') %}
    {% do return(columns == now.rpartition(':')[0] and change_tables.ask_once(
        arrival.earlier | replace('{relation}', spec.relation | string) | replace('{table}', table)
    ) | length > 0) %}
{% endmacro %}


{#- The arrival that a format has by itself; none where it has none. -#}
{% macro natural_arrival(spec) %}
    {% set arrival = change_tables.part_of_format(spec, 'arrival') %}
    {% do return(dict(arrival, is_whole=true) if arrival and arrival.record else arrival) %}
{% endmacro %}


{#-
    The arrival of an entry; none where it has none. Stops where its raw table cannot have it. With `if_sound`, as another entry asks, it is none
    there, too, and while there is no raw table.
-#}
{% macro arrival_of(spec, if_sound=false) %}
    {% set name = spec[change_tables.format_of(spec.format).arrival_column] | default(none) if spec.arrival == 'auto' else spec.arrival %}
    {% set natural = change_tables.natural_arrival(spec) if name is none else none %}
    {% set landed = change_tables.landed_columns(spec, spec.relation) %}
    {% set named = natural.group + natural.columns if natural else [name] | reject('in', [none, 'none', 'files']) | list %}
    {% do return(none) if if_sound and not (landed and named | map('lower') | reject('in', landed) | list | length == 0) %}
    {% do return(none) if name == 'none' or (name == 'files' and not landed) %}
    {% do return(change_tables._arrival_of_files(spec, if_sound)) if name == 'files' %}
    {% do return(natural or (change_tables.arrival_by_commits(change_tables.properties_of_raw(spec)) if landed else none)) if name is none %}
    {% do change_tables.landed_columns(spec, spec.relation, [name], "`arrival` must be one of its columns") %}
    {% set type = landed[name | lower].data_type if landed else 'string' %}
    {% set kind = change_tables._arrival_kind(type) %}
    {% if kind is none or (kind == 'text' and spec.lookback != 0) %}
        {% do return(none) if if_sound %}
        {% do change_tables.refuse_entry(spec,
            "`arrival` must be a column of whole numbers, decimals, dates"
            ~ (" or times where `lookback` is set" if kind == 'text' else ", times or text") ~ ", got '" ~ name ~ "' of type "
            ~ type
        ) %}
    {% endif %}
    {% do return({'group': [], 'columns': [name], 'is_whole': false, 'kind': kind, 'type': type}) %}
{% endmacro %}


{#-
    The arrival of a raw table whose files say what is new (`arrival: files`). Of a Delta or Iceberg table the commit that each row came with,
    which outlives compaction; of a table of files the time at which its file was written. Stops where the table has neither.
-#}
{% macro _arrival_of_files(spec, if_sound) %}
    {% set commits = change_tables.arrival_by_commits(change_tables.properties_of_raw(spec)) %}
    {% if commits and spec.lookback != 0 %}
        {% do return(none) if if_sound %}
        {% do change_tables.refuse_entry(spec, "`lookback` must be left out: no commit of a table lands late, got " ~ spec.lookback) %}
    {% elif commits %}
        {% do return(commits) %}
    {% endif %}
    {#- what the table is stored as; none for a view -#}
    {% set provider = change_tables.ask_once('describe extended ' ~ spec.relation) | selectattr(0, 'equalto', 'Provider') | map(attribute=1) | first | default(none) %}
    {% if provider in ['parquet', 'orc', 'json', 'csv'] %}
        {% do return({
            'group': [], 'columns': ['file_modification_time'], 'hidden': '_metadata.{name}', 'is_whole': false, 'kind': 'timestamp', 'type': 'timestamp'
        }) %}
    {% endif %}
    {% do change_tables.refuse_arrival_by_files(spec, provider) if not if_sound %}
    {% do return(none) %}
{% endmacro %}


{#- How arrivals of a landed type are written and compared. None for floating point: equal numbers can have different texts. -#}
{% macro _arrival_kind(type) %}
    {% do return({
        'tinyint': 'whole_number', 'smallint': 'whole_number', 'int': 'whole_number', 'bigint': 'whole_number', 'decimal': 'decimal',
        'date': 'date', 'timestamp': 'timestamp', 'timestamp_ntz': 'timestamp_ntz', 'string': 'text',
    }.get(modules.re.sub('^decimal.*', 'decimal', modules.re.sub('^(var)?char\\b.*', 'string', type)))) %}
{% endmacro %}


{#-
    An arrival as a text that keeps all of it, for the checkpoint. Dates are days and times are microseconds since 1970: no time zone
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


{#- A value of a position as the checkpoint has it, as SQL. -#}
{% macro arrival_literal(arrival, value) %}
    {% do return({
        'whole_number': value,
        'decimal': "cast('" ~ value ~ "' as " ~ (arrival.type or '') | replace(',', ', ') ~ ")",
        'date': 'date_from_unix_date(' ~ value ~ ')',
        'timestamp': 'timestamp_micros(' ~ value ~ ')',
        'timestamp_ntz': "timestampadd(microsecond, " ~ value ~ ", timestamp_ntz '1970-01-01')",
        'text': change_tables.text_literal(value | string),
    }[arrival.kind]) %}
{% endmacro %}


{#- The literal of a value less `lookback`: a number for numbers, days for dates and times. Never below the least of the type. -#}
{% macro arrival_below(arrival, value, lookback) %}
    {% set least = {'date': -2147483648, 'timestamp': -9223372036854775808, 'timestamp_ntz': -9223372036854775808} %}
    {% if arrival.kind == 'decimal' %}
        {% set digits, places = modules.re.match('decimal\\((\\d+),(\\d+)\\)', arrival.type).groups() %}
        {% set least_decimal = '-' ~ '9' * (digits | int - places | int) ~ '.' ~ '9' * (places | int) %}
        {% do return(
            "coalesce(try_subtract(" ~ change_tables.arrival_literal(arrival, value) ~ ", " ~ lookback ~ "), "
            ~ change_tables.arrival_literal(arrival, least_decimal) ~ ")"
        ) %}
    {% elif arrival.kind == 'whole_number' %}
        {% do return(value - lookback) %}
    {% endif %}
    {% set units = lookback | round(0, 'ceil') | int if arrival.kind == 'date' else (lookback * 86400) | int * 1000000 %}
    {% do return(change_tables.arrival_literal(arrival, [value - units, least[arrival.kind]] | max)) %}
{% endmacro %}
