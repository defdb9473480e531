{#-
    For feeds whose rows are maps of texts, name -> text:

    _ct_row          the row that a change leaves; of a delete, the row that it ends
    _ct_row_before   the row before, where the feed has it

    A column is null where its text is null, and missing where its name is not in the map. The setting `column_names` says whether
    case counts in names.
-#}

{#- The types of a table's columns before they are typed: texts, and for bytes hex digits or base64. -#}
{% macro texts_of_rows(spec, bytes_as='hex') %}
    {% set texts = {} %}
    {% for column in spec.columns %}
        {% set is_binary = change_tables.canonical_type(column.data_type) == 'binary' %}
        {% do texts.update({column.name | lower: {'name': column.name, 'data_type': bytes_as if is_binary else 'string'}}) %}
    {% endfor %}
    {% for name in spec.key %}
        {% set is_binary = change_tables.canonical_type(change_tables.column_of(spec, name).data_type) == 'binary' %}
        {% do texts.update({'_ct_before_' ~ loop.index: {'data_type': bytes_as if is_binary else 'string'}}) %}
    {% endfor %}
    {% do return(texts) %}
{% endmacro %}


{#- The setting of formats whose rows have names of their own. -#}
{% macro column_names_setting() %}
    {% do return({
        'default': 'exact', 'type': 'text', 'values': ['exact', 'ignore_case'],
        'meaning': "how names in the records are matched with the declared columns",
    }) %}
{% endmacro %}


{#- A column's name in the maps. -#}
{% macro matched_name(spec, name) %}
    {% do return(name | lower if spec.settings.column_names == 'ignore_case' else name) %}
{% endmacro %}


{#- The same as a literal. -#}
{% macro name_in_row(spec, name) -%}
    {{- change_tables.text_literal(change_tables.matched_name(spec, name)) -}}
{%- endmacro %}


{#- A row as it lands, with its names as columns are matched. Names that differ by case alone stay as they are: see `names_fault`. -#}
{% macro names_as_matched(spec, row) -%}
    {%- if spec.settings.column_names == 'exact' -%}
        {{ row }}
    {%- else -%}
        if(
            size(array_distinct(transform(map_keys({{ row }}), name -> lower(name)))) = size({{ row }}),
            transform_keys({{ row }}, (name, value) -> lower(name)),
            {{ row }}
        )
    {%- endif -%}
{%- endmacro %}


{#- Names that a feed has (SQL for an array), as the columns are declared; of columns that are not declared, any. -#}
{% macro names_as_declared(spec, names) -%}
    {%- if spec.settings.column_names == 'exact' -%}
        {{ names }}
    {%- else -%}
        array_compact(transform({{ names }}, name -> map(
            {%- for name in spec.column_names -%}
                {{ change_tables.text_literal(name | lower) }}, {{ change_tables.text_literal(name) }}{{ ', ' if not loop.last }}
            {%- endfor -%}
        )[lower(name)]))
    {%- endif -%}
{%- endmacro %}


{#-
    What is wrong with the names in a row and the row before, as `code: detail`; null where all are right. A name that only looks
    like that of a column would be a value lost in silence.
-#}
{% macro names_fault(spec) -%}
    {%- if spec.settings.column_names == 'exact' -%}
        concat(
            'column_not_declared: ',
            get(filter(
                array_except(concat(map_keys(_ct_row), coalesce(map_keys(_ct_row_before), array())), {{ change_tables.names_array(spec.column_names) }}),
                name -> array_contains({{ change_tables.names_array(spec.column_names | map('lower') | list) }}, lower(name))
            ), 0),
            ' is declared in another case'
        )
    {%- else -%}
        case
            {%- for row in ['_ct_row', '_ct_row_before'] %}
            when size(array_distinct(transform(map_keys({{ row }}), name -> lower(name)))) < size({{ row }})
                then 'column_names_collide: names in the row{{ ' before' if row != '_ct_row' }} differ by case alone'
            {%- endfor %}
        end
    {%- endif -%}
{%- endmacro %}


{#- The text of a column; that of a key column from the row before where the row lacks it. -#}
{% macro text_of_column(spec, column) -%}
    {%- set name = change_tables.name_in_row(spec, column.name) -%}
    {%- if column.name in spec.key -%}
        if(map_contains_key(_ct_row, {{ name }}), _ct_row[{{ name }}], _ct_row_before[{{ name }}])
    {%- else -%}
        _ct_row[{{ name }}]
    {%- endif -%}
{%- endmacro %}


{#- The text of a column of the key before: that of the row before; where this lacks the column, that of the row. -#}
{% macro text_before(spec, name) -%}
    {%- set name = change_tables.name_in_row(spec, name) -%}
    if(map_contains_key(_ct_row_before, {{ name }}), _ct_row_before[{{ name }}], _ct_row[{{ name }}])
{%- endmacro %}


{#- SQL for the first key column that neither row has. Null where each column is there, even as a null. -#}
{% macro missing_key_column(spec) -%}
    case
            {%- for name in spec.key %}
            when
                not coalesce(map_contains_key(_ct_row, {{ change_tables.name_in_row(spec, name) }}), false)
                and not coalesce(map_contains_key(_ct_row_before, {{ change_tables.name_in_row(spec, name) }}), false)
                then {{ change_tables.text_literal(name) }}
            {%- endfor %}
        end
{%- endmacro %}


{#- A column of the key before, `_ct_before_1` and on, as `typed_value` takes it. -#}
{% macro column_before(spec, name, place) %}
    {% do return({'name': '_ct_before_' ~ place, 'label': name, 'data_type': change_tables.column_of(spec, name).data_type}) %}
{% endmacro %}


{#- The first column of the key before whose text does not fit: see `misfit`. -#}
{% macro misfit_before(spec, texts) %}
    {%- set columns = [] -%}
    {%- for name in spec.key -%}
        {%- do columns.append(change_tables.column_before(spec, name, loop.index)) -%}
    {%- endfor -%}
    {{- change_tables.misfit({'columns': columns}, columns | map(attribute='name') | list, texts) -}}
{%- endmacro %}


{#- The key before as a struct, of its typed columns. -#}
{% macro key_before(spec) -%}
    struct(
    {%- for name in spec.key -%}
        {{ change_tables.quoted('_ct_before_' ~ loop.index) }} as {{ change_tables.quoted(name) }}{{ ', ' if not loop.last }}
    {%- endfor -%}
    )
{%- endmacro %}


{#- The step `typed`: of the step `unpacked` the texts of columns as what they are declared, what does not fit, and all else. -#}
{% macro typed_step(spec, texts) -%}
typed as (

    select
    {{- change_tables.typed_columns(spec, texts) }}
    {%- for name in spec.key %}
        {{ change_tables.typed_value(change_tables.column_before(spec, name, loop.index), texts) }},
    {%- endfor %}
        {{ change_tables.misfit(spec, spec.key, texts) }} as _ct_key_misfit,
        {{ change_tables.misfit_before(spec, texts) }} as _ct_key_before_misfit,
        {{ change_tables.misfit(spec, spec.column_names | reject('in', spec.key) | list, texts) }} as _ct_column_misfit,
        * except ({{ change_tables.column_list(spec.column_names) }}{% for name in spec.key %}, _ct_before_{{ loop.index }}{% endfor %})
    from unpacked

)
{%- endmacro %}


{#- SQL for `_present_columns`: these `names` where a row is a change that can lack columns. Full images lack none. -#}
{% macro present_where(spec, is_change, names) -%}
    {%- if spec.images == 'partial' -%}
        case
            when {{ is_change }}
                then {{ names }}
        end
    {%- else -%}
        cast(null as array<string>)
    {%- endif -%}
{%- endmacro %}


{#- The declared columns among `names` (SQL for an array), and the key. Null where these are all columns. -#}
{% macro present_columns(spec, names) -%}
    nullif(
                    array_union(
                        {{ change_tables.names_array(spec.key) }},
                        array_intersect(
                            {{ change_tables.names_array(spec.column_names) }},
                            {{ names }}
                        )
                    ),
                    {{ change_tables.names_array(spec.key + (spec.column_names | reject('in', spec.key) | list)) }}
                )
{%- endmacro %}
