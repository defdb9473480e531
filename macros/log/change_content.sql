{#-
    When two deliveries of one change differ, the one with the greater text of its columns wins; where the texts are
    equal, the greater header. Both are total, so the winner does not depend on which came first.
-#}
{% macro content_text(spec, prefix=none) -%}
    {%- set values = [] -%}
    {%- for column in spec.columns -%}
        {%- set name = ((prefix ~ '.') if prefix else '') ~ change_tables.quoted(column.name) -%}
        {%- set value = change_tables.comparable_value(name, column.data_type) -%}
        {%- do values.append(value if value == name else value ~ ' as ' ~ change_tables.quoted(column.name)) -%}
    {%- endfor -%}
    to_json(struct({{ values | join(', ') }}), {{ change_tables.exact_times() }})
{%- endmacro %}


{% macro header_columns(spec, prefix=none) %}
    {% set names = [] %}
    {% for column in change_tables._delivered_headers(spec) %}
        {% do names.append((prefix ~ '.' if prefix else '') ~ column.name) %}
    {% endfor %}
    {% do return(names) %}
{% endmacro %}


{#-
    By what two deliveries of one change are two contents: the values, and which of them the delivery has. Also a format's own
    columns, where they are values of the change and no columns of the row (`is_content`: see `format_of`).
-#}
{% macro content_columns(spec) %}
    {% set of_format = change_tables.further_columns(spec) | selectattr('is_content') | list %}
    {% do return(spec.columns + [{'name': '_present_columns', 'data_type': 'array<string>', 'holds_no_nulls': true}] + of_format) %}
{% endmacro %}


{% macro _delivered_headers(spec) %}
    {% set types = change_tables.contract_column_types() %}
    {% set columns = [] %}
    {% for name in ['_change_op', '_present_columns', '_changed_columns', '_changed_at', '_transaction_id', '_raw_id'] %}
        {% do columns.append({'name': name, 'data_type': types[name], 'holds_no_nulls': true}) %}
    {% endfor %}
    {% do return(columns + change_tables.further_columns(spec)) %}
{% endmacro %}


{#- All by which one delivery of a change can differ from another, but for the key before. -#}
{% macro delivery_columns(spec) %}
    {% do return(spec.columns + change_tables._delivered_headers(spec)) %}
{% endmacro %}


{#-
    A format's own columns that say how complete a delivery of a change is (`completes`: see `format_of`). The more complete
    delivery counts, whatever the contents are, and that is no conflict. In most formats every delivery is whole.
-#}
{% macro completeness_columns(spec, prefix=none) %}
    {% set names = [] %}
    {% for column in change_tables.further_columns(spec) if column.completes %}
        {% do names.append((prefix ~ '.' if prefix else '') ~ column.name) %}
    {% endfor %}
    {% do return(names) %}
{% endmacro %}


{#- How complete one delivery is against another: `sign` is `>` or `=`. -#}
{% macro compares_completeness(spec, one, sign, other) -%}
    struct({{ change_tables.completeness_columns(spec, one) | join(', ') }}) {{ sign }} struct({{ change_tables.completeness_columns(spec, other) | join(', ') }})
{%- endmacro %}


{#- Whether the key before that a delivery has replaces the known one: the greater does, or that of the more complete. -#}
{% macro key_before_wins(spec, one='source', other='target') -%}
    {%- set is_greater -%}
        {{ one }}._key_before is not null and ({{ other }}._key_before is null or {{ one }}._key_before > {{ other }}._key_before)
    {%- endset -%}
    {%- if not change_tables.completeness_columns(spec) -%}
        {{ is_greater }}
    {%- else -%}
        case
            when {{ change_tables.compares_completeness(spec, one, '>', other) }} then not {{ one }}._key_before <=> {{ other }}._key_before
            when {{ change_tables.compares_completeness(spec, one, '=', other) }} then {{ is_greater }}
            else false
        end
    {%- endif -%}
{%- endmacro %}


{#-
    Whether the content of a delivery replaces the one that the log has: the greater one does. What was logged in an earlier
    form gives way to every delivery that is as complete, for that has all columns of today.
-#}
{% macro content_wins(spec, delivered='source', logged='target') -%}
    {%- set ranks = [] -%}
    {%- for side in [delivered, logged] -%}
        {%- do ranks.append(
            change_tables.completeness_columns(spec, side) + [change_tables.content_text(spec, side)] + change_tables.header_columns(spec, side)
        ) -%}
    {%- endfor -%}
    struct({{ ranks[0] | join(', ') }}) > struct({{ ranks[1] | join(', ') }})
    {%- if spec.form > 0 -%}
        {%- set gives_way = change_tables.is_of_earlier_form(spec, logged) -%}
        {%- if change_tables.completeness_columns(spec) -%}
            {%- set gives_way = '(' ~ gives_way ~ ' and not ' ~ change_tables.compares_completeness(spec, logged, '>', delivered) ~ ')' -%}
        {%- endif %} or {{ gives_way }}
    {%- endif -%}
{%- endmacro %}


{#- Whether a change was logged before the declared columns changed for the last time. -#}
{% macro is_of_earlier_form(spec, logged) -%}
    {{ logged }}._form < {{ spec.form }}
{%- endmacro %}


{#-
    A hash of columns of a delivery (`source`), to be compared with that of a logged change (`target`): of a column that the change was logged
    without, what the log has is taken (see `spec_in_form`).
-#}
{% macro hash_as_logged(spec, columns) -%}
    {%- set compared = [] -%}
    {%- for column in columns -%}
        {%- set name = change_tables.quoted(column.name) -%}
        {#- which columns a delivery has is said of the columns of its form -#}
        {%- set form = spec.form if column.name == '_present_columns' else spec.added.get(column.name, 0) -%}
        {%- set value = 'source.' ~ name -%}
        {%- do compared.append(dict(
            column, value='if(target._form < ' ~ form ~ ', target.' ~ name ~ ', ' ~ value ~ ')' if form > 0 else value
        )) -%}
    {%- endfor -%}
    {{ change_tables.hash_of(compared) }}
{%- endmacro %}


{#- Whether it does, and there was one before: the move that this one meant is withdrawn then. -#}
{% macro overrules_key_before(spec, one='source', other='target') -%}
    {{ other }}._key_before is not null and {{ change_tables.key_before_wins(spec, one, other) }}
{%- endmacro %}


{#-
    Whether the content that counts now has another key or another operation than the one in the log, whose row is
    withdrawn then. That can be where the identity of a change has neither.
-#}
{% macro overrules_row(spec, delivered='source', logged='target') -%}
    {{ logged }}._change_id is not null and not ({{ change_tables.same_key(spec.key, delivered, logged) }} and {{ delivered }}._change_op <=> {{ logged }}._change_op) and ({{ change_tables.content_wins(spec, delivered, logged) }})
{%- endmacro %}


{#-
    Whether what lands later can show that a change which was accepted cannot be used, so that the log must give it up: for the
    format to say. Its staging then gives rejected rows the `_change_id` that they would have.
-#}
{% macro withdraws_changes(spec) %}
    {% set of_format = change_tables.format_of(spec.format).withdraws_changes %}
    {% do return(of_format is not none and of_format(spec)) %}
{% endmacro %}


{#- Whether a staged row says so. -#}
{% macro is_withdrawal() -%}
    _status = 'rejected' and _change_id is not null
{%- endmacro %}


{#-
    SQL for a value of a delivery, among those that have its identity, which stops the run where these are of different origins
    (`origin` of `format_of`): the numbers of the feed have been used again, and they are not one change. A delivery that lacks a
    column of its origin differs from none.
-#}
{% macro of_one_origin(spec, value, deliveries) -%}
    {%- set differences = [] -%}
    {%- for name in change_tables.format_of(spec.format).origin -%}
        {%- do differences.append('min(' ~ name ~ ') over ' ~ deliveries ~ ' <> max(' ~ name ~ ') over ' ~ deliveries) -%}
    {%- endfor -%}
    {{ change_tables._unless_used_again(spec, value, differences, '_change_id') }}
{%- endmacro %}


{#- The same against the change that the log has under this identity. `branches` are those of a `case`, before the value. -#}
{% macro of_the_logged_origin(spec, value, delivered='source', logged='target', branches='') -%}
    {%- set differences = [] -%}
    {%- for name in change_tables.format_of(spec.format).origin -%}
        {%- do differences.append(delivered ~ '.' ~ name ~ ' <> ' ~ logged ~ '.' ~ name) -%}
    {%- endfor -%}
    {{ change_tables._unless_used_again(spec, value, differences, delivered ~ '._change_id', branches) }}
{%- endmacro %}


{% macro _unless_used_again(spec, value, differences, change_id, branches='') -%}
    {%- if not (differences or branches) -%}
        {{ value }}
    {%- else -%}
case
        {%- if differences %}
            {%- set what = "changes that differ in " ~ change_tables.format_of(spec.format).origin | join(' or ') ~ " have landed" -%}
            {%- set before, after = change_tables.used_again(spec, what, '_change_id') %}
    when
        {{ change_id }} is not null
        and ({{ differences | join(' or ') }})
        then raise_error(concat(
            {{ change_tables.text_literal(before) }},
            {{ change_id }},
            {{ change_tables.text_literal(after) }}
        ))
        {%- endif %}
        {%- if branches %}
    {{ branches | trim | indent(4) }}
        {%- endif %}
    else
        {{ value | trim | indent(8) }}
end
    {%- endif -%}
{%- endmacro %}
