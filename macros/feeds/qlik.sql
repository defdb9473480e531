{#-
    What both feeds of Qlik share: words for operations that entries add to those of a format, as of a transformation, or of the job that lands
    rows; and the bits of change masks, by Spark's own functions: see `decode_change_mask` of the SQL functions, which reads the same masks for
    users. A mask can be wider than any number, so it is read as numbers of 64 bits.
-#}

{#- The words for operations, word -> code. `own`: those of the format. Added words say a meaning. -#}
{% macro operation_words(spec, own) %}
    {% set codes = {'insert': 'I', 'update': 'U', 'delete': 'D', 'snapshot': 'R', 'before_image': 'B', 'truncate': 'T'} %}
    {% set words = own.copy() %}
    {% for word, meaning in (spec.operations or {}).items() %}
        {% do words.update({word: codes[meaning]}) %}
    {% endfor %}
    {% do return(words) %}
{% endmacro %}


{#- Whether a column has one of the words that stand for these codes, as SQL. -#}
{% macro is_operation(column, words, codes) -%}
    {%- set found = words.items() | selectattr(1, 'in', codes) | map(attribute=0) | list -%}
    {{- column }} {{ 'in (' ~ change_tables.text_literals(found) ~ ')' if found | length > 1 else '= ' ~ change_tables.text_literal(found[0]) -}}
{%- endmacro %}


{% macro operations_setting(meanings) %}
    {% do return({'default': none, 'type': 'mapping', 'meaning': "further words for operations: word → `" ~ meanings | join('`, `') ~ '`'}) %}
{% endmacro %}


{#-
    A mask as numbers of 64 bits, the lowest bits first. Null where the mask is null or no hex text.

    type    binary, or string: hex digits, with or without `0x`; an odd number of digits means a leading zero
    order   which byte of it comes first. Where that is the least significant, the digits are read backwards, which exchanges
            the two halves of each byte: see `mask_has`
    bits    how many of them are asked for, where that is known, so that as many words are read
-#}
{% macro mask_words(mask, type='string', order='most_significant_first', bits=none) -%}
    {%- set digits = 'hex(' ~ mask ~ ')' -%}
    {%- if type == 'string' -%}
        {%- set digits = 'hex(unhex(if(lower(left(' ~ mask ~ ", 2)) = '0x', substr(" ~ mask ~ ', 3), ' ~ mask ~ ')))' -%}
    {%- endif -%}
    {%- set digits = 'reverse(' ~ digits ~ ')' if order == 'least_significant_first' else digits -%}
    {%- if bits is none -%}
    transform(array({{ digits }}), digits -> transform(
            sequence(0, cast((length(digits) - 1) div 16 as int)),
            word -> cast(conv(substr(digits, -16 * (word + 1), 16), 16, -10) as bigint)
        ))[0]
    {%- else -%}
    transform(array({{ digits }}), digits -> if(digits is null, null, array(
        {%- for word in range(0, bits, 64) -%}
            {{ ', ' if not loop.first }}cast(conv(substr(digits, {{ -16 * loop.index }}, 16), 16, -10) as bigint)
        {%- endfor -%}
        )))[0]
    {%- endif %}
{%- endmacro %}


{#-
    Whether a mask has a bit, as SQL: null where the mask has none so high, or is null.

    words   the mask, as `mask_words` has it
    bit     its number, from 0; a number, or SQL for one where the mask's most significant byte comes first
-#}
{% macro mask_has(words, bit, order='most_significant_first') -%}
    {%- if bit is string -%}
        getbit(get({{ words }}, cast({{ bit }} div 64 as int)), {{ bit }} % 64) = 1
    {%- else -%}
        {%- set place = bit if order == 'most_significant_first' else bit // 8 * 8 + (bit + 4) % 8 -%}
        getbit(get({{ words }}, {{ place // 64 }}), {{ place % 64 }}) = 1
    {%- endif -%}
{%- endmacro %}
