{#-
    Which raw rows a run of the log reads, by the watermark that the runs before have left:

    predicate         SQL over the raw table; none = every row
    snapshot          whether the table's snapshot is read
    arrival           the arrival of the entry; none where the feed has none
    high_water        how far the raw table had landed before it was read, as places (see `place_of`): the last one of each group. Of a
                      group without new rows, its watermark
    until             where all rows are read, SQL for those up to the high water; else none
    highest_seq       the highest sequence of the log; none where there is no log
    is_late           whether rows that are read, those of a load among them, can have a sequence up to `highest_seq`: then rows that
                      landed before can be of the same change
    lowest_seq        the lowest sequence of such rows where that is known, else none
    has_no_news       whether there is nothing to do: no row has landed that the run would read, and it reads no other table
    watermark_before  the watermark that the runs before have left, as places; none where they had another arrival
    log               the table of the log; none where there is none
    asks_log          whether staging asks it for transactions: see `commits` of `format_of`, and `_write_batch`
    waiting           the table of quarantined rows, where some wait; else none
    read_at           the time of the run, as digits
    look              what `_look_at_raw` has found
    counts_all        whether `_tells_its_rows`
-#}
{% macro raw_bound(spec, checkpoint) %}
    {% set arrival = change_tables.arrival_of(spec) %}
    {#- what raw has in a column that was added, or in a type that is wider now, is in rows that were read before -#}
    {% set has_other_columns = change_tables.columns_have_changed(spec, checkpoint) or change_tables._quarantine_is_of_other_rows(spec, checkpoint) %}
    {% set rescan = var('change_tables_rescan', false) or has_other_columns %}
    {% set loaded = none if checkpoint is none else checkpoint.snapshot_seq %}
    {% set wanted = spec.snapshot_seq if spec.snapshot else none %}
    {% set snapshot = checkpoint is none or rescan or (wanted is not none and wanted != loaded) %}
    {% if loaded is not none and wanted is not none and wanted < loaded %}
        {% do change_tables.refuse_entry(spec,
            "`snapshot_seq` must not fall below the one that " ~ this ~ " has taken in, '" ~ loaded ~ "', got '" ~ wanted
            ~ "'; rebuild it with --full-refresh"
        ) %}
    {% endif %}
    {% set watermark_before = checkpoint.watermark if checkpoint and change_tables.is_arrival_of(checkpoint, spec, arrival) else none %}
    {% set watermark = none if rescan else watermark_before %}
    {% set reads_on = watermark is not none %}
    {% set counts_all = change_tables._tells_its_rows(spec, arrival, none if var('change_tables_rescan', false) else checkpoint) %}
    {% if watermark and change_tables._landed_arrival(spec, arrival) and change_tables.has_raw_alone(spec, checkpoint) and change_tables.is_quiet(spec, arrival, checkpoint) %}
        {% set look = dict(change_tables._nothing_seen(), high_water=watermark) %}
    {% else %}
        {% set look = change_tables._look_at_raw(spec, arrival, watermark, counts_all) if arrival else change_tables._nothing_seen() %}
    {% endif %}
    {% set read_from = change_tables._watermark_with_returning(spec, checkpoint, arrival, watermark) if reads_on else [] %}
    {% set condition = none %}
    {% if arrival %}
        {% set spans = change_tables.spans_of_run(arrival, read_from, look.high_water, spec.lookback, look.is_same) %}
        {% set condition = change_tables.positions_in(arrival, spans) %}
    {% endif %}
    {% set highest_seq = checkpoint.highest_seq if checkpoint else none %}
    {% set lowest_seq, is_late = none, checkpoint is not none %}
    {% if reads_on and spec.lookback == 0 and change_tables.format_of(spec.format).landed_sequence %}
        {% set sequences = [look.lowest_seq] + ([wanted] if snapshot else []) %}
        {% set lowest_seq = sequences | reject('none') | min(case_sensitive=true) | default(none) %}
        {% set is_late = lowest_seq is not none and lowest_seq <= highest_seq %}
    {% endif %}
    {% set has_landed = not reads_on or spec.lookback != 0 or look.high_water != read_from or look.unplaced %}
    {% set others = change_tables.other_tables_of(spec) %}
    {% set bound = {
        'predicate': condition if reads_on else none,
        'snapshot': snapshot,
        'arrival': arrival,
        'high_water': look.high_water,
        'until': none if reads_on else condition,
        'highest_seq': highest_seq,
        'is_late': is_late,
        'lowest_seq': lowest_seq,
        'has_no_news': not (has_landed or snapshot or others),
        'watermark_before': watermark_before,
        'log': change_tables.state_relation(this) if checkpoint is not none else none,
        'asks_log': checkpoint is not none and not reads_on,
        'waiting': change_tables.quarantine_relation(this) if checkpoint and checkpoint.quarantined.waiting > 0 else none,
        'read_at': run_started_at.strftime('%Y%m%d%H%M%S%f'),
        'look': look,
        'counts_all': counts_all,
    } %}
    {% set natural = change_tables.arrival_of_records(spec) %}
    {% if natural and natural != arrival and change_tables.landed_columns(spec, spec.relation, natural.group + natural.columns) %}
        {% do change_tables._refuse_two_records(spec, natural, bound.predicate or 'true') %}
    {% endif %}
    {% do return(bound) %}
{% endmacro %}


{#-
    Whether rows were put into quarantine that raw has otherwise now, or alone: it has lost a column, and they are known by what landed, or
    their table was dropped.
-#}
{% macro _quarantine_is_of_other_rows(spec, checkpoint) %}
    {% do return(false) if checkpoint is none or checkpoint.quarantined.rejected + checkpoint.quarantined.waiting == 0 %}
    {% do return(true) if change_tables.found_relation(change_tables.quarantine_relation(this)) is none %}
    {% do return(spec.absent | reject('in', checkpoint.absent) | list | length > 0) %}
{% endmacro %}


{#-
    Whether it costs no scan to count all rows of the raw table, and what is below the high water is not read again: then a run can say how
    many rows have landed there since the run before. Delta answers `count(*)` from its log. Whether the table is one is asked by
    the first run and by a rescan, and kept in the checkpoint. Not where the rows of other tables count as well.
-#}
{% macro _tells_its_rows(spec, arrival, checkpoint) %}
    {% do return(none) if not arrival or arrival.only or spec.lookback != 0 or not change_tables._landed_arrival(spec, arrival) %}
    {% do return(checkpoint.counts_all) if checkpoint and checkpoint.counts_all is boolean %}
    {% do return(change_tables.counts_without_scan(change_tables.properties_of_raw(spec))) %}
{% endmacro %}


{#- Whether a log has rows that have waited for so long. -#}
{% macro may_pass_waiting(spec, checkpoint) %}
    {% set since = checkpoint.quarantined.waiting_since if checkpoint else none %}
    {% do return(since is not none and change_tables.read_again(spec).passed != [] and since < change_tables.batch_once_waited(spec)) %}
{% endmacro %}


{#- A row that a run before this one has met, by the order of batches, has waited for `waiting_days` or longer. -#}
{% macro batch_once_waited(spec) %}
    {#- a date has no more than four digits of years -#}
    {% set days = [spec.waiting_days, 365000] | min %}
    {% do return((run_started_at - modules.datetime.timedelta(days=days)).strftime('%Y%m%dT%H%M%S%f')) %}
{% endmacro %}


{#-
    The watermark from which a run reads, by that of the runs before: back at the first row of a group that waited, has been passed, and
    waits no longer. Asked only where rows may have been passed.
-#}
{% macro _watermark_with_returning(spec, checkpoint, arrival, watermark) %}
    {% set returning = change_tables.read_again(spec).returning %}
    {% do return(watermark) if not returning or not change_tables.may_pass_waiting(spec, checkpoint) %}
    {% set places = change_tables.places_by_group(watermark) %}
    {% for row in run_query(returning(spec, change_tables.quarantine_relation(this))).rows %}
        {% set place = change_tables.place_of(arrival, row.values() | list) %}
        {% set known = places.get(tojson(place.group)) %}
        {% do places.update({tojson(place.group): place}) if known and change_tables.lies_before(arrival, place, known) %}
    {% endfor %}
    {% do return(places.values() | list) %}
{% endmacro %}


{#- The columns of the raw table, of which those of the arrival are some. Empty while it does not exist. -#}
{% macro _landed_arrival(spec, arrival) %}
    {% do return(change_tables.landed_columns(
        spec, spec.relation, [] if arrival.hidden else arrival.group + arrival.columns,
        numbers=arrival.columns if arrival.kind == 'whole_number' and not arrival.hidden else []
    )) %}
{% endmacro %}


{#-
    What had landed before a run reads, by one scan of the rows from the watermark on. Where there is none, of all rows; but where a
    place has many rows, of those at the last one, since their fingerprint costs a hash of each row.

    high_water              as in `raw_bound`
    is_same                 whether the rows at the watermark have the fingerprint that it has
    unplaced                whether there are rows without a position, which are read every time
    rows                    how many raw rows get below the watermark if nothing blocks it; of positions of one record, how many of these
    all_rows                how many rows had landed, where the table tells (`counts_all`); else none
    rows_below, rows_until  how many of these below the watermark, and below the high water
    lowest_seq              the lowest sequence of the rows that are to be read; none where no row has one, or the format has no
                            `landed_sequence` (see `format_of`)

    Stops the run where two different records have landed at a place that has one, and where numbers as text do not sort.
-#}
{% macro _look_at_raw(spec, arrival, watermark, counts_all) %}
    {% set columns = change_tables._landed_arrival(spec, arrival) %}
    {% set begins_at_last = watermark is none and not arrival.record %}
    {% set from = watermark or [] %}
    {% if columns and begins_at_last %}
        {% set from = change_tables._last_place(spec, arrival) %}
    {% endif %}
    {% do return(dict(change_tables._nothing_seen(), high_water=from, unplaced=true)) if not columns or (begins_at_last and not from) %}
    {% set condition = change_tables.lands_since(arrival, from) %}
    {% set rows = change_tables.ask_once(change_tables._groups_since(spec, arrival, columns, from, condition, counts_all)) %}
    {% set groups = rows | selectattr('_ct_rows') | list %}
    {% if arrival.record and change_tables.arrival_of_records(spec) and groups | selectattr('_ct_copies', 'gt', 1) | list %}
        {% do change_tables._refuse_two_records(spec, arrival, condition) %}
    {% endif %}
    {% set places = change_tables.places_by_group(watermark) %}
    {% for row in groups if row['_ct_places'] > 0 %}
        {% set fingerprint = row['_ct_fingerprint'] if change_tables._takes_fingerprint(spec, arrival) else none %}
        {% set place = change_tables.place_of(arrival, row.values() | list, is_whole=arrival.is_whole, fingerprint=fingerprint) %}
        {% do places.update({tojson(place.group): place}) %}
        {% if arrival.kind == 'text' %}
            {% do change_tables._refuse_numbers_of_two_lengths(spec, arrival, (from[0] or place).position[0], [row['_ct_shortest'], row['_ct_longest']]) %}
        {% endif %}
    {% endfor %}
    {% set until_high_water = groups | sum(attribute='_ct_rows_below') | int %}
    {% set all_rows = rows[0]['_ct_all'] | int if counts_all else none %}
    {% set rows_below = all_rows - groups | sum(attribute='_ct_rows') | int if counts_all else none %}
    {% set rows_until = rows_below + until_high_water if counts_all else none %}
    {% if arrival.record %}
        {% set landed_rows = groups | sum(attribute='_ct_places') | int %}
    {% else %}
        {% set landed_rows = rows_until if begins_at_last else until_high_water %}
    {% endif %}
    {% do return({
        'high_water': places.items() | sort(case_sensitive=true) | map(attribute=1) | list,
        'is_same': groups | selectattr('_ct_is_same') | list | length > 0,
        'unplaced': groups | sum(attribute='_ct_unplaced') > 0,
        'rows': landed_rows,
        'rows_below': rows_below,
        'rows_until': rows_until,
        'all_rows': all_rows,
        'lowest_seq': groups | map(attribute='_ct_lowest_seq') | reject('none') | min(case_sensitive=true) | default(none),
    }) %}
{% endmacro %}


{#- What names another raw table that an entry reads, and which can have news of its own: see `other_tables` of `format_of`. -#}
{% macro other_tables_of(spec) %}
    {% do return(spec.items() | selectattr(0, 'in', change_tables.format_of(spec.format).other_tables) | selectattr(1) | list) %}
{% endmacro %}


{% macro _nothing_seen() %}
    {% do return({'high_water': none, 'is_same': false, 'unplaced': false, 'rows': none, 'rows_below': none, 'rows_until': none, 'all_rows': none, 'lowest_seq': none}) %}
{% endmacro %}


{#- The last place of a raw table that is one group, as a list; empty where no row has a position. -#}
{% macro _last_place(spec, arrival) %}
    {% set name = change_tables.positions_of(arrival)[0] %}
    {#- without the condition Spark cannot answer for dates of a Delta table -#}
    {% set row = change_tables.ask_once(
        "select " ~ change_tables.arrival_as_text("max(" ~ name ~ ")", arrival) ~ " from " ~ spec.relation ~ " where " ~ name ~ " is not null"
    )[0] %}
    {% do return([]) if row[0] is none %}
    {% do return([change_tables.place_of(arrival, row.values() | list)]) %}
{% endmacro %}


{#- Whether a look takes the fingerprint of the last place: where rows can land that are alike in their arrival, and are not read again anyway. -#}
{% macro _takes_fingerprint(spec, arrival) %}
    {% do return(spec.lookback == 0 and not arrival.is_whole) %}
{% endmacro %}


{#- The landed columns of which it is; none where it is not taken. -#}
{% macro columns_of_fingerprint(spec, arrival, columns) %}
    {% do return([]) if not change_tables._takes_fingerprint(spec, arrival) %}
    {% set hashed = [] %}
    {% for column in columns.values() if 'variant' not in column.data_type %}
        {% do hashed.append(column) %}
    {% endfor %}
    {% do return(hashed) %}
{% endmacro %}


{% macro fingerprint_of_rows() -%}
    concat_ws(':', count(*), sum(shiftright(_ct_hash, 32)), sum(_ct_hash & 4294967295))
{%- endmacro %}


{#- What a look asks: of each group the last place, and how many rows there are. -#}
{% macro _groups_since(spec, arrival, columns, from, condition, counts_all) -%}
{%- set hashed = change_tables.columns_of_fingerprint(spec, arrival, columns) -%}
{%- set first = '_ct_arrival.' ~ change_tables.quoted(arrival.columns[0]) -%}
{%- set is_same = 'false' -%}
{%- if hashed and from and from[0].fingerprint -%}
    {%- set is_same = first ~ ' <=> ' ~ change_tables.arrival_literal(arrival, from[0].position[0])
        ~ ' and _ct_fingerprint = ' ~ change_tables.text_literal(from[0].fingerprint) -%}
{%- endif -%}
with landed as (

    select
        {{ change_tables.arrival_of_row(arrival) }} as _ct_arrival,
        {{ change_tables.hash_of(hashed) if hashed else 'cast(null as bigint)' }} as _ct_hash,
        {{ change_tables.part_of_format(spec, 'landed_sequence') or 'cast(null as string)' }} as _ct_sequence
    from {{ spec.relation }}
    where
        {{ condition }}

),

places as (

    select
        _ct_arrival,
        count(*) as _ct_rows,
        {{ change_tables.fingerprint_of_rows() }} as _ct_fingerprint,
        min(_ct_sequence) as _ct_lowest_seq
    from landed
    group by _ct_arrival

)

select
    {{ change_tables.arrival_as_texts('_ct_last', arrival) | join(', ') }},
    looked.* except (_ct_last){{ ',\n    _ct_all' if counts_all }}
from (
    select
        max(_ct_arrival) as _ct_last,
        count(_ct_arrival) as _ct_places,
        sum(_ct_rows) as _ct_rows,
        max(if(_ct_arrival is null, 0, _ct_rows)) as _ct_copies,
        sum(if(_ct_arrival is null, _ct_rows, 0)) as _ct_unplaced,
        sum(if(_ct_arrival is null, 0, _ct_rows)){{ ' - coalesce(max_by(_ct_rows, _ct_arrival), 0)' if not arrival.is_whole }} as _ct_rows_below,
        max_by(_ct_fingerprint, _ct_arrival) as _ct_fingerprint,
        bool_or({{ is_same }}) as _ct_is_same,
        min(if({{ is_same }}, null, _ct_lowest_seq)) as _ct_lowest_seq
        {%- for end, by in {'shortest': 'min_by', 'longest': 'max_by'}.items() if arrival.kind == 'text' %},
        {{ by }}({{ first }}, length({{ first }})) filter (where {{ first }} rlike '^[0-9]+$') as _ct_{{ end }}
        {%- endfor %}
    from places
    {{- '\n    group by ' ~ change_tables.each(arrival.group, '_ct_arrival[{text}]') | join(', ') if arrival.group }}
) as looked
{%- if counts_all %}
right join (select count(*) as _ct_all from {{ spec.relation }})
    on true
{%- endif %}
{%- endmacro %}


{#- Rows from these places on; of numbers as text also those of another length: they sort elsewhere, wherever that is. -#}
{% macro lands_since(arrival, from) -%}
    {%- set name, first = change_tables.positions_of(arrival)[0], from[0].position[0] if from else none -%}
    {{- arrival.only ~ ' and ' if arrival.only }}{{ change_tables.positions_since(arrival, from, 0) }}
    {%- if arrival.kind == 'text' and first is not none and modules.re.match('[0-9]+$', first) %}
        or (length({{ name }}) <> {{ first | length }} and {{ name }} rlike '^[0-9]+$')
    {%- endif %}
{%- endmacro %}


{% macro _refuse_numbers_of_two_lengths(spec, arrival, known, found) %}
    {% for number in found if number is not none and modules.re.match('[0-9]+$', known) and number | length != known | length %}
        {% do change_tables.refuse_entry(spec,
            "`arrival` must sort as rows land; '" ~ arrival.columns[0] ~ "' is text and has numbers of different lengths, '" ~ known ~ "' and '"
            ~ number ~ "': let it land as a number, or padded with zeros to one length; a view over the raw table may cast it"
        ) %}
    {% endfor %}
{% endmacro %}


{#-
    The natural arrival of which each position names one record, and a look must see to it; none where there is none such. Where a format says
    what the origin of a change is, the run's own SQL compares it (see `stop_if_other_origin`).
-#}
{% macro arrival_of_records(spec) %}
    {% set natural = change_tables.natural_arrival(spec) %}
    {% do return(natural if natural and natural.record and not change_tables.format_of(spec.format).origin else none) %}
{% endmacro %}


{#-
    Stops where two different records have landed at one position that can have only one. Nothing orders them, so no state can be
    made of both. A record that has landed again is not different. Of an arrival, `record` are the columns by which records are
    compared, and `only` is a condition on the rows that matter.
-#}
{% macro _refuse_two_records(spec, arrival, condition) %}
    {% set place = change_tables.column_list(arrival.group + arrival.columns) %}
    {% set hash = change_tables.hash_of(change_tables.as_landed(arrival.record, change_tables.landed_columns(spec, spec.relation, arrival.record, 'a record is in these'))) %}
    {% set rows = run_query(
        "select concat_ws(':', " ~ place ~ ") as place from (select " ~ place ~ ", " ~ hash ~ " as _ct_hash from "
        ~ spec.relation ~ " where not (" ~ change_tables.lacks_position(arrival) ~ ") and " ~ condition
        ~ (" and " ~ arrival.only if arrival.only else "") ~ ")"
        ~ " group by " ~ place ~ " having min(_ct_hash) <> max(_ct_hash) order by place limit 3"
    ).rows %}
    {% do change_tables.refuse_positions_used_again(spec, arrival, rows, "two records that differ have landed") if rows %}
{% endmacro %}


{% macro refuse_positions_used_again(spec, arrival, rows, what) %}
    {% set places = rows | map(attribute=0) | list %}
    {% do exceptions.raise_compiler_error(
        change_tables.used_again(spec, what, (arrival.group + arrival.columns) | join(', ')) | join(places | join('; '))
    ) %}
{% endmacro %}


{#- The message for places of the feed that are used twice: what comes before these places, and what after them. -#}
{% macro used_again(spec, what, place) %}
    {% do return([
        "change_tables: model '" ~ model.name ~ "': source '" ~ spec.source_name ~ "." ~ spec.table_name ~ "': " ~ what ~ " at one " ~ place ~ ": ",
        ". The numbers have started again, and nothing says which rows are the older ones: either have the new rows land under numbers above the old"
        ~ " ones, for which a view over " ~ spec.relation ~ " will do, or remove the old rows from it, then rebuild the log and the models after it"
        ~ " with --full-refresh --vars '{change_tables_allow_loss: true}'",
    ]) %}
{% endmacro %}
