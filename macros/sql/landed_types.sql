{#-
    What becomes of a landed value in a declared type, for all types of one value: landed kind -> a sign for each of
    `declarable_kinds`. `hex` and `base64` are bytes that a feed has as text. Arrays, maps and structs are read as their parts are: see
    `reading_of`. docs/landed_types.md shows the same table.

    =   taken: every value of the landed type is one of the declared type
    ?   checked: a value that would be lost, cut or rounded rejects its row
    #   taken where the declared type has room for all digits of the landed one, else checked
    -   refused, before the run writes: the declared type would be a guess at what the value means, or no cast makes it
-#}
{% macro landed_type_verdicts() %}
    {% do return({
        'boolean':       '= = = = = # = = = - - - -',
        'tinyint':       '? = = = = # = = = - - - -',
        'smallint':      '? ? = = = # = = = - - - -',
        'int':           '? ? ? = = # ? = = - - - -',
        'bigint':        '? ? ? ? = # ? ? = - - - -',
        'decimal':       '? # # # # # # # = - - - -',
        'float':         '? ? ? ? ? ? = = = - - - -',
        'double':        '? ? ? ? ? ? ? = = - - - -',
        'string':        '? ? ? ? ? ? ? ? = - ? ? ?',
        'binary':        '- - - - - - - - ? = - - -',
        'date':          '- - - - - - - - = - = ? ?',
        'timestamp':     '- - - - - - - - = - ? = ?',
        'timestamp_ntz': '- - - - - - - - = - ? ? =',
        'interval':      '- - - - - - - - = - - - -',
        'void':          '= = = = = = = = = = = = =',
        'hex':           '- - - - - - - - - ? - - -',
        'base64':        '- - - - - - - - - ? - - -',
    }) %}
{% endmacro %}


{% macro declarable_kinds() %}
    {% do return([
        'boolean', 'tinyint', 'smallint', 'int', 'bigint', 'decimal', 'float', 'double', 'string', 'binary', 'date',
        'timestamp', 'timestamp_ntz',
    ]) %}
{% endmacro %}


{#-
    How a landed type is read as a declared one:

    verdict   same, taken, checked or refused. Arrays, maps and structs have the verdict of their worst part
    refused   why, for each part that is refused

    Fields of structs are found by name, and landed ones that are not declared are left out. Keys of a map are never checked, since
    two of them could become one.
-#}
{% macro reading_of(landed, declared, place) %}
    {% set parts, refused = [], [] %}
    {% set refusal = place ~ ' is ' ~ declared.text ~ ', and lands as ' ~ landed.text ~ ': must ' %}
    {% set one, other = landed.type or change_tables.canonical_tree(landed), declared.type or change_tables.canonical_tree(declared) %}
    {% set has_length = 'char(' in one ~ other %}
    {% if one == other or (has_length and change_tables.stored_type(one) == change_tables.stored_type(other)) %}
        {#- the parts that are declared `char` lose their blanks -#}
        {% do return({'verdict': 'taken' if modules.re.search('\\bchar\\(', other) else 'same', 'refused': []}) %}
    {% elif landed.kind == 'void' %}
        {% do return({'verdict': 'taken', 'refused': []}) %}
    {% elif declared.kind not in ['array', 'map', 'struct'] %}
        {% set verdict = change_tables._scalar_verdict(landed, declared) %}
        {% do refused.append(refusal ~ 'be ' ~ change_tables._kinds_read_as(declared) | join(', ')) if verdict == 'refused' %}
        {% do return({'verdict': verdict, 'refused': refused}) %}
    {% elif landed.kind != declared.kind %}
        {% do return({'verdict': 'refused', 'refused': [refusal ~ 'be ' ~ declared.kind ~ '<…>']}) %}
    {% elif declared.kind == 'struct' %}
        {% for field in declared.fields %}
            {% set found = change_tables.landed_fields(landed, field.name) %}
            {% if found | length == 1 %}
                {% do parts.append(change_tables.reading_of(found[0].tree, field.tree, place ~ '.' ~ field.name)) %}
            {% else %}
                {% do refused.append(refusal ~ 'have the field ' ~ field.name ~ (', which it lacks' if not found else ' once')) %}
            {% endif %}
        {% endfor %}
    {% else %}
        {% if declared.kind == 'map' %}
            {#- two keys must be two keys in the declared type, too -#}
            {% set of_key = change_tables.reading_of(landed.key, change_tables.type_tree(change_tables.stored_type(declared.key.text)), '').verdict %}
            {% set stay_apart = of_key == 'same' or (of_key == 'taken' and declared.key.kind not in ['string', 'array', 'map', 'struct']) %}
            {% do refused.append(refusal ~ 'have keys of type ' ~ declared.key.text) if not stay_apart %}
        {% endif %}
        {% do parts.append(change_tables.reading_of(landed.element, declared.element, place ~ '[]')) %}
    {% endif %}
    {% do refused.extend(parts | sum(attribute='refused', start=[])) %}
    {% set verdict = 'refused' if refused else 'checked' if 'checked' in parts | map(attribute='verdict') else 'taken' %}
    {% do return({'verdict': verdict, 'refused': refused}) %}
{% endmacro %}


{#- Of types of one value: `taken`, `checked` or `refused`. -#}
{% macro _scalar_verdict(landed, declared) %}
    {% set signs = change_tables.landed_type_verdicts().get(landed.kind, '') | replace(' ', '') %}
    {% set kinds = change_tables.declarable_kinds() %}
    {% set sign = signs[kinds.index(declared.kind)] if signs and declared.kind in kinds else '-' %}
    {% do return({'=': 'taken', '?': 'checked', '-': 'refused'}[sign]) if sign != '#' %}
    {% set digits = {'boolean': 1, 'tinyint': 3, 'smallint': 5, 'int': 10, 'bigint': 19} %}
    {% if landed.kind != 'decimal' %}
        {% set has_room = declared.digits - declared.places >= digits[landed.kind] %}
    {% elif declared.kind == 'decimal' %}
        {% set has_room = declared.places >= landed.places and declared.digits - declared.places >= landed.digits - landed.places %}
    {% elif declared.kind in digits %}
        {% set has_room = landed.places == 0 and landed.digits < digits[declared.kind] %}
    {% else %}
        {% set has_room = landed.digits <= {'float': 6, 'double': 15}[declared.kind] %}
    {% endif %}
    {% do return('taken' if has_room else 'checked') %}
{% endmacro %}


{% macro _kinds_read_as(declared) %}
    {% set kinds = [] %}
    {% for kind in change_tables.declarable_kinds() %}
        {% do kinds.append(kind) if change_tables._scalar_verdict({'kind': kind, 'digits': 1, 'places': 0}, declared) != 'refused' %}
    {% endfor %}
    {% do return(kinds) %}
{% endmacro %}


{#- The fields of a landed struct of that name, without case as Spark finds them. -#}
{% macro landed_fields(landed, name) %}
    {% set found = [] %}
    {% for field in landed.fields if field.name | lower == name | lower %}
        {% do found.append(field) %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}


{#- SQL for a landed value in the declared type, where its reading is not refused; null where it does not fit. -#}
{% macro read_value(value, landed, declared, depth=1) %}
    {% set reading = change_tables.reading_of(landed, declared, '') %}
    {% set stored = change_tables.stored_type(declared.text) %}
    {% set element = change_tables.name_at_depth('element', depth) %}
    {% if modules.re.match('char\\(', declared.type or '') %}
        {#- of a `char` the blanks at the end do not count: some deliveries pad it, others do not -#}
        {% do return('rtrim(' ~ change_tables.read_value(value, landed, change_tables.type_tree('string'), depth) ~ ')') %}
    {% elif reading.verdict == 'same' %}
        {% do return(value) %}
    {% elif declared.kind == 'struct' and landed.kind == 'struct' %}
        {% set fields = [] %}
        {% for field in declared.fields %}
            {% set found = change_tables.landed_fields(landed, field.name)[0] %}
            {% do fields.append(
                change_tables.read_value(change_tables.field_of(value, found.name), found.tree, field.tree, depth)
                ~ ' as ' ~ change_tables.quoted(field.name)
            ) %}
        {% endfor %}
        {% do return('if(' ~ value ~ ' is null, null, struct(' ~ fields | join(', ') ~ '))') %}
    {% elif declared.kind == 'array' and landed.kind == 'array' %}
        {% set read = change_tables.read_value(element, landed.element, declared.element, depth + 1) %}
        {% do return('transform(' ~ value ~ ', ' ~ element ~ ' -> ' ~ read ~ ')') %}
    {% elif declared.kind == 'map' and landed.kind == 'map' %}
        {#- as stored: two keys could become one without their blanks -#}
        {% set key_type = change_tables.type_tree(change_tables.stored_type(declared.key.text)) %}
        {% set key = change_tables.read_value(change_tables.field_of(element, 'key'), landed.key, key_type, depth + 1) %}
        {% set read = change_tables.read_value(change_tables.field_of(element, 'value'), landed.element, declared.element, depth + 1) %}
        {% do return('map_from_entries(transform(map_entries(' ~ value ~ '), ' ~ element ~ ' -> struct(' ~ key ~ ', ' ~ read ~ ')))') %}
    {% elif landed.kind == 'hex' %}
        {% do return('unhex(' ~ value ~ ')') %}
    {% elif landed.kind == 'base64' %}
        {% do return('try_to_binary(' ~ value ~ ", 'base64')") %}
    {% elif landed.kind == 'binary' %}
        {% do return('try_validate_utf8(cast(' ~ value ~ ' as string))') %}
    {% elif landed.kind == 'date' and reading.verdict == 'checked' %}
        {#- only days that a timestamp can have: Spark assumes that every date has one, even where it overflows -#}
        {% do return('case when unix_date(' ~ value ~ ') between -106751990 and 106751990 then cast(' ~ value ~ ' as ' ~ stored ~ ') end') %}
    {% elif landed.kind == 'float' and declared.kind == 'decimal' %}
        {#- by its text: as a double it would have more digits than it landed with -#}
        {% do return('try_cast(cast(' ~ value ~ ' as string) as ' ~ stored ~ ')') %}
    {% elif landed.kind == 'string' and declared.kind in ['tinyint', 'smallint', 'int', 'bigint'] %}
        {% do return(change_tables._whole_number_of_text(value, stored)) %}
    {% elif landed.kind == 'string' and declared.kind in ['date', 'timestamp', 'timestamp_ntz'] %}
        {#-
            As Spark reads times, which cuts them after the microsecond; else with a blank before the time of day, a point before the digits after
            the second, and no blank in the zone. Trails have a colon before the time of day; OpenEdge has one after the second, and blanks in the
            zone.
        -#}
        {% set parts = "'^ *([-+]?[0-9]+-[0-9]+-[0-9]+)[: T]([0-9]+:[0-9]+:[0-9]+)(?:[:.]([0-9]+))? *([-+]?) *(.*)$', '$1 $2.$3$4$5'" %}
        {% do return(
            'coalesce(try_cast(' ~ value ~ ' as ' ~ stored ~ '), try_cast(regexp_replace(' ~ value ~ ', ' ~ parts ~ ') as ' ~ stored ~ '))'
        ) %}
    {% endif %}
    {% do return(('cast(' if reading.verdict == 'taken' else 'try_cast(') ~ value ~ ' as ' ~ stored ~ ')') %}
{% endmacro %}


{#-
    SQL for a whole number of a text, also where it is written as `5.0` or `1e2`; null where it has a fraction or is too large. Only a
    text that is no plain integer is looked at again, as a decimal. The pattern takes no number that the decimal would have to round.
-#}
{% macro _whole_number_of_text(value, stored) %}
    {% set pattern = '^ *[-+]?[0-9]*([.][0-9]{0,18}0*)?([eE][+]?0*[0-9]{1,2})? *$|^ *[-+]?[0-9]*([.][0-9]{0,9}0*)?[eE]-0*[0-9] *$' %}
    {% set digits = 'cast(try_cast(regexp_extract(' ~ value ~ ", '" ~ pattern ~ "', 0) as decimal(38, 18)) as string)" %}
    {% do return(
        'coalesce(try_cast(' ~ value ~ ' as ' ~ stored ~ '), try_cast(replace(' ~ digits ~ ", '." ~ '0' * 18 ~ "', '') as " ~ stored ~ '))'
    ) %}
{% endmacro %}


{#-
    SQL for the message of a landed value that does not fit, with the path to it (`column x.prices[0]: 'dear' is not int`). The SQL is
    null where the value fits, and empty where every value does.

    path   what leads to the value: a list of {text} and {sql}
-#}
{% macro misfit_of(path, value, landed, declared, depth=1) %}
    {% set reading = change_tables.reading_of(landed, declared, '') %}
    {% set element = change_tables.name_at_depth('element', depth) %}
    {% if reading.verdict != 'checked' %}
        {% do return('') %}
    {% elif declared.kind == 'struct' %}
        {% set found = [] %}
        {% for field in declared.fields %}
            {% set of_field = change_tables.landed_fields(landed, field.name)[0] %}
            {% do found.append(change_tables.misfit_of(
                path + [{'text': '.' ~ field.name}], change_tables.field_of(value, of_field.name), of_field.tree, field.tree, depth
            )) %}
        {% endfor %}
        {% do return('coalesce(' ~ (found | select | join(', ')) ~ ', null)') %}
    {% elif declared.kind == 'array' %}
        {% set index = change_tables.name_at_depth('index', depth) %}
        {% set misfit = change_tables.misfit_of(
            path + [{'text': '['}, {'sql': index}, {'text': ']'}], element, landed.element, declared.element, depth + 1
        ) %}
        {% do return('get(array_compact(transform(' ~ value ~ ', (' ~ element ~ ', ' ~ index ~ ') -> ' ~ misfit ~ ')), 0)') %}
    {% elif declared.kind == 'map' %}
        {% set key = change_tables._text_of_value(change_tables.field_of(element, 'key'), landed.key) %}
        {% set misfit = change_tables.misfit_of(
            path + [{'text': "['"}, {'sql': key}, {'text': "']"}], change_tables.field_of(element, 'value'), landed.element, declared.element, depth + 1
        ) %}
        {% do return('get(array_compact(transform(map_entries(' ~ value ~ '), ' ~ element ~ ' -> ' ~ misfit ~ ')), 0)') %}
    {% endif %}
    {% set message = path + [{'text': ": '"}, {'sql': change_tables._text_of_value(value, landed)}, {'text': "' is not " ~ declared.text}] %}
    {% do return(
        'case when ' ~ change_tables.does_not_fit(value, declared.text, landed) ~ ' then ' ~ change_tables._joined_texts(message) ~ ' end'
    ) %}
{% endmacro %}


{% macro _text_of_value(value, landed) %}
    {% do return(('hex(' ~ value ~ ')') if landed.kind == 'binary' else ('cast(' ~ value ~ ' as string)')) %}
{% endmacro %}


{#- `concat` of texts and SQL, a list of {text} and {sql}. -#}
{% macro _joined_texts(parts) %}
    {% set joined, texts = [], [] %}
    {% for part in parts + [{'sql': ''}] %}
        {% if 'text' in part %}
            {% do texts.append(part.text) %}
        {% else %}
            {% if texts %}
                {% do joined.append(change_tables.text_literal(texts | join)) %}
                {% do texts.clear() %}
            {% endif %}
            {% do joined.append(part.sql) %}
        {% endif %}
    {% endfor %}
    {% do return('concat(' ~ joined | select | join(', ') ~ ')') %}
{% endmacro %}


{#-
    True where a landed value of a type of one value would be lost, cut or rounded in the declared type. Empty where every value
    fits.

    landed   its tree, by default that of a text
-#}
{% macro does_not_fit(value, data_type, landed=none) %}
    {% set declared = change_tables.type_tree(data_type) %}
    {% set landed = landed or {'kind': 'string', 'text': 'string'} %}
    {% do return('') if change_tables.reading_of(landed, declared, '').verdict != 'checked' %}
    {% do return(value ~ " rlike '[^0-9A-Fa-f]' or length(" ~ value ~ ') % 2 = 1') if landed.kind == 'hex' %}
    {% set read = change_tables.read_value(value, landed, declared) %}
    {% set lost = change_tables._loses(value, read, landed, declared) %}
    {% do return(value ~ ' is not null and ' ~ ('(' ~ read ~ ' is null or ' ~ lost ~ ')' if lost else read ~ ' is null')) %}
{% endmacro %}


{#- True where a value that can be read has become another one; empty where that cannot be. `read`: SQL for it in the declared type. -#}
{% macro _loses(value, read, landed, declared) %}
    {% set text = 'cast(' ~ value ~ ' as string)' %}
    {% set is_text = landed.kind == 'string' %}
    {% set is_floating = landed.kind in ['float', 'double'] %}
    {% if landed.kind == 'base64' or (is_text and declared.kind in ['boolean', 'tinyint', 'smallint', 'int', 'bigint']) %}
        {% do return('') %}
    {% elif declared.kind == 'boolean' %}
        {% do return(value ~ ' not in (0, 1)') %}
    {% elif is_text and declared.kind == 'decimal' %}
        {#- by its digits, since no type with more of them is there to compare with; with an exponent, as a double -#}
        {% do return(
            "case when " ~ text ~ " rlike '[eE]' then try_cast(" ~ value ~ " as double) <> cast(" ~ read ~ " as double)"
            ~ " else " ~ change_tables._has_finer_digits(value, declared.places) ~ " end"
        ) %}
    {% elif is_text and declared.kind in ['float', 'double'] %}
        {#- one out of range; with the sign of a type, or in hex digits, it is no number to others -#}
        {% do return(
            "((abs(" ~ read ~ ") = " ~ declared.kind ~ "('infinity') and not " ~ text ~ " rlike '[iI][nN][fF]') or " ~ text ~ " rlike '[0-9.][dDfF]|[xX]')"
        ) %}
    {% elif declared.kind in ['float', 'double'] %}
        {#- a number that lands exact, or as a double, must keep its digits -#}
        {% do return('(cast(' ~ read ~ ' as double) <> ' ~ value ~ ' and cast(' ~ read ~ ' as string) <> cast(' ~ value ~ ' as string))') if landed.kind == 'double' %}
        {% do return('not try_cast(cast(' ~ read ~ ' as string) as ' ~ landed.text ~ ') <=> ' ~ value) if landed.kind == 'decimal' %}
        {% do return('not try_cast(' ~ read ~ ' as bigint) <=> ' ~ value ~ ' or ' ~ read ~ " >= double('9223372036854775808')") if landed.kind == 'bigint' %}
        {% do return('not try_cast(' ~ read ~ ' as ' ~ landed.text ~ ') <=> ' ~ value) %}
    {% elif is_floating and declared.kind == 'bigint' %}
        {#- the greatest bigint is no floating-point number: the next one above it would be read as it -#}
        {% do return('cast(' ~ read ~ ' as ' ~ landed.kind ~ ') <> ' ~ value ~ ' or ' ~ value ~ " >= double('9223372036854775808')") %}
    {% elif is_floating %}
        {% do return('cast(' ~ read ~ ' as ' ~ landed.kind ~ ') <> ' ~ value) %}
    {% elif landed.kind == 'decimal' %}
        {% set places = declared.places if declared.kind == 'decimal' else 0 %}
        {% do return(change_tables._has_finer_digits(value, places) if landed.places > places else '') %}
    {% elif declared.kind == 'date' and is_text %}
        {% set time = change_tables.read_value(value, landed, change_tables.type_tree('timestamp')) %}
        {% do return('not ' ~ time ~ ' <=> try_cast(' ~ read ~ ' as timestamp) or ' ~ change_tables.names_no_day(value)) %}
    {% elif declared.kind == 'date' %}
        {% do return('not ' ~ value ~ ' <=> try_cast(' ~ read ~ ' as ' ~ landed.kind ~ ')') %}
    {% elif is_text %}
        {% set lost = change_tables.names_no_day(value) %}
        {% if declared.kind == 'timestamp_ntz' %}
            {#- a zone, which Spark would drop without a message -#}
            {% set lost = lost ~ " or " ~ text ~ " rlike '[0-9]:[0-9][0-9.:]* *[-+A-Za-z]'" %}
        {% endif %}
        {% do return(lost) %}
    {% elif landed.kind in ['timestamp', 'timestamp_ntz'] %}
        {#- a time that the session's zone skips, or has twice -#}
        {% do return('not ' ~ value ~ ' <=> try_cast(' ~ read ~ ' as ' ~ landed.kind ~ ')') %}
    {% endif %}
    {% do return('') %}
{% endmacro %}


{#- True of what Spark reads as a time though it has no day: a time of day would be one of today, and a number a year, whatever it counts. -#}
{% macro names_no_day(value) -%}
    cast({{ value }} as string) rlike '^[^0-9A-Za-z]*T?[0-9]+:|^[^0-9A-Za-z]*[0-9]+[^0-9A-Za-z]*$'
{%- endmacro %}


{#- True where a digit other than 0 is past the first `places` digits after the decimal point. -#}
{% macro _has_finer_digits(value, places) -%}
    cast({{ value }} as string) rlike '[.][0-9]{{ '{' ~ places ~ '}' }}[0-9]*[1-9]'
{%- endmacro %}
