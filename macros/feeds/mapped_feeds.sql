{#- What formats have in common that are made of a mapping. -#}

{#- Mistakes of what all of them have in common. `sequence`: its parts, where the entry can give others. -#}
{% macro mapped_feed_mistakes(node, given, sequence=none) %}
    {% set found = change_tables.feed_mistakes(given, 'rows', has_position=given.get('position') is not none) %}
    {% if sequence %}
        {% set pattern = change_tables.pattern_of_sequence(change_tables.sequence_parts(sequence)) %}
        {% do found.extend(change_tables.snapshot_seq_mistakes(given, pattern, "a sequence as `_change_seq` has it (" ~ pattern ~ ")")) %}
    {% endif %}
    {% do return(found + change_tables.written_as_mistakes(change_tables.declared_columns(node))) %}
{% endmacro %}


{% macro operations_mistakes(operations, meanings=['insert', 'update', 'upsert', 'delete', 'truncate', 'snapshot', 'ignore']) %}
    {% if operations is not mapping or not operations %}
        {% do return(["`operations` must say what each word means, as {I: insert, U: update, D: delete}, got " ~ change_tables.shown_value(operations)]) %}
    {% endif %}
    {% set found = [] %}
    {% for word, meaning in operations.items() %}
        {% do found.append("`operations`: words must be texts (in quotes), got " ~ change_tables.shown_value(word)) if word is not string %}
        {% if meaning not in meanings %}
            {% do found.append("`operations`: " ~ word ~ " must mean one of " ~ meanings | join(', ') ~ ", got " ~ change_tables.shown_value(meaning)) %}
        {% endif %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}


{#- The last column of a position is the number; the others are the group. `record`: columns by which two records at one position differ. -#}
{% macro arrival_of_position(position, record) %}
    {% do return(none) if not position %}
    {% do return({'kind': 'whole_number', 'group': position[:-1] | list, 'columns': [position[-1]], 'record': record}) %}
{% endmacro %}


{#- SQL for the first of some values that is there; none where there are none. -#}
{% macro first_given(values) %}
    {% do return('coalesce(' ~ values | join(', ') ~ ')' if values | length > 1 else values | first | default(none)) %}
{% endmacro %}


{#- The parts that formats have in common which read their rows by a `mapping`, and those of a setting `registry`. -#}
{% macro mapped_parts(has_registry=false) %}
    {% set parts = {
        'stage': change_tables.mapped_steps,
        'absent_columns': change_tables.absent_columns_of_mapping,
        'read_again': {'for_good': 'false'},
        'column_settings': {
            'written_as': {
                'default': none, 'type': 'text', 'values': change_tables.ways_of_writing(),
                'meaning': "how the feed [writes values](feeds/mapped.md#rows), if not as texts",
            },
        },
        'put_together': change_tables.mapped_put_together,
    } %}
    {% do return(parts if not has_registry else dict(
        parts, other_tables=['registry'], read_again=change_tables.rows_until_their_schema, functions=change_tables._functions_of_avro
    )) %}
{% endmacro %}


{% macro _functions_of_avro(spec) %}
    {% do return({'staged': ['avro_to_json'] if spec.registry is not none or spec.get('avro_schema') is not none else []}) %}
{% endmacro %}


{#-
    Messages of which several entries say by `only` which are theirs, parsed once for all of them: see `shared_rows`. The last step is
    `put_together`: what `parsed` has, and

    _ct_table       the first entry that needs the row
    _ct_is_of_all   whether another one does, too: as where `only` is null, so that each of them rejects the row
-#}
{% macro mapped_put_together_steps(specs, bound) -%}
{%- set needed_by = [] -%}
{%- for spec in specs -%}
    {%- set is_needed = change_tables.concerns_entry(change_tables.mapping_of(spec)) -%}
    {%- do needed_by.append('if(' ~ is_needed ~ ', ' ~ change_tables.text_literal(spec.table_name) ~ ', null)') -%}
{%- endfor -%}
{{ change_tables.mapped_landed_steps(specs[0], bound, change_tables.mapping_of(specs[0])) }},

needed as (

    select
        *,
        array_compact(array(
            {{ needed_by | join(',\n            ') }}
        )) as _ct_needed_by
    from parsed

),

put_together as (

    select
        * except (_ct_needed_by),
        get(_ct_needed_by, 0) as _ct_table,
        size(_ct_needed_by) > 1 as _ct_is_of_all
    from needed
    where size(_ct_needed_by) > 0

)
{%- endmacro %}


{#- `put_together` of an entry: none where raw columns have the row, of which each entry reads its own, or where all rows are its own. -#}
{% macro mapped_put_together(spec) %}
    {% set mapping = change_tables.mapping_of(spec) %}
    {% do return({
        'steps': change_tables.mapped_put_together_steps, 'alike': change_tables.mapped_likeness, 'tables': change_tables.mapped_tables,
    } if mapping.message and mapping.row and mapping.only else none) %}
{% endmacro %}


{% macro mapped_tables(spec) %}
    {% do return([spec.table_name]) %}
{% endmacro %}


{#-
    Whether a setting says which rows are the entry's, and all others of the format. Nothing is looked up that another entry may have wrong.
-#}
{% macro mapped_likeness(spec) %}
    {% set of_table = ['only', 'table'] %}
    {% set names = change_tables.format_of(spec.format).settings | reject('in', of_table) | list %}
    {% set alike = spec.settings.items() | selectattr(0, 'in', names) | list %}
    {% do return(alike + [spec.settings.items() | selectattr(0, 'in', of_table) | rejectattr(1, 'none') | map(attribute=0) | list]) %}
{% endmacro %}
