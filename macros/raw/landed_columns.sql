{#-
    The columns of a raw table: name in lower case -> {name, data_type}. Empty while the table does not exist. Stops with a
    list of what is missing when the table lacks one of the `expected` columns, or where one of the `numbers`, by which rows are
    compared, does not land as whole numbers: as text, 9 comes after 10.

    has_row   whether the declared columns are among them: then renamed ones are there under their names of today (see `one_landed`)
-#}
{% macro landed_columns(spec, relation, expected=[], help='', numbers=[], has_row=false) %}
    {% set known = change_tables.known_in_run('landed') %}
    {% if relation | string not in known %}
        {% set found = {} %}
        {% set names = spec.column_names + spec.renamed.values() | sum(start=[]) + expected | list %}
        {% for name, data_type in change_tables.types_in_relation(relation, names).items() %}
            {% do found.update({name | lower: {'name': name, 'data_type': data_type | lower}}) %}
        {% endfor %}
        {#- a table that is not there yet may be when the next model asks -#}
        {% do known.update({relation | string: found}) if found %}
        {% do change_tables.known_in_run('not_there').update({relation | string: none if found else relation}) %}
    {% endif %}
    {% set landed = known.get(relation | string, {}) %}
    {% set landed = change_tables.under_names_of_today(spec, landed) if has_row else landed %}
    {% if landed %}
        {% set missing = [] %}
        {% for name in expected if name | lower not in landed %}
            {% do missing.append(name) %}
        {% endfor %}
        {% do change_tables.refuse_missing_columns(spec, relation, missing, help) %}
        {% set others = [] %}
        {% for name in numbers if not modules.re.match('(tinyint|smallint|int|bigint|decimal\\(\\d+,\\s*0\\)|void)$', landed[name].data_type) %}
            {% do others.append(name ~ ', which lands as ' ~ landed[name].data_type) %}
        {% endfor %}
        {% if others %}
            {% do change_tables.refuse_entry(spec,
                "columns of " ~ relation ~ " must land as whole numbers (bigint, int or decimal(p,0)): " ~ others | join('; ')
                ~ "; land them so, or let the entry read a view that casts them"
            ) %}
        {% endif %}
    {% endif %}
    {% do return(landed) %}
{% endmacro %}


{% macro properties_of_raw(spec) %}
    {% do return(dict(change_tables.ask_once('show tblproperties ' ~ spec.relation) | map('list'))) %}
{% endmacro %}


{#-
    The landed columns of a table, and those of `names` that it need not have and lacks: `is_absent`, null in every row. None is absent
    from a table that does not exist.
-#}
{% macro with_absent_columns(landed, names) %}
    {% set found = landed.copy() %}
    {% for name in names if landed and name | lower not in landed %}
        {% do found.update({name | lower: {'name': name, 'data_type': 'void', 'is_absent': true}}) %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}


{#-
    The landed columns of a table with the source table's rows, under its names of today: those of `others`, and the declared ones, of which
    retired ones may be absent.
-#}
{% macro landed_row(spec, relation, others=[], help='') %}
    {% set expected = others + spec.column_names | reject('in', spec.retired) | list %}
    {% do return(change_tables.with_absent_columns(change_tables.landed_columns(spec, relation, expected, help, has_row=true), spec.retired)) %}
{% endmacro %}


{% macro absent_names(landed) %}
    {% do return(landed.values() | selectattr('is_absent') | map(attribute='name') | list) %}
{% endmacro %}


{#-
    The raw columns that a format itself reads, as columns of a spec, since what lands in them is read as what lands in declared ones.

    types   name -> type; none where it is not read
    names   of these alone; none: all
-#}
{% macro header_columns(types, names=none) %}
    {% set columns = [] %}
    {% for name, type in types.items() if type and (names is none or name in names) %}
        {% do columns.append({'name': name, 'data_type': type}) %}
    {% endfor %}
    {% do return(columns) %}
{% endmacro %}


{#- Stops where a column lands in a type that its declared one is not read from: all such columns at once. -#}
{% macro refuse_landed_types(spec, relation, landed, columns=none) %}
    {% set found = [] %}
    {% for column in columns or spec.columns if column.name | lower in landed %}
        {% do found.extend(change_tables.reading_of(
            change_tables.landed_tree(column, landed), change_tables.type_tree(column.data_type), column.label or column.name
        ).refused) %}
    {% endfor %}
    {% if found %}
        {% do change_tables.refuse_entry(spec,
            "columns of " ~ relation ~ " must land in types that the declared ones are read from (see docs/landed_types.md): "
            ~ found | join('; ')
        ) %}
    {% endif %}
{% endmacro %}


{% macro refuse_missing_columns(spec, relation, missing, help) %}
    {% if missing %}
        {% do change_tables.refuse_entry(spec,
            "the raw table " ~ relation ~ " must have the columns that the spec names, it lacks " ~ missing | join(', ') ~ ("; " ~ help if help)
        ) %}
    {% endif %}
{% endmacro %}


{#-
    The declared columns in their declared types, each as a line of a select list. A text is cast even where it lands as declared: a
    table made of the bare column would keep its length, and could not hold a longer text later.
-#}
{% macro typed_columns(spec, landed) -%}
    {%- for column in spec.columns %}
        {%- set name, read = change_tables.quoted(column.name), change_tables.read_landed(column, landed) %}
        {{ read ~ (' as ' ~ name if read != name else '') }},
    {%- endfor -%}
{%- endmacro %}


{#- SQL for what has landed in a column, in its declared type. -#}
{% macro read_landed(column, landed) %}
    {% do return(change_tables.read_value(
        change_tables.landed_value(column.name, landed), change_tables.landed_tree(column, landed), change_tables.type_tree(column.data_type)
    )) %}
{% endmacro %}


{#- The text of what has landed in a type: a whole number without the zeros that its type has after the point, and the digits of bytes. -#}
{% macro text_of_landed(value, data_type) %}
    {% set tree = change_tables.type_tree(data_type) %}
    {% set text = ('hex(' ~ value ~ ')') if tree.kind == 'binary' else ('cast(' ~ value ~ ' as string)') %}
    {% do return(text) if tree.kind not in ['float', 'double'] and not tree.places %}
    {% do return('coalesce(cast(case when ' ~ value ~ ' % 1 = 0 then try_cast(' ~ value ~ ' as decimal(38, 0)) end as string), ' ~ text ~ ')') %}
{% endmacro %}


{% macro landed_value(name, landed) -%}
    {%- set column = landed.get(name | lower, {}) -%}
    {{- 'null' if column.is_absent else column.value or change_tables.quoted(name) -}}
{%- endmacro %}


{#- The retired columns that a raw table of columns lacks. -#}
{% macro columns_absent_from_raw(spec) %}
    {% set landed = change_tables.landed_columns(spec, spec.relation, has_row=true) %}
    {% do return(change_tables.absent_names(change_tables.with_absent_columns(landed, spec.retired))) %}
{% endmacro %}


{#-
    The first value among `names` that does not fit its declared type, as text (`column x: '1.5' is not int`), else null.
    Columns of which every value fits, as of those that land in their declared type, are not looked at.
-#}
{% macro misfit(spec, names, landed) -%}
    {%- set checks = change_tables._misfits(spec, names, landed) -%}
    {%- do return('cast(null as string)') if not checks -%}
        coalesce(
        {%- for check in checks %}
            {{ check }},
        {%- endfor %}
            null
        )
{%- endmacro %}


{#- SQL in one line for whether a landed row has no such misfit. Empty where it can have none. -#}
{% macro fits(spec, names, landed) -%}
    {%- set checks = change_tables._misfits(spec, names, landed) -%}
    {{- 'coalesce(' ~ checks | join(', ') ~ ', null) is null' if checks -}}
{%- endmacro %}


{#- For each column whose landed values may not fit, or may be two, SQL for the message: null where the value fits. -#}
{% macro _misfits(spec, names, landed) %}
    {% set checks = [] %}
    {% for column in spec.columns if column.name in names %}
        {% set check = change_tables.misfit_of(
            [{'text': 'column ' ~ (column.label or column.name)}], change_tables.landed_value(column.name, landed),
            change_tables.landed_tree(column, landed), change_tables.type_tree(column.data_type)
        ) %}
        {% do checks.extend([change_tables.two_values(landed.get(column.name | lower, {}), column.label or column.name, column.data_type), check] | select) %}
    {% endfor %}
    {% do return(checks) %}
{% endmacro %}


{#- The type in which a column lands, taken apart. While there is no raw table: text, where the declared type can be read from it. -#}
{% macro landed_tree(column, landed) %}
    {% set found = landed.get(column.name | lower) %}
    {% do return(change_tables.type_tree(found.data_type)) if found is not none %}
    {% set declared = change_tables.type_tree(column.data_type) %}
    {% set text = change_tables.type_tree('string') %}
    {% do return(declared if change_tables.reading_of(text, declared, '').refused else text) %}
{% endmacro %}


{#- Columns in the types in which they land, as `hash_of` takes them, but for those that are absent. -#}
{% macro as_landed(names, landed) %}
    {% set columns = [] %}
    {% for name in names if not landed.get(name | lower, {}).is_absent %}
        {% do columns.append({
            'name': name, 'data_type': landed[name | lower].data_type if landed else 'string', 'value': landed.get(name | lower, {}).value,
        }) %}
    {% endfor %}
    {% do return(columns) %}
{% endmacro %}
