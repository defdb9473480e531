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


{#-
    A 64-bit hash of columns in which null differs from every value and from null elsewhere. `columns`: a list of
    {name, data_type}, with the SQL of a `value` where that is not the column of that name.
-#}
{% macro hash_of(columns, prefix=none) -%}
    {%- set values = [] -%}
    {%- set nulls = [] -%}
    {%- for column in columns -%}
        {%- set value = column.value or ((prefix ~ '.') if prefix else '') ~ change_tables.quoted(column.name) -%}
        {%- do values.append('to_json(' ~ value ~ ')' if 'map<' in column.data_type | lower | replace(' ', '') else value) -%}
        {%- do nulls.append(value ~ ' is null') -%}
    {%- endfor -%}
    xxhash64({{ values | join(', ') }}, array({{ nulls | join(', ') }}))
{%- endmacro %}
