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
    {% for column in spec.columns + change_tables.columns_before(spec) %}
        {% set is_binary = change_tables.canonical_type(column.data_type) == 'binary' %}
        {% do texts.update({column.name | lower: {'name': column.name, 'data_type': bytes_as if is_binary else 'string'}}) %}
    {% endfor %}
    {% do return(texts) %}
{% endmacro %}


{% macro name_in_row(spec, name) -%}
    {{- change_tables.text_literal(name | lower if spec.settings.column_names == 'ignore_case' else name) -}}
{%- endmacro %}


{#- The text of a column in the maps, or of one of the key before. A key column that its row does not name is that of the other row. -#}
{% macro text_in_rows(spec, column) -%}
    {%- set is_before = column.name.startswith('_ct_before_') -%}
    {%- set row, other_row = ('_ct_row_before', '_ct_row') if is_before else ('_ct_row', '_ct_row_before') -%}
    {%- set name = change_tables.name_in_row(spec, column.label or column.name) -%}
    {%- if is_before or column.name in spec.key -%}
        if(map_contains_key({{ row }}, {{ name }}), {{ row }}[{{ name }}], {{ other_row }}[{{ name }}])
    {%- else -%}
        {{ row }}[{{ name }}]
    {%- endif -%}
{%- endmacro %}


{#-
    A row as it lands, with its names as columns are matched: of renamed columns those of today. Names that collide stay as they are, and those
    of a column with two values: see `names_fault`.

    templates   what rows have beside a value, by the name of the column: `{name}_isMissing`
-#}
{% macro names_as_matched(spec, row, templates=[]) -%}
    {%- do return(change_tables._under_names_of_today(spec, row, templates)) if spec.settings.column_names == 'exact' -%}
        if(
            size(array_distinct(transform(map_keys({{ row }}), name -> lower(name)))) = size({{ row }}),
            {{ change_tables._under_names_of_today(spec, 'transform_keys(' ~ row ~ ', (name, value) -> lower(name))', templates) }},
            {{ row }}
        )
{%- endmacro %}


{#- The columns of a step with both rows so: as they are, where nothing is to be done. -#}
{% macro columns_as_matched(spec) -%}
    {%- do return('*') if spec.settings.column_names == 'exact' and not spec.renamed -%}
        * except (_ct_row, _ct_row_before),
        {{ change_tables.names_as_matched(spec, '_ct_row') }} as _ct_row,
        {{ change_tables.names_as_matched(spec, '_ct_row_before') }} as _ct_row_before
{%- endmacro %}


{#- A row with renamed columns under their names of today: the first name that has a value counts. -#}
{% macro _under_names_of_today(spec, row, templates) -%}
    {%- if not spec.renamed -%}
        {{ row }}
    {%- else -%}
        {%- set names, fields, faults = [], [], ['size(array_distinct(map_keys(fields))) < size(fields)'] -%}
        {%- for name in spec.renamed -%}
            {%- do faults.append('size(' ~ change_tables._texts_of_column(spec, name, 'fields') ~ ') > 1') -%}
            {%- for template in ['{name}'] + templates -%}
                {%- set literals = change_tables._names_in_rows(spec, name, template) -%}
                {%- do names.extend(literals) -%}
                {%- do fields.append(
                    'if(arrays_overlap(map_keys(fields), array(' ~ literals | join(', ') ~ ')), map(' ~ literals[0] ~ ', coalesce(fields['
                    ~ literals | join('], fields[') ~ '])), cast(map() as map<string, string>))'
                ) -%}
            {%- endfor -%}
        {%- endfor -%}
        transform(array({{ row }}), fields -> if(
                {{ faults | join(' or ') }},
                fields,
                map_concat(map_filter(fields, (name, value) -> name not in ({{ names | join(', ') }})), {{ fields | join(', ') }})
            ))[0]
    {%- endif -%}
{%- endmacro %}


{#- The names that a column has in rows, or what stands beside it, as literals: that of today first. -#}
{% macro _names_in_rows(spec, name, template='{name}') %}
    {% set literals = [] %}
    {% for other in change_tables.landing_names(spec, name) %}
        {% do literals.append(change_tables.name_in_row(spec, template.replace('{name}', other))) %}
    {% endfor %}
    {% do return(literals) %}
{% endmacro %}


{% macro _texts_of_column(spec, name, row) -%}
    {%- set texts = [] -%}
    {%- for literal in change_tables._names_in_rows(spec, name) -%}
        {%- do texts.append(change_tables.as_compared(row ~ '[' ~ literal ~ ']', 'string', change_tables.column_of(spec, name).data_type)) -%}
    {%- endfor -%}
    array_distinct(array_compact(array({{ texts | join(', ') }})))
{%- endmacro %}


{#- Names that a feed has (SQL for an array), as the columns are declared; of columns that are not declared, any. -#}
{% macro names_as_declared(spec, names) -%}
    {%- set today = change_tables.names_of_today(spec) -%}
    {%- if spec.settings.column_names == 'exact' and not today -%}
        {{ names }}
    {%- elif spec.settings.column_names == 'exact' -%}
        transform({{ names }}, name -> coalesce({{ change_tables.map_of_texts(today) }}[name], name))
    {%- else -%}
        {%- set declared_as = change_tables.names_by_landing_name(spec, spec.column_names) -%}
        array_compact(transform({{ names }}, name -> {{ change_tables.map_of_texts(declared_as) }}[lower(name)]))
    {%- endif -%}
{%- endmacro %}


{#-
    What is wrong with the names in a row and the row before, as `code: detail`; null where all are right. A name that only looks
    like that of a column would be a value lost in silence.
-#}
{% macro names_fault(spec) -%}
    {%- set known = spec.column_names + change_tables.names_of_today(spec).keys() | list -%}
    {%- set in_other_case -%}
            concat(
                'column_not_declared: ',
                get(filter(
                    array_except(concat(map_keys(_ct_row), coalesce(map_keys(_ct_row_before), array())), {{ change_tables.names_array(known) }}),
                    name -> array_contains({{ change_tables.names_array(known | map('lower') | list) }}, lower(name))
                ), 0),
                ' is declared in another case'
            )
    {%- endset -%}
    {%- set exact = spec.settings.column_names == 'exact' -%}
        case
            {%- for name in spec.renamed %}
            {%- for row in ['_ct_row', '_ct_row_before'] %}
            when size({{ change_tables._texts_of_column(spec, name, row) }}) > 1
                then concat({{ change_tables.text_literal('value_does_not_fit: ' ~ change_tables.said_of_two_values(name, change_tables.landing_names(spec, name))) }}, array_join({{ change_tables._texts_of_column(spec, name, row) }}, ', '))
            {%- endfor %}
            {%- endfor %}
            {%- for row in ['_ct_row', '_ct_row_before'] %}
            when size(array_distinct({{ 'map_keys(' ~ row ~ ')' if exact else 'transform(map_keys(' ~ row ~ '), name -> lower(name))' }})) < size({{ row }})
                then 'column_names_collide: names in the row{{ ' before' if row != '_ct_row' }} {{ 'are the same' if exact else 'differ by case alone' }}'
            {%- endfor %}
            {%- if exact %}
            else {{ in_other_case }}
            {%- endif %}
        end
{%- endmacro %}


{#-
    The steps `unpacked` and `typed`: the columns of the rows in this step as texts, and then as what they are declared; the key before; and
    what is wrong with a row. Where one row lacks a key column, the other row's counts.

    further      what else `unpacked` has: lines of a select list
    exact_text   a macro that makes SQL of that for the text of a column, by (spec, column, text, is_before); none: it is exact
    condition    which rows are taken, or none
-#}
{% macro unpacked_and_typed_steps(spec, rows, further='*', exact_text=none, condition=none) -%}
{%- set texts = change_tables.texts_of_rows(spec) -%}
{%- set before = change_tables.columns_before(spec) -%}
unpacked as (

    select
    {%- for column in spec.columns + before %}
        {%- set text = change_tables.text_in_rows(spec, column) %}
        {{ exact_text(spec, column, text, column in before) if exact_text else text }} as {{ change_tables.quoted(column.name) }},
    {%- endfor %}
        {{ change_tables.missing_key(spec) }} as _ct_missing_key,
        {{ change_tables.names_fault(spec) }} as _ct_names_fault,
        {{ further }}
    from {{ rows }}
    {{- '\n    where ' ~ condition if condition }}

),

{{ change_tables.typed_step(spec, texts, texts) }}
{%- endmacro %}


{#- The first key column that neither row has a name for. -#}
{% macro missing_key(spec) -%}
case
            {%- for name in spec.key %}
            when
                not coalesce(map_contains_key(_ct_row, {{ change_tables.name_in_row(spec, name) }}), false)
                and not coalesce(map_contains_key(_ct_row_before, {{ change_tables.name_in_row(spec, name) }}), false)
                then {{ change_tables.text_literal(name) }}
            {%- endfor %}
        end
{%- endmacro %}


{#-
    The step `typed`: the columns of a step as they are declared, and what does not fit.

    landed, before   as they land, name -> {data_type}: the columns, and those of the key before, where there are any
    further          what else it has: lines of a select list
    rows             the step
    unchecked        the columns of which `further` says what does not fit
-#}
{% macro typed_step(spec, landed, before, further=none, rows='unpacked', unchecked=[]) -%}
{%- set columns_before = change_tables.columns_before(spec) if before else [] -%}
{%- set read = spec.column_names | reject('in', change_tables.absent_names(landed)) | list -%}
typed as (

    select
    {{- change_tables.typed_columns({'columns': spec.columns + columns_before}, dict(landed, **before)) }}
        {{ change_tables.misfit(spec, spec.key, landed) }} as _ct_key_misfit,
        {%- if before %}
        {{ change_tables.misfit({'columns': columns_before}, columns_before | map(attribute='name') | list, before) }} as _ct_key_before_misfit,
        {%- endif %}
        {{ change_tables.misfit(spec, spec.column_names | reject('in', spec.key + unchecked) | list, landed) }} as _ct_column_misfit,
        {%- if further %}
        {{ further }},
        {%- endif %}
        * except ({{ change_tables.column_list(read + columns_before | map(attribute='name') | list) }})
    from {{ rows }}

)
{%- endmacro %}


{#- The columns of the key before, `_ct_before_1` and on, as `typed_columns` takes them. -#}
{% macro columns_before(spec) %}
    {% set columns = [] %}
    {% for name in spec.key %}
        {% do columns.append({'name': '_ct_before_' ~ loop.index, 'label': name, 'data_type': change_tables.column_of(spec, name).data_type}) %}
    {% endfor %}
    {% do return(columns) %}
{% endmacro %}


{% macro key_before(spec) -%}
    struct({{ change_tables.each(spec.key, '_ct_before_{number} as {name}') | join(', ') }})
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
