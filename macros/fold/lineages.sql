{#-
    Rows that move from key to key, where a change has only some columns: what it lacks is at the key where the row was before.

    A tenancy is the stay of a row at a key: from the change that brought it there (`_ct_tenancy` is that change's id) to the
    one that ended it or took it away. Tenancies that moves join are one lineage, named by the first of them.
-#}

{#- The given events, each with the lineage of its row; none where no move touched the key. -#}
{% macro followed_steps(spec, run) -%}
{{ change_tables._tenancy_steps(spec, run) }},

links as (

    select
        max(case when _ct_enters then _ct_tenancy end) as _ct_tenancy,
        max(case when _precedence = {{ change_tables.precedence_of('departure') }} then _ct_tenancy end) as _ct_tenancy_before
    from tenancies
    group by _change_id
    having _ct_tenancy is not null and _ct_tenancy_before is not null

),

-- one row, of links alone: two ids a move
collected_links as (

    select
        array_agg(_ct_tenancy) as _ct_tenancy,
        array_agg(_ct_tenancy_before) as _ct_tenancy_before
    from links

),

traced_links as (

    select
        _ct_tenancy,
        first_ancestors(_ct_tenancy, _ct_tenancy_before) as _ct_first_tenancy
    from collected_links

),

lineages as (

    select inline(arrays_zip(_ct_tenancy, _ct_first_tenancy))
    from traced_links

),

followed_events as (

    select
        marked_events.*,
        coalesce(lineages._ct_first_tenancy, tenancies._ct_tenancy) as _ct_lineage,
        coalesce(tenancies._ct_ends_covered_row, false) as _ct_ends_covered_row
    from marked_events
    left join tenancies
        on
            {{ change_tables.same_key(spec.key, 'marked_events', 'tenancies') }}
            and marked_events._change_seq = tenancies._change_seq
            and marked_events._precedence = tenancies._precedence
            and marked_events._change_id <=> tenancies._change_id
    left join lineages
        on tenancies._ct_tenancy = lineages._ct_tenancy

)
{%- endmacro %}


{#-
    The tenancy of every event of the keys that moves touched. Inside one transaction a row may enter a key whose row has
    not left yet: whoever entered first leaves first, and the end of the transaction leaves the newest. Such an end of a
    covered row (`_ct_ends_covered_row`) changes nothing at the key itself.
-#}
{% macro _tenancy_steps(spec, run) -%}
{%- set given = change_tables.given_events(run) -%}
-- no join of keys with events: Spark would push it into every branch of the events
marked_events as (

    select
        *,
        max(_ct_enters or _precedence = {{ change_tables.precedence_of('departure') }}) over (
            partition by {{ change_tables.column_list(spec.key) }}
        ) as _ct_is_moved
    from {{ given }}

),

replayed_tenancies as (

    select
        {{ change_tables.column_list(spec.key) }},
        aggregate(
            array_sort(collect_list(struct(
                _change_seq, cast(_precedence as int) as _precedence, _change_id, _transaction_id, _ct_enters, _is_deleted
            ))),
            named_struct(
                'transaction_id', cast(null as string),
                'queue', cast(array() as array<string>),
                'tenancies', cast(array() as array<struct<
                    _change_seq: string, _precedence: int, _change_id: string, _ct_enters: boolean,
                    _ct_tenancy: string, _ct_ends_covered_row: boolean
                >>)
            ),
            (held, event) -> {{ change_tables._replayed_event() }}
        ).tenancies as _ct_tenancies
    from marked_events
    where _ct_is_moved
    group by {{ change_tables.column_list(spec.key) }}

),

tenancies as (

    select
        {{ change_tables.column_list(spec.key) }},
        _change_seq,
        _precedence,
        _change_id,
        _ct_enters,
        _ct_tenancy,
        _ct_ends_covered_row
    from replayed_tenancies
        lateral view inline(_ct_tenancies) as _change_seq, _precedence, _change_id, _ct_enters, _ct_tenancy, _ct_ends_covered_row

)
{%- endmacro %}


{#- One event in the replay of a key: who is in the queue after it, and whose event it was. -#}
{% macro _replayed_event() -%}
{%- set queue -%}
if(event._transaction_id = held.transaction_id or size(held.queue) < 2, held.queue, slice(held.queue, -1, 1))
{%- endset -%}
{#- a row whose base is not known does not live, and holds its place all the same -#}
{%- set is_end -%}
(event._is_deleted and event._precedence in ({{ change_tables.precedence_of('departure') }}, {{ change_tables.precedence_of('delete') }}))
{%- endset -%}
{%- set is_truncate = 'event._precedence = ' ~ change_tables.precedence_of('truncate') -%}
named_struct(
                'transaction_id', event._transaction_id,
                'queue', case
                    when {{ is_truncate }} then cast(array() as array<string>)
                    when {{ is_end }} then slice({{ queue }}, 2, size(held.queue))
                    when event._ct_enters or size(held.queue) = 0 then concat({{ queue }}, array(event._change_id))
                    else {{ queue }}
                end,
                'tenancies', concat(held.tenancies, array(named_struct(
                    '_change_seq', event._change_seq,
                    '_precedence', event._precedence,
                    '_change_id', event._change_id,
                    '_ct_enters', event._ct_enters,
                    '_ct_tenancy', case
                        when {{ is_truncate }} then get(held.queue, size(held.queue) - 1)
                        when {{ is_end }} then get({{ queue }}, 0)
                        when event._ct_enters or size(held.queue) = 0 then event._change_id
                        else get(held.queue, size(held.queue) - 1)
                    end,
                    '_ct_ends_covered_row', {{ is_end }} and size({{ queue }}) > 1
                )))
            )
{%- endmacro %}


{#- The rows that nothing ended when another came to their key: that one has covered them for good. -#}
{% macro covered_row_steps(spec) -%}
stays as (

    select
        {{ change_tables.column_list(spec.key) }},
        _ct_tenancy,
        min(struct(_change_seq, _precedence)) as _ct_began,
        bool_or(_precedence in (
            {{ change_tables.precedence_of('truncate') }}, {{ change_tables.precedence_of('departure') }}, {{ change_tables.precedence_of('delete') }}
        )) as _ct_is_ended
    from tenancies
    where _ct_tenancy is not null
    group by {{ change_tables.column_list(spec.key) }}, _ct_tenancy

),

followed_stays as (

    select
        *,
        lead(_ct_tenancy) over (partition by {{ change_tables.column_list(spec.key) }} order by _ct_began, _ct_tenancy) as _ct_covered_by
    from stays

),

covered_rows as (

    select
        {{ change_tables.column_list(spec.key) }},
        _ct_tenancy as _change_id,
        _ct_began['_change_seq'] as _change_seq,
        _ct_covered_by
    from followed_stays
    where not _ct_is_ended and _ct_covered_by is not null

)
{%- endmacro %}
