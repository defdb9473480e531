{#-
    `change-tables maintain`: brings the tables that the package writes into few files, and deletes files that no version within the
    retention has, batches of runs that died, and old rows of the table of runs.

    Each statement is one commit, or deletes what nothing reads, and all but the last leave the rows as they are. So whichever is the last one
    that is sent, every table is whole, and the same command again does what is left. Tables are done one after the other: of what a stopped
    command has come to nothing is left. Where a run writes at the same time, Delta lets one of the two fail, and nothing is lost.

    `optimize` has no order. So it reads small files alone, and none where it did so before. States have statistics of no key column: an order
    by key would let runs skip nothing. Of logs it would write the whole table each time, and runs read new rows, which no order moves.
-#}

{#-
    dry_run      say what would be sent, and change nothing
    retain_days  how long files are kept that were replaced; none: as the tables say, by Delta's default seven days
    force        allow less than seven days: then no run and no reader may be at work
    keep_runs    how many days rows of the table of runs are kept; none: for good
    include      patterns of the names of models; none: all models, and the table of runs
-#}
{% macro maintain(dry_run=false, retain_days=none, force=false, keep_runs=none, include=[]) %}
    {% set models = change_tables.models_with_tables('maintain', include) %}
    {% do change_tables._set_retention(retain_days, force) %}
    {#- by default a vacuum lists even an empty folder in 10,000 tasks: 42 s of processor time, and 1 to 3 with two -#}
    {% do change_tables.set_in_session('spark.sql.sources.parallelPartitionDiscovery.parallelism', 8) %}
    {#- a run that began before all that is retained has lost the files that it reads: it is not alive -#}
    {% set retained_since = (run_started_at - modules.datetime.timedelta(days=7 if retain_days is none else retain_days)).strftime('%Y%m%dT%H%M%S%f') %}
    {% set done = [] %}
    {% for found in models %}
        {% set place = loop.index ~ '/' ~ loop.length ~ ' ' %}
        {% for batch in change_tables.batches_before(found.relation, retained_since, found.node) %}
            {% do change_tables.send_or_say(change_tables.drop_of('table', batch), 'left by a run that died', dry_run) %}
            {% do print(place ~ batch ~ ': dropped, left by a run that died') if not dry_run %}
        {% endfor %}
        {% for table in [change_tables.state_relation(found.relation, found.node), change_tables.quarantine_relation(found.relation)] %}
            {% do done.append(change_tables._maintain_table(place, table, retain_days, dry_run)) %}
        {% endfor %}
    {% endfor %}
    {% do done.append(change_tables._maintain_table('', change_tables.acknowledgements(), retain_days, dry_run)) if not include %}
    {% set runs = change_tables.table_of_runs() %}
    {% if runs is not none and not include %}
        {% do change_tables._trim_runs(runs, keep_runs, dry_run) if keep_runs is not none %}
        {% do done.append(change_tables._maintain_table('', runs, retain_days, dry_run)) %}
    {% endif %}
    {% set tables = done | select | list %}
    {% do print(
        tables | length ~ ' tables, ' ~ tables | sum(attribute='before') ~ ' files' ~ (', now ' ~ tables | sum(attribute='after') if not dry_run)
    ) %}
{% endmacro %}


{#- Refuses a retention by which a run or a reader could lose files that it reads; Delta then asks for a setting of the session. -#}
{% macro _set_retention(retain_days, force) %}
    {% if retain_days is not none and (retain_days is boolean or retain_days is not number or retain_days < 0) %}
        {% do change_tables.refuse_command('maintain', '`retain_days` must be a number of days, got ' ~ change_tables.shown_value(retain_days)) %}
    {% elif retain_days is not none and retain_days < 7 %}
        {% if not force %}
            {% do change_tables.refuse_command(
                'maintain', 'a retention of less than 7 days deletes files that a run or a reader may still need, got ' ~ retain_days
                ~ '; where none is at work, add --force'
            ) %}
        {% endif %}
        {% do change_tables.allow_short_retention() %}
    {% endif %}
{% endmacro %}


{#- Compacts and vacuums a table. Returns how many files it had and has: {before, after}; none where it is not there, or not Delta's. -#}
{% macro _maintain_table(place, table, retain_days, dry_run) %}
    {% set existing = load_cached_relation(table) %}
    {% do return(none) if not change_tables.is_maintained(existing) %}
    {% set before = change_tables.live_files(table) %}
    {% set why = before ~ ' files' %}
    {#- first, so that what it replaces can go by the next vacuum of the table -#}
    {% do change_tables.send_or_say(change_tables.compaction_of(table), why, dry_run) if before > 1 %}
    {% do change_tables.send_or_say(change_tables.deletion_of_replaced_files(table, retain_days), 'files that were replaced', dry_run) %}
    {% set after = before if dry_run or before <= 1 else change_tables.live_files(table) %}
    {% do print(place ~ table ~ ': ' ~ before ~ ' files' ~ (', now ' ~ after if after != before)) if not dry_run %}
    {% do return({'before': before, 'after': after}) %}
{% endmacro %}


{#-
    Deletes old rows of the table of runs, but not the last one of a log: a run writes that of the run before again where it is not there. A merge,
    since Delta's `delete` takes no condition that reads a table.
-#}
{% macro _trim_runs(runs, keep_runs, dry_run) %}
    {% if keep_runs is boolean or keep_runs is not number or keep_runs < 0 %}
        {% do change_tables.refuse_command('maintain', '`keep_runs` must be a number of days, got ' ~ change_tables.shown_value(keep_runs)) %}
    {% endif %}
    {% if load_cached_relation(runs) is not none %}
        {% set until = run_started_at - modules.datetime.timedelta(days=keep_runs) %}
        {% set old %}
select log, batch_id
from (select log, batch_id, started_at, max(batch_id) over (partition by log) as last_batch from {{ runs }})
where started_at < timestamp '{{ until.strftime('%Y-%m-%d %H:%M:%S') }}+00:00' and batch_id < last_batch
        {%- endset %}
        {% set number = run_query('select count(*) from (' ~ old ~ ')').rows[0][0] | int %}
        {% if number > 0 %}
            {% do change_tables.send_or_say(
                'merge into ' ~ runs ~ ' as target using (' ~ old ~ ') as old_rows on target.log = old_rows.log and target.batch_id = old_rows.batch_id'
                ~ ' when matched then delete', number ~ ' rows older than ' ~ keep_runs ~ ' days', dry_run
            ) %}
            {% do print(runs ~ ': ' ~ number ~ ' rows deleted, older than ' ~ keep_runs ~ ' days') if not dry_run %}
        {% endif %}
    {% endif %}
{% endmacro %}
