{#- Rows that are objects in JSON texts, whatever the feed. -#}

{#- Options of `from_json`: a text that is not of the type is kept in the field `_ct_corrupt`. -#}
{% macro json_reading_options() -%}
    map('columnNameOfCorruptRecord', '_ct_corrupt')
{%- endmacro %}


{#-
    Stops where messages land in a column from which they cannot be read: of a struct, the text is no JSON.

    needs_bytes   what needs them to land as bytes, since those that are no UTF-8 would be lost in a text; empty: nothing
-#}
{% macro refuse_unread_messages(spec, name, needs_bytes='') %}
    {% set column = change_tables.landed_columns(spec, spec.relation).get(name | lower) %}
    {% set kind = change_tables.type_tree(column.data_type).kind if column else 'binary' %}
    {% if (needs_bytes and kind != 'binary') or kind in ['array', 'map', 'struct'] %}
        {% do change_tables.refuse_entry(spec,
            (needs_bytes or "a message") ~ " needs the column " ~ name ~ " of " ~ spec.relation ~ " to be " ~ ("" if needs_bytes else "string or ")
            ~ "binary, it is " ~ column.data_type
        ) %}
    {% endif %}
{% endmacro %}


{#- Bytes or text as JSON can have them: as text where they are valid UTF-8, else as hex digits. -#}
{% macro readable(name) -%}
    if(is_valid_utf8(cast({{ name }} as string)), cast({{ name }} as string), hex(cast({{ name }} as string)))
{%- endmacro %}


{#-
    Whether a text is no JSON object, has more than one, or half a character (`\ud800`), of which Spark would make a question mark.

    message   what `from_json` has made of it
-#}
{% macro is_no_json_object(text, message) -%}
    not is_valid_utf8({{ text }}) or {{ message }} is null or {{ message }}['_ct_corrupt'] is not null
                or not (endswith({{ text }}, '}') or {{ text }} rlike '\\}\\s*$')
                or (
                    (contains({{ text }}, '\\ud') or contains({{ text }}, '\\uD'))
                    and regexp_replace({{ text }}, '\\\\\\\\|\\\\u[dD][89abAB]..\\\\u[dD][c-fC-F]', ' ') rlike '\\\\u[dD][89a-fA-F]'
                )
                {#- text after the object, or what looks like it inside a text #}
                or (
                    {{ text }} rlike '\\}\\s*([^\\s,}\\]]|,\\s*[^"\\s])'
                    and (
                        try_parse_json(concat('[', {{ text }}, ']')) is null
                        or try_variant_get(try_parse_json(concat('[', {{ text }}, ']')), '$[1]', 'variant') is not null
                    )
                )
{%- endmacro %}


{#-
    The text of a column out of a JSON object, with all its digits. Spark's JSON reader makes a double of a number with a fraction or an
    exponent, which loses digits and zeros. So a number for a decimal is read again, digit by digit, from the object itself: at the first of
    these paths that has it. A long number is one of more digits than a double keeps. A number for a text is found in the object by its
    name and its value: the first one, or the last. So is one of more digits than a decimal has; where several differ, none fits.

    column   its `names` are those that it has in the object, if not those that it lands with
    text     SQL for the column's text as `from_json` has it
    json     SQL for the object
-#}
{% macro exact_json_text(spec, column, text, json, paths, takes_last) -%}
    {%- set kind = change_tables.type_tree(column.data_type).kind -%}
    {%- set name_of_column = column.label or column.name -%}
    {%- set names = column.names or change_tables.landing_names(spec, name_of_column) -%}
    {%- set written = change_tables._names_in_json(names) -%}
    {%- set any_name = '\\Q' ~ written | join('\\E|\\Q') ~ '\\E' -%}
    {%- set any_name = '(?:' ~ any_name ~ ')' if written | length > 1 else any_name -%}
    {%- set ignoring_case = '' if spec.settings.column_names == 'exact' else '(?iu)' -%}
    {%- set name = ignoring_case ~ '"' ~ any_name ~ '"\\s*:\\s*' -%}
    {%- if kind == 'decimal' -%}
        case
            when {{ text }} is not null and ({{ text }} rlike 'E' or {{ json }} rlike {{ change_tables.text_literal(name ~ '[-0-9.]{16}') }})
                then coalesce(
                    nullif(array_join(array_distinct({{ change_tables._numbers_by_value(text, json, name ~ '(-?[0-9.]{39,}(?:[eE][-+]?[0-9]+)?)') }}), ' or '), ''),
                    {{ change_tables._exact_texts(spec, names, json, paths) | join(', ') }},
                    {{ text }}
                )
            else {{ text }}
        end
    {%- elif kind == 'string' -%}
        case
            when {{ text }} rlike '^(-?[0-9]+[.][0-9]+(E-?[0-9]+)?|0|"-?Infinity")$'
                then coalesce(
                    try_element_at(
                        {{ change_tables._numbers_by_value(text, json, name ~ '(-?[0-9]+(?:[.][0-9]+)?(?:[eE][-+]?[0-9]+)?)') | indent(4) }},
                        {{ -1 if takes_last else 1 }}
                    ),
                    {{ text }}
                )
            else {{ text }}
        end
    {%- else -%}
        {{ text }}
    {%- endif -%}
{%- endmacro %}


{#- Names in all ways in which JSON can have them: characters other than ASCII as they are, or by their numbers. -#}
{% macro _names_in_json(names) %}
    {% set written = [] %}
    {% for name in names %}
        {% set in_ascii = tojson(name)[1:-1] %}
        {% do written.append(name | replace('\\', '\\\\') | replace('"', '\\"')) %}
        {% do written.append(in_ascii) %}
        {% set parts = [] %}
        {% for part in modules.re.split('(?<=\\\\u)([0-9a-f]{4})', in_ascii) %}
            {% do parts.append(part | upper if loop.index0 % 2 else part) %}
        {% endfor %}
        {% do written.append(parts | join) %}
    {% endfor %}
    {% do return(written | unique(case_sensitive=true) | list) %}
{% endmacro %}


{#- SQL for the numbers in an object, as they stand there, that have a name, in a pattern, and the value of a text. -#}
{% macro _numbers_by_value(text, json, pattern) -%}
filter(
                        regexp_extract_all({{ json }}, {{ change_tables.text_literal(pattern ~ '\\s*[,}]') }}, 1),
                        number -> try_cast(number as double) = try_cast(replace({{ text }}, '"', '') as double)
                    )
{%- endmacro %}


{#- SQL for a number with its exact digits, for each path at which it can be, and each name that it can have there. -#}
{% macro _exact_texts(spec, names, json, paths) %}
    {% set texts = [] %}
    {% for path in paths %}
        {% for name in names %}
            {% set row = 'try_variant_get(try_parse_json(' ~ json ~ '), ' ~ change_tables.text_literal(path) ~ ", 'map<string, string>')" %}
            {% set in_any_case = 'get(map_values(map_filter(' ~ row ~ ', (name, text) -> lower(name) = ' ~ change_tables.name_in_row(spec, name) ~ ')), 0)' %}
            {% do texts.append(row ~ '[' ~ change_tables.text_literal(name) ~ ']' if spec.settings.column_names == 'exact' else in_any_case) %}
        {% endfor %}
    {% endfor %}
    {% do return(texts) %}
{% endmacro %}
