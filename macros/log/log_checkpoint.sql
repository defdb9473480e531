{#-
    The checkpoint of a log: what it has taken in.

    storage_version        that of the tables (see `storage_version`)
    log                    which log it is: the run that built it
    origin                 the `log` that it began as: a full refresh keeps it, since that stops where changes would be lost. A log that
                           was set back begins again. States compare it (see `refuse_lesser_log`)
    batch                  the last run that changed what states must know
    extends                the batch before, if all that `batch` took in comes after all that was there: a state of that batch has no late
                           events, unless rows move. Else none
    held_changes           how many it holds; a rescan counts them
    reset_seq              the sequence of the last reset, a truncate or a load: every key before it has ended
    highest_seq            the highest sequence: a batch above it has nothing that the log holds
    loads                  the loads that ended keys
    load_times             when loads were taken, as `snapshot_time` has said, by sequence
    commits                where the format has `commits`: the highest of each group
    moves                  whether keys have moved
    retracted_keys         lists of a run and of the keys, by their hashes, of which it has retracted something that states were told:
                           these replay the keys. The latest runs alone, so that there are no more keys than `most_retracted_keys`
    rebuild                the last run after which states must be rebuilt: the log was set back, or what it has retracted is not in
                           `retracted_keys`
    snapshot_seq           the load that it has taken in
    arrival                the arrival by which it reads, and of which rows
    quarantined            how many raw rows are in quarantine as rejected, as waiting, and which run met the oldest one that waits
    watermark              how far raw rows have been read for good, as places (see `watermark_after_run`)
    watermark_rows         how many raw rows, or records with a position, are below it
    lookback               the `lookback` by which they were counted
    counts_all             see `raw_bound`
    rows_below             how many rows had landed below the watermark when the run looked: more of them in the next run were passed
                           over
    key, columns           the declared key, and the declared columns and their types
    order                  the settings that decide how sequences are made
    schema_version         how many times columns have changed
    added, absent          in which version a column was added, or the raw table was first seen without a retired one (see `spec_in_version`)
    renamed                in which one a column was renamed
    first_names            of a key of several, the first names of its columns
    forgets                whether keys of the entry were forgotten
    has_reported           whether one of its runs has reported a change
    facts                  what its run read and wrote (see `facts_of_run`)
-#}
{% macro log_checkpoint(spec, run, found, reached) %}
    {% set batch = change_tables.batch_id() %}
    {% set checkpoint_before = run.checkpoint_before %}
    {% set before = checkpoint_before or dict(change_tables.checkpoint_of_unbuilt_log(), log=batch, origin=batch) %}
    {% set held = before.held_changes %}
    {% if checkpoint_before and var('change_tables_rescan', false) %}
        {% set counted = run_query('select count(*) from ' ~ change_tables.state_relation(this) ~ ' where _checkpoint is null').rows[0][0] | int %}
        {#- a rescan puts back what is gone, and takes nothing out: that there are too many is still to be seen -#}
        {% set held = [held, counted] | min %}
    {% endif %}
    {% set snapshot_seq = spec.snapshot_seq if spec.snapshot else none %}
    {% set load_times = before.load_times.copy() %}
    {% do load_times.update({snapshot_seq: spec.snapshot_time}) if snapshot_seq and spec.snapshot_time and snapshot_seq not in before.loads %}
    {#- states can have changes that it had -#}
    {% set is_set_back = change_tables.is_set_back(this, checkpoint_before) %}
    {% set writes = checkpoint_before is none or found.changes > 0 or is_set_back or (snapshot_seq is not none and snapshot_seq != checkpoint_before.snapshot_seq) %}
    {% set extends = before.extends %}
    {% if checkpoint_before and writes %}
        {% set is_in_time = found.lowest_seq is none or found.lowest_seq > [before.highest_seq, before.reset_seq] | max(case_sensitive=true) %}
        {% set extends = before.batch if is_in_time else none %}
    {% endif %}
    {% set retracted_keys = change_tables._retracted_keys_after(spec, before, batch, found.retracted_keys) %}
    {% set unnamed = before.retracted_keys | reject('in', retracted_keys) | map('first') | list %}
    {% set commits = before.commits.copy() %}
    {% for group, number in found.commits.items() %}
        {% do commits.update({group: [commits.get(group, ''), number] | max(case_sensitive=true)}) %}
    {% endfor %}
    {% do return({
        'storage_version': change_tables.storage_version(),
        'log': before.log,
        'origin': batch if is_set_back else before.origin,
        'batch': batch if writes else before.batch,
        'extends': extends,
        'held_changes': held + found.changes - found.revised - found.retracted,
        'reset_seq': [before.reset_seq, found.truncate_seq, snapshot_seq or ''] | max(case_sensitive=true),
        'highest_seq': [before.highest_seq, found.highest_seq or ''] | max(case_sensitive=true),
        'loads': before.loads + ([snapshot_seq] if snapshot_seq and snapshot_seq not in before.loads else []),
        'load_times': load_times,
        'commits': commits,
        'moves': before.moves or found.moves,
        'retracted_keys': retracted_keys,
        'rebuild': (unnamed + [batch if is_set_back or found.retracted_keys is none else before.rebuild]) | max,
        'snapshot_seq': before.snapshot_seq if snapshot_seq is none else snapshot_seq,
        'arrival': change_tables.arrival_in_checkpoint(run.arrival),
        'quarantined': found.quarantined,
        'watermark': reached.watermark,
        'watermark_rows': reached.rows,
        'lookback': spec.lookback,
        'counts_all': run.counts_all,
        'rows_below': reached.rows_below,
        'key': spec.key,
        'order': change_tables.settings_of_order(spec),
        'columns': change_tables.column_types(spec),
        'schema_version': spec.schema_version,
        'added': spec.added,
        'absent': spec.absent,
        'renamed': spec.renamed_in,
        'first_names': change_tables.first_names_of_key(spec),
        'forgets': before.forgets or change_tables.has_forgotten_keys(spec),
        'has_reported': before.has_reported or found.facts.reports | length > 0,
    }) %}
{% endmacro %}


{#-
    The lists of `retracted_keys` after a run. Those of runs before it stay while there is room for them, the latest ones longest, and while
    the key has the types whose hashes they have.
-#}
{% macro _retracted_keys_after(spec, before, batch, keys) %}
    {% do return([]) if keys is none %}
    {% set narrower = before.get('columns', {}).items() | selectattr(0, 'in', spec.key) | reject('in', change_tables.column_types(spec).items()) | list %}
    {% set lists = ([] if narrower else before.retracted_keys) + ([[batch, keys]] if keys else []) %}
    {% for _ in range(lists | length) %}
        {% do lists.pop(0) if lists | map('last') | map('length') | sum > change_tables.most_retracted_keys() %}
    {% endfor %}
    {% do return(lists) %}
{% endmacro %}


{#- A checkpoint is read by every run, and kept with the view as well (see `cached_checkpoint`): it has no room for more. -#}
{% macro most_retracted_keys() %}
    {% do return(100) %}
{% endmacro %}


{#-
    The checkpoint of a first build comes after its rows, since it says what is counted in them. It is written only where the table is
    still the one that this run made. Until it is there, the table counts as never built. It takes the place of the rows that were set aside.

    found   what the run found in the table (see `summarize_batch`)
-#}
{% macro first_checkpoint(spec, state, checkpoint, found) -%}
{%- set guard -%}
case
        when (select count_if(_checkpoint is null) = {{ found.changes }} and count_if(_batch_id = '{{ checkpoint.batch }}') = count(*) from {{ state }}) then true
        else {{ change_tables.refuse_other_build() }}
    end
{%- endset -%}
{{ change_tables.put_first_checkpoint(state, checkpoint, found.quarantined_rows > 0 or found.waiting != [], change_tables.log_columns(spec), guard) }}
{%- endmacro %}
