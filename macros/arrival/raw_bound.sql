{#-
    Which raw rows a run of the log reads, by what the runs before have settled:

    predicate   SQL over the raw table; none = every row
    snapshot    whether the table's snapshot is read
    arrival     {name, kind} of the arrival column; none where the feed has none. Of kind `positions`, where each group of
                rows has positions of its own: `group`, the columns of the group, and `columns`, the whole numbers of the
                position in it, the highest in rank first; `reads`, SQL for the only rows that the entry reads, where there are others
    edge        how far the raw table had landed before it was read: {arrival, rows}, the highest arrival and a fingerprint of
                its rows; of positions, a list of them (see `_landed_positions`). None where nothing had landed
    until       of positions, where all rows are read, SQL for those up to the edge; else none
    skips_settled   whether the rows at the settled arrival itself are skipped as well
    highest_seq the highest sequence of the log; none where there is no log
    is_late     whether rows that are read can have a sequence up to `highest_seq`: then rows that landed before can be of the
                same change
    lowest_seq  the lowest sequence of such rows where that is known, else none
    is_read     whether there is nothing to do: no row has landed that the run would read, and it reads no other table
    settled_before  how far the raw table had settled by the runs before; none where nothing had, by this arrival
    log         the table of the log; none where there is none
    read_at     the time of the run, as digits
    landed_rows how many rows with an arrival had landed since the settled one, that one among them. Of positions, how many had
                landed after the settled ones. None where they were not counted
    counts_all  whether `_tells_its_rows`
    rows_below  where it does, how many rows had landed below the settled arrival, or at settled positions; else none
    rows_until  the same of the edge
-#}
{% macro raw_bound(spec, mark) %}
    {% set arrival = change_tables.arrival_column(spec) %}
    {#- what raw has in a column that was added, or in a type that is wider now, is in rows that were read before -#}
    {% set rescan = var('change_tables_rescan', false) or change_tables.columns_have_changed(spec, mark) %}
    {% set loaded = none if mark is none else mark.snapshot_seq %}
    {% set wanted = spec.snapshot_seq if spec.snapshot else none %}
    {% if loaded is not none and wanted is not none and wanted < loaded %}
        {% do exceptions.raise_compiler_error(
            "change_tables: source '" ~ spec.source_name ~ "." ~ spec.table_name ~ "': `snapshot_seq` must not fall below the one that "
            ~ this ~ " has taken in, '" ~ loaded ~ "', got '" ~ wanted ~ "'; build it anew with --full-refresh"
        ) %}
    {% endif %}
    {% set is_positions = arrival is not none and arrival.kind == 'positions' %}
    {#- how far it has settled by another arrival says nothing of this one: everything is read again -#}
    {% set settled_before = mark.settled if mark and mark.arrival == change_tables.arrival_in_mark(arrival) else none %}
    {% set settled = none if rescan else settled_before %}
    {% set landed = {} %}
    {% set counts_all = change_tables._tells_its_rows(spec, arrival, none if var('change_tables_rescan', false) else mark) %}
    {% if is_positions %}
        {% set landed = change_tables._landed_positions(spec, arrival, settled, counts_all) %}
    {% elif arrival and spec.lookback == 0 %}
        {% set landed = change_tables._landed_edge(spec, arrival, settled, counts_all) %}
    {% endif %}
    {% set edge = landed.get('edge') %}
    {% set highest_seq = mark.highest_seq if mark else none %}
    {% set reads_on = mark is not none and not rescan and (is_positions or (arrival is not none and settled is not none)) %}
    {% set snapshot = mark is none or rescan or (wanted is not none and (loaded is none or wanted > loaded)) %}
    {% set skips_settled = reads_on and not is_positions and mark.edge is not none and landed.get('settled_rows') == mark.edge %}
    {% set predicate, has_landed = none, true %}
    {% set spans = change_tables.spans_of_run((settled if reads_on else none) or [], edge, spec.lookback) if is_positions else [] %}
    {% if reads_on and is_positions %}
        {% set predicate = change_tables.positions_in(arrival, spans) %}
        {% set has_landed = spec.lookback != 0 or edge != settled or landed.unplaced %}
    {% elif reads_on %}
        {% set predicate = change_tables.arrived_since(arrival, settled, spec.lookback, skips_settled) %}
        {#- no edge: the rows from the settled arrival on were purged -#}
        {% set is_beyond = edge is not none and (not skips_settled or edge.arrival != settled) %}
        {% set has_landed = 'unplaced' not in landed or landed.unplaced or is_beyond %}
    {% endif %}
    {% set knows_lowest_seq = reads_on and 'lowest_seq' in landed %}
    {% set lowest_seq = (landed.lowest_seq_above if skips_settled else landed.lowest_seq) if knows_lowest_seq else none %}
    {% set others = spec.items() | selectattr(0, 'in', change_tables.format_of(spec.format).other_tables) | selectattr(1) | list %}
    {% set bound = {
        'predicate': predicate,
        'snapshot': snapshot,
        'arrival': arrival,
        'edge': edge,
        'until': change_tables.positions_in(arrival, spans) if is_positions and not reads_on else none,
        'skips_settled': skips_settled,
        'highest_seq': highest_seq,
        'is_late': (lowest_seq is not none and lowest_seq <= highest_seq) if knows_lowest_seq else mark is not none,
        'lowest_seq': lowest_seq,
        'is_read': not (has_landed or snapshot or others),
        'settled_before': settled_before,
        'log': change_tables.state_relation(this) if mark is not none else none,
        'read_at': run_started_at.strftime('%Y%m%d%H%M%S%f'),
        'landed_rows': landed.get('rows') if reads_on or is_positions else none,
        'counts_all': counts_all,
        'rows_below': landed.get('rows_below'),
        'rows_until': landed.get('rows_until'),
    } %}
    {% set natural = change_tables.natural_arrival(spec) %}
    {% if natural and change_tables.names_records(spec, natural) and not (arrival and arrival.kind == 'positions') %}
        {% if change_tables.landed_columns(spec, spec.relation, natural.group + natural.columns, '') %}
            {% do change_tables._refuse_two_records(spec, natural, bound.predicate or 'true') %}
        {% endif %}
    {% endif %}
    {% do return(bound) %}
{% endmacro %}


{#-
    Whether it costs no scan to count all rows of the raw table, and what is below the edge is not read again: then a run can say how
    many rows have landed there since the run before. Delta answers `count(*)` from its log. Whether the table is one is asked by
    the first run and by a rescan, and kept in the mark. Not where the rows of other tables count as well.
-#}
{% macro _tells_its_rows(spec, arrival, mark) %}
    {% if not arrival or arrival.reads or spec.lookback != 0 %}
        {% do return(none) %}
    {% endif %}
    {% set columns = arrival.get('columns', []) %}
    {% if not change_tables.landed_columns(spec, spec.relation, arrival.get('group', []) + columns, '', numbers=columns) %}
        {% do return(none) %}
    {% elif mark and mark.counts_all is boolean %}
        {% do return(mark.counts_all) %}
    {% endif %}
    {% set property = run_query("show tblproperties " ~ spec.relation ~ " ('delta.minReaderVersion')").rows %}
    {% do return(property | length == 1 and property[0][1] | string | int(0) > 0) %}
{% endmacro %}


{#-
    What had landed before a run reads, by one scan of the rows from `settled` on:

    edge              {arrival, rows} of the highest arrival; none where no row has an arrival
    settled_rows      `rows` of the arrival `settled`. Where it is that of the mark (`edge`), no other rows have landed there since
                      these were read, and they need not be read again
    unplaced          how many rows have no arrival, and are read every time
    rows              how many of the rows have an arrival
    rows_below, rows_until   see `raw_bound`
    lowest_seq        the lowest sequence of all these rows; none where no row has one
    lowest_seq_above  the same without the rows at `settled`

    `rows` is a fingerprint of the rows of one arrival: their number and the sums of both halves of their hashes. The sequences are
    there only where the format has `landed_sequence` (see `format_of`). Before anything has settled, only the rows of the highest
    arrival are looked at.
-#}
{% macro _landed_edge(spec, arrival, settled, counts_all=false) %}
    {% set hashed = [] %}
    {% for column in change_tables.landed_columns(spec, spec.relation, [], '').values() if 'variant' not in column.data_type %}
        {% do hashed.append(column) %}
    {% endfor %}
    {% if not hashed %}
        {% do return({'edge': none}) %}
    {% endif %}
    {% set name = change_tables.quoted(arrival.name) %}
    {#- without the condition Spark cannot answer for dates of a Delta table -#}
    {% set from = settled if settled is not none else run_query(
        "select " ~ change_tables.arrival_as_text("max(" ~ name ~ ")", arrival) ~ " from " ~ spec.relation ~ " where " ~ name ~ " is not null"
    ).rows[0][0] %}
    {% if from is none %}
        {% do return({'edge': none}) %}
    {% endif %}
    {% set condition = change_tables.arrived_since(arrival, from, 0) %}
    {#- numbers as text: those of another length sort elsewhere, wherever that is -#}
    {% set is_number = arrival.kind == 'text' and modules.re.match('[0-9]+$', from) %}
    {% if is_number %}
        {% set condition = condition ~ " or (length(" ~ name ~ ") <> " ~ from | length ~ " and " ~ name ~ " rlike '^[0-9]+$')" %}
    {% endif %}
    {% set sequence_of_format = change_tables.format_of(spec.format).landed_sequence %}
    {% set sequence = sequence_of_format(spec) if sequence_of_format else 'cast(null as string)' %}
    {% set row = run_query(
        "select " ~ change_tables.arrival_as_text("max(_ct_arrival)", arrival) ~ " as edge, max_by(_ct_rows, _ct_arrival) as edge_rows,"
        ~ " sum(case when _ct_arrival is null then _ct_number end) as unplaced, sum(case when _ct_arrival is not null then _ct_number end) as landed_rows,"
        ~ " max(case when _ct_is_settled then _ct_rows end) as settled_rows, min(_ct_lowest_seq) as lowest_seq,"
        ~ " min(case when not coalesce(_ct_is_settled, false) then _ct_lowest_seq end) as lowest_seq_above"
        ~ (", max(case when length(_ct_arrival) <> " ~ from | length ~ " and _ct_arrival rlike '^[0-9]+$' then _ct_arrival end) as of_other_length" if is_number)
        ~ (", (select count(*) from " ~ spec.relation ~ ") as all_rows" if counts_all)
        ~ " from (select _ct_arrival, _ct_arrival = " ~ change_tables.arrival_literal(arrival, from) ~ " as _ct_is_settled,"
        ~ " count(*) as _ct_number, concat_ws(':', count(*), sum(shiftright(_ct_hash, 32)), sum(_ct_hash & 4294967295)) as _ct_rows, min(_ct_sequence) as _ct_lowest_seq"
        ~ " from (select " ~ name ~ " as _ct_arrival, " ~ sequence ~ " as _ct_sequence, " ~ change_tables.hash_of(hashed) ~ " as _ct_hash from "
        ~ spec.relation ~ " where " ~ condition ~ ") group by _ct_arrival)"
    ).rows[0] %}
    {% if is_number and row['of_other_length'] %}
        {% do exceptions.raise_compiler_error(
            "change_tables: source '" ~ spec.source_name ~ "." ~ spec.table_name ~ "': `arrival` must sort as rows land; '" ~ spec.arrival
            ~ "' is text and has numbers of different lengths, '" ~ from ~ "' and '" ~ row['of_other_length']
            ~ "': let it land as a number, or padded with zeros to one length; a view over the raw table may cast it"
        ) %}
    {% endif %}
    {% set landed = {
        'edge': none if row['edge'] is none else {'arrival': row['edge'], 'rows': row['edge_rows']},
        'settled_rows': row['settled_rows'],
        'unplaced': row['unplaced'] | int(0),
        'rows': row['landed_rows'] | int(0),
    } %}
    {% if counts_all and row['edge'] is not none %}
        {% set placed = row['all_rows'] | int - landed.unplaced %}
        {% do landed.update({'rows_below': placed - landed.rows, 'rows_until': placed - row['edge_rows'].split(':')[0] | int}) %}
    {% endif %}
    {% if sequence_of_format %}
        {% do landed.update({'lowest_seq': row['lowest_seq'], 'lowest_seq_above': row['lowest_seq_above']}) %}
    {% endif %}
    {% do return(landed) %}
{% endmacro %}


{#-
    edge        how far rows have landed: a list of {group: [value…], position: [number…], is_whole}, as `settled` is. Groups
                without new rows are in it as they are in `settled`
    unplaced    whether there are rows without a position, which are read every time
    rows        at how many positions rows have landed that are not among the settled ones
    rows_below, rows_until   see `raw_bound`

    Stops the run where two different records have landed at one position that can have only one (see `_refuse_two_records`).
-#}
{% macro _landed_positions(spec, arrival, settled, counts_all=false) %}
    {% set groups = change_tables.column_list(arrival.group) %}
    {% set texts = change_tables.columns_as_texts(arrival.group) + change_tables.columns_as_texts(arrival.columns, '_ct_last') %}
    {% set since = change_tables.positions_since(arrival, settled, 0) if settled else 'true' %}
    {% set since = arrival.reads ~ ' and ' ~ since if arrival.reads else since %}
    {% set positions = {} %}
    {% set unplaced = [] %}
    {% set numbers = [0] %}
    {% set counted = {'all': none, 'placed': 0, 'landed': 0} %}
    {% for known in settled or [] %}
        {% do positions.update({tojson(known.group): known}) %}
    {% endfor %}
    {% if change_tables.landed_columns(spec, spec.relation, arrival.group + arrival.columns, '', numbers=arrival.columns) %}
        {#- one row a group; the rows of each position are counted first, since a record may have landed again -#}
        {% set position = "case when not " ~ change_tables.lacks_position(arrival) ~ " then " ~ change_tables.position_of_row(arrival) ~ " end" %}
        {% set landed = "select " ~ groups ~ ", _ct_position, count(*) as _ct_copies from (select " ~ groups ~ ", " ~ position ~ " as _ct_position from "
            ~ spec.relation ~ " where " ~ since ~ ") group by " ~ groups ~ ", _ct_position" %}
        {% set rows = run_query(
            "select " ~ texts | join(', ') ~ ", _ct_copies, _ct_unplaced, _ct_number"
            ~ (", _ct_placed, _ct_landed, _ct_all" if counts_all)
            ~ " from (select " ~ groups ~ ", max(_ct_position) as _ct_last,"
            ~ " max(case when _ct_position is not null then _ct_copies end) as _ct_copies, count_if(_ct_position is null) as _ct_unplaced,"
            ~ " count(_ct_position) as _ct_number"
            ~ (", sum(case when _ct_position is not null then _ct_copies else 0 end) as _ct_placed, sum(_ct_copies) as _ct_landed" if counts_all)
            ~ " from ("
            ~ landed ~ ") group by " ~ groups ~ ")"
            ~ (" right join (select count(*) as _ct_all from " ~ spec.relation ~ ") on true" if counts_all)
        ).rows %}
        {% if counts_all %}
            {% do counted.update({'all': rows[0]['_ct_all'] | int}) %}
        {% endif %}
        {% for row in rows if row['_ct_unplaced'] is not none %}
            {% if row['_ct_unplaced'] | int > 0 %}
                {% do unplaced.append(row) %}
            {% endif %}
            {% if counts_all %}
                {% do counted.update({'placed': counted.placed + row['_ct_placed'] | int, 'landed': counted.landed + row['_ct_landed'] | int}) %}
            {% endif %}
            {% if row['_ct_copies'] is not none %}
                {% do numbers.append(row['_ct_number'] | int) %}
                {% set group = change_tables.group_of_position(row, arrival) %}
                {% do positions.update({
                    tojson(group): {'group': group, 'position': change_tables.position_in_group(row, arrival), 'is_whole': true}
                }) %}
            {% endif %}
            {% if change_tables.names_records(spec, arrival) and (row['_ct_copies'] or 0) > 1 %}
                {% do change_tables._refuse_two_records(spec, arrival, since) %}
            {% endif %}
        {% endfor %}
    {% endif %}
    {% set sorted = [] %}
    {% for name in positions | sort(case_sensitive=true) %}
        {% do sorted.append(positions[name]) %}
    {% endfor %}
    {% set landed = {'edge': sorted, 'unplaced': unplaced | length > 0, 'rows': numbers | sum} %}
    {% if counted.all is not none %}
        {% do landed.update({'rows_below': counted.all - counted.landed, 'rows_until': counted.all - counted.landed + counted.placed}) %}
    {% endif %}
    {% do return(landed) %}
{% endmacro %}


{#-
    Whether a position names one record, and a look must see to it. Where a format says what the origin of a change is, the run's own
    SQL compares it (see `of_one_origin`).
-#}
{% macro names_records(spec, arrival) %}
    {% do return(arrival.record and not change_tables.format_of(spec.format).origin) %}
{% endmacro %}


{#-
    Stops where two different records have landed at one position that can have only one. Nothing orders them, so no state can be
    made of both. A record that has landed again is not different. Of an arrival, `record` are the columns by which records are
    compared, and `only` is a condition on the rows that matter.
-#}
{% macro _refuse_two_records(spec, arrival, condition) %}
    {% set place = change_tables.column_list(arrival.group + arrival.columns) %}
    {% set record = [] %}
    {% for name in arrival.record %}
        {% do record.append({'name': name, 'data_type': ''}) %}
    {% endfor %}
    {% set rows = run_query(
        "select concat_ws(':', " ~ place ~ ") as place from (select " ~ place ~ ", " ~ change_tables.hash_of(record) ~ " as _ct_hash from "
        ~ spec.relation ~ " where not " ~ change_tables.lacks_position(arrival) ~ " and " ~ condition
        ~ (" and " ~ arrival.only if arrival.only else "") ~ ")"
        ~ " group by " ~ place ~ " having min(_ct_hash) <> max(_ct_hash) order by place limit 3"
    ).rows %}
    {% if rows %}
        {% do change_tables.refuse_positions_used_again(spec, arrival, rows, "two records that differ have landed") %}
    {% endif %}
{% endmacro %}


{% macro refuse_positions_used_again(spec, arrival, rows, what) %}
    {% set places = [] %}
    {% for row in rows %}
        {% do places.append(row[0]) %}
    {% endfor %}
    {% do exceptions.raise_compiler_error(
        change_tables.used_again(spec, what, (arrival.group + arrival.columns) | join(', ')) | join(places | join('; '))
    ) %}
{% endmacro %}


{#- The message for places of the feed that are used twice: what comes before these places, and what after them. -#}
{% macro used_again(spec, what, place) %}
    {% do return([
        "change_tables: model '" ~ model.name ~ "': source '" ~ spec.source_name ~ "." ~ spec.table_name ~ "': " ~ what ~ " at one " ~ place ~ ": ",
        ". The numbers have begun anew, and nothing says which rows are the older ones: either have the new rows land under numbers above the old"
        ~ " ones, for which a view over " ~ spec.relation ~ " will do, or remove the old rows from it, then build the log and the models after it"
        ~ " anew with --full-refresh --vars '{change_tables_allow_loss: true}'",
    ]) %}
{% endmacro %}
