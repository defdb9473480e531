{#-
    For a staging model: fails when it does not have as many rows as the raw tables, or when a row is misjudged: its status
    is not one of the five, it is accepted and has a reason or a raw row, or it is not accepted and lacks one of them.

    With `log` it also proves what reason_codes_known and accepted_changes_once prove, and stages the rows once for all of
    them: every code is explained by the seed, every accepted change is in the log, and none is in the log twice.

    raw      the relations that the model reads: the raw table, and the snapshot where there is one
    beside   where entries share the raw table: the models of the others, and that of unclaimed_rows. Rows of a model are
             counted; those of a mapping {staging, log} are checked as well, and compared with that log
    log      the deduplicated model of the table
    counted  SQL for the rows of the model that are rows of `raw`, where it has others, too; none: all of them

    For a deduplicated model, without `raw`: fails when the raw table does not have as many rows below the watermark as were
    counted there, or the log not as many changes as its runs have put there. Nothing is staged.

    may_be_purged   whether it may have fewer
-#}
{% test raw_rows_accounted_for(model, raw=none, beside=[], log=none, counted=none, may_be_purged=false) %}
{%- if raw is none -%}
{{ change_tables.settled_rows_accounted_for(model, may_be_purged) }}
{%- else -%}
{%- set judged = [{'staging': model, 'log': log, 'counted': counted}] + beside | selectattr('staging', 'defined') | list -%}
{%- set logged = judged | selectattr('log') | list -%}
-- rows of all kinds go through one aggregate: joins would stage the rows once a join
with all_rows as (
{% for entry in judged %}
    {%- set change = 'struct(' ~ loop.index ~ ' as entry, _change_id)' %}
    select
        {{ "if(" ~ entry.counted ~ ", 'staged', 'staged besides')" if entry.counted else "'staged'" }} as kind,
        _status,
        if(_status = 'accepted', null, {{ change_tables.code_of('_status_reason') }}) as code,
        {{ "if(_status = 'accepted', " ~ change ~ ", null)" if entry.log else 'null' }} as change,
        _status is null
        or _status not in ('accepted', 'merged', 'ignored', 'waiting', 'rejected')
        or (_status = 'accepted') <> (_status_reason is null)
        or (_status = 'accepted') <> (_raw_row is null)
        {%- if entry.log %}
        or (_status = 'accepted') and _change_id is null
        {%- endif %} as is_misjudged
    from {{ entry.staging }}
    {%- if entry.log %}
    union all
    select 'logged' as kind, 'accepted' as _status, null as code, {{ change }} as change, false as is_misjudged
    from {{ entry.log }}
    {%- endif %}
    union all
{%- endfor %}
{%- if logged %}
    select 'explained' as kind, status as _status, code, null as change, false as is_misjudged
    from {{ ref('change_tables', 'reason_codes') }}
    union all
{%- endif %}
{%- for relation in beside | rejectattr('staging', 'defined') %}
    select 'staged' as kind, null as _status, null as code, null as change, false as is_misjudged
    from {{ relation }}
    union all
{%- endfor %}
{%- for relation in (raw if raw is sequence else [raw]) %}
    select 'raw' as kind, null as _status, null as code, null as change, false as is_misjudged
    from {{ relation if change_tables.has_landed(relation) else '(select 1 where false)' }}
    {%- if not loop.last %}
    union all
    {%- endif %}
{%- endfor %}

),

compared as (

    select
        _status,
        code,
        change,
        count_if(kind = 'raw') as raw_rows,
        count_if(kind = 'staged') as staged_rows,
        count_if(is_misjudged) as misjudged_rows,
        bool_or(startswith(kind, 'staged')) as is_staged,
        bool_or(kind = 'explained') as is_explained,
        count_if(kind = 'logged') as times_logged
    from all_rows
    group by _status, code, change

),

totals as (

    select
        sum(raw_rows) as raw_rows,
        sum(staged_rows) as staged_rows,
        sum(misjudged_rows) as misjudged_rows
        {%- if logged %},
        array_join(sort_array(collect_set(if(is_staged and not is_explained, concat(_status, ': ', code), null))), ', ') as unknown_codes,
        count_if(is_staged and times_logged = 0 and change is not null) as changes_not_in_log,
        min(if(is_staged and times_logged = 0, change, null)) as first_not_in_log,
        count_if(times_logged > 1) as changes_twice_in_log,
        min(if(times_logged > 1, change, null)) as first_twice_in_log
        {%- endif %}
    from compared

)

select *
from totals
where
    raw_rows <> staged_rows
    or misjudged_rows > 0
    {%- if logged %}
    or unknown_codes <> ''
    or changes_not_in_log > 0
    or changes_twice_in_log > 0
    {%- endif %}
{%- endif -%}
{% endtest %}
