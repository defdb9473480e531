{#-
    `change-tables reload`: looks at a load before a run takes it in. From its sequence on a load is the table: each key that it lacks ends, so
    half a load ends keys that live. The command then builds the models, by dbt.
-#}

{#-
    Says what the load would do, with a line for each fault; stops where it has one.

    table           the entry
    source          the source, where two have an entry of this name
    at_least        the share of the living keys that the load must have
    with_rejected   also take a load with rows that are rejected
-#}
{% macro check_load(table, source='', at_least=0.9, with_rejected=false, dry_run=false) %}
    {% set found = change_tables.logs_of_entry('reload', source, table) %}
    {% set spec = found[0].spec %}
    {% set name = spec.source_name ~ '.' ~ spec.table_name %}
    {% do change_tables.refuse_command('reload', name ~ ' has no load: `snapshot` is not set') if not spec.snapshot %}
    {% set load = change_tables.relation_of_setting(spec, 'snapshot') %}
    {% do change_tables.refuse_command('reload', 'the load ' ~ load ~ ' is not there') if load_relation(load) is none %}
    {% for log in found %}
        {% set checkpoint = change_tables.checkpoint_of_table(log.relation) or {} %}
        {% if checkpoint.snapshot_seq is string and spec.snapshot_seq <= checkpoint.snapshot_seq %}
            {% set behind = change_tables._models_behind(log.node, checkpoint) if spec.snapshot_seq == checkpoint.snapshot_seq %}
            {% if behind %}
                {#- it was checked, and the build after that has stopped halfway -#}
                {% do return(print(name ~ ': ' ~ log.relation ~ " has taken in the load at '" ~ spec.snapshot_seq ~ "'; to be built: " ~ behind | join(', '))) %}
            {% endif %}
            {% do change_tables.refuse_command(
                'reload', log.relation ~ " has taken in the load at '" ~ checkpoint.snapshot_seq ~ "': raise `snapshot_seq` of " ~ name ~ " above it, got '" ~ spec.snapshot_seq ~ "'"
                ~ ('; after failed data tests, run dbt build' if spec.snapshot_seq == checkpoint.snapshot_seq)
            ) %}
        {% endif %}
    {% endfor %}
    {% set faults = change_tables._faults_of_load(spec, name, load, change_tables._current_over(found), at_least, with_rejected) %}
    {% for fault in faults %}
        {% do print(name ~ ': ' ~ fault) %}
    {% endfor %}
    {% do change_tables.refuse_command('reload', 'the load of ' ~ name ~ ' is not taken, see above') if faults %}
{% endmacro %}


{#- The models over a log that have not taken in all that its checkpoint says. -#}
{% macro _models_behind(log, checkpoint) %}
    {% set states = change_tables.models_over_log('reload', log) | selectattr('node.config.materialized', 'equalto', 'change_state') | map(attribute='relation') | list %}
    {% set behind = [] %}
    {% for found in change_tables.read_checkpoints(states, from_tables=true) %}
        {% do behind.append(states[loop.index0]) if not found.checkpoint or found.checkpoint.batch < checkpoint.batch %}
    {% endfor %}
    {% do return(behind) %}
{% endmacro %}


{#- The first model of `current_state` over these logs that is built: {relation, keeps_deleted}; none, where there is none. -#}
{% macro _current_over(logs) %}
    {% for model in change_tables.models_with_tables('reload', []) if change_tables.maker_of(model.node) == 'current_state' %}
        {% if logs | map(attribute='node.unique_id') | select('in', model.node.depends_on.nodes) | list and load_cached_relation(model.relation) is not none %}
            {% set checkpoint = (change_tables.read_checkpoints([model.relation]) | first).checkpoint %}
            {% if checkpoint and checkpoint.key != logs[0].spec.key %}
                {% do change_tables.refuse_command('reload', 'the key has changed since ' ~ model.relation ~ ' was built: build that first, with `snapshot_seq` as it was') %}
            {% endif %}
            {% do return({'relation': model.relation, 'keeps_deleted': checkpoint.keeps_deleted}) if checkpoint %}
        {% endif %}
    {% endfor %}
{% endmacro %}


{% macro _faults_of_load(spec, name, load, current, at_least, with_rejected) %}
    {% set staged = 'with ' ~ change_tables.steps_of_load(spec) %}
    {% set codes, rows = [], namespace(all=0) %}
    {% for row in run_query(staged ~ ' select ' ~ change_tables.code_of('_status_reason') ~ " as code, count(*) as number from staged where _status <> 'ignored' group by 1 order by 1").rows %}
        {% set rows.all = rows.all + row['number'] | int %}
        {% do codes.append(row['number'] ~ ' ' ~ row['code']) if row['code'] is not none %}
    {% endfor %}
    {% set row = run_query(change_tables._keys_of_load(spec, staged, current)).rows[0] %}
    {% set loaded, living = row['loaded'] | int, row['living'] | int %}
    {% set lacks = change_tables.columns_that_load_lacks(spec) %}
    {% do print(
        name ~ ': the load ' ~ load ~ " at '" ~ spec.snapshot_seq ~ "' has " ~ rows.all ~ ' rows of ' ~ loaded ~ ' keys'
        ~ ('; of ' ~ living ~ ' keys that live it ends ' ~ row['ended'] ~ ', and it begins ' ~ row['begun'] if current else '; no model of current_state is built beside which it could be held')
        ~ ('; null in its rows: ' ~ lacks | join(', ') if lacks)
    ) %}
    {% set faults = [] %}
    {% do faults.append('the load has no row that can be used') if loaded == 0 and at_least > 0 %}
    {% if loaded > 0 and loaded < at_least * living %}
        {% do faults.append('the load has ' ~ loaded ~ ' keys, and ' ~ living ~ ' live: less than the share of ' ~ at_least ~ '. Look whether it is whole; else lower --at-least') %}
    {% endif %}
    {% if codes and not with_rejected %}
        {% do faults.append('rows would be rejected (' ~ codes | join(', ') ~ '), and their keys would end. Correct the load or the entry; else add --with-rejected') %}
    {% endif %}
    {% do faults.append(row['contested'] ~ ' keys have several rows that differ: load each key once') if row['contested'] | int > 0 %}
    {% do return(faults) %}
{% endmacro %}


{#-
    How many keys the load has, and has twice with different rows, and how many live, end and begin. A key that has changed at its sequence
    or after does not end; where the load lacks it, it counts as none that lives: it may have begun since.
-#}
{% macro _keys_of_load(spec, staged, current) -%}
{{ staged }},

keys_of_both as (

    select
        {{ change_tables.key_text(spec) }} as key_text,
        count(distinct _raw_id) as contents,
        false as lives,
        false as may_end
    from staged
    where _status = 'accepted'
    group by 1
    {%- if current %}
    union all
    select
        {{ change_tables.key_text(spec) }} as key_text,
        0 as contents,
        true as lives,
        _change_seq < {{ change_tables.text_literal(spec.snapshot_seq) }} as may_end
    from {{ current.relation }}
    {%- if current.keeps_deleted %}
    where not _is_deleted
    {%- endif %}
    {%- endif %}

)

select
    count_if(contents > 0) as loaded,
    count_if(contents > 1) as contested,
    count_if(lives and (may_end or contents > 0)) as living,
    count_if(may_end and contents = 0) as ended,
    count_if(not lives) as begun
from (
    select
        sum(contents) as contents,
        bool_or(lives) as lives,
        bool_or(may_end) as may_end
    from keys_of_both
    group by key_text
)
{%- endmacro %}
