{#- The Spark type of the struct that holds a key. -#}
{% macro key_type(spec) -%}
    struct<
    {%- for name in spec.key -%}
        {{- change_tables.quoted(name) }}: {{ change_tables.column_of(spec, name).data_type }}{{- ', ' if not loop.last -}}
    {%- endfor -%}
    >
{%- endmacro %}


{#- The key of a row as one text, the same for the same key only. -#}
{% macro key_text(spec) -%}
    {%- set column = change_tables.column_of(spec, spec.key[0]) -%}
    {%- if spec.key | length > 1 -%}
        to_json(struct({{ change_tables.column_list(spec.key) }}), {{ change_tables.json_options() }})
    {%- elif column.data_type | lower == 'binary' -%}
        hex({{ change_tables.quoted(column.name) }})
    {%- else -%}
        cast({{ change_tables.quoted(column.name) }} as string)
    {%- endif -%}
{%- endmacro %}


{#- True where every column of the key is null. -#}
{% macro key_is_null(spec) -%}
    {%- for name in spec.key -%}
        {{- change_tables.quoted(name) }} is null{{- ' and ' if not loop.last -}}
    {%- endfor -%}
{%- endmacro %}


{#- Why a row is rejected whose key is null: see `key_is_null`. -#}
{% macro key_missing(spec) -%}
    {{- change_tables.text_literal('key_missing: every key column is null: ' ~ spec.key | join(', ')) -}}
{%- endmacro %}


{#- The spec with the key's columns alone, for what needs no other values. -#}
{% macro keys_of(spec) %}
    {% do return(dict(spec, columns=spec.columns | selectattr('name', 'in', spec.key) | list, column_names=spec.key)) %}
{% endmacro %}
