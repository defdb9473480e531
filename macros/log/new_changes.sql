{#-
    What the mark and the merge need to know of a set of changes; `known` counts those that the log may hold, none before
    `compare_with_log` has counted them. In a first run the set is the log itself.

    Where a run reads on from where the runs before have settled, rows that are no changes say how far the raw table has settled
    (`settled`), and whether rows wait (`waiting`).
-#}
{% macro probe_changes(spec, run, changes) %}
    {% set reads_on = run.run == 'since' %}
    {% if run.run == 'first' %}
        {% set is_change = '_mark is null' %}
    {% elif reads_on %}
        {% set is_change = '_ct_is_accepted' %}
    {% else %}
        {% set is_change = '(_ct_kept_id is null or _ct_withdraws)' if change_tables.withdraws_changes(spec) else '_ct_kept_id is null' %}
    {% endif %}
    {% set row = run_query(
        "select count_if(" ~ is_change ~ ") as changes,"
        ~ " min(case when " ~ is_change ~ " then _change_seq end) as lowest_seq,"
        ~ " max(case when " ~ is_change ~ " then _change_seq end) as highest_seq,"
        ~ " max(case when " ~ is_change ~ " and _change_op = 'truncate' then _change_seq end) as truncate_seq,"
        ~ " count(case when " ~ is_change ~ " then _key_before end) as moves,"
        ~ (" count_if(_ct_overrules) as overruled, count_if(_ct_is_known)" if run.run == 'everything' else " 0 as overruled, 0") ~ " as known,"
        ~ " count(_status) as kept_rows, sum(case when _status = 'rejected' then _equal_rows else 0 end) as rejected,"
        ~ " sum(case when _status = 'waiting' then _equal_rows else 0 end) as waits"
        ~ (", " ~ change_tables.settled_columns(run.arrival) if reads_on else "")
        ~ " from " ~ changes
    ).rows[0] %}
    {% do return({
        'changes': row['changes'] | int, 'known': row['known'] | int,
        'lowest_seq': row['lowest_seq'], 'highest_seq': row['highest_seq'],
        'truncate_seq': row['truncate_seq'] or '', 'moves': row['moves'] | int > 0,
        'overruled': row['overruled'] | int > 0, 'is_change': is_change,
        'kept_rows': row['kept_rows'] | int, 'kept': {'rejected': row['rejected'] | int(0), 'waiting': row['waits'] | int(0)},
        'keeps': false, 'revises_kept': false,
        'settled': row['settled'] if reads_on else none, 'waiting': (row['waiting'] | int) > 0 if reads_on else none,
    }) %}
{% endmacro %}


{#-
    What was found, with the run's changes compared with those of the log: how many it knows, how many are new or revise one, and
    whether one overrules a key before. Asked only where one may be known: the run's own SQL, where it compares, goes by hashes.
-#}
{% macro compare_with_log(spec, log, new_changes, found) %}
    {% set row = run_query(
        "select count_if(target._change_id is null or (" ~ change_tables.revises(spec) ~ ")) as new_changes,"
        ~ " count(target._change_id) as known,"
        ~ " count_if((" ~ change_tables.overrules_key_before(spec) ~ ") or (" ~ change_tables.overrules_row(spec) ~ ")) as overruled"
        ~ " from (select * from " ~ new_changes ~ " where " ~ found.is_change ~ ") as source left join " ~ log ~ " as target"
        ~ " on source._change_id = target._change_id and source._change_seq = target._change_seq"
        ~ " and target._change_seq between " ~ change_tables.text_literal(found.lowest_seq or '') ~ " and " ~ change_tables.text_literal(found.highest_seq or '')
    ).rows[0] %}
    {% do return(dict(
        found, changes=row['new_changes'] | int, known=row['known'] | int, overruled=row['overruled'] | int > 0
    )) %}
{% endmacro %}


{#- Whether a delivery is no less complete than what the log holds: a raw table that was purged in part takes nothing back. -#}
{% macro is_as_complete(spec) -%}
    not {{ change_tables.compares_completeness(spec, 'target', '>', 'source') }}
{%- endmacro %}


{#- What was found, with the changes of the log that the run's rows take back: see `withdraws_changes`. -#}
{% macro find_withdrawals(spec, log, new_changes, found) %}
    {% set row = run_query(
        "select count(*) as withdrawn, min(_change_seq) as lowest_seq, max(_change_seq) as highest_seq"
        ~ " from (select * from " ~ new_changes ~ " where _ct_withdraws) as source left semi join " ~ log ~ " as target"
        ~ " on source._change_id = target._change_id and source._change_seq = target._change_seq"
        ~ " and " ~ change_tables.is_as_complete(spec)
    ).rows[0] %}
    {% set withdrawn = row['withdrawn'] | int %}
    {% if withdrawn == 0 %}
        {% do return(found) %}
    {% endif %}
    {% do return(dict(
        found, changes=found.changes + withdrawn, known=found.known + withdrawn, overruled=true,
        lowest_seq=[found.lowest_seq or row['lowest_seq'], row['lowest_seq']] | min(case_sensitive=true),
        highest_seq=[found.highest_seq or row['highest_seq'], row['highest_seq']] | max(case_sensitive=true)
    )) %}
{% endmacro %}


{#-
    Whether a run that read its new rows alone has met some which the log reaches: they landed after it had looked for such, and
    rows that landed before may be part of the same changes.
-#}
{% macro has_late_rows_unforeseen(run, found) %}
    {% do return(run.run == 'since' and not run.is_late and found.lowest_seq is not none and found.lowest_seq <= run.mark_before.highest_seq) %}
{% endmacro %}


{#-
    Stops where the log holds another record of a position than the one that this run has read, for formats whose positions name
    one record. A run that reads on by these positions reads none twice, and is not asked. The rows of a load have no position.
-#}
{% macro refuse_other_records(spec, log, new_changes, run, found) %}
    {% set natural = change_tables.natural_arrival(spec) %}
    {% set reads_on = run.run == 'since' and run.arrival.kind == 'positions' and spec.lookback == 0 %}
    {% if natural and natural.record and not reads_on %}
        {% set rows = run_query(
            "select source._raw_id from (select * from " ~ new_changes ~ " where " ~ found.is_change ~ ") as source inner join " ~ log ~ " as target"
            ~ " on source._raw_id = target._raw_id and target._mark is null where not startswith(source._change_id, 'snapshot:')"
            ~ " and (source._change_id <> target._change_id or source._change_op <> target._change_op"
            ~ " or (source._change_op <> 'delete' and " ~ change_tables.hash_as_logged(spec, spec.columns)
            ~ " <> " ~ change_tables.hash_of(spec.columns, 'target') ~ ")) order by source._raw_id limit 3"
        ).rows %}
        {% if rows %}
            {% do adapter.drop_relation(new_changes) %}
            {% do change_tables.refuse_positions_used_again(spec, natural, rows, "another record has landed than the log holds") %}
        {% endif %}
    {% endif %}
{% endmacro %}
