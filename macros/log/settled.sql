{#-
    How far the raw table has settled, {arrival, edge}: the highest arrival, held back by rows that still wait. Looked up
    before the changes are read, so that a row which lands in between is read again.
-#}
{% macro look_how_far_it_settled(spec, run) %}
    {% set bound = {'predicate': none, 'snapshot': false, 'arrival': run.arrival, 'until': run.until} %}
    {% if not bound.arrival %}
        {% do return({'arrival': none, 'edge': none}) %}
    {% endif %}
    {% if run.edge and change_tables._nothing_waits(spec) %}
        {% do return(change_tables._settled_at(run, bound.arrival, run.edge.arrival, [])) %}
    {% endif %}
    {% set waiting_positions = change_tables.format_of(spec.format).waiting_positions %}
    {% if waiting_positions and bound.arrival.kind == 'positions' %}
        {% do return(change_tables._settled_at(run, bound.arrival, none, run_query(waiting_positions(spec, bound)).rows)) %}
    {% endif %}
    {% set rows = "(with " ~ change_tables.staging_steps(spec, bound)
        ~ " select _ct_arrival as _ct_last_arrival, case when " ~ change_tables.holds_back(spec) ~ " then _ct_arrival end as _ct_waiting_since from staged)" %}
    {% if bound.arrival.kind == 'positions' %}
        {% do return(change_tables._settled_at(run, bound.arrival, none, change_tables._first_waiting(bound.arrival, rows))) %}
    {% endif %}
    {% set row = run_query("select " ~ change_tables.settled_columns(bound.arrival) ~ " from " ~ rows).rows[0] %}
    {% do return(change_tables._settled_at(run, bound.arrival, row['settled'], [row] if row['waiting'] | int > 0 else [])) %}
{% endmacro %}


{#- The same by what was found in the batch itself of a run that reads on from where the runs before have settled. -#}
{% macro settled_by_batch(run, batch, found) %}
    {% if run.arrival.kind == 'positions' %}
        {% do return(change_tables._settled_at(run, run.arrival, none, change_tables._first_waiting(run.arrival, batch) if found.waiting else [])) %}
    {% endif %}
    {% do return(change_tables._settled_at(run, run.arrival, found.settled, [found] if found.waiting else [])) %}
{% endmacro %}


{#-
    The same with `rows`: how many raw rows have settled, so that none of them is read again. Rows at the settled arrival itself are
    not among them, nor are those that `lookback` reads again, however late they land. Of positions, how many have settled: a record that lands again has its old one. Where there is no arrival, how many
    raw rows there are. `all_rows` are these as well, where a run that reads everything has counted them.

    A run that reads on adds what its look found (see `raw_bound`). It asks only where rows wait, or where more have landed meanwhile.
-#}
{% macro with_settled_rows(spec, run, settled_at) %}
    {% if run.run == 'since' %}
        {#- what was counted by another arrival does not count, nor what was counted by another lookback -#}
        {% set counts_on = run.settled_before is not none and run.mark_before.lookback == spec.lookback %}
        {% set before = run.mark_before.settled_rows if counts_on else 0 %}
        {% set has_all = run.landed_rows is not none and run.edge and (counts_on or run.settled_before is none) and spec.lookback == 0 %}
        {% if counts_on and settled_at.arrival == run.settled_before %}
            {% do return(dict(settled_at, rows=before)) %}
        {% elif run.arrival.kind == 'positions' and has_all and settled_at.arrival == run.edge %}
            {% do return(dict(settled_at, rows=before + run.landed_rows)) %}
        {% elif run.arrival.kind != 'positions' and has_all and settled_at.arrival == run.edge.arrival %}
            {% do return(dict(settled_at, rows=before + run.landed_rows - run.edge.rows.split(':')[0] | int)) %}
        {% endif %}
        {% set condition = change_tables.has_settled(run.arrival, settled_at.arrival, spec.lookback) %}
        {% if counts_on %}
            {% set condition = condition ~ ' and not ' ~ change_tables.has_settled(run.arrival, run.settled_before, spec.lookback) %}
        {% endif %}
        {% do return(dict(settled_at, rows=before + run_query('select ' ~ change_tables.count_settled(run.arrival, 'true') ~ ' from ' ~ spec.relation ~ ' where ' ~ condition).rows[0][0] | int)) %}
    {% endif %}
    {% if run.arrival and run.arrival.kind == 'positions' and spec.lookback == 0 and settled_at.arrival == run.edge %}
        {% do return(dict(settled_at, rows=run.landed_rows, all_rows=none)) %}
    {% endif %}
    {% set condition = change_tables.has_settled(run.arrival, settled_at.arrival, spec.lookback) if run.arrival else 'true' %}
    {% set row = run_query('select ' ~ change_tables.count_settled(run.arrival, condition) ~ ' as settled_rows, count(*) as all_rows from ' ~ spec.relation).rows[0] %}
    {% do return(dict(settled_at, rows=row['settled_rows'] | int, all_rows=row['all_rows'] | int)) %}
{% endmacro %}


{#-
    How many raw rows had landed up to where the raw table has settled, when the run looked: rows at the settled arrival itself are not
    among them. The next run takes that from what it finds there: the rest has landed since, and no run reads it. None where the run
    did not count, or where rows that wait hold the settled arrival back between what was and the edge.
-#}
{% macro rows_below(run, settled) %}
    {% set edge = run.edge if run.arrival and run.arrival.kind == 'positions' else (run.edge or {}).arrival %}
    {% if settled == edge %}
        {% do return(run.rows_until) %}
    {% endif %}
    {% do return(run.rows_below if run.run == 'since' and settled == run.settled_before else none) %}
{% endmacro %}


{#-
    How many raw rows have landed since the last run that wrote where no run reads them, and says so. Where rows were purged meanwhile,
    so many fewer are found.
-#}
{% macro rows_passed_over(spec, run) %}
    {% set before = run.mark_before.rows_below if run.run in ['since', 'nothing new'] else none %}
    {% if before is none or run.rows_below is none or run.rows_below <= before %}
        {% do return(0) %}
    {% endif %}
    {% set number = run.rows_below - before %}
    {% do log(
        "change_tables: source '" ~ spec.source_name ~ "." ~ spec.table_name ~ "': " ~ number ~ " rows, of this table or of others that share it, have landed in "
        ~ spec.relation ~ " where it was read for good, up to " ~ change_tables.shown_arrival(run.mark_before) ~ ", since the last run that wrote. No run reads"
        ~ " them. Rows that landed again do no harm; for others build with --vars '{change_tables_rescan: true}', and have rows land in the order of their arrival",
        info=true
    ) %}
    {% do return(number) %}
{% endmacro %}


{#- SQL that counts what has settled: raw rows, or positions. With `record`, another record at a position counts as well. -#}
{% macro count_settled(arrival, condition, record=none) %}
    {% if arrival and arrival.kind == 'positions' %}
        {% set columns = change_tables.column_list(arrival.group + arrival.columns + (record or [])) %}
        {% do return('count(distinct case when ' ~ condition ~ ' then struct(' ~ columns ~ ') end)') %}
    {% endif %}
    {% do return('count_if(' ~ condition ~ ')') %}
{% endmacro %}


{#- Whether a raw row has settled, and no run reads it again: SQL over the raw table. -#}
{% macro has_settled(arrival, settled, lookback) %}
    {% if not settled %}
        {% do return('false') %}
    {% elif arrival.kind == 'positions' %}
        {% do return('not ' ~ change_tables.positions_since(arrival, settled, lookback)) %}
    {% endif %}
    {% do return('not ' ~ change_tables.arrived_since(arrival, settled, lookback)) %}
{% endmacro %}


{#- Up to where the rows of a run have settled, as text, and how many wait. Positions settle group by group: see `_first_waiting`. -#}
{% macro settled_columns(arrival) %}
    {% set settled = 'cast(null as string)' %}
    {% if arrival.kind != 'positions' %}
        {% set settled = change_tables.arrival_as_text('least(max(_ct_last_arrival), min(_ct_waiting_since))', arrival) %}
    {% endif %}
    {% do return(settled ~ ' as settled, count(_ct_waiting_since) as waiting') %}
{% endmacro %}


{#- The first position of each group at which a row waits. -#}
{% macro _first_waiting(arrival, rows) %}
    {% set texts = change_tables.columns_as_texts(arrival.group, '_ct_first') + change_tables.columns_as_texts(arrival.columns, '_ct_first._ct_position') %}
    {% do return(run_query(
        "select " ~ texts | join(', ') ~ " from (select min(_ct_waiting_since) as _ct_first from " ~ rows
        ~ " where _ct_waiting_since is not null group by " ~ change_tables.columns_as_texts(arrival.group, '_ct_waiting_since') | join(', ') ~ ")"
    ).rows) %}
{% endmacro %}


{#-
    What the mark keeps of how far the raw table has settled. Of positions, up to where it had landed before it was read, held
    back by the rows that wait. Else of the arrival up to which it has settled (as before where a run met none) also the
    edge, which is known where that is the highest arrival that the run found before it read, and no row waits.
-#}
{% macro _settled_at(run, arrival, settled, waiting) %}
    {% if arrival.kind == 'positions' %}
        {% set settled_before = {} %}
        {% for place in run.settled_before or [] %}
            {% do settled_before.update({tojson(place.group): place}) %}
        {% endfor %}
        {% set held_back = {} %}
        {% for row in waiting %}
            {% do held_back.update({tojson(change_tables.group_of_position(row, arrival)): change_tables.position_in_group(row, arrival)}) %}
        {% endfor %}
        {% set positions = [] %}
        {% for place in run.edge or [] %}
            {% set position = held_back.get(tojson(place.group)) %}
            {% set before = settled_before.get(tojson(place.group)) %}
            {#- a row that is read again by `lookback` holds nothing back -#}
            {% if position is none %}
                {% do positions.append(place) %}
            {% elif before and position <= before.position %}
                {% do positions.append(before) %}
            {% else %}
                {% do positions.append({'group': place.group, 'position': position, 'is_whole': false}) %}
            {% endif %}
        {% endfor %}
        {% do return({'arrival': positions, 'edge': none}) %}
    {% endif %}
    {% if settled is none %}
        {% do return({'arrival': run.settled_before, 'edge': run.mark_before.edge if run.settled_before else none}) %}
    {% endif %}
    {#- more rows of the arrival that was skipped can have landed beside those of the next, before they were read -#}
    {% if run.skips_settled and run.edge.arrival == run.settled_before and settled != run.settled_before %}
        {% do return({'arrival': run.settled_before, 'edge': none}) %}
    {% endif %}
    {% set is_edge = run.edge and run.edge.arrival == settled and not waiting %}
    {% do return({'arrival': settled, 'edge': run.edge.rows if is_edge else none}) %}
{% endmacro %}


{#- Whether the raw rows alone show that none of them will wait. -#}
{% macro _nothing_waits(spec) %}
    {% set may_wait = change_tables.format_of(spec.format).may_wait %}
    {% set predicate = may_wait(spec) if may_wait else 'true' %}
    {% if predicate in ['true', 'false'] %}
        {% do return(predicate == 'false') %}
    {% endif %}
    {% do return(run_query('select 1 from ' ~ spec.relation ~ ' where ' ~ predicate ~ ' limit 1').rows | length == 0) %}
{% endmacro %}
