{#-
    Which raw tables have nothing new, asked of many at once. What a log asks of its raw table (see `_look_at_raw`) takes Spark longer to plan than
    to run, and most tables of a large project have no news. So one log of a run asks for all of them, with one shuffle for up to fifty tables.

    An answer only ever says that a log has nothing to do. It is as if the log had run at the moment of the question: rows that land after it
    are taken in by the next run. A log about which nothing was asked, or whose raw table has news, looks for itself.
-#}

{#-
    Whether nothing has landed since the runs before, as far as that was asked.

    checkpoint   its watermark is that from which the run reads
-#}
{% macro is_quiet(spec, arrival, checkpoint) %}
    {% do return(false) if flags.WHICH not in ['run', 'build'] %}
    {% set known = change_tables.known_in_run('quiet') %}
    {% set question = change_tables._question(spec, arrival, checkpoint) %}
    {#- a raw table that cannot be read stops the log that asks: in each run another one, so that none stays behind for it -#}
    {% if 'is_asked' not in known and local_md5(change_tables.batch_id() ~ model.unique_id)[0] in '01234567' %}
        {% do known.update({'is_asked': true}) %}
        {% set questions = [question] + change_tables._questions_of_other_logs() %}
        {% set asked = questions | map(attribute='rows') | unique(case_sensitive=true) | list %}
        {% for some in asked | batch(50) if asked | length >= 10 %}
            {% do known.update(change_tables._fingerprints_of(some)) %}
        {% endfor %}
        {% for some in questions | map(attribute='counted') | select | unique(case_sensitive=true) | batch(50) if asked | length >= 10 %}
            {% do known.update(change_tables._counts_of(some)) %}
        {% endfor %}
    {% endif %}
    {% set watermark, fingerprint = checkpoint.watermark, known.get(question.rows) %}
    {% set is_whole = watermark | rejectattr('is_whole') | list | length == 0 %}
    {% do return(false) if fingerprint is none or fingerprint != ('' if is_whole else watermark[0].fingerprint) %}
    {#- as `report_rows_passed_over` has it: of rows that were purged there are fewer -#}
    {% set most = checkpoint.rows_below + fingerprint.split(':')[0] | int if question.counted else none %}
    {% do return(most is none or (question.counted in known and known[question.counted] <= most)) %}
{% endmacro %}


{#- Whether a log that reads on from its watermark has nothing to do if no raw row has landed since. -#}
{% macro has_raw_alone(spec, checkpoint) %}
    {% set loads = spec.snapshot and spec.snapshot_seq != checkpoint.snapshot_seq %}
    {% do return(not (loads or change_tables.other_tables_of(spec) or spec.lookback or change_tables.may_pass_waiting(spec, checkpoint))) %}
{% endmacro %}


{#-
    What is asked for a log: its `rows` from the watermark on, each by its hash, as the end of a query; and where it knows how many rows had landed
    below it, the raw table whose rows are `counted`, else none. More of them were passed over, and a run that looks for itself says so.
-#}
{% macro _question(spec, arrival, checkpoint) %}
    {% set hashed = change_tables.columns_of_fingerprint(spec, arrival, change_tables.landed_columns(spec, spec.relation)) %}
    {% set hash = change_tables.hash_of(hashed) if hashed else 'cast(null as bigint)' %}
    {% do return({
        'rows': hash ~ ' as _ct_hash from ' ~ spec.relation ~ ' where ' ~ change_tables.lands_since(arrival, checkpoint.watermark),
        'counted': spec.relation | string if checkpoint.rows_below is not none else none,
    }) %}
{% endmacro %}


{#- The fingerprint of each of these queries' rows, as a look takes it; empty where it has none. -#}
{% macro _fingerprints_of(queries) %}
    {% set numbered = [] %}
    {% for query in queries %}
        {% do numbered.append('select ' ~ loop.index0 ~ ' as _ct_number, ' ~ query) %}
    {% endfor %}
    {% set found = dict.fromkeys(queries, '') %}
    {% for row in run_query(
        "select _ct_number, " ~ change_tables.fingerprint_of_rows() ~ " as quiet_fingerprint from (\n    "
        ~ numbered | join('\n    union all ') ~ "\n) group by _ct_number"
    ).rows %}
        {% do found.update({queries[row[0] | int]: row[1]}) %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}


{#- How many rows each of these tables has. Delta answers such a query from its log, where nothing else is in it. -#}
{% macro _counts_of(relations) %}
    {% set counts = [] %}
    {% for relation in relations %}
        {% do counts.append('(select count(*) from ' ~ relation ~ ') as rows_of_' ~ loop.index) %}
    {% endfor %}
    {% do return(dict(zip(relations, run_query('select\n    ' ~ counts | join(',\n    ')).rows[0].values() | map('int')))) %}
{% endmacro %}


{#- What is asked for the other logs that dbt was asked to build, which have not begun, by their cached checkpoints, so that no table is read. -#}
{% macro _questions_of_other_logs() %}
    {% set questions = [] %}
    {% for unique_id in selected_resources if (graph.nodes.get(unique_id) or {}).get('config', {}).get('materialized') == 'change_log' %}
        {% set node = graph.nodes[unique_id] %}
        {% set relation = change_tables.relation_of_node(node) %}
        {% set is_there = unique_id not in change_tables.known_in_run('begun')
            and change_tables.found_relation(change_tables.state_relation(relation, node)) is not none %}
        {% set checkpoint = (change_tables.cached_checkpoint(relation) or {}).checkpoint if is_there else none %}
        {% if checkpoint and checkpoint.watermark and checkpoint.watermark | length <= change_tables.most_groups_as_conditions() %}
            {% set spec = change_tables.table_spec_of_model(node) %}
            {% set arrival = change_tables.arrival_of(spec, if_sound=true) if change_tables.has_raw_alone(spec, checkpoint) else none %}
            {% if arrival and change_tables.is_arrival_of(checkpoint, spec, arrival) %}
                {% do questions.append(change_tables._question(spec, arrival, checkpoint)) %}
            {% endif %}
        {% endif %}
    {% endfor %}
    {% do return(questions) %}
{% endmacro %}
