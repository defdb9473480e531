{#-
    `change-tables purge`: deletes the raw rows that every log of a raw table has read for good. These are the rows below the watermark of each
    of its logs: what waits blocks the watermark, but where runs pass it. Kept are also rows that are judged together with one that is kept (`landed_sequence`), and
    those that a format needs later (`for_good` of `read_again`).

    A raw table is left alone, and the reason is said, where rows would be lost: an entry has no log that is built, or one that reads all rows; a log
    has rejected rows, or waiting ones that runs may have passed, which only raw can give again; or there are not as many rows below the watermark
    as the log has counted, so that some have landed there which no run has read.

    The checkpoint of a log counts the rows below its watermark (`watermark_rows`), and `raw_rows_accounted_for` compares. So the count is lowered
    by what was deleted, and the test stays as sharp as before, without `may_be_purged`. These are two commits to two tables. In between, the view of
    the log has the number that is to be taken off (`change_tables.purged`):

    1. the number is noted with each log
    2. the rows are deleted
    3. the checkpoint of each log is changed

    Where it dies after 1, nothing is deleted: there are as many rows as were counted. After 2, or amid 3, as many are missing as is noted: the next
    purge begins with 3. Runs in between lose nothing, since no run reads what is gone; only the test fails until then. A note stays, and says
    nothing where no row is missing.

    A run at the same time reads no row that is deleted, unless it reads all: a full refresh. Where it writes the log before 3, the
    checkpoint is not what was read, and stays: the next purge lowers it. Where it writes after 3, it has read another checkpoint, and stops.
-#}

{#-
    dry_run      say what would be deleted, and change nothing
    older_than   only rows that arrived so many days ago or before; the arrival must be a time
    include      patterns of the names of raw tables; none: all
    with_rejected  also where a log has rejected rows: these can then not be taken in any more
-#}
{% macro purge(dry_run=false, older_than=none, include=[], with_rejected=false) %}
    {% if older_than is not none and (older_than is boolean or older_than is not number or older_than < 0) %}
        {% do change_tables.refuse_command('purge', '`older_than` must be a number of days, got ' ~ change_tables.shown_value(older_than)) %}
    {% endif %}
    {% set tables = change_tables.raw_tables_with_logs('purge', include) %}
    {% do change_tables.refuse_command('purge', 'no raw table' ~ (' is named ' ~ include | join(', ') if include else ' is there')) if not tables %}
    {% set deleted = [] %}
    {% for table in tables %}
        {% set place = loop.index ~ '/' ~ loop.length ~ ' ' ~ table.relation ~ ': ' %}
        {% set reason = change_tables._why_not_purged(table, older_than) %}
        {% if reason %}
            {% do print(place ~ 'left alone: ' ~ reason) %}
        {% else %}
            {% do deleted.append(change_tables._purge_table(place, table, older_than, dry_run, with_rejected)) %}
        {% endif %}
    {% endfor %}
    {% do print(deleted | sum ~ ' rows ' ~ ('would be ' if dry_run) ~ 'deleted from ' ~ deleted | select | list | length ~ ' of ' ~ tables | length ~ ' raw tables') %}
{% endmacro %}


{#-
    The raw tables behind logs, by name: [{relation, specs, logs}]. `specs` are all entries of the raw table, `logs` its logs, as {relation, spec}.
    Loads and what else an entry names beside its raw table are none.
-#}
{% macro raw_tables_with_logs(command, include) %}
    {% set tables, beside = {}, [] %}
    {% for node in graph.sources.values() if (node.config.meta or {}).get('change_table') %}
        {% set spec = change_tables.table_spec(node.source_name, node.name) %}
        {% set table = tables.setdefault(spec.relation | string | lower, {'relation': spec.relation, 'specs': [], 'logs': []}) %}
        {% do table.specs.append(spec) %}
        {% for setting in ['snapshot'] + change_tables.format_of(spec.format).other_tables if spec[setting] %}
            {% do beside.append(change_tables.relation_of_setting(spec, setting) | string | lower) %}
        {% endfor %}
    {% endfor %}
    {% for found in change_tables.models_with_tables(command, []) if found.node.config.materialized == 'change_log' %}
        {% set spec = change_tables.table_spec_of_model(found.node) %}
        {% do tables[spec.relation | string | lower].logs.append({'relation': found.relation, 'spec': spec}) %}
    {% endfor %}
    {% set wanted = [] %}
    {% for name, table in tables | dictsort if name not in beside and (not include or change_tables.fits_pattern(table.relation.identifier, include)) %}
        {% do wanted.append(table) %}
    {% endfor %}
    {% do return(wanted) %}
{% endmacro %}


{#- Why no row of a raw table is deleted, whatever has landed; none: nothing speaks against it. -#}
{% macro _why_not_purged(table, older_than) %}
    {% set existing = load_cached_relation(table.relation) %}
    {% do return(change_tables.why_left_alone(existing)) if change_tables.why_left_alone(existing) %}
    {% set sequences = [] %}
    {% for spec in table.specs %}
        {% set entry = "'" ~ spec.source_name ~ '.' ~ spec.table_name ~ "' " %}
        {% set arrival = change_tables.arrival_of(spec) %}
        {% do return(entry ~ 'has no log') if not table.logs | selectattr('spec.source_name', 'eq', spec.source_name) | selectattr('spec.table_name', 'eq', spec.table_name) | list %}
        {% do return(entry ~ 'has no arrival: its log compares all raw rows in each run, so nothing says which it has read for good') if not arrival %}
        {% do return(entry ~ 'reads by commits, and a delete takes no condition on these: have `arrival` name a column') if arrival.hidden %}
        {% do return(entry ~ 'may need rows again that were read for good (format ' ~ spec.format ~ ')') if change_tables.read_again(spec).for_good == 'true' %}
        {% if older_than is not none and arrival.kind not in ['date', 'timestamp', 'timestamp_ntz'] %}
            {% do return(entry ~ 'has an arrival that is no time, so --older-than says nothing of it') %}
        {% endif %}
        {% do sequences.append(change_tables.part_of_format(spec, 'landed_sequence')) %}
    {% endfor %}
    {% do return('its entries read sequences otherwise: ' ~ sequences | unique | join(', ')) if sequences | unique | list | length > 1 %}
    {% do return(none) %}
{% endmacro %}


{#- Deletes the rows of a raw table that can go. Returns how many. -#}
{% macro _purge_table(place, table, older_than, dry_run, with_rejected) %}
    {% set relations = table.logs | map(attribute='relation') | list %}
    {% set logs = [] %}
    {% for found in change_tables.read_checkpoints(relations, from_tables=true) %}
        {% set log = table.logs[loop.index0] %}
        {% set checkpoint = found.checkpoint %}
        {% set arrival = change_tables.arrival_of(log.spec) %}
        {% if checkpoint is none or not change_tables.is_arrival_of(checkpoint, log.spec, arrival) or change_tables.columns_have_changed(log.spec, checkpoint) %}
            {% do print(place ~ 'left alone: ' ~ log.relation ~ ' will read all rows: build it first') %}
            {% do return(0) %}
        {% elif change_tables.read_again(log.spec).passed and checkpoint.quarantined.waiting > 0 %}
            {#- runs may have passed them, by a `waiting_days` of then -#}
            {% do print(place ~ 'left alone: ' ~ log.relation ~ ' has rows that wait: they come in, from raw, when what they wait for lands') %}
            {% do return(0) %}
        {% elif checkpoint.quarantined.rejected > 0 and not with_rejected %}
            {% do print(
                place ~ 'left alone: ' ~ log.relation ~ ' has rejected ' ~ checkpoint.quarantined.rejected
                ~ ' rows, which only raw can give again once the entry is right: correct it, or add --with-rejected'
            ) %}
            {% do return(0) %}
        {% endif %}
        {% do logs.append(dict(log, checkpoint=checkpoint, arrival=arrival, counted=change_tables.is_below_watermark(arrival, checkpoint.watermark, checkpoint.lookback))) %}
    {% endfor %}
    {% set found = change_tables._look_at_rows_to_purge(table, logs, older_than) %}
    {% for log in logs %}
        {% set rows = found.logs[loop.index0] %}
        {% set missing = log.checkpoint.watermark_rows - rows.before %}
        {% set noted = change_tables.properties_of_view(load_cached_relation(log.relation)).get('change_tables.purged') or '0' %}
        {% if missing > 0 and missing == noted | int %}
            {% do print(place ~ log.relation ~ ': ' ~ missing ~ ' rows that an earlier purge has deleted are taken off its count') %}
            {% do change_tables.take_off(log, missing) if not dry_run %}
            {% do rows.update({'is_resumed': true}) %}
        {% elif missing != 0 %}
            {% do print(
                place ~ 'left alone: ' ~ log.relation ~ ' has counted ' ~ log.checkpoint.watermark_rows ~ ' rows that it has read for good, and ' ~ rows.before
                ~ " are there: build it with --vars '{change_tables_rescan: true}' first"
            ) %}
            {% do return(0) %}
        {% endif %}
    {% endfor %}
    {% if found.logs | selectattr('is_resumed', 'defined') | list %}
        {#- the checkpoints have changed: looked at anew -#}
        {% do return(0 if dry_run else change_tables._purge_table(place, table, older_than, dry_run, with_rejected)) %}
    {% elif ' exists ' in found.delete %}
        {% do print(place ~ 'left alone: it has more than ' ~ change_tables.most_groups_as_conditions() ~ " groups of positions, and a delete takes no list of them") %}
        {% do return(0) %}
    {% elif found.rows == 0 %}
        {% do print(place ~ 'nothing to delete') %}
        {% do return(0) %}
    {% elif not dry_run %}
        {% for log in logs %}
            {% do change_tables.set_properties_of_view(log.relation, {'change_tables.purged': found.logs[loop.index0].before - found.logs[loop.index0].after}) %}
        {% endfor %}
    {% endif %}
    {% do change_tables.send_or_say(found.delete, found.rows ~ ' rows', dry_run) %}
    {% for log in logs if not dry_run %}
        {% do change_tables.take_off(log, found.logs[loop.index0].before - found.logs[loop.index0].after) %}
    {% endfor %}
    {% do print(place ~ found.rows ~ ' rows deleted') if not dry_run %}
    {% do return(found.rows) %}
{% endmacro %}


{#-
    What a look at a raw table has found: {rows, delete, logs}.

    rows     how many rows can go
    delete   the statement that deletes them
    logs     of each log how many rows it counts below its watermark, before and after: {before, after}
-#}
{% macro _look_at_rows_to_purge(table, logs, older_than) %}
    {% set spec = logs[0].spec %}
    {% set conditions = [] %}
    {% for log in logs %}
        {% set lookback = [log.spec.lookback, log.checkpoint.lookback] | max %}
        {% set below = change_tables.is_below_watermark(log.arrival, log.checkpoint.watermark, lookback) %}
        {#- an entry that reads some rows alone needs no others -#}
        {% do conditions.append('(not (' ~ log.arrival.only ~ ') or ' ~ below ~ ')' if log.arrival.only else below) %}
        {% set kept = change_tables.read_again(log.spec).for_good %}
        {% do conditions.append('not coalesce(' ~ kept ~ ', false)') if kept != 'false' %}
        {% if older_than is not none %}
            {% set since = run_started_at.replace(tzinfo=none) - modules.datetime.timedelta(days=older_than) - modules.datetime.datetime(1970, 1, 1) %}
            {% set before = since.days if log.arrival.kind == 'date' else (since.days * 86400 + since.seconds) * 1000000 %}
            {% do conditions.append(change_tables.quoted(log.arrival.columns[0]) ~ ' < ' ~ change_tables.arrival_literal(log.arrival, before)) %}
        {% endif %}
    {% endfor %}
    {% if logs | map(attribute='arrival') | selectattr('only') | list | length == logs | length %}
        {#- what no entry reads stays: an entry may yet be declared -#}
        {% do conditions.append('(' ~ logs | map(attribute='arrival.only') | unique | join(' or ') ~ ')') %}
    {% endif %}
    {% set goes = conditions | unique | join('\n    and ') %}
    {% for log in logs if change_tables.format_of(log.spec.format).read_with %}
        {% do conditions.append('not coalesce(' ~ change_tables.format_of(log.spec.format).read_with(log.spec, 'not (' ~ goes ~ ')') ~ ', false)') %}
    {% endfor %}
    {% set goes = conditions | unique | join('\n    and ') %}
    {% set sequence = change_tables.part_of_format(spec, 'landed_sequence') %}
    {% set kept_sequences = 'select distinct ' ~ sequence ~ ' as _ct_sequence from ' ~ table.relation ~ ' where not (' ~ goes ~ ')' %}
    {% set counts = ['count_if(_ct_goes)'] %}
    {% for log in logs %}
        {% set record = log.arrival.record or [] %}
        {% do counts.append(change_tables.count_below_watermark(log.arrival, log.counted, record)) %}
        {% do counts.append(change_tables.count_below_watermark(log.arrival, '(' ~ log.counted ~ ') and not _ct_goes', record)) %}
    {% endfor %}
    {% set rows = run_query(
        'select ' ~ counts | join(', ') ~ ' from (select raw_rows.*, ' ~ goes ~ (' and kept._ct_sequence is null' if sequence) ~ ' as _ct_goes from ' ~ table.relation
        ~ ' as raw_rows' ~ (' left join (' ~ kept_sequences ~ ') as kept on ' ~ sequence ~ ' = kept._ct_sequence' if sequence) ~ ')'
    ).rows[0] %}
    {% set of_logs = [] %}
    {% for log in logs %}
        {% do of_logs.append({'before': rows[2 * loop.index0 + 1] | int, 'after': rows[2 * loop.index0 + 2] | int}) %}
    {% endfor %}
    {#- Delta's `delete` takes no condition that reads a table -#}
    {% set merge = 'merge into ' ~ table.relation ~ ' as raw_rows using (' ~ kept_sequences ~ ') as kept on ' ~ sequence ~ ' = kept._ct_sequence'
        ~ '\nwhen not matched by source and ' ~ goes ~ ' then delete' %}
    {% do return({'rows': rows[0] | int, 'delete': merge if sequence else 'delete from ' ~ table.relation ~ '\nwhere ' ~ goes, 'logs': of_logs}) %}
{% endmacro %}


{#-
    Takes purged rows off the count of a log. The cached checkpoint goes first, as before each change of a table. How many rows had landed below the
    watermark when its last run looked is not known any more: the next run that writes says it anew.
-#}
{% macro take_off(log, number) %}
    {% do change_tables.remove_cached_checkpoint(log.relation) %}
    {% set checkpoint = dict(log.checkpoint, watermark_rows=log.checkpoint.watermark_rows - number, rows_below=none) %}
    {% do change_tables.send_or_say(
        'update ' ~ change_tables.state_relation(log.relation) ~ ' set _checkpoint = ' ~ change_tables.text_literal(tojson(checkpoint))
        ~ ' where _checkpoint = ' ~ change_tables.text_literal(tojson(log.checkpoint)), '', false
    ) %}
{% endmacro %}
