{#-
    A query for what has changed in a current model since the incremental model that asks has last taken it in: one row a key, as it is now,
    with `_is_deleted` and with `_batch_id`, the run that wrote it. All living rows on the first run.

    current   the relation of the current model

    What counts as taken in is the highest `_batch_id` in the table of the model that asks. That is written in one commit with its rows, so a
    run that fails leaves both as they were. Rows that the state gets after its checkpoint was looked at are left to the next run.

    A state that was built whole since then has all its rows again. What it has no more is found by the keys in the model's table.
-#}
{% macro changes_since(current) -%}
    {%- do return('select 1 as placeholder') if not execute -%}
    {%- set node = change_tables._node_of_changes(current) -%}
    {%- set spec = change_tables.table_spec_of_model(node) -%}
    {%- set names = spec.column_names | reject('in', spec.hidden) | list -%}
    {%- set contract = change_tables.state_view_columns(history=false) + ['_is_deleted', '_batch_id'] -%}
    {%- set checkpoint = none if change_tables.is_empty_run() else (change_tables.read_checkpoints([current]) | first).checkpoint -%}
    {%- do return(change_tables.no_rows(change_tables.columns_of_table(spec, names + contract))) if checkpoint is none -%}
    {%- if change_tables.columns_have_changed(spec, checkpoint) or checkpoint.key != spec.key -%}
        {%- do change_tables.refuse_model(
            "source '" ~ spec.source_name ~ "." ~ spec.table_name ~ "' or the package has changed since '" ~ node.name ~ "' was built; build that first"
        ) -%}
    {%- endif -%}
    {#- the highest `_batch_id` in the table of the model that asks; none where it has no row -#}
    {%- do change_tables._refuse_missing_columns(['_batch_id'], "it says what the model has taken in") if is_incremental() -%}
    {%- set taken_in = run_query('select max(_batch_id) as taken_in from ' ~ this).rows[0][0] if is_incremental() else none -%}
    {%- set keeps_deleted = checkpoint.keeps_deleted -%}
select
    {%- for name in names %}
        {%- set value = change_tables.quoted(name) %}
    {{ value if not taken_in or keeps_deleted or name in spec.key else 'if(_is_deleted, null, ' ~ value ~ ') as ' ~ value }},
    {%- endfor %}
    {{ contract | join(', ') }}
from {{ change_tables.state_relation(current) }}
where
    _checkpoint is null
    {%- if taken_in %}
    and _batch_id > '{{ taken_in }}'
    {%- else %}
    and {{ '_has_row' if keeps_deleted else 'not _is_deleted' }}
    {%- endif %}
    and _batch_id <= '{{ checkpoint.written }}'
    {%- if taken_in and taken_in < checkpoint.built %}
        {%- do change_tables._refuse_missing_columns(spec.key, "the state of '" ~ node.name ~ "' was built whole since, and what it lost is found by its key") %}
union all
select distinct
        {%- for name in names %}
    {{ 'null as ' if name not in spec.key }}{{ change_tables.quoted(name) }},
        {%- endfor %}
        {%- for name in contract if name not in ['_is_deleted', '_batch_id'] %}
    null as {{ name }},
        {%- endfor %}
    true as _is_deleted,
    '{{ checkpoint.built }}' as _batch_id
from {{ this }} as taken_in
left anti join (
    select {{ change_tables.column_list(spec.key) }}
    from {{ change_tables.state_relation(current) }}
    where _checkpoint is null
) as kept
    on {{ change_tables.same_key(spec.key, 'taken_in', 'kept') }}
    {%- endif -%}
{%- endmacro %}


{#- The node of a current model, from a model that can ask for its changes. Stops any other. -#}
{% macro _node_of_changes(current) %}
    {% set what = 'changes_since ' %}
    {% if model.config.materialized != 'incremental' %}
        {% do change_tables.refuse_model(
            what ~ "needs `materialized: incremental`, since the model's own table says what it has taken in, got "
            ~ change_tables.shown_value(model.config.materialized)
        ) %}
    {% endif %}
    {% set strategy = model.config.incremental_strategy or 'append' %}
    {% if strategy not in ['merge', 'append'] %}
        {% do change_tables.refuse_model(
            what ~ "needs `incremental_strategy` merge or append, which keep the rows that have not changed, got " ~ change_tables.shown_value(strategy)
        ) %}
    {% endif %}
    {% set candidates = [] %}
    {% for unique_id in model.depends_on.nodes if unique_id in graph.nodes and change_tables.maker_of(graph.nodes[unique_id]) == 'current_state' %}
        {% do candidates.append(graph.nodes[unique_id]) %}
    {% endfor %}
    {% set node = change_tables.node_of_relation(current, candidates) %}
    {% do change_tables.refuse_model(what ~ "must be given the `ref` of a current model, got " ~ current) if node is none %}
    {% set asked = graph.setdefault('change_tables_changes', {}).setdefault(model.unique_id, node.unique_id) %}
    {% if asked != node.unique_id %}
        {% do change_tables.refuse_model(
            what ~ "can be asked for one current model in a model, since its table has one `_batch_id`, got " ~ asked.split('.')[-1] ~ ", " ~ node.name
        ) %}
    {% endif %}
    {% do return(node) %}
{% endmacro %}


{% macro _refuse_missing_columns(names, why) %}
    {% set found = adapter.get_columns_in_relation(this) | map(attribute='name') | map('lower') | list %}
    {% set missing = [] %}
    {% for name in names if name | lower not in found %}
        {% do missing.append(name) %}
    {% endfor %}
    {% if missing %}
        {% do change_tables.refuse_model(
            "its table must have the column " ~ missing | join(', ') ~ " of changes_since (" ~ why ~ "); select that, and build the model with --full-refresh"
        ) %}
    {% endif %}
{% endmacro %}


{#- The macro that makes a model, as its materialization shows it; none where that shows none. -#}
{% macro maker_of(node) %}
    {% do return('staged_changes') if (node.config.meta or {}).get('change_table_entry') %}
    {% do return('deduplicated_changes') if node.config.materialized == 'change_log' %}
    {% do return('history' if 'macro.change_tables.history' in node.depends_on.macros else 'current_state') if node.config.materialized == 'change_state' %}
    {% do return(none) %}
{% endmacro %}
