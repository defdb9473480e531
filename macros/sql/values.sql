{#- Options under which `to_json` keeps every column and every digit of a time. -#}
{% macro json_options() -%}
    map('ignoreNullFields', 'false', {{ change_tables._time_formats() }})
{%- endmacro %}


{#- Options under which `to_json` keeps every digit of a time, and leaves nulls out. -#}
{% macro exact_times() -%}
    map({{ change_tables._time_formats() }})
{%- endmacro %}


{% macro _time_formats() -%}
    'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS'
{%- endmacro %}


{#-
    A 64-bit hash of columns in which null differs from every value and from null elsewhere. `columns`: a list of
    {name, data_type}, with the SQL of a `value` where that is not the column of that name. Arrays, maps and structs are hashed as
    texts, since Spark's hash ignores nulls within them. Not so where they never have nulls (`holds_no_nulls`).
-#}
{% macro hash_of(columns) -%}
    {%- set values, nulls = [], [] -%}
    {%- for column in columns -%}
        {%- set value = column.value or change_tables.quoted(column.name) -%}
        {#- `array<…>`, `map<…>`, `struct<…>` -#}
        {%- set is_nested = '<' in column.data_type and not column.holds_no_nulls -%}
        {%- do values.append(
            'to_json(' ~ change_tables.comparable_value(value, column.data_type) ~ ', ' ~ change_tables.exact_times() ~ ')' if is_nested else value
        ) -%}
        {%- do nulls.append(value ~ ' is null') -%}
    {%- endfor -%}
    xxhash64({{ values | join(', ') }}, array({{ nulls | join(', ') }}))
{%- endmacro %}


{#- The same as a text: the `_raw_id` of rows that have no position. -#}
{% macro hash_as_id(columns) -%}
    lower(hex({{ change_tables.hash_of(columns) }}))
{%- endmacro %}


{#-
    A value in a form that can be compared: maps as their entries in the order of the keys, since equal maps can have them in any
    order. The value itself where it has no map.
-#}
{% macro comparable_value(value, data_type) %}
    {#- most types have no map, as their text shows -#}
    {% do return(value) if not modules.re.search('(?i)\\bmap\\s*<', data_type) %}
    {% do return(change_tables._comparable(value, change_tables.type_tree(data_type), 1)) %}
{% endmacro %}


{% macro _comparable(value, tree, depth) %}
    {% set element = change_tables.name_at_depth('element', depth) %}
    {% if not change_tables._holds_map(tree) %}
        {% do return(value) %}
    {% elif tree.kind == 'array' %}
        {% do return('transform(' ~ value ~ ', ' ~ element ~ ' -> ' ~ change_tables._comparable(element, tree.element, depth + 1) ~ ')') %}
    {% elif tree.kind == 'struct' %}
        {% set fields = [] %}
        {% for field in tree.fields %}
            {% set name = change_tables.quoted(field.name) %}
            {% do fields.append(change_tables._comparable(change_tables.field_of(value, field.name), field.tree, depth) ~ ' as ' ~ name) %}
        {% endfor %}
        {% do return('if(' ~ value ~ ' is null, null, struct(' ~ fields | join(', ') ~ '))') %}
    {% endif %}
    {% set entries = 'map_entries(' ~ value ~ ')' %}
    {% if change_tables._holds_map(tree.element) %}
        {% set of_entry = change_tables._comparable(change_tables.field_of(element, 'value'), tree.element, depth + 1) %}
        {% set entries = 'transform(' ~ entries ~ ', ' ~ element ~ ' -> struct(' ~ change_tables.field_of(element, 'key') ~ ' as key, ' ~ of_entry ~ ' as value))' %}
    {% endif %}
    {% do return('sort_array(' ~ entries ~ ')') %}
{% endmacro %}


{#- Whether a type is a map or has one in it. The key of a map has none. -#}
{% macro _holds_map(tree) %}
    {% if tree.kind == 'struct' %}
        {% for field in tree.fields if change_tables._holds_map(field.tree) %}
            {% do return(true) %}
        {% endfor %}
        {% do return(false) %}
    {% endif %}
    {% do return(tree.kind == 'map' or (tree.kind == 'array' and change_tables._holds_map(tree.element))) %}
{% endmacro %}


{#- Whether a text is a time that there is, `yyyy-mm-dd hh:mm:ss` with or without a fraction. -#}
{% macro is_time(text) %}
    {% set found = modules.re.match('^([0-9]{4})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01]) ([01][0-9]|2[0-3])(:[0-5][0-9]){2}([.][0-9]{1,6})?$', text) %}
    {% do return(false) if not found or found.group(1) == '0000' %}
    {% set first = modules.datetime.date(found.group(1) | int, found.group(2) | int, 1) %}
    {% do return(found.group(3) | int == 1 or (first + modules.datetime.timedelta(days=found.group(3) | int - 1)).month == first.month) %}
{% endmacro %}
