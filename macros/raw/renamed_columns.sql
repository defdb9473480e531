{#-
    A renamed column lands under several names (`landing_names`), and a raw row has it under the one that it carries. Here these are read as
    one: columns of a raw table, and fields of rows that are structs. Of rows that are maps, `rows_of_texts.sql` does the same.
-#}

{#-
    Columns or fields that are one column, the name of today first, each {name, data_type} and, where that is not the column of that name,
    the SQL of its `value`. Returns that column in the same way; the first that has a value counts. Of several, `parts` are their values.
-#}
{% macro one_landed(spec, found) %}
    {% set of_first = {'name': found[0].name, 'data_type': found[0].data_type, 'value': found[0].value or change_tables.quoted(found[0].name)} %}
    {% do return(of_first) if found | length == 1 %}
    {% set type = change_tables._common_type(spec, found) %}
    {% set parts = [] %}
    {% for column in found %}
        {% set value = column.value or change_tables.quoted(column.name) %}
        {% do parts.append({'name': column.name, 'value': value if column.data_type == type else 'cast(' ~ value ~ ' as ' ~ type ~ ')'}) %}
    {% endfor %}
    {% do return(dict(of_first, data_type=type, value='coalesce(' ~ parts | map(attribute='value') | join(', ') ~ ')', parts=parts)) %}
{% endmacro %}


{#- The one of their types that can hold the values of all. -#}
{% macro _common_type(spec, found) %}
    {% set common = namespace(type=found[0].data_type) %}
    {% for column in found[1:] %}
        {% set types = [change_tables.canonical_type(common.type), change_tables.canonical_type(column.data_type)] %}
        {% if types[0] == 'void' or change_tables.cannot_become(types[0], types[1], false) is none %}
            {% set common.type = column.data_type %}
        {% elif types[1] != 'void' and change_tables.cannot_become(types[1], types[0], false) is not none %}
            {% do change_tables.refuse_entry(spec,
                "columns that `renamed_from` makes one must land in types of which one holds the values of all, got " ~ found[0].name ~ " as " ~ common.type
                ~ " and " ~ column.name ~ " as " ~ column.data_type ~ "; let the entry read a view that casts them"
            ) %}
        {% endif %}
    {% endfor %}
    {% do return(common.type) %}
{% endmacro %}


{#- The landed columns of a table, and renamed ones under their names of today, each at the place of the first that it has. -#}
{% macro under_names_of_today(spec, landed) %}
    {% do return(landed) if not spec.renamed %}
    {% set name_of, found = change_tables.names_by_landing_name(spec, spec.renamed), {} %}
    {% for name, column in landed.items() %}
        {% set today = name_of.get(name, '') | lower %}
        {% if not today %}
            {% do found.update({name: column}) %}
        {% else %}
            {% set columns = [] %}
            {% for other in change_tables.landing_names(spec, name_of[name]) if other | lower in landed %}
                {% do columns.append(landed[other | lower]) %}
            {% endfor %}
            {% do found.update({today: column if columns | length == 1 and name == today else change_tables.one_landed(spec, columns)}) %}
        {% endif %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}


{#-
    SQL for what is wrong with a row that has a column under two names with different values; empty where none can have.

    column      as `one_landed` returns it
    label       how the message names it
    data_type   its declared type
-#}
{% macro two_values(column, label, data_type) %}
    {% set parts = column.parts or [] %}
    {% do return('') if not parts %}
    {% set values = [] %}
    {% for part in parts %}
        {% do values.append(change_tables.comparable_value(change_tables.as_compared(part.value, column.data_type, data_type), column.data_type)) %}
    {% endfor %}
    {% set values = 'array_distinct(array_compact(array(' ~ values | join(', ') ~ ')))' %}
    {% set text = 'hex(value)' if change_tables.canonical_type(column.data_type) == 'binary' else 'cast(value as string)' %}
    {% do return(
        'case when size(' ~ values ~ ') > 1 then concat(' ~ change_tables.text_literal(change_tables.said_of_two_values(label, parts | map(attribute='name')))
        ~ ', array_join(transform(' ~ values ~ ', value -> ' ~ text ~ "), ', ')) end"
    ) %}
{% endmacro %}


{#- A value as it is compared with that under another name: of a `char`, blanks at the end do not count. -#}
{% macro as_compared(value, landed_type, data_type) %}
    {% set landed, declared = change_tables.type_tree(landed_type), change_tables.type_tree(data_type) %}
    {% set is_padded = modules.re.search('(?i)\\bchar *\\(', declared.text) and change_tables.reading_of(landed, declared, '').verdict == 'taken' %}
    {% do return(change_tables.read_value(value, landed, declared) if is_padded else value) %}
{% endmacro %}


{#- What such a row is told, before its values. -#}
{% macro said_of_two_values(label, names) %}
    {% do return('column ' ~ label ~ ': different values under ' ~ names | join(', ') ~ ': ') %}
{% endmacro %}


{#- The names of the raw columns that have the declared ones, by the template of these names. -#}
{% macro raw_names_of_columns(spec, template='{name}') %}
    {% set landed = change_tables.landed_columns(spec, spec.relation) if spec.renamed else {} %}
    {% set found = [] %}
    {% for name in change_tables.columns_in_raw(spec) %}
        {% set names = [] %}
        {% for other in change_tables.landing_names(spec, name) %}
            {% do names.append(template.replace('{name}', other)) %}
        {% endfor %}
        {% set there = names | map('lower') | select('in', landed) | list %}
        {% do found.extend(there or names[:1]) %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}
