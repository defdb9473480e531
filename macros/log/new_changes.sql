{#-
    What a run has found in its batch or, a first run, in the log itself. Where the log can hold some of the changes, `summarize_reduction`
    says what the two come to together.

    changes                  how many changes there are to write
    revised                  how many of them the log holds otherwise; none before they were reduced together with it
    retracted                how many of these it gives up
    landed_span              the first and the last sequence of changes, and of rejected rows that may retract one
    reaches_log              whether a run that reads on has found one that is not above all that the log has: then that may hold some of them
    lowest_seq, highest_seq  those of the changes
    truncate_seq             the last truncate
    moves                    whether a key moved
    commits                  where the format has `commits`: the highest of the changes, by group
    may_repeat               whether one of them is not above those of the log (see `repeats_transactions`)
    retracted_keys           the keys that states must replay since something that they were told is retracted, by their hashes; none where
                             they are too many to be named, or all
    quarantined_rows         how many rejected and waiting rows were met
    quarantined              how many raw rows are in quarantine as rejected and as waiting after the run, and since when (see
                             `compare_with_quarantine`)
    waiting                  the first place of each group at which a row waits, as texts, in their order
    facts                    what the run says of itself, as far as the batch shows it
-#}
{% macro summarize_batch(spec, run, changes) %}
    {% set rows = change_tables.rows_of_first_run(changes, run.arrival) if run.kind == 'first' else changes %}
    {% set row = run_query(change_tables._summary_of_changes(spec, rows, run)).rows[0] %}
    {% set verdicts = fromjson(row['verdicts'] or '[]') %}
    {% set quarantined = change_tables.nothing_quarantined() %}
    {% for verdict in verdicts if verdict.quarantined_rows > 0 %}
        {% do quarantined.update({verdict.status: quarantined[verdict.status] + verdict.quarantined_rows}) %}
    {% endfor %}
    {% do quarantined.update({'waiting_since': change_tables.batch_id()}) if quarantined.waiting > 0 %}
    {#- the order of commits is that of their texts: a commit above all that the log has is not among them, whatever it means -#}
    {% set commits_before = (run.checkpoint_before or change_tables.checkpoint_of_unbuilt_log()).commits %}
    {% set highest, repeating = {}, [] %}
    {% for verdict in verdicts if verdict.get('highest_commit') %}
        {% do highest.update({verdict.commit_group: [highest.get(verdict.commit_group, ''), verdict.highest_commit] | max(case_sensitive=true)}) %}
        {#- a log that was built while all commits were applied does not say -#}
        {% set highest_before = commits_before.get(verdict.commit_group, '') if commits_before else '~' %}
        {% do repeating.append(verdict) if verdict.lowest_commit <= highest_before %}
    {% endfor %}
    {% set lowest = row.get('lowest_landed', row['lowest_seq']) %}
    {% do return(dict(change_tables._found_of_changes(rows, row), **{
        'commits': highest, 'may_repeat': repeating | length > 0,
        'landed_span': [lowest, row.get('highest_landed', row['highest_seq'])],
        'reaches_log': run.kind == 'since' and lowest is not none and lowest <= run.checkpoint_before.highest_seq,
        'truncate_seq': row['truncate_seq'] or '', 'moves': row['moves'] | int(0) > 0,
        'quarantined_rows': verdicts | sum(attribute='quarantined_rows'), 'quarantined': quarantined,
        'waiting': fromjson(row.get('waiting') or '[]'),
        'facts': change_tables.facts_of_run(row, verdicts),
    })) %}
{% endmacro %}


{#- What was found, by what the changes of a run have come to with those that the log has. -#}
{% macro summarize_reduction(spec, reduced, found) %}
    {% set row = run_query(change_tables._summary_of_changes(spec, reduced)).rows[0] %}
    {% set facts = change_tables.facts_of_run(row, fromjson(row['verdicts'] or '[]')) %}
    {% do return(dict(found, facts=dict(facts, rows=found.facts.rows, codes=found.facts.codes), **change_tables._found_of_changes(reduced, row))) %}
{% endmacro %}


{% macro _found_of_changes(rows, row) %}
    {% do return({
        'changes': row['changes'] | int(0), 'revised': row.get('revised') | int(0), 'retracted': row.get('retracted') | int(0),
        'retracted_keys': change_tables._read_retracted_keys(rows) if row.get('retracted_keys') | int(0) > 0 else [],
        'lowest_seq': row['lowest_seq'], 'highest_seq': row['highest_seq'],
    }) %}
{% endmacro %}


{#- The keys of `_ct_retracted_keys` (see `reduction_steps`), in their order. -#}
{% macro _read_retracted_keys(rows) %}
    {% set most = change_tables.most_retracted_keys() %}
    {% set found = run_query(
        'select distinct explode(_ct_retracted_keys) as _ct_key from ' ~ rows ~ ' where _ct_is_change order by _ct_key limit ' ~ (most + 1)
    ).rows | map(attribute=0) | list %}
    {% do return(found if none not in found and found | length <= most else none) %}
{% endmacro %}


{#-
    A summary of the changes of a run, in one row: first one row a verdict and report, since the run says how many there were of each.

    rows   the batch of `run`, or without a run, what its changes have come to with those of the log
-#}
{% macro _summary_of_changes(spec, rows, run=none) -%}
{#- a first run has set times aside as numbers -#}
{%- set arrival = dict(run.arrival, kind='whole_number') if run and run.arrival and run.kind == 'first' else run.arrival if run else none -%}
{%- set verdict = change_tables._columns_of_verdicts(spec, run) -%}
{%- set totals = change_tables._totals_of_changes(spec, run) -%}
{%- set passed = change_tables.rows_to_pass(spec, run) if arrival else '' -%}
{%- set waiting_group = change_tables.each(arrival.group, '_ct_waiting_since[{text}]') if arrival else [] -%}
with summarized as (

    select
        {%- for name, value in verdict.items() %}
        {{ value }} as {{ name }},
        {%- endfor %}
        {%- for field in waiting_group %}
        {{ field }} as _ct_group_{{ loop.index }},
        {%- endfor %}
        {%- if arrival %}
        min({{ 'if(_ct_passed_id is null, _ct_waiting_since, null)' if passed else '_ct_waiting_since' }}) as _ct_first_waiting,
        {%- endif %}
        {%- for name, (total, value) in totals.items() %}
        {{ value }} as {{ name }}{{ ',' if not loop.last }}
        {%- endfor %}
    from {{ rows }}
    {{- passed }}
    group by all

)

select
    {%- for name, (total, value) in totals.items() %}
    {{ total }}({{ name }}) as {{ name }},
    {%- endfor %}
    {%- if arrival %}
    to_json(transform(array_sort(collect_list(_ct_first_waiting)), place -> array({{ change_tables.arrival_as_texts('place', arrival) | join(', ') }}))) as waiting,
    {%- endif %}
    to_json(collect_list(struct({{ verdict | join(', ') }}, changes))) as verdicts
from summarized
{%- endmacro %}


{% macro _columns_of_verdicts(spec, run) %}
    {% set columns = {
        'report': 'case when _ct_is_change then ' ~ change_tables.code_of('_report') ~ ' end',
        'conflicts': 'count_if(_ct_is_change and _is_conflicting)',
    } %}
    {% do return(columns) if not run %}
    {% do columns.update({
        'status': '_status' if run.kind == 'since' else 'case when _ct_quarantine_id is not null then _status end',
        'code': change_tables.code_of('_status_reason'),
        'raw_rows': 'count(_raw_id)' if change_tables.format_of(spec.format).read_with else 'count(*)',
        'quarantined_rows': 'count(_ct_quarantine_id)',
    }) %}
    {% set commits = change_tables.part_of_format(spec, 'commits') %}
    {% if commits %}
        {% do columns.update({
            'commit_group': 'case when _ct_is_change then ' ~ commits.group ~ ' end',
            'lowest_commit': 'min(' ~ commits.number ~ ') filter (where _ct_is_change)',
            'highest_commit': 'max(' ~ commits.number ~ ') filter (where _ct_is_change)',
        }) %}
    {% endif %}
    {% do return(columns) %}
{% endmacro %}


{#- What the summary has of all changes: name -> how the values of the verdicts are put together, and SQL for those. -#}
{% macro _totals_of_changes(spec, run) %}
    {% set retracts = change_tables.retracts_changes(spec) %}
    {% set of_changes = ' filter (where _ct_is_change)' %}
    {% set totals = {
        'changes': ['sum', 'count_if(_ct_is_change)'],
        'lowest_seq': ['min', 'min(_change_seq)' ~ of_changes],
        'highest_seq': ['max', 'max(_change_seq)' ~ of_changes],
        'first_changed_at': ['min', 'unix_micros(min(_changed_at)' ~ of_changes ~ ')'],
        'last_changed_at': ['max', 'unix_micros(max(_changed_at)' ~ of_changes ~ ')'],
    } %}
    {% set is_compared = not run or run.kind == 'everything' %}
    {% if is_compared %}
        {% do totals.update({
            'revised': ['sum', 'count_if(_ct_is_change and _ct_is_revision)'],
            'retracted_keys': ['sum', 'count(_ct_retracted_keys)' ~ of_changes],
        }) %}
    {% endif %}
    {% if is_compared and retracts %}
        {% do totals.update({'retracted': ['sum', 'count_if(_ct_is_change and _ct_retracts_logged)']}) %}
    {% endif %}
    {% if retracts and run and run.kind == 'since' %}
        {% set landed = ' filter (where _ct_is_change or _ct_is_retraction)' %}
        {% do totals.update({
            'lowest_landed': ['min', 'min(_change_seq)' ~ landed],
            'highest_landed': ['max', 'max(_change_seq)' ~ landed],
        }) %}
    {% endif %}
    {% if run %}
        {% do totals.update({
            'moves': ['sum', 'count(_key_before)' ~ of_changes],
            'truncate_seq': ['max', "max(_change_seq) filter (where _ct_is_change and _change_op = 'truncate')"],
        }) %}
    {% endif %}
    {% do return(totals) %}
{% endmacro %}


{% macro reduction_flags(spec) %}
    {% do return(['_ct_is_revision', '_ct_retracted_keys'] + (['_ct_retracts_logged'] if change_tables.retracts_changes(spec) else [])) %}
{% endmacro %}


{% macro reduced_with_log(spec, run, batch, found) -%}
{%- set retracts = change_tables.retracts_changes(spec) -%}
{%- set columns = change_tables.column_list(change_tables.log_columns(spec)) -%}
with deliveries as (

    select
        {{ columns }},
        _change_id as _ct_identity,
        _ct_is_change as _ct_is_delivery,
        {%- if retracts %}
        _ct_is_retraction,
        {%- endif %}
        false as _ct_is_logged,
        0 as _ct_place
    from {{ batch }}
    where {{ '_ct_is_change or _ct_is_retraction' if retracts else '_ct_is_change' }}
    union all
    {{ change_tables.logged_deliveries(spec, run, landed=batch, span=found.landed_span) | indent(4) }}

),

{{ change_tables.reduction_steps(spec, with_log=true) }}

select
    {{ columns }},
    _ct_is_change,
    {{ change_tables.reduction_flags(spec) | join(', ') }}
from reduced_deliveries
where _ct_is_change
{%- endmacro %}


{#-
    Whether a batch has a transaction that the log has from an earlier place. Asked only where a commit is not above all that the log has in its
    group.
-#}
{% macro repeats_transactions(spec, run, batch) %}
    {% set commits = change_tables.part_of_format(spec, 'commits') %}
    {% set transaction = ([commits.group ~ ' as _ct_group'] + change_tables.each(commits.name, '{name} as _ct_name_{number}')) | join(', ') %}
    {% set same = ['_ct_group'] + change_tables.each(commits.name, '_ct_name_{number}') %}
    {% do return(run_query(
        'select 1 from (select ' ~ transaction ~ ', min(_change_seq) as _ct_first_seq from ' ~ batch ~ ' where _ct_is_change and '
        ~ commits.number ~ ' is not null group by all) as transactions inner join (select ' ~ transaction ~ ', _change_seq from ' ~ run.log
        ~ ' where _checkpoint is null) as logged on ' ~ change_tables.each(same, 'transactions.{name} = logged.{name}') | join(' and ')
        ~ ' and logged._change_seq < transactions._ct_first_seq limit 1'
    ).rows | length > 0) %}
{% endmacro %}


{#-
    Stops where the log holds another change from a position than the one that this run has read there, for formats whose positions name
    one record. A run that reads on by these positions reads none twice, and is not asked. The rows of a load have no position. Another
    record of the same change stops the reduction.
-#}
{% macro refuse_other_records(spec, new_changes, reduced, run) %}
    {% set natural = change_tables.arrival_of_records(spec) %}
    {% set reads_on = run.kind == 'since' and spec.arrival == 'auto' and spec.lookback == 0 %}
    {% if natural and not reads_on %}
        {% set rows = run_query(
            "select source._raw_id from (select * from " ~ new_changes ~ " where _ct_is_change) as source inner join " ~ run.log ~ " as target"
            ~ " on source._raw_id = target._raw_id and target._checkpoint is null where not startswith(source._change_id, 'snapshot:')"
            ~ " and source._change_id <> target._change_id order by source._raw_id limit 3"
        ).rows %}
        {% if rows %}
            {% do adapter.drop_relation(new_changes) %}
            {% do adapter.drop_relation(reduced) if reduced != new_changes %}
            {% do change_tables.refuse_positions_used_again(spec, natural, rows, "another record has landed than the log holds") %}
        {% endif %}
    {% endif %}
{% endmacro %}
