{#-
    Messages of which several entries say by `only` which are theirs, parsed once for all of them: see `shared_rows`. The last step is
    `put_together`: what `parsed` has, and

    _ct_table       the first entry that needs the row
    _ct_is_of_all   whether another one does, too: as where `only` is null, so that each of them rejects the row
-#}
{% macro mapped_put_together_steps(specs, bound) -%}
{%- set needed_by = [] -%}
{%- for spec in specs -%}
    {%- set is_needed = change_tables.concerns_entry(change_tables.part_of_format(spec, 'mapping')) -%}
    {%- do needed_by.append('if(' ~ is_needed ~ ', ' ~ change_tables.text_literal(spec.table_name) ~ ', null)') -%}
{%- endfor -%}
{{ change_tables.mapped_landed_steps(specs[0], bound, change_tables.part_of_format(specs[0], 'mapping')) }},

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
    {% set mapping = change_tables.part_of_format(spec, 'mapping') %}
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
