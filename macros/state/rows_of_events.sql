{#-
    SQL for whose row each event of a key is about, where a row may come to the key before another has left it: the function
    `rows_at_key`. A server that others run may not have it. There, rows of full images that exchange their keys in one transaction
    are followed by SQL alone. It takes a time that grows with the square of a key's events, because Spark copies with each event all that
    `aggregate` has gathered.

    `_ct_events` is an array of the key's events in their order, as structs with `_change_id`, `_ct_effect` and `_transaction_id`.
-#}
{% macro rows_at_key_of(spec) -%}
    {%- set is_lacking = spec.images == 'full' and change_tables.functions_that_server_lacks(['rows_at_key']) -%}
    {{- change_tables.rows_at_key_in_sql('_ct_events') if is_lacking else "rows_at_key(_ct_events['_change_id'], _ct_events['_ct_effect'], _ct_events['_transaction_id'])" -}}
{%- endmacro %}


{#-
    The same by SQL's own functions. `here` are the rows that are together at the key, by the place of the event that brought each;
    `coverings` the rows that others have covered for good. Each is covered by the one that came next, once no further event can sort
    them out.
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
