{#-
    Whose row each event of a key is about, where a row may come to the key before another has left it, as SQL: see `rows_at_key` of
    the SQL functions, which says the same for users, with examples.

    events   an array of the key's events in their order, as structs with `_change_id`, `_ct_effect` and `_transaction_id`

    A struct of two arrays, which name events by their place in `events`, from 0:

    rows        for each event, the event that brought its row to the key (`brought_by`, null: it finds none), and whether it
                took a row that another had covered already (`takes_covered_row`)
    coverings   rows that others covered for good: the event that brought the one (`covered`), and the other (`covered_by`)
-#}
{% macro rows_of_events(events) -%}
{%- set no_rows = 'cast(array() as array<struct<brought_by: int, takes_covered_row: boolean>>)' -%}
{#- to append copies an array: those that are full are put aside. Spark copies the whole state with each event all the same -#}
{%- set is_full = 'size(state.latest) >= 300' -%}
aggregate(
            transform({{ events }}, (event, place) -> named_struct(
                'place', place,
                'effect', coalesce(event._ct_effect, 'sets'),
                -- rows are together at a key within one transaction only
                'goes_on', coalesce(event._transaction_id = get({{ events }}, place - 1)._transaction_id and not event._ct_effect <=> 'empties', false)
            )),
            named_struct(
                'here', cast(array() as array<int>),
                'latest', {{ no_rows }},
                'full', array({{ no_rows }}),
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
                    'latest', concat(if({{ is_full }}, {{ no_rows }}, state.latest), array(named_struct(
                        'brought_by', case
                            when event.effect in ('takes', 'empties') then get(here, 0)
                            when event.effect = 'adds' or size(here) = 0 then event.place
                            else get(here, size(here) - 1)
                        end,
                        'takes_covered_row', event.effect = 'takes' and size(here) > 1
                    ))),
                    'full', if({{ is_full }}, concat(state.full, array(state.latest)), state.full),
                    'coverings', if(event.goes_on, state.coverings, concat(state.coverings, {{ change_tables.coverings_of('state.here') }}))
                )
            )[0],
            state -> named_struct(
                'rows', flatten(concat(state.full, array(state.latest))),
                'coverings', concat(state.coverings, {{ change_tables.coverings_of('state.here') }})
            )
        )
{%- endmacro %}


{#- Of the rows that are together at a key, each is covered by the one that came next, once no further event can sort them out. -#}
{% macro coverings_of(here) -%}
    transform(slice({{ here }}, 1, greatest(size({{ here }}) - 1, 0)), (covered, place) -> named_struct('covered', covered, 'covered_by', {{ here }}[place + 1]))
{%- endmacro %}
