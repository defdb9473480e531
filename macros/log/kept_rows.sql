{#-
    Rejected and waiting raw rows are kept in the log's table, beside its changes, and outlive the raw table. A kept row is known by
    what landed: `_mark` is `kept:` and a hash of the raw row. Columns that are null and the order of columns do not
    count in it, so a raw table can get a column.
    It has the columns of `kept_columns`:

    _status, _status_reason, _raw_row   as staging has them
    _equal_rows  how many raw rows are equal to it
    _healed_at   when a run found that it is neither rejected nor waiting any more; null while it is one of both. A run that reads
                 all raw rows also heals those that it does not find
    _batch_id    the run that met it first

    The mark has in `kept` how many raw rows are kept as rejected and as waiting, healed ones not counted, and in `waiting_since` the
    run that met the oldest one that waits. A run that meets none, and can heal none, asks nothing and writes nothing of them.
-#}

{% macro nothing_kept() %}
    {% do return({'rejected': 0, 'waiting': 0, 'waiting_since': none}) %}
{% endmacro %}


{#- Whether a staged row is to be kept. -#}
{% macro is_to_be_kept(spec, bound) -%}
    {%- set keeps = change_tables.format_of(spec.format).keeps -%}
    _status in ('rejected', 'waiting')
    {%- set condition = keeps(spec, bound) if keeps else none -%}
    {%- if condition %} and {{ '(_ct_is_of_load or ' ~ condition ~ ')' if change_tables._reads_load(spec, bound) else condition }}
    {%- endif %}
{%- endmacro %}


{% macro _reads_load(spec, bound) %}
    {% do return(spec.snapshot and bound.snapshot) %}
{% endmacro %}


{#- The identity of a staged row where it is to be kept, else null. -#}
{% macro kept_id(spec, bound) -%}
    {%- set prefix = "if(_ct_is_of_load, 'kept:load:', 'kept:')" if change_tables._reads_load(spec, bound) else "'kept:'" -%}
case
    when {{ change_tables.is_to_be_kept(spec, bound) }}
        then concat({{ prefix }}, {{ change_tables._hash_of_raw_row('_raw_row') }})
end
{%- endmacro %}


{#- The hash of a raw row, of its JSON. -#}
{% macro _hash_of_raw_row(json) -%}
    sha2(to_json(array_sort(map_entries(map_filter(from_json({{ json }}, 'map<string, string>'), (name, value) -> value is not null)))), 256)
{%- endmacro %}


{#-
    How many rejected rows of a log the raw table no longer has. A row that is there is found by its `_raw_id`, whatever its status is
    by now. Where that is a hash of declared columns, as in Qlik change tables, it is found by its own hash.
-#}
{% macro count_lost_rows(spec, state) %}
    {% set relations = [spec.relation] %}
    {% if spec.snapshot %}
        {% do relations.append(change_tables.source_relation(change_tables.find_source(spec.source_name, spec.snapshot))) %}
    {% endif %}
    {% set hashes = [] %}
    {% for relation in relations %}
        {% set json = 'to_json(struct(*), ' ~ change_tables.json_options() ~ ')' %}
        {% do hashes.append("select concat('" ~ loop.cycle('kept:', 'kept:load:') ~ "', " ~ change_tables._hash_of_raw_row(json) ~ ') as _ct_hash from ' ~ relation) %}
    {% endfor %}
    {% do return(run_query(
        "with " ~ change_tables.staging_steps(spec) ~ " select count(*) as rows from " ~ state ~ " as known"
        ~ " left anti join (select _raw_id from staged) as raw_rows on known._raw_id = raw_rows._raw_id"
        ~ " left anti join (" ~ hashes | join(' union all ') ~ ") as hashes on known._mark = hashes._ct_hash"
        ~ " where " ~ change_tables.is_kept('known.') ~ " and known._healed_at is null and known._status = 'rejected'"
    ).rows[0][0] | int) %}
{% endmacro %}


{#-
    Whether rows that were kept can be among those that a run reads on, and have another status now. A waiting row is read again until
    it settles. A rejected one only by `lookback`, or as part of a change of which more has landed.
-#}
{% macro rereads_kept_rows(spec, mark, is_late) %}
    {% set kept = mark.kept if mark else change_tables.nothing_kept() %}
    {% set judges_together = change_tables.format_of(spec.format).landed_sequence is not none or change_tables.withdraws_changes(spec) %}
    {% do return(kept.waiting > 0 or (kept.rejected > 0 and (spec.lookback != 0 or (is_late and judges_together)))) %}
{% endmacro %}


{#- What was found, with what it means for the rows that the log has kept. Asked only where there can be news. -#}
{% macro compare_with_kept(state, new_changes, run, found) %}
    {% set kept_before = run.mark_before.kept %}
    {% set holds = kept_before.rejected + kept_before.waiting > 0 %}
    {% if found.kept_rows == 0 and not (holds and (run.run == 'everything' or run.rereads or run.snapshot)) %}
        {% do return(dict(found, kept=kept_before, keeps=false, revises_kept=false)) %}
    {% endif %}
    {% set row = run_query(
        "select count_if(_ct_has_news) as news, count_if(_ct_has_news and _ct_is_known) as revised,"
        ~ " sum(case when _healed_at is null and _status = 'rejected' then _equal_rows else 0 end) as rejected,"
        ~ " sum(case when _healed_at is null and _status = 'waiting' then _equal_rows else 0 end) as waiting,"
        ~ " min(case when _healed_at is null and _status = 'waiting' then _batch_id end) as waiting_since"
        ~ " from (" ~ change_tables.kept_rows_of_run(state, new_changes, run) ~ ")"
    ).rows[0] %}
    {% do return(dict(
        found, kept={'rejected': row['rejected'] | int(0), 'waiting': row['waiting'] | int(0), 'waiting_since': row['waiting_since']},
        keeps=row['news'] | int > 0, revises_kept=row['revised'] | int > 0
    )) %}
{% endmacro %}


{#- The rows that the log has kept and those that a run has met, as they are after the run. -#}
{% macro kept_rows_of_run(state, new_changes, run) -%}
    {%- set is_seen = 'others._raw_id is not null' -%}
    {%- if run.run == 'everything' -%}
        {%- set is_seen = 'true' if run.snapshot else "not startswith(kept_before._mark, 'kept:load:')" -%}
    {%- elif run.snapshot -%}
        {%- set is_seen = "(others._raw_id is not null or startswith(kept_before._mark, 'kept:load:'))" -%}
    {%- endif -%}
    select
        coalesce(met._mark, known._mark) as _mark,
        coalesce(known._batch_id, met._batch_id) as _batch_id,
        coalesce(known._raw_id, met._raw_id) as _raw_id,
        coalesce(met._status, known._status) as _status,
        coalesce(met._status_reason, known._status_reason) as _status_reason,
        coalesce(known._raw_row, met._raw_row) as _raw_row,
        coalesce(met._equal_rows, known._equal_rows) as _equal_rows,
        case
            when met._mark is not null then null
            when known._ct_is_healed then {{ change_tables.time_of_run() }}
            else known._healed_at
        end as _healed_at,
        known._mark is not null as _ct_is_known,
        case
            when known._mark is null then true
            when met._mark is null then known._ct_is_healed
            else known._healed_at is not null or struct(met._status, met._status_reason, met._equal_rows) <> struct(known._status, known._status_reason, known._equal_rows)
        end as _ct_has_news
    from (
        select
            _ct_kept_id as _mark,
            max(_batch_id) as _batch_id,
            max(_raw_id) as _raw_id,
            max(_status) as _status,
            max(_status_reason) as _status_reason,
            max(_raw_row) as _raw_row,
            sum(_equal_rows) as _equal_rows
        from {{ new_changes }}
        where _ct_kept_id is not null
        group by _ct_kept_id
    ) as met
    full outer join (
        select
            kept_before.*,
            kept_before._healed_at is null and {{ is_seen }} as _ct_is_healed
        from {{ state }} as kept_before
        {%- if run.run != 'everything' %}
        left join (select distinct _raw_id from {{ new_changes }} where _ct_kept_id is null) as others
            on kept_before._raw_id = others._raw_id
        {%- endif %}
        where {{ change_tables.is_kept('kept_before.') }}
    ) as known
        on met._mark = known._mark
{%- endmacro %}


{#- The time of the run, as a literal. -#}
{% macro time_of_run() -%}
    timestamp '{{ run_started_at.strftime("%Y-%m-%d %H:%M:%S.%f") }}+00:00'
{%- endmacro %}


{#- Whether a row of a log is a kept row. -#}
{% macro is_kept(prefix='') -%}
    startswith({{ prefix }}_mark, 'kept:')
{%- endmacro %}
