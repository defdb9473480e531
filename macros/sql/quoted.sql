{#-
    A column name as Spark SQL takes it: plain where a plain name will do, else in backticks. The words are those that Spark's
    grammar has where a column name can be, so that a bare name would be misread.
-#}
{% macro quoted(name) -%}
    {%- set is_word = modules.re.match(
        '(?ix)^(
        all | alter | and | anti | any | array | as | at | authorization | between | both | by | case | cast | check
        | collate | column | constraint | create | cross | cube | current | current_date | current_time |
        current_timestamp | current_user | date | delete | describe | distinct | div | drop | else | end | escape |
        except | exists | external | extract | false | fetch | filter | for | foreign | from | full | function |
        global | grant | group | grouping | having | in | inner | insert | intersect | interval | into | is | join |
        lateral | leading | left | like | limit | local | map | merge | minus | natural | no | not | null | of |
        offset | on | only | or | order | out | outer | overlaps | partition | position | primary | qualify | range
        | references | revoke | right | rollup | row | rows | select | semi | session_user | set | some | start |
        struct | table | tablesample | then | time | timestamp | to | trailing | transform | trim | true | truncate
        | union | unique | unknown | update | user | using | values | when | where | window | with | within
        )$', name
    ) -%}
    {{- name if not is_word and modules.re.match('^[A-Za-z_][A-Za-z0-9_]*$', name) else '`' ~ name | replace('`', '``') ~ '`' -}}
{%- endmacro %}


{#-
    The SQL for each of these names, as a list: `{name}` becomes the name as SQL takes it for a column, `{text}` the name as a literal,
    `{number}` its place from 1. Braces of the SQL itself are doubled.
-#}
{% macro each(names, sql) %}
    {% set found = [] %}
    {% for name in names %}
        {% do found.append(sql.format(
            name=change_tables.quoted(name) if '{name' in sql, text=change_tables.text_literal(name) if '{text' in sql, number=loop.index
        )) %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}


{% macro names_by_lower_case(names) %}
    {% set names = names | list %}
    {% do return(dict(zip(names | map('lower'), names))) %}
{% endmacro %}


{#- The names of a list of columns, quoted where needed, with commas between. `prefix` is an alias. -#}
{% macro column_list(names, prefix=none) -%}
    {{- change_tables.each(names, (prefix ~ '.' if prefix else '') ~ '{name}') | join(', ') -}}
{%- endmacro %}


{% macro text_literal(text) -%}
    {{- "'" ~ text | replace('\\', '\\\\') | replace("'", "\\'") ~ "'" -}}
{%- endmacro %}


{% macro text_literals(texts) -%}
    {{- change_tables.each(texts, '{text}') | join(', ') -}}
{%- endmacro %}


{% macro names_array(names) -%}
    array({{ change_tables.text_literals(names) }})
{%- endmacro %}


{% macro map_of_texts(texts) -%}
    map({{ change_tables.text_literals(texts.items() | sum(start=())) }})
{%- endmacro %}


{#- A field of a struct. Written with a dot it would look like a column of a table. -#}
{% macro field_of(value, name) -%}
    {{- value ~ '[' ~ change_tables.text_literal(name) ~ ']' -}}
{%- endmacro %}


{#- The name of a lambda's variable. A lambda within a lambda gets another one. -#}
{% macro name_at_depth(name, depth) %}
    {% do return(name if depth == 1 else name ~ '_' ~ depth) %}
{% endmacro %}


{% macro where(conditions) -%}
    {%- set given = conditions | select | list -%}
    {{- '\n    where\n        ' ~ given | join('\n        and ') if given -}}
{%- endmacro %}


{#- `left.a <=> right.a and …`, for keys that may hold nulls. -#}
{% macro same_key(names, left, right) -%}
    {{- change_tables.each(names, left ~ '.{name} <=> ' ~ right ~ '.{name}') | join(' and ') -}}
{%- endmacro %}


{#- A number of 64 bits for a key, the same for the same key. Other keys may have it as well. A struct of the key has the same one. -#}
{% macro key_hash(names, prefix=none) -%}
    xxhash64({{ change_tables.column_list(names, prefix) }})
{%- endmacro %}
