{#-
    Which columns of a raw table are the declared columns and the headers of OpenEdge. Names are matched without case, `-` and `_`.
    A nearer spelling goes first, and a declared column goes before a header. Returns

    headers    name of a header, as `known` has it -> {name, data_type} of the raw table, or none
    declared   name of a declared column -> the same; not of a retired one that is not there
    ordinals   name of a declared column -> its place among the columns that are no headers
    landed     the names of all columns of the raw table, in lower case
    two_values SQL for what is wrong with a row that has a renamed column twice; empty where none can have
    absent     how many retired columns are not there

    known      name of a header -> its spellings
    required   the headers that must be there
    columns    the declared columns that the raw table has
-#}
{% macro openedge_columns(spec, relation, known, required, columns=[]) %}
    {% set landed = change_tables.landed_columns(spec, relation) %}
    {% set reserved = change_tables._openedge_near_names(known.values() | sum(start=[])) %}
    {% set found = {'headers': {}, 'declared': {}, 'ordinals': {}, 'landed': landed.keys() | list, 'absent': 0, 'two_values': ''} %}
    {% set matches, missing, taken, of_headers = {}, [], [], [] %}
    {% for likeness in ['exact', 'near', 'far'] %}
        {% for column in columns if column.name not in matches %}
            {% set match = change_tables._openedge_match(landed, [column.name], taken, reserved, [likeness]) %}
            {% if match %}
                {% do taken.append(match.name) %}
                {% do matches.update({column.name: match}) %}
            {% endif %}
        {% endfor %}
    {% endfor %}
    {% set others, two_values, first_of = [], [], {} %}
    {% for name in columns | map(attribute='name') if spec.renamed and name in spec.renamed %}
        {% set of_names = [matches[name]] if name in matches else [] %}
        {% for other in spec.renamed[name] %}
            {% set match = change_tables._openedge_match(landed, [other], taken, reserved) %}
            {% if match %}
                {% do taken.append(match.name) %}
                {% do of_names.append(match) %}
            {% endif %}
        {% endfor %}
        {% if of_names %}
            {% do matches.update({name: change_tables.one_landed(spec, of_names)}) %}
            {#- its place is that of the first; the other ones are no fields -#}
            {% set there = landed.values() | map(attribute='name') | select('in', of_names | map(attribute='name') | list) | list %}
            {% do first_of.update({name: there[0]}) %}
            {% do others.extend(there[1:]) %}
            {% do two_values.append(change_tables.two_values(matches[name], name, change_tables.column_of(spec, name).data_type)) if of_names | length > 1 %}
        {% endif %}
    {% endfor %}
    {% do found.update({'two_values': 'coalesce(' ~ two_values | join(', ') ~ ', null)' if two_values else ''}) %}
    {% for column in columns if column.name in matches or not landed or column.name not in spec.retired %}
        {% do found.declared.update({column.name: matches.get(column.name, {'name': column.name, 'data_type': column.data_type})}) %}
        {% do missing.append(column.name) if landed and column.name not in matches %}
    {% endfor %}
    {% do found.update({'absent': columns | length - found.declared | length}) %}
    {% for name, spellings in known.items() %}
        {% set match = change_tables._openedge_match(landed, spellings, taken + of_headers + missing, []) %}
        {% do missing.append(spellings | join(' or ')) if match is none and landed and name in required %}
        {% do of_headers.append(match.name) if match %}
        {% do found.headers.update({name: match if landed else {'name': spellings[0], 'data_type': 'string'}}) %}
    {% endfor %}
    {% do change_tables.refuse_missing_columns(spec, relation, missing, "OpenEdge's names are matched without case, `-` and `_`") %}
    {#- how headers are read; those that are not among them, as texts -#}
    {% set numbers = ['change_sequence', 'operation', 'source_table_number', 'continuation_position', 'array_index', 'fragment'] %}
    {% set read_as, landed_as = {}, {} %}
    {% for name, column in found.headers.items() if column and name in numbers + ['time_stamp', 'field_map'] %}
        {% do read_as.update({known[name][0]: 'bigint' if name in numbers else 'timestamp' if name == 'time_stamp' else 'string'}) %}
        {% do landed_as.update({known[name][0] | lower: column}) %}
    {% endfor %}
    {% do change_tables.refuse_landed_types(spec, relation, landed_as, change_tables.header_columns(read_as)) %}
    {% set captured = landed.values() | map(attribute='name') | reject('in', of_headers + others) | list %}
    {% for name, column in found.declared.items() %}
        {% do found.ordinals.update({name: captured.index(first_of.get(name, column.name)) + 1 if landed else loop.index}) %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}


{#-
    The raw columns of a change table that are neither declared nor headers. A name is declared in small letters with `_` for `-`,
    unless another one is as near. None at levels 0 and 1, whose raw table is the tracking table.
-#}
{% macro openedge_cdc_undeclared_columns(spec) %}
    {% do return(none) if spec.policy_level < 2 %}
    {% set change = change_tables.openedge_change_columns(spec) %}
    {% set columns = (change.headers.values() | list + change.declared.values() | list) | select | list %}
    {% set known = (columns + columns | selectattr('parts') | map(attribute='parts') | sum(start=[])) | map(attribute='name') | list %}
    {% set landed = change_tables.landed_columns(spec, spec.relation).values() | list %}
    {% set near = change_tables._openedge_near_names(landed | map(attribute='name')) %}
    {% set found = [] %}
    {% for column in landed if column.name not in known %}
        {% set is_alone = near.count(change_tables._openedge_near(column.name)) == 1 %}
        {% do found.append(dict(column, declared_as=column.name | lower | replace('-', '_') if is_alone else column.name)) %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}


{#- At levels 0 and 1 no change has a column that is no key. -#}
{% macro openedge_cdc_absent_columns(spec) %}
    {% do return(spec.retired | reject('in', change_tables.openedge_change_columns(spec).declared) | list if spec.policy_level >= 2 else []) %}
{% endmacro %}


{#- The column of a raw table that one of these spellings names, and that is not taken; none where there is none. -#}
{% macro _openedge_match(landed, spellings, taken, reserved, likenesses=['exact', 'near', 'far']) %}
    {% for likeness in likenesses %}
        {% for spelling in spellings %}
            {% set wanted = change_tables._openedge_near(spelling) %}
            {% for column in landed.values() if column.name not in taken %}
                {% set near = change_tables._openedge_near(column.name) %}
                {% do return(column) if {
                    'exact': column.name | lower == spelling | lower,
                    'near': near == wanted,
                    'far': near.lstrip('_') == wanted.lstrip('_') and near not in reserved,
                }[likeness] %}
            {% endfor %}
        {% endfor %}
    {% endfor %}
    {% do return(none) %}
{% endmacro %}


{#- The names that the field map can have for a declared column, in lower case: that of the raw table, and those that are declared. -#}
{% macro openedge_names(spec, name, landed) %}
    {% set names = landed.parts | map(attribute='name') | list if landed.parts else [landed.name] %}
    {% do return((names + change_tables.landing_names(spec, name)) | map('lower') | unique | list) %}
{% endmacro %}


{#- A name without case, `-` and `_`, apart from a `_` at its beginning. -#}
{% macro _openedge_near(name) %}
    {% do return(('_' if name.startswith('_') else '') ~ name | lower | replace('-', '') | replace('_', '')) %}
{% endmacro %}


{% macro _openedge_near_names(names) %}
    {% set near = [] %}
    {% for name in names %}
        {% do near.append(change_tables._openedge_near(name)) %}
    {% endfor %}
    {% do return(near) %}
{% endmacro %}


{#- The columns of the change table, as `openedge_columns` has them. It has the declared ones, but for a key that the format adds. -#}
{% macro openedge_change_columns(spec) %}
    {% set headers = {
        'change_sequence': ['_Change-Sequence'],
        'operation': ['_Operation'],
        'tran_id': ['_Tran-Id'],
        'time_stamp': ['_Time-Stamp'],
        'continuation_position': ['_Continuation-Position'],
        'array_index': ['_ArrayIndex', '_Array-Index'],
        'fragment': ['_Fragment'],
    } %}
    {% set declared = spec.columns | rejectattr('name', 'in', ['_partition_id', '_recid'] if spec.key_from == 'recid' else []) | list %}
    {% do return(change_tables.openedge_columns(spec, spec.relation, headers, ['change_sequence', 'operation'], declared)) %}
{% endmacro %}


{#- The tracking table that an entry reads: that of its `tracking`; at levels 0 and 1 its own raw table. -#}
{% macro openedge_tracking_relation(spec) %}
    {% do return(spec.relation if spec.policy_level < 2 else change_tables.relation_of_setting(spec, 'tracking')) %}
{% endmacro %}


{#- The columns of the tracking table that an entry reads, as `openedge_columns` has them. -#}
{% macro openedge_tracking_columns(spec) %}
    {% set headers = {
        'change_sequence': ['_Change-Sequence'],
        'operation': ['_Operation'],
        'source_table_number': ['_Source-Table-Number'],
        'recid': ['_Recid', '_Source-Rowid'],
        'partition_id': ['_Partition-Id', '_Source-Partition-Id'],
        'tran_id': ['_Tran-Id'],
        'time_stamp': ['_Time-Stamp'],
        'field_map': ['_Change-FieldMap', '_Source-FieldMap'],
        'policy_id': ['_Policy-Id'],
        'tenant_id': ['_Tenant-Id'],
        'user_name': ['_User-Name'],
        'user_misc': ['_User-Misc'],
    } %}
    {% set required = ['change_sequence', 'operation', 'source_table_number'] + (['recid'] if spec.key_from == 'recid' else []) %}
    {% do return(change_tables.openedge_columns(spec, change_tables.openedge_tracking_relation(spec), headers, required)) %}
{% endmacro %}


{#- A column of a raw table: in backticks where it is spelt with capitals, as the vendor does. -#}
{% macro openedge_quoted(name) -%}
    {{- change_tables.quoted(name) if name == name | lower else '`' ~ name | replace('`', '``') ~ '`' -}}
{%- endmacro %}


{#-
    The rows of a raw table, as a step of that name. The caller has further columns.

    columns      the headers that are taken as numbers and as texts: header -> the names of these two columns
    conditions   SQL over the raw table, or none
    semi_join    a step with the sequences that are wanted, or none
-#}
{% macro openedge_landed_step(name, relation, header, columns, arrival, conditions, semi_join, hint='') -%}
{{ name }} as (

    select{{ hint }}
        {%- for name_of_header, names in columns.items() %}
        {{ change_tables.openedge_number(header[name_of_header]) }} as {{ names[0] }},
        {{ change_tables.openedge_text(header[name_of_header]) }} as {{ names[1] }},
        {%- endfor %}
        {{- caller() }}
        {{- change_tables.arrival_column(arrival) }}
        struct(*) as _ct_landed_row
    from {{ relation }}
    {%- if semi_join %}
    left semi join {{ semi_join }}
        on {{ change_tables.openedge_number(header.change_sequence) }} = {{ semi_join }}._ct_wanted_sequence
    {%- endif %}
    {{- change_tables.where(conditions) }}

)
{%- endmacro %}


{#- A header as it landed; null of that type where there is none. -#}
{% macro openedge_landed(column, type) -%}
    {{- change_tables.openedge_quoted(column.name) if column else 'cast(null as ' ~ type ~ ')' -}}
{%- endmacro %}


{% macro openedge_text(column) -%}
    {{- change_tables.text_of_landed(change_tables.openedge_quoted(column.name), column.data_type) if column else 'cast(null as string)' -}}
{%- endmacro %}


{#- A header as a whole number; null where it is none. -#}
{% macro openedge_number(column) %}
    {% do return('cast(null as bigint)') if not column %}
    {% set name = change_tables.openedge_quoted(column.name) %}
    {% do return('cast(' ~ name ~ ' as bigint)') if change_tables.canonical_type(column.data_type) in ['tinyint', 'smallint', 'int', 'bigint'] %}
    {% set number = 'try_cast(' ~ name ~ ' as decimal(38, 18))' %}
    {% do return('case when ' ~ number ~ ' % 1 = 0 then try_cast(' ~ number ~ ' as bigint) end') %}
{% endmacro %}


{#- A header as a time; null where it is none. -#}
{% macro openedge_time(column) %}
    {% do return('cast(null as timestamp)') if not column %}
    {% set landed, wanted = change_tables.type_tree(column.data_type), change_tables.type_tree('timestamp') %}
    {% do return(change_tables.read_value(change_tables.openedge_quoted(column.name), landed, wanted)) %}
{% endmacro %}


{#- Why the time as it landed (`_ct_landed_time`) is no time: see `misfit`. -#}
{% macro openedge_time_misfit(column) -%}
    {%- set column_as_landed = {'name': '_ct_landed_time', 'label': '_Time-Stamp', 'data_type': 'timestamp'} -%}
    {{- change_tables.misfit(
        {'columns': [column_as_landed]}, ['_ct_landed_time'], {'_ct_landed_time': {'data_type': column.data_type if column else 'timestamp'}}
    ) -}}
{%- endmacro %}


{#- A sequence as `_change_seq` has it; null where it is none. -#}
{% macro openedge_change_seq(sequence) -%}
    case when {{ sequence }} >= 0 then lpad(cast({{ sequence }} as string), 19, '0') end
{%- endmacro %}


{#- What is wrong with the sequence of a row: branches of a `case`, whose texts `made` makes SQL of: `reason` or `rejected`. -#}
{% macro openedge_sequence_faults(made) -%}
when _ct_landed_sequence is null
                then {{ made('change_seq_missing: _Change-Sequence is null') }}
            when coalesce(_ct_sequence, -1) < 0
                then {{ made("change_seq_malformed: '{_ct_landed_sequence}' is no whole number of 0 or more") }}
{%- endmacro %}
