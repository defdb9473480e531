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


{#- The names of a list of columns, quoted where needed, with commas between. `prefix` is an alias. -#}
{% macro column_list(names, prefix=none) -%}
    {%- for name in names -%}
        {{- (prefix ~ '.') if prefix else '' -}}{{- change_tables.quoted(name) -}}{{- ', ' if not loop.last -}}
    {%- endfor -%}
{%- endmacro %}


{#- A text as a SQL literal. -#}
{% macro text_literal(text) -%}
    {{- "'" ~ text | replace('\\', '\\\\') | replace("'", "\\'") ~ "'" -}}
{%- endmacro %}


{% macro text_literals(texts) -%}
    {%- for text in texts -%}
        {{ change_tables.text_literal(text) }}{{ ', ' if not loop.last }}
    {%- endfor -%}
{%- endmacro %}


{% macro names_array(names) -%}
    array({{ change_tables.text_literals(names) }})
{%- endmacro %}


{#- A field of a struct. Written with a dot it would look like a column of a table. -#}
{% macro field_of(value, name) -%}
    {{- value ~ '[' ~ change_tables.text_literal(name) ~ ']' -}}
{%- endmacro %}


{#- The name of a lambda's variable. A lambda within a lambda gets another one. -#}
{% macro name_at_depth(name, depth) %}
    {% do return(name if depth == 1 else name ~ '_' ~ depth) %}
{% endmacro %}


{#- `left.a <=> right.a and …`, for keys that may hold nulls. -#}
{% macro same_key(names, left, right) -%}
    {%- for name in names -%}
        {{ left }}.{{ change_tables.quoted(name) }} <=> {{ right }}.{{ change_tables.quoted(name) }}{{ ' and ' if not loop.last }}
    {%- endfor -%}
{%- endmacro %}


{#- A number of 64 bits for a key, the same for the same key. Other keys may have it as well. A struct of the key has the same one. -#}
{% macro key_hash(names, prefix=none) -%}
    xxhash64({{ change_tables.column_list(names, prefix) }})
{%- endmacro %}
