{#- Options under which `to_json` keeps every column and every digit of a time. -#}
{% macro _json_options() -%}
    map('ignoreNullFields', 'false', {{ change_tables._time_formats() }})
{%- endmacro %}


{#- Options under which it keeps every digit of a time, and leaves nulls out. -#}
{% macro _exact_times() -%}
    map({{ change_tables._time_formats() }})
{%- endmacro %}


{% macro _time_formats() -%}
    'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS'
{%- endmacro %}


{#- The key of a row as one text, the same for the same key only. -#}
{% macro key_text(spec) -%}
    {%- set column = change_tables.column_of(spec, spec.key[0]) -%}
    {%- if spec.key | length > 1 -%}
        to_json(struct({{ change_tables.column_list(spec.key) }}), {{ change_tables._json_options() }})
    {%- elif column.data_type | lower == 'binary' -%}
        hex({{ change_tables.quoted(column.name) }})
    {%- else -%}
        cast({{ change_tables.quoted(column.name) }} as string)
    {%- endif -%}
{%- endmacro %}


{#- True where every column of the key is null. -#}
{% macro key_is_null(spec, prefix=none) -%}
    {%- for name in spec.key -%}
        {{- (prefix ~ '.') if prefix else '' -}}{{- change_tables.quoted(name) }} is null{{- ' and ' if not loop.last -}}
    {%- endfor -%}
{%- endmacro %}


{#- Why a row is rejected whose key is null: see `key_is_null`. -#}
{% macro key_missing(spec) -%}
    {{- change_tables.text_literal('key_missing: every key column is null: ' ~ spec.key | join(', ')) -}}
{%- endmacro %}


{#-
    A 64-bit hash of columns in which null differs from every value and from null elsewhere. `columns`: a list of
    {name, data_type}, with the SQL of a `value` where that is not the column of that name. Arrays, maps and structs count by
    their text, for Spark's hash passes over the nulls within them; the names that changes bear have none.
-#}
{% macro hash_of(columns, prefix=none) -%}
    {%- set values = [] -%}
    {%- set nulls = [] -%}
    {%- for column in columns -%}
        {%- set value = column.value or ((prefix ~ '.') if prefix else '') ~ change_tables.quoted(column.name) -%}
        {%- set tree = change_tables.type_tree(column.data_type) -%}
        {%- set is_nested = tree.kind in ['array', 'map', 'struct'] and column.name not in change_tables._contract_column_types() -%}
        {%- do values.append(
            'to_json(' ~ change_tables.comparable_value(value, tree) ~ ', ' ~ change_tables._exact_times() ~ ')' if is_nested else value
        ) -%}
        {%- do nulls.append(value ~ ' is null') -%}
    {%- endfor -%}
    xxhash64({{ values | join(', ') }}, array({{ nulls | join(', ') }}))
{%- endmacro %}


{#-
    A value as it compares: each map as its entries in the order of their keys, for maps that are equal may hold them in any
    order. The value itself where it holds no map.
-#}
{% macro comparable_value(value, tree, depth=1) %}
    {% set element = change_tables._name_at_depth('element', depth) %}
    {% if not change_tables._holds_map(tree) %}
        {% do return(value) %}
    {% elif tree.kind == 'array' %}
        {% do return('transform(' ~ value ~ ', ' ~ element ~ ' -> ' ~ change_tables.comparable_value(element, tree.element, depth + 1) ~ ')') %}
    {% elif tree.kind == 'struct' %}
        {% set fields = [] %}
        {% for field in tree.fields %}
            {% set name = change_tables.quoted(field.name) %}
            {% do fields.append(change_tables.comparable_value(change_tables._field_of(value, field.name), field.tree, depth) ~ ' as ' ~ name) %}
        {% endfor %}
        {% do return('if(' ~ value ~ ' is null, null, struct(' ~ fields | join(', ') ~ '))') %}
    {% endif %}
    {% set entries = 'map_entries(' ~ value ~ ')' %}
    {% if change_tables._holds_map(tree.element) %}
        {% set of_entry = change_tables.comparable_value(change_tables._field_of(element, 'value'), tree.element, depth + 1) %}
        {% set entries = 'transform(' ~ entries ~ ', ' ~ element ~ ' -> struct(' ~ change_tables._field_of(element, 'key') ~ ' as key, ' ~ of_entry ~ ' as value))' %}
    {% endif %}
    {% do return('sort_array(' ~ entries ~ ')') %}
{% endmacro %}


{#- Whether a type is a map or holds one. The key of a map holds none. -#}
{% macro _holds_map(tree) %}
    {% if tree.kind == 'struct' %}
        {% for field in tree.fields if change_tables._holds_map(field.tree) %}
            {% do return(true) %}
        {% endfor %}
        {% do return(false) %}
    {% endif %}
    {% do return(tree.kind == 'map' or (tree.kind == 'array' and change_tables._holds_map(tree.element))) %}
{% endmacro %}
