{#-
    What a run of a log says of itself. It is in the checkpoint, so it comes with the rows in one commit, and in dbt's result of the model,
    from where `record_runs` takes it to the table of runs. One row of that table has:

    batch         the run; it begins with the time at which dbt began
    kind          first, everything or since
    raw_rows      how many raw rows it read: none where they were not counted
    rows          status -> how many of them. Of a run that reads everything: those that are quarantined
    codes         the same by status and code, `rejected: key_missing`
    new, revised  changes
    reports       code -> how many of these changes have the report
    first_seq, last_seq                 of these changes
    first_changed_at, last_changed_at   the same, in microseconds since 1970
    versions      of the package and of dbt
-#}
{% macro facts_of_run(row, verdicts) %}
    {% set facts = {'rows': {}, 'codes': {}, 'reports': {}} %}
    {% for verdict in verdicts %}
        {% set status = verdict.get('status') %}
        {% if status and verdict.get('raw_rows') %}
            {% do facts.rows.update({status: facts.rows.get(status, 0) + verdict.raw_rows}) %}
            {% if verdict.get('code') %}
                {% set code = status ~ ': ' ~ verdict.code %}
                {% do facts.codes.update({code: facts.codes.get(code, 0) + verdict.raw_rows}) %}
            {% endif %}
        {% endif %}
        {% for code, changes in [(verdict.get('report'), verdict.changes), ('conflicting_content', verdict.conflicts)] if code and changes > 0 %}
            {% do facts.reports.update({code: facts.reports.get(code, 0) + changes}) %}
        {% endfor %}
    {% endfor %}
    {% do return(dict(facts, first_changed_at=row['first_changed_at'], last_changed_at=row['last_changed_at'])) %}
{% endmacro %}


{% macro facts_of_log(spec, run, found, reached) %}
    {% set reads_on = run.kind == 'since' %}
    {% set raw_rows = found.facts.rows.values() | sum if reads_on else reached.all_rows %}
    {#- a raw table of many tables: how many of its rows are the entry's is not counted -#}
    {% set raw_rows = none if not reads_on and change_tables.format_of(spec.format).unclaimed_steps else raw_rows %}
    {% do return(dict(
        found.facts, batch=change_tables.batch_id(), kind=run.kind, raw_rows=raw_rows, new=found.changes - found.revised, revised=found.revised,
        first_seq=found.lowest_seq, last_seq=found.highest_seq, versions=[change_tables.version_of_package(), dbt_version]
    )) %}
{% endmacro %}


{#-
    Whether a checkpoint says no more than the one before. What the run did does not count, nor how many rows are below the watermark.
    Nor, without an arrival, does another number of raw rows, but for a rescan: to purge raw, or to land a row again, is no news.
-#}
{% macro has_same_news(run, checkpoint) %}
    {% set before = run.checkpoint_before %}
    {% set counts = run.arrival or var('change_tables_rescan', false) %}
    {% do return(dict(
        checkpoint, facts=before.facts, watermark_rows=checkpoint.watermark_rows if counts else before.watermark_rows,
        rows_below=before.rows_below, counts_all=before.counts_all
    ) == before) %}
{% endmacro %}


{#-
    Says in dbt's result of the model what its run took in: a text for the reader, and in `code`, as JSON, the rows for the table of
    runs. That of the run before is among them: it may have died before it came there.
-#}
{% macro report_run(spec, run, checkpoint) %}
    {% set facts = checkpoint.facts if checkpoint != run.checkpoint_before else none %}
    {% set passed_over = change_tables.report_rows_passed_over(spec, run) %}
    {% set runs = [] %}
    {% for known in [run.checkpoint_before, checkpoint if facts else none] if known %}
        {% do runs.append(change_tables._row_of_run(spec, known)) %}
    {% endfor %}
    {% set said = [] %}
    {% if facts %}
        {% do said.append(facts.new ~ ' new') %}
        {% do said.append(facts.revised ~ ' revised') if facts.revised > 0 %}
        {% for status in ['rejected', 'waiting'] if facts.rows.get(status, 0) > 0 %}
            {% do said.append(facts.rows[status] ~ ' ' ~ status) %}
        {% endfor %}
        {% for code, changes in facts.reports | dictsort %}
            {% do said.append(changes ~ ' ' ~ code) %}
        {% endfor %}
    {% endif %}
    {% do said.append(passed_over ~ ' passed over') if passed_over %}
    {% set message = 'OK ' ~ said | join(', ') if facts else (['nothing new'] + said) | join(', ') %}
    {{ store_raw_result(
        'main', message=message, rows_affected=facts.new + facts.revised if facts else 0,
        code=tojson({'change_table_runs': runs, 'is_new': facts is not none})
    ) }}
{% endmacro %}


{% macro _row_of_run(spec, checkpoint) %}
    {% set facts = checkpoint.facts %}
    {% do return({
        'log': this.schema ~ '.' ~ this.identifier, 'source_name': spec.source_name, 'table_name': spec.table_name,
        'batch_id': facts.batch, 'started_at': change_tables.time_of_batch(facts.batch), 'run_kind': facts.kind,
        'raw_rows': facts.raw_rows, 'accepted': facts.rows.get('accepted', 0) if facts.kind == 'since' else none,
        'merged': facts.rows.get('merged', 0) if facts.kind == 'since' else none,
        'ignored': facts.rows.get('ignored', 0) if facts.kind == 'since' else none,
        'rejected': facts.rows.get('rejected', 0), 'waiting': facts.rows.get('waiting', 0),
        'codes': facts.codes, 'new_changes': facts.new, 'revised_changes': facts.revised, 'reports': facts.reports,
        'first_seq': facts.first_seq, 'last_seq': facts.last_seq,
        'first_changed_at': facts.first_changed_at, 'last_changed_at': facts.last_changed_at,
        'kept_rejected': checkpoint.quarantined.rejected, 'kept_waiting': checkpoint.quarantined.waiting,
        'waiting_since': change_tables.time_of_batch(checkpoint.quarantined.waiting_since) if checkpoint.quarantined.waiting_since else none,
        'settled': change_tables.shown_arrival(checkpoint), 'settled_rows': checkpoint.watermark_rows,
        'package_version': facts.versions[0], 'dbt_version': facts.versions[1],
    }) %}
{% endmacro %}


{#- When a run began, by its batch id, as a text with the zone. -#}
{% macro time_of_batch(batch) %}
    {% do return(modules.datetime.datetime.strptime(batch.split('_')[0], '%Y%m%dT%H%M%S%f').isoformat(sep=' ') ~ '+00:00') %}
{% endmacro %}


{#- The watermark, for a reader: a date or time, a number or text; of groups as JSON. -#}
{% macro shown_arrival(checkpoint) %}
    {% do return(none) if not checkpoint.watermark %}
    {% do return(tojson(checkpoint.watermark)) if checkpoint.watermark[0].group %}
    {% set kind, last = checkpoint.arrival.split(':')[0], checkpoint.watermark[0].position[0] %}
    {% do return(last | string) if kind not in ['date', 'timestamp', 'timestamp_ntz'] %}
    {% set days = last if kind == 'date' else last // 86400000000 %}
    {% set microseconds = 0 if kind == 'date' else last % 86400000000 %}
    {#- Python has the years 1 to 9999 -#}
    {% do return(last | string) if not -719162 <= days <= 2932896 %}
    {% set time = modules.datetime.datetime(1970, 1, 1) + modules.datetime.timedelta(days=days, microseconds=microseconds) %}
    {% do return(time.date().isoformat()) if kind == 'date' %}
    {% do return(time.isoformat(sep=' ') ~ ('+00:00' if kind == 'timestamp' else '')) %}
{% endmacro %}
