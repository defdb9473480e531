{#-
    Rejected and waiting raw rows are quarantined: they are in a table of their own beside the log, `<name>__quarantine`, and outlive the
    raw table. A row of it is known by what landed: `_row_id` is a hash of the raw row, with `load:` before it where that is of a load.
    Columns that are null and the order of columns do not count in it, so a raw table can get a column. So to write what a run has met twice
    changes nothing, and it needs no common commit with the log: it comes before that.

    The log's checkpoint has in `quarantined` how many raw rows are so as rejected and as waiting, healed ones not counted, and in
    `waiting_since` the run that met the oldest one that waits. A run that meets none, and can heal none, asks nothing and writes nothing
    of them.
-#}

{#-
    The columns of the table: name -> type.

    _batch_id       the run that met the row first
    _status, _status_reason, _raw_row   as staging has them
    _equal_rows     how many raw rows are equal to it
    _healed_at      when a run found that it is neither rejected nor waiting any more; null while it is one of both. A run that reads
                    all raw rows also heals those that it does not find
-#}
{% macro quarantine_columns() %}
    {% do return({
        change_tables.row_id_column(): 'string',
        '_batch_id': 'string',
        '_raw_id': 'string',
        '_status': 'string',
        '_status_reason': 'string',
        '_raw_row': 'string',
        '_equal_rows': 'bigint',
        '_healed_at': 'timestamp',
    }) %}
{% endmacro %}


{% macro nothing_quarantined() %}
    {% do return({'rejected': 0, 'waiting': 0, 'waiting_since': none}) %}
{% endmacro %}


{#- The `_row_id` of a staged row that goes into quarantine, since it is rejected or waits, else null. -#}
{% macro quarantine_id(spec, bound) -%}
    {%- set hash = change_tables._hash_of_raw_row('_raw_row') -%}
case
    when _status in ('rejected', 'waiting')
        then {{ "concat(if(_ct_is_of_load, 'load:', ''), " ~ hash ~ ')' if spec.snapshot and bound.snapshot else hash }}
end
{%- endmacro %}


{% macro _hash_of_raw_row(json) -%}
    {#- as a variant, in which numbers keep their digits, unless that takes no text of the size -#}
    {%- set row = 'coalesce(try_variant_get(try_parse_json(' ~ json ~ "), '$', 'map<string, string>'), from_json(" ~ json ~ ", 'map<string, string>'))" -%}
    sha2(to_json(array_sort(map_entries(map_filter({{ row }}, (name, value) -> value is not null)))), 256)
{%- endmacro %}


{#-
    The first run of a log reads raw once: the rows to be quarantined, and those that block the watermark, come with the changes. They are set
    aside, as texts in `_checkpoint`: the checkpoint takes their place once they were copied, and the watermark is known.

    is_set_aside   SQL for whether a row is
-#}
{% macro set_aside_as_checkpoint(run, is_set_aside) -%}
case
    when {{ is_set_aside }}
        then concat('aside:', to_json(struct(_ct_quarantine_id, _status, _status_reason, _raw_row{{
            ', array(' ~ change_tables.arrival_as_texts('_ct_waiting_since', run.arrival) | join(', ') ~ ') as _ct_texts' if run.arrival
        }})))
end
{%- endmacro %}


{#-
    The table of such a run, with the texts as columns.

    arrival   none: without the place at which a row waits, which is in numbers, as places are
    alone     whether the statement stops where another run has made the table since
-#}
{% macro rows_of_first_run(state, arrival=none, alone=false) -%}
(
        select *, _checkpoint is null as _ct_is_change, _ct_row.*{{ ', ' ~ change_tables.arrival_of_texts(arrival, '_ct_row._ct_texts') ~ ' as _ct_waiting_since' if arrival }}
        from (
            select *, from_json(substring(_checkpoint, 7), '_ct_quarantine_id string, _status string, _status_reason string, _raw_row string, _ct_texts array<string>') as _ct_row
            from {{ state }}
            {%- if alone %}
            where
                case
                    when (select count_if(_batch_id = '{{ change_tables.batch_id() }}') = count(*) from {{ state }}) then true
                    else {{ change_tables.refuse_other_build() }}
                end
            {%- endif %}
        )
    )
{%- endmacro %}


{#- The rows that a run has found, once each. -#}
{% macro quarantined_rows(rows) -%}
select
    _ct_quarantine_id as {{ change_tables.row_id_column() }},
    max(_batch_id) as _batch_id,
    max(_raw_id) as _raw_id,
    max(_status) as _status,
    max(_status_reason) as _status_reason,
    max(_raw_row) as _raw_row,
    count(*) as _equal_rows,
    cast(null as timestamp) as _healed_at
from {{ rows }}
where _ct_quarantine_id is not null
group by _ct_quarantine_id
{%- endmacro %}


{#- Makes the table where it is not there: empty, what was in it is found by a rescan. -#}
{% macro ensure_quarantine(quarantine) %}
    {% if change_tables.found_relation(quarantine) is none %}
        {% call statement('quarantine') %}
            {{ change_tables.create_state_table(quarantine, columns=change_tables.quarantine_columns(), over=false, found_by=[change_tables.row_id_column()]) }}
        {% endcall %}
    {% endif %}
{% endmacro %}


{#-
    How many rejected rows of a log the raw table no longer has. A row that is there is found by its `_raw_id`, whatever its status is
    by now. Where that is a hash of declared columns, as in Qlik change tables, it is found by its own hash.
-#}
{% macro count_lost_rows(spec, quarantine) %}
    {% set hashes = [] %}
    {% for relation in [spec.relation, change_tables.relation_of_setting(spec, 'snapshot')] | reject('none') %}
        {% set json = 'to_json(struct(*), ' ~ change_tables.json_options() ~ ')' %}
        {% do hashes.append("select concat('" ~ loop.cycle('', 'load:') ~ "', " ~ change_tables._hash_of_raw_row(json) ~ ') as _ct_hash from ' ~ relation) %}
    {% endfor %}
    {% do return(run_query(
        "with " ~ change_tables.staging_steps(spec) ~ " select count(*) as rows from " ~ quarantine ~ " as held_rows"
        ~ " left anti join (select _raw_id from staged) as raw_rows on held_rows._raw_id = raw_rows._raw_id"
        ~ " left anti join (" ~ hashes | join(' union all ') ~ ") as hashes on held_rows." ~ change_tables.row_id_column() ~ " = hashes._ct_hash"
        ~ " where " ~ change_tables.is_open('rejected')
    ).rows[0][0] | int) %}
{% endmacro %}


{#-
    Whether a run may find that rows in quarantine have another status now. A run that reads everything, or a load, reads them again. One that
    reads on reads a waiting row again until it is below the watermark, and a rejected one only by `lookback`, or as part of a change of which
    more has landed.
-#}
{% macro _may_heal(spec, run) %}
    {% set quarantined = run.checkpoint_before.quarantined %}
    {% do return(false) if quarantined.rejected + quarantined.waiting == 0 %}
    {% do return(true) if run.kind == 'everything' or run.snapshot or quarantined.waiting > 0 or spec.lookback != 0 %}
    {% set format = change_tables.format_of(spec.format) %}
    {% set judges_together = format.landed_sequence is not none or change_tables.retracts_changes(spec) %}
    {% do return(format.read_with is not none or (run.is_late and judges_together)) %}
{% endmacro %}


{#-
    What was found, with what it means for the rows in quarantine, and whether there is news of these to write (`has_quarantine_news`). Asked
    only where there can be some.
-#}
{% macro compare_with_quarantine(spec, batch, run, found) %}
    {% if found.quarantined_rows == 0 and not change_tables._may_heal(spec, run) %}
        {% do return(dict(found, quarantined=run.checkpoint_before.quarantined, has_quarantine_news=false)) %}
    {% endif %}
    {% set row = run_query(
        "select count_if(_ct_has_news) as news,"
        ~ " sum(case when " ~ change_tables.is_open('rejected') ~ " then _equal_rows else 0 end) as rejected,"
        ~ " sum(case when " ~ change_tables.is_open('waiting') ~ " then _equal_rows else 0 end) as waiting,"
        ~ " min(case when " ~ change_tables.is_open('waiting') ~ " then _batch_id end) as waiting_since"
        ~ " from (" ~ change_tables.quarantine_after_run(batch, run) ~ ")"
    ).rows[0] %}
    {% do return(dict(
        found, quarantined={'rejected': row['rejected'] | int(0), 'waiting': row['waiting'] | int(0), 'waiting_since': row['waiting_since']},
        has_quarantine_news=row['news'] | int > 0
    )) %}
{% endmacro %}


{#- Writes what a run has found of rows in quarantine, where the log is still what this run looked at. -#}
{% macro merge_into_quarantine(batch, run) -%}
{%- set columns = change_tables.quarantine_columns() -%}
merge into {{ change_tables.quarantine_relation(this) }} as target
using (
    select *
    from (
    {{ change_tables.quarantine_after_run(batch, run) | indent(4) }}
    )
    where _ct_has_news and {{ change_tables.stop_if_log_has_changed(run) | indent(8) }}
) as source
    on source.{{ change_tables.row_id_column() }} = target.{{ change_tables.row_id_column() }}
when matched then update set
    {{ change_tables.each(columns, '{name} = source.{name}') | join(',\n    ') }}
when not matched then insert ({{ change_tables.column_list(columns) }})
    values ({{ change_tables.column_list(columns, 'source') }})
{%- endmacro %}


{#- The rows in quarantine and those that a run has found, as they are after the run. -#}
{% macro quarantine_after_run(batch, run) -%}
    {%- set row_id = change_tables.row_id_column() -%}
    {%- set is_of_load = "startswith(quarantined." ~ row_id ~ ", 'load:')" -%}
    {%- set is_seen = 'others._raw_id is not null' -%}
    {%- if run.kind == 'everything' -%}
        {%- set is_seen = 'true' if run.snapshot else 'not ' ~ is_of_load -%}
    {%- elif run.snapshot -%}
        {%- set is_seen = '(others._raw_id is not null or ' ~ is_of_load ~ ')' -%}
    {%- endif -%}
    select
        coalesce(found_rows.{{ row_id }}, held_rows.{{ row_id }}) as {{ row_id }},
        coalesce(held_rows._batch_id, found_rows._batch_id) as _batch_id,
        coalesce(held_rows._raw_id, found_rows._raw_id) as _raw_id,
        coalesce(found_rows._status, held_rows._status) as _status,
        coalesce(found_rows._status_reason, held_rows._status_reason) as _status_reason,
        coalesce(held_rows._raw_row, found_rows._raw_row) as _raw_row,
        coalesce(found_rows._equal_rows, held_rows._equal_rows) as _equal_rows,
        case
            when found_rows.{{ row_id }} is not null then null
            when held_rows._ct_is_healed then timestamp '{{ run_started_at.strftime("%Y-%m-%d %H:%M:%S.%f") }}+00:00'
            else held_rows._healed_at
        end as _healed_at,
        case
            when held_rows.{{ row_id }} is null then true
            when found_rows.{{ row_id }} is null then held_rows._ct_is_healed
            else held_rows._healed_at is not null or struct(found_rows._status, found_rows._status_reason, found_rows._equal_rows) <> struct(held_rows._status, held_rows._status_reason, held_rows._equal_rows)
        end as _ct_has_news
    from (
        {{ change_tables.quarantined_rows(batch) | indent(8) }}
    ) as found_rows
    full outer join (
        select
            quarantined.*,
            quarantined._healed_at is null and {{ is_seen }} as _ct_is_healed
        from {{ change_tables.quarantine_relation(this) }} as quarantined
        {%- if run.kind != 'everything' %}
        left join (select distinct _raw_id from {{ batch }} where _ct_quarantine_id is null) as others
            on quarantined._raw_id = others._raw_id
        {%- endif %}
    ) as held_rows
        on found_rows.{{ row_id }} = held_rows.{{ row_id }}
{%- endmacro %}
