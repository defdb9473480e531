{#- The kinds of sequence: which texts are right, what messages call them, and how many characters they are written with. -#}
{% macro sequence_kinds() %}
    {% do return({
        'number': {'length': 20, 'pattern': '^[0-9]{{1,{length}}}\\z', 'what': 'a whole number of at most {length} digits'},
        'hexadecimal': {'length': 16, 'pattern': '^[0-9A-Fa-f]{{1,{length}}}\\z', 'what': 'a hexadecimal number of at most {length} digits'},
        'text': {'length': none, 'pattern': none, 'what': 'a text'},
        'fixed_text': {'length': none, 'pattern': '^(?s).{{{length}}}\\z', 'what': 'a text of {length} characters'},
        'file_position': {'length': none, 'pattern': '(^|[^0-9])[0-9]{{1,10}}[/:][0-9]{{1,19}}\\z', 'what': 'a file with a number and a position in it, as binlog.000012/4711'},
    }) %}
{% endmacro %}


{#- The parts of a sequence with their defaults. A text with a length is another kind than one without. -#}
{% macro sequence_parts(given) %}
    {% set parts = [] %}
    {% for part in given %}
        {% set part = {'sql': part} if part is string else part %}
        {% set kind = part.get('kind', 'number') %}
        {% set kind = 'fixed_text' if kind == 'text' and part.get('length') else kind %}
        {% do parts.append({'sql': part.sql, 'kind': kind, 'length': part.get('length') or change_tables.sequence_kinds().get(kind, {}).length}) %}
    {% endfor %}
    {% do return(parts) %}
{% endmacro %}


{#- A part of the sequence as it landed. A whole number of a type with places has zeros after the point. -#}
{% macro text_of_sequence(part) -%}
    {%- set text = 'cast(' ~ part.sql ~ ' as string)' -%}
    {{- "regexp_replace(" ~ text ~ ", '^([0-9]+)[.]0*$', '$1')" if part.kind == 'number' else text -}}
{%- endmacro %}


{#- The sequence as one text that sorts: each part as wide as all texts of its kind, with `/` between them. Null where one is null. -#}
{% macro sequence_of_parts(parts) -%}
    {%- set texts = [] -%}
    {%- for part in parts -%}
        {%- set text = '_ct_sequence_' ~ loop.index -%}
        {%- if part.kind in ['number', 'hexadecimal'] -%}
            {%- set digits = text if part.kind == 'number' else 'upper(' ~ text ~ ')' -%}
            {%- do texts.append('lpad(' ~ digits ~ ', greatest(' ~ part.length ~ ', length(' ~ text ~ ")), '0')") -%}
        {%- elif part.kind == 'file_position' -%}
            {%- set numbers = "regexp_extract(" ~ text ~ ", '([0-9]{1,10})[/:]([0-9]{1,19})$', %d)" -%}
            {%- do texts.append("lpad(" ~ (numbers % 1) ~ ", 10, '0')") -%}
            {%- do texts.append("lpad(" ~ (numbers % 2) ~ ", 19, '0')") -%}
        {%- else -%}
            {%- do texts.append(text) -%}
        {%- endif -%}
    {%- endfor -%}
    {{- texts[0] if texts | length == 1 else 'concat(' ~ texts | join(", '/', ") ~ ')' -}}
{%- endmacro %}


{% macro pattern_of_sequence(parts) %}
    {% set patterns = [] %}
    {% for part in parts %}
        {% do patterns.append({
            'number': '[0-9]{%s}' % part.length, 'hexadecimal': '[0-9A-F]{%s}' % part.length, 'text': '.+',
            'fixed_text': '.{%s}' % part.length, 'file_position': '[0-9]{10}/[0-9]{19}',
        }[part.kind]) %}
    {% endfor %}
    {% do return('^' ~ patterns | join('/') ~ '$') %}
{% endmacro %}


{#-
    Stops where a sequence is made of a time: of a raw column or a field that lands as one, or of one of Debezium's `ts_…`. Two changes of a
    row can have one time, and clocks are set back.
-#}
{% macro refuse_times_as_sequences(spec, mapping) %}
    {% set landed = change_tables.landed_columns(spec, spec.relation) %}
    {% set times = landed.values() | selectattr('data_type', 'in', ['date', 'timestamp', 'timestamp_ntz']) | map(attribute='name') | map('lower') | list %}
    {% for part in mapping.sequence %}
        {% set words = modules.re.findall('[a-z_][a-z0-9_]*', modules.re.sub("'[^']*'", ' ', part.sql | lower)) %}
        {% for word in words if word in times %}
            {% do change_tables.refuse_entry(spec, change_tables.time_as_sequence(part.sql, word ~ ' lands as ' ~ landed[word].data_type)) %}
        {% endfor %}
    {% endfor %}
{% endmacro %}


{% macro time_as_sequence(sql, why) %}
    {% do return(
        "`sequence` must not be a time, got " ~ change_tables.shown_value(sql) ~ ": " ~ why
        ~ ". Two changes of one row can have one time, and clocks are set back: take the position in the source's log"
    ) %}
{% endmacro %}


{% macro sequence_mistakes(parts) %}
    {% set found = [] %}
    {% set kinds = ['number', 'text', 'hexadecimal', 'file_position'] %}
    {% if parts is string or parts is mapping or parts is not iterable or not parts %}
        {% do return(["`sequence` must be a list of parts, as [{sql: scn, kind: number}], got " ~ change_tables.shown_value(parts)]) %}
    {% endif %}
    {% for part in parts %}
        {% set part = {'sql': part} if part is string else part %}
        {% set kind = part.get('kind', 'number') if part is mapping %}
        {% if part is not mapping or part.get('sql') is not string or part.keys() | reject('in', ['sql', 'kind', 'length']) | list %}
            {% do found.append("`sequence`: each part must be SQL, or {sql, kind, length}, got " ~ change_tables.shown_value(part)) %}
        {% elif kind in ['time', 'timestamp', 'date'] or modules.re.search('(?i)\\bts_(s|ms|us|ns)\\b', part.sql) %}
            {% do found.append(change_tables.time_as_sequence(part.sql, "it is one" if kind in ['time', 'timestamp', 'date'] else "ts_ms and its like are times")) %}
        {% elif kind not in kinds %}
            {% do found.append("`sequence`: `kind` must be one of " ~ kinds | join(', ') ~ ", got " ~ change_tables.shown_value(kind)) %}
        {% elif part.get('length') is not none and (part.length is not number or part.length is boolean or part.length < 1 or kind == 'file_position') %}
            {% do found.append("`sequence`: `length` must be a number of characters" ~ (", and a file_position has none" if kind == 'file_position') ~ ", got " ~ change_tables.shown_value(part.length)) %}
        {% elif kind == 'text' and not part.get('length') and not loop.last %}
            {% do found.append("`sequence`: a text that others follow needs a `length`, since a shorter one would sort otherwise, got " ~ change_tables.shown_value(part.sql)) %}
        {% endif %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}
