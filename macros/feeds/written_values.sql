{#-
    How values can be written that no text of them shows: `written_as` of a declared column. Times count from 1970-01-01 00:00 UTC;
    of nanoseconds the microsecond counts. A `base64_decimal` is the unscaled number as bytes, whose places are those of the declared type.
-#}
{% macro ways_of_writing() %}
    {% do return(['epoch_days', 'epoch_seconds', 'epoch_millis', 'epoch_micros', 'epoch_nanos', 'base64', 'base64_decimal']) %}
{% endmacro %}


{#- What is wrong with `written_as` of the declared columns. -#}
{% macro written_as_mistakes(columns) %}
    {% set found = [] %}
    {% set ways = change_tables.ways_of_writing() %}
    {% for column in columns if column.meta.get('written_as') is not none %}
        {% set way = column.meta.written_as %}
        {% set kind = change_tables.type_tree(column.data_type).kind %}
        {% set right = {'base64': ['binary'], 'base64_decimal': ['decimal'], 'epoch_days': ['date', 'timestamp', 'timestamp_ntz']}.get(way, ['timestamp', 'timestamp_ntz', 'date']) %}
        {% if way not in ways %}
            {% do found.append("`written_as` of column '" ~ column.name ~ "' must be one of " ~ ways | join(', ') ~ ", got " ~ change_tables.shown_value(way)) %}
        {% elif kind not in right %}
            {% do found.append(
                "`written_as: " ~ way ~ "` is for columns of type " ~ right | join(' or ') ~ ", got '" ~ column.name ~ "' of type " ~ column.data_type
            ) %}
        {% endif %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}


{#- The value of such a text: {sql, data_type}, as it lands. Null where the text is not written so. -#}
{% macro written_value(written_as, text, column) %}
    {% set number = 'try_cast(' ~ text ~ ' as bigint)' %}
    {% if written_as == 'epoch_days' %}
        {% do return({'sql': 'date_from_unix_date(try_cast(' ~ text ~ ' as int))', 'data_type': 'date'}) %}
    {% elif written_as == 'base64' %}
        {% do return({'sql': 'try_to_binary(' ~ text ~ ", 'base64')", 'data_type': 'binary'}) %}
    {% elif written_as == 'base64_decimal' %}
        {% set places = change_tables.type_tree(column.data_type).places %}
        {% do return({'sql': change_tables._decimal_of_bytes("hex(try_to_binary(" ~ text ~ ", 'base64'))", places), 'data_type': 'string'}) %}
    {% endif %}
    {% set micros = {
        'epoch_seconds': 'try_multiply(' ~ number ~ ', 1000000)',
        'epoch_millis': 'try_multiply(' ~ number ~ ', 1000)',
        'epoch_micros': number,
        'epoch_nanos': number ~ ' div 1000 - if(' ~ number ~ ' % 1000 < 0, 1, 0)',
    }[written_as] %}
    {% do return({'sql': 'timestamp_micros(' ~ micros ~ ')', 'data_type': 'timestamp'}) %}
{% endmacro %}


{#-
    The text of a decimal out of its unscaled number, in two's complement as hex digits: of up to 16 bytes, as two halves of eight. Null
    where there are more, or none.
-#}
{% macro _decimal_of_bytes(digits, places) -%}
    {%- set filled = "lpad(hex, 32, if(hex >= '8', 'F', '0'))" -%}
    {#- of a negative number the low half is below 0, so that neither part has more digits than the whole -#}
    {%- set high = "cast(cast(conv(substr(" ~ filled ~ ", 1, 16), 16, -10) as bigint) + if(hex >= '8', 1, 0) as decimal(38, 0))" -%}
    {%- set low = "(cast(conv(substr(" ~ filled ~ ", 17), 16, 10) as decimal(38, 0)) - if(hex >= '8', 18446744073709551616, 0))" -%}
    {%- set unscaled = "cast(try_add(try_multiply(" ~ high ~ ", 18446744073709551616), " ~ low ~ ") as string)" -%}
    get(transform(
            array({{ digits }}),
            hex -> case
                when length(hex) between 1 and 32
                    then regexp_replace(
                        regexp_replace({{ unscaled }}, '^(-?)([0-9]+)$', concat('$1', repeat('0', {{ places + 1 }}), '$2')),
                        '^(-?)0*([0-9]+?)([0-9]{{ '{' ~ places ~ '}' }})$', '$1$2.$3'
                    )
            end
        ), 0)
{%- endmacro %}
