{#-
    A join with the rows that have waited for `waiting_days` or longer, and so block the watermark no more: `_ct_passed_id` is not null for
    them. Nothing where there can be none. A row above all that the log has blocks it all the same: there is next to nothing to read after
    it, and later runs look for what landed before only up to there.
-#}
{% macro rows_to_pass(spec, run) -%}
{%- if change_tables.may_pass_waiting(spec, run.checkpoint_before) %}
    left join (
        select {{ change_tables.row_id_column() }} as _ct_passed_id
        from {{ change_tables.quarantine_relation(this) }}
        where
            {{ change_tables.is_open('waiting') }}
            and _batch_id < '{{ change_tables.batch_once_waited(spec) }}'
            and {{ change_tables.code_of('_status_reason') }} in ({{ change_tables.text_literals(change_tables.read_again(spec).passed) }})
    )
        on _ct_quarantine_id = _ct_passed_id and coalesce(_change_seq <= {{ change_tables.text_literal(run.highest_seq) }}, true)
{%- endif -%}
{%- endmacro %}


{#-
    How far raw rows are read for good after a run, as places; none where there is no arrival. It is the high water before raw was read, unless
    the first row of a group that waits (`waiting`, as texts) blocks it. Rows at its place are read again.
-#}
{% macro watermark_after_run(spec, run, waiting) %}
    {% do return(run.high_water) if not run.high_water %}
    {#- they are sorted: of those of a group the first one comes last here -#}
    {% set places = [] %}
    {% for texts in waiting | reverse %}
        {% do places.append(change_tables.place_of(run.arrival, texts)) %}
    {% endfor %}
    {% set first_waiting = change_tables.places_by_group(places) %}
    {% set before = change_tables.places_by_group(run.watermark_before if run.kind == 'since') %}
    {% set watermark = [] %}
    {% for place in run.high_water %}
        {% set first = first_waiting.get(tojson(place.group)) %}
        {% set known = before.get(tojson(place.group)) if spec.lookback else none %}
        {#- a row beside one of its change can have landed after the look -#}
        {% if not first or change_tables.lies_before(run.arrival, place, first) %}
            {% do watermark.append(place) %}
        {#- a row that `lookback` reads again does not move the watermark back -#}
        {% elif known and change_tables.lies_before(run.arrival, first, known) %}
            {% do watermark.append(dict(known, is_whole=false, fingerprint=none)) %}
        {% else %}
            {% do watermark.append(first) %}
        {% endif %}
    {% endfor %}
    {% do return(watermark) %}
{% endmacro %}


{#-
    What the checkpoint says of it: {watermark, rows, rows_below, all_rows}.

    rows        how many raw rows are below the watermark, so that none of them is read again. Of positions of one record, how many of
                these: a record that lands again has its old one. Not those that `lookback` reads again, however late they land. Where there
                is no arrival, how many raw rows there are
    rows_below  how many had landed below it when the run looked, where it counted them. The next run takes that from what it finds there:
                the rest has landed since, and no run reads it
    all_rows    how many raw rows there are, where a run that reads everything has counted them

    A run that reads on adds what its look found (see `raw_bound`). It asks only where rows wait.
-#}
{% macro count_watermark_rows(spec, run, watermark) %}
    {% set below = change_tables.is_below_watermark(run.arrival, watermark, spec.lookback) if run.arrival else 'true' %}
    {% set is_high_water = run.arrival and spec.lookback == 0 and below == change_tables.is_below_watermark(run.arrival, run.high_water, 0) %}
    {% set reached = {'watermark': watermark, 'rows_below': run.look.rows_until if is_high_water else none, 'all_rows': none} %}
    {% if run.kind != 'since' and is_high_water and run.look.rows is not none %}
        {% do return(dict(reached, rows=run.look.rows, all_rows=none if run.arrival.record else run.look.all_rows)) %}
    {#- what was counted by another lookback does not count -#}
    {% elif run.kind != 'since' or run.checkpoint_before.lookback != spec.lookback %}
        {% set row = change_tables.ask_once('select ' ~ change_tables.count_below_watermark(run.arrival, below) ~ ' as watermark_rows, count(*) as all_rows from ' ~ spec.relation)[0] %}
        {% do return(dict(reached, rows=row['watermark_rows'] | int, all_rows=row['all_rows'] | int)) %}
    {% endif %}
    {% set before = run.checkpoint_before.watermark_rows %}
    {% set below_before = change_tables.is_below_watermark(run.arrival, run.watermark_before, spec.lookback) %}
    {% if below == below_before %}
        {% do return(dict(reached, rows=before, rows_below=run.look.rows_below)) %}
    {% elif is_high_water %}
        {% do return(dict(reached, rows=before + run.look.rows)) %}
    {% endif %}
    {% set number = change_tables.count_below_watermark(run.arrival, 'true') %}
    {% set row = change_tables.ask_once('select ' ~ number ~ ' from ' ~ spec.relation ~ ' where ' ~ below ~ ' and not ' ~ below_before)[0] %}
    {% do return(dict(reached, rows=before + row[0] | int)) %}
{% endmacro %}


{#-
    How many raw rows have landed since the last run that wrote where no run reads them, and says so. Where rows were purged meanwhile,
    so many fewer are found.
-#}
{% macro report_rows_passed_over(spec, run) %}
    {% set before = run.checkpoint_before.rows_below if run.kind in ['since', 'nothing new'] else none %}
    {% do return(0) if before is none or run.look.rows_below is none or run.look.rows_below <= before %}
    {% set number = run.look.rows_below - before %}
    {% do log(
        "change_tables: source '" ~ spec.source_name ~ "." ~ spec.table_name ~ "': " ~ number ~ " rows, of this table or of others that share it, have landed in "
        ~ spec.relation ~ " where it was read for good, up to " ~ change_tables.shown_arrival(run.checkpoint_before) ~ ", since the last run that wrote. No run reads"
        ~ " them. Rows that landed again do no harm; for others build with --vars '{change_tables_rescan: true}', and have rows land in the order of their arrival",
        info=true
    ) %}
    {% do return(number) %}
{% endmacro %}


{#-
    SQL that counts what is below a watermark: raw rows, or positions of one record. With `record`, another record at a position counts as
    well.
-#}
{% macro count_below_watermark(arrival, condition, record=[]) %}
    {% if arrival and arrival.record %}
        {% set columns = change_tables.column_list(arrival.group + arrival.columns + record) %}
        {% do return('count(distinct case when ' ~ condition ~ ' then struct(' ~ columns ~ ') end)') %}
    {% endif %}
    {% do return('count_if(' ~ condition ~ ')') %}
{% endmacro %}
