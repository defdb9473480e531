{#-
    What a raw table holds: name in lower case -> {name, data_type}. Empty while the table does not exist. Stops with a
    list of what is missing when the table lacks one of the `expected` columns.
-#}
{% macro landed_columns(spec, relation, expected, help) %}
    {% set landed = {} %}
    {% for column in adapter.get_columns_in_relation(relation) %}
        {% do landed.update({column.name | lower: {'name': column.name, 'data_type': column.dtype | lower}}) %}
    {% endfor %}
    {% if landed %}
        {% set missing = [] %}
        {% for name in expected if name | lower not in landed %}
            {% do missing.append(name) %}
        {% endfor %}
        {% do change_tables.refuse_missing_columns(spec, relation, missing, help) %}
    {% endif %}
    {% do return(landed) %}
{% endmacro %}


{#- Stops where a declared array, map or struct lands as something else, which no cast makes of it. -#}
{% macro refuse_flat_columns(spec, relation, landed) %}
    {% set found = [] %}
    {% for column in spec.columns if column.name | lower in landed %}
        {% set kind = modules.re.match('(array|map|struct)', column.data_type | lower) %}
        {% if kind and not landed[column.name | lower].data_type.startswith(kind.group(1)) %}
            {% do found.append(column.name ~ " is " ~ column.data_type ~ ", and lands as " ~ landed[column.name | lower].data_type) %}
        {% endif %}
    {% endfor %}
    {% if found %}
        {% do exceptions.raise_compiler_error(
            "change_tables: source '" ~ spec.source_name ~ "." ~ spec.table_name ~ "': columns of " ~ relation
            ~ " must land as the arrays, maps or structs that they are declared as: " ~ found | join('; ')
        ) %}
    {% endif %}
{% endmacro %}


{#- Stops where a raw table lacks columns. -#}
{% macro refuse_missing_columns(spec, relation, missing, help) %}
    {% if missing %}
        {% do exceptions.raise_compiler_error(
            "change_tables: source '" ~ spec.source_name ~ "." ~ spec.table_name ~ "': the raw table " ~ relation
            ~ " must have the columns that the spec tells of, it lacks " ~ missing | join(', ') ~ "; " ~ help
        ) %}
    {% endif %}
{% endmacro %}


{#-
    The declared columns in their declared types, each as a line of a select list. A text is cast also where it lands as
    declared: a table made of a bare column would take its length over, and could not hold a longer one later.
-#}
{% macro typed_columns(spec, landed) -%}
    {%- for column in spec.columns %}
        {{ change_tables._typed_value(column, landed) }},
    {%- endfor -%}
{%- endmacro %}


{% macro _typed_value(column, landed) -%}
    {%- set stored = change_tables._stored_type(column.data_type) -%}
    {%- if change_tables._lands_as_declared(column, landed) and stored != column.data_type -%}
        cast({{ change_tables.quoted(column.name) }} as {{ stored }}) as {{ change_tables.quoted(column.name) }}
    {%- elif change_tables._lands_as_declared(column, landed) -%}
        {{- change_tables.quoted(column.name) -}}
    {%- elif change_tables._lands_as(column, landed, 'hex') -%}
        unhex({{ change_tables.quoted(column.name) }}) as {{ change_tables.quoted(column.name) }}
    {%- elif change_tables._lands_as(column, landed, 'base64') -%}
        try_to_binary({{ change_tables.quoted(column.name) }}, 'base64') as {{ change_tables.quoted(column.name) }}
    {%- else -%}
        try_cast({{ change_tables.quoted(column.name) }} as {{ column.data_type }}) as {{ change_tables.quoted(column.name) }}
    {%- endif -%}
{%- endmacro %}


{#-
    The first value among `names` that does not fit its declared type, as text (`column 'x': '1.5' is not int`), else
    null. Columns that land in their declared type cannot fail, and are not looked at.
-#}
{% macro misfit(spec, names, landed) -%}
    {%- set checks = change_tables._misfits(spec, names, landed) -%}
    {%- if not checks -%}
        cast(null as string)
    {%- else -%}
        coalesce(
        {%- for check in checks %}
            {{ check }},
        {%- endfor %}
            null
        )
    {%- endif -%}
{%- endmacro %}


{#- Whether a landed row has no such misfit: on one line, for a condition. Empty where it can have none. -#}
{% macro fits(spec, names, landed) -%}
    {%- set checks = change_tables._misfits(spec, names, landed) -%}
    {{- 'coalesce(' ~ checks | join(', ') ~ ', null) is null' if checks -}}
{%- endmacro %}


{#- For each column of which a landed value may not fit, SQL for what is said of it: null where it fits. -#}
{% macro _misfits(spec, names, landed) %}
    {% set checks = [] %}
    {% for column in spec.columns if column.name in names and not change_tables._lands_as_declared(column, landed) %}
        {% set name = change_tables.quoted(column.name) %}
        {% if change_tables._lands_as(column, landed, 'hex') %}
            {% set check = name ~ " rlike '[^0-9A-Fa-f]' or length(" ~ name ~ ') % 2 = 1' %}
        {% elif change_tables._lands_as(column, landed, 'base64') %}
            {% set check = name ~ " is not null and try_to_binary(" ~ name ~ ", 'base64') is null" %}
        {% else %}
            {% set check = change_tables._does_not_fit(name, column.data_type) %}
        {% endif %}
        {% if check %}
            {% do checks.append(
                "case when " ~ check ~ " then concat('column ', " ~ change_tables.text_literal(column.label or column.name) ~ ", ': \\'', cast("
                ~ name ~ " as string), '\\' is not " ~ column.data_type ~ "') end"
            ) %}
        {% endif %}
    {% endfor %}
    {% do return(checks) %}
{% endmacro %}


{#- True where a landed value would be lost, cut or rounded in the declared type. Empty where every value fits. -#}
{% macro _does_not_fit(value, data_type) %}
    {% set type = change_tables._canonical_type(data_type) %}
    {% set decimal = modules.re.match('^decimal\\((\\d+),(\\d+)\\)$', type) %}
    {% if type == 'string' or type.startswith('varchar') or type.startswith('char') %}
        {% do return('') %}
    {% endif %}
    {% set exact = '' %}
    {% if decimal %}
        {#- by its digits, for no type holds more of them to compare with; with an exponent, by what a double tells -#}
        {% set exact = " or case when cast(" ~ value ~ " as string) rlike '[eE]'"
            ~ " then try_cast(" ~ value ~ " as double) <> cast(try_cast(" ~ value ~ " as " ~ data_type ~ ") as double)"
            ~ " else " ~ change_tables._has_finer_digits(value, decimal.group(2)) ~ " end" %}
    {% elif type in ['tinyint', 'smallint', 'int', 'bigint'] %}
        {% set exact = " or try_cast(" ~ value ~ " as decimal(38, 18)) <> try_cast(" ~ value ~ " as " ~ data_type ~ ")" %}
    {% elif type in ['float', 'double'] %}
        {% set exact = " or (abs(try_cast(" ~ value ~ " as " ~ type ~ ")) = " ~ type ~ "('infinity')"
            ~ " and not cast(" ~ value ~ " as string) rlike '[iI][nN][fF]')" %}
    {% elif type.startswith('array<') %}
        {% set misfit = change_tables._does_not_fit('element', type[6:-1]) %}
        {% set exact = " or exists(" ~ value ~ ", element -> " ~ misfit ~ ")" if misfit else '' %}
    {% elif type == 'date' %}
        {% set exact = " or not try_cast(" ~ value ~ " as timestamp) <=> try_cast(try_cast(" ~ value ~ " as date) as timestamp)" %}
    {% elif type.startswith('timestamp') %}
        {#- a time of day alone would be taken as one of today -#}
        {% set exact = " or cast(" ~ value ~ " as string) rlike '^ *T?[0-9]+:' or " ~ change_tables._has_finer_digits(value, 6) %}
        {% if type == 'timestamp_ntz' %}
            {#- a zone, which Spark would leave out unsaid -#}
            {% set exact = exact ~ " or cast(" ~ value ~ " as string) rlike '[0-9]:[0-9][0-9.:]* *[-+A-Za-z]'" %}
        {% endif %}
    {% endif %}
    {% do return(
        value ~ " is not null and (try_cast(" ~ value ~ " as " ~ data_type ~ ") is null" ~ exact ~ ")"
    ) %}
{% endmacro %}


{#- True where a digit other than 0 stands further behind the point than `places`. -#}
{% macro _has_finer_digits(value, places) -%}
    cast({{ value }} as string) rlike '[.][0-9]{{ '{' ~ places ~ '}' }}[0-9]*[1-9]'
{%- endmacro %}


{% macro _lands_as_declared(column, landed) %}
    {% set found = landed.get(column.name | lower) %}
    {% do return(
        found is not none
        and change_tables._canonical_type(found.data_type) == change_tables._canonical_type(column.data_type)
    ) %}
{% endmacro %}


{#- Whether bytes land as text, `hex` digits or `base64`. -#}
{% macro _lands_as(column, landed, text) %}
    {% do return(landed.get(column.name | lower, {}).data_type == text) %}
{% endmacro %}


{#- One spelling for a Spark type, so that two spellings of one type compare equal. -#}
{% macro _canonical_type(data_type) %}
    {% set type = modules.re.sub('\\s+', '', data_type | lower) %}
    {% set type = modules.re.sub('^(dec|numeric)(?=\\(|$)', 'decimal', type) %}
    {% set type = modules.re.sub('^decimal\\((\\d+)\\)$', 'decimal(\\1,0)', type) %}
    {% do return({
        'byte': 'tinyint', 'short': 'smallint', 'integer': 'int', 'long': 'bigint', 'real': 'float',
        'timestamp_ltz': 'timestamp', 'decimal': 'decimal(10,0)',
    }.get(type, type)) %}
{% endmacro %}
