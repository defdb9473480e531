{#-
    Rows that move from key to key. The events of a key are collected in one row, without their values, and the function
    `rows_at_key` says whose row each of them is about: a row is named by the change that brought it to the key. With partial images,
    these are the keys that moves touched; with full ones, those that one transaction both entered and ended.
-#}

{#-
    The steps that end in `rows_of_events`: for the events of the keys that matter, the change that brought their row to the key
    (`_ct_row`), whether they ended a row that another had covered, and for the event that brought a row, what covered it. A row
    whose base is not known is not shown, and holds its key all the same. A server that others run may lack the function that says it: there,
    rows of full images that exchange their keys in one transaction are followed by SQL alone.

    exchanged_only   only keys that one transaction both entered and ended: no other key has an end of a covered row
-#}
{% macro row_steps(spec, run, exchanged_only) -%}
{%- set by_sql = spec.images == 'full' and change_tables.functions_that_server_lacks(['rows_at_key']) -%}
touched_keys as (

    {% if exchanged_only -%}
    select {{ change_tables.column_list(spec.key) }}
    from all_events
    where _transaction_id is not null and (_ct_enters or _is_deleted)
    group by {{ change_tables.column_list(spec.key) }}, _transaction_id
    having bool_or(_ct_enters) and bool_or(_is_deleted)
    {%- else -%}
    select distinct {{ change_tables.column_list(spec.key) }}
    from all_events
    where _ct_enters or _precedence = {{ change_tables.precedence_of('departure') }}
    {%- endif %}

),

touched_events as (

    select
        {{ change_tables.column_list(spec.key, 'event') }},
        collect_list(struct(
            event._change_seq,
            event._precedence,
            event._change_id,
            event._transaction_id,
            case
                when event._precedence = {{ change_tables.precedence_of('truncate') }} then 'empties'
                when event._precedence in ({{ change_tables.precedence_of('departure') }}, {{ change_tables.precedence_of('delete') }}) then 'takes'
                when event._ct_enters then 'adds'
                else 'sets'
            end as _ct_effect
        )) as _ct_events
    from all_events as event
    left semi join touched_keys
        on {{ change_tables.same_key(spec.key, 'event', 'touched_keys') }}
    group by {{ change_tables.column_list(spec.key, 'event') }}

),

ordered_events as (

    select
        {{ change_tables.column_list(spec.key) }},
        {% if run.has_resets -%}
        array_sort(concat(
            _ct_events,
            transform(_ct_resets, a_reset -> named_struct(
                '_change_seq', a_reset._change_seq,
                '_precedence', cast({{ change_tables.precedence_of('truncate') }} as bigint),
                '_change_id', a_reset._change_id,
                '_transaction_id', a_reset._transaction_id,
                '_ct_effect', 'empties'
            ))
        )) as _ct_events
    from touched_events
    cross join resets
        {%- else -%}
        array_sort(_ct_events) as _ct_events
    from touched_events
        {%- endif %}

),

events_with_rows as (

    select
        *,
        {{ change_tables.rows_at_key_in_sql('_ct_events') if by_sql else "rows_at_key(_ct_events['_change_id'], _ct_events['_ct_effect'], _ct_events['_transaction_id'])" }} as _ct_rows
    from ordered_events

),

rows_of_events as (

    select
        {{ change_tables.column_list(spec.key) }},
        _ct_pair['_ct_events']['_change_seq'] as _change_seq,
        _ct_pair['_ct_events']['_precedence'] as _precedence,
        _ct_pair['_ct_events']['_change_id'] as _change_id,
        _ct_pair['_ct_events']['_ct_effect'] as _ct_effect,
        _ct_pair['_ct_rows']['row_id'] as _ct_row,
        _ct_pair['_ct_rows']['takes_covered_row'] as _ct_takes_covered_row,
        _ct_pair['_ct_rows']['covered_by'] as _ct_covered_by
    from events_with_rows
        lateral view explode(arrays_zip(_ct_events, _ct_rows)) as _ct_pair

)
{%- endmacro %}


{#-
    The input events without the ends of covered rows, ending in `followed_events`. Partial images also get the row that each is
    about, wherever that was before: what a change lacks is at the key where the row was. A row that moves has a name at each key;
    `_ct_lineage` is the first of them, and none where no move touched the key.
-#}
{% macro followed_steps(spec, run) -%}
{{ change_tables.row_steps(spec, run, exchanged_only=spec.images == 'full') }},

{% if spec.images == 'partial' -%}
links as (

    select
        max(case when _ct_effect = 'adds' then _ct_row end) as _ct_row,
        max(case when _precedence = {{ change_tables.precedence_of('departure') }} then _ct_row end) as _ct_row_before
    from rows_of_events
    group by _change_id
    having _ct_row is not null and _ct_row_before is not null

),

-- one row, of links alone: two ids a move
collected_links as (

    select
        array_agg(_ct_row) as _ct_row,
        array_agg(_ct_row_before) as _ct_row_before
    from links

),

traced_links as (

    select
        _ct_row,
        first_ancestors(_ct_row, _ct_row_before) as _ct_first_row
    from collected_links

),

lineages as (

    select inline(arrays_zip(_ct_row, _ct_first_row))
    from traced_links

),

{% endif -%}
followed_events as (

    select
        all_events.*
        {%- if spec.images == 'partial' %},
        coalesce(lineages._ct_first_row, rows_of_events._ct_row) as _ct_lineage
        {%- endif %}
    from all_events
    left join rows_of_events
        on
            {{ change_tables.same_key(spec.key, 'all_events', 'rows_of_events') }}
            and all_events._change_seq = rows_of_events._change_seq
            and all_events._precedence = rows_of_events._precedence
            and all_events._change_id <=> rows_of_events._change_id
    {%- if spec.images == 'partial' %}
    left join lineages
        on rows_of_events._ct_row = lineages._ct_row
    {%- endif %}
    where not coalesce(rows_of_events._ct_takes_covered_row, false)

)
{%- endmacro %}


{#-
    What the function `rows_at_key` does, by SQL's own: whose row each event of a key is about, where a row may come to the key before another has
    left it. It takes a time that grows with the square of a key's events, because Spark copies with each event all that `aggregate` has
    gathered. `here` are the rows that are together at the key, by the place of the event that brought each; `coverings` the rows that others
    have covered for good. Each is covered by the one that came next, once no further event can sort them out.
-#}
{% macro rows_at_key_in_sql(events) -%}
{%- set coverings_of_here -%}
concat(state.coverings, transform(
                    slice(state.here, 1, greatest(size(state.here) - 1, 0)),
                    (covered, place) -> named_struct('covered', covered, 'covered_by', state.here[place + 1])
                ))
{%- endset -%}
transform(
            array(aggregate(
                transform({{ events }}, (event, place) -> named_struct(
                    'place', place,
                    'effect', coalesce(event._ct_effect, 'sets'),
                    -- rows are together at a key within one transaction only
                    'goes_on', coalesce(event._transaction_id = get({{ events }}, place - 1)._transaction_id and not event._ct_effect <=> 'empties', false)
                )),
                named_struct(
                    'here', cast(array() as array<int>),
                    'rows', cast(array() as array<struct<brought_by: int, takes_covered_row: boolean>>),
                    'coverings', cast(array() as array<struct<covered: int, covered_by: int>>)
                ),
                (state, event) -> transform(
                    array(if(event.goes_on, state.here, slice(state.here, -1, 1))),
                    here -> named_struct(
                        'here', case
                            when event.effect in ('takes', 'empties') then slice(here, 2, size(here))
                            when event.effect = 'adds' or size(here) = 0 then concat(here, array(event.place))
                            else here
                        end,
                        'rows', concat(state.rows, array(named_struct(
                            'brought_by', case
                                when event.effect in ('takes', 'empties') then get(here, 0)
                                when event.effect = 'adds' or size(here) = 0 then event.place
                                else get(here, size(here) - 1)
                            end,
                            'takes_covered_row', event.effect = 'takes' and size(here) > 1
                        ))),
                        'coverings', if(event.goes_on, state.coverings, {{ coverings_of_here }})
                    )
                )[0],
                state -> named_struct('rows', state.rows, 'coverings', {{ coverings_of_here }})
            )),
            found -> transform(found.rows, (row, place) -> named_struct(
                'row_id', get({{ events }}, row.brought_by)._change_id,
                'takes_covered_row', row.takes_covered_row,
                'covered_by', get({{ events }}, get(filter(found.coverings, covering -> covering.covered = place), 0).covered_by)._change_id
            ))
        )[0]
{%- endmacro %}
