{#-
    The bits of change masks, by Spark's own functions: see `decode_change_mask` of the SQL functions, which reads the same masks
    for users. A mask can be wider than any number, so it is read as numbers of 64 bits.
-#}

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
