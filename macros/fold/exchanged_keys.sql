{#- The events by which rows entered and left keys, out of the whole log. -#}
{% macro entry_and_end_steps(spec, run, log) -%}
moves_and_deletes as (

    select *
    from {{ log }}
    where
        _mark is null
        and (_key_before is not null or _change_op = 'delete')
        {{- change_tables.until_mark(run) }}

),

{{ change_tables.event_steps(spec, run, 'entries_and_ends', 'moves_and_deletes') }}
{%- endmacro %}


{#-
    The keys that a transaction both entered and ended; of a run that adds to a state, those that it has events of. Where a
    state holds but the last event of a key, also keys that rows ever entered, of which an event came before an end that is
    folded: that end may have taken a row that another had covered, and a revision may have taken the two transactions apart.
-#}
{% macro exchanged_key_steps(spec, run, log) -%}
{{ change_tables.entry_and_end_steps(spec, run, log) }},

exchanged_keys as (

    select distinct {{ change_tables.column_list(spec.key, 'entries') }}
    from entries_and_ends as entries
    left semi join entries_and_ends as ends
        on
            entries._transaction_id = ends._transaction_id
            and ends._is_deleted
            and {{ change_tables.same_key(spec.key, 'entries', 'ends') }}
    {%- if run.run == 'since' %}
    left semi join events
        on {{ change_tables.same_key(spec.key, 'entries', 'events') }}
    {%- endif %}
    where entries._ct_enters
    {%- if run.run == 'since' and not run.folds %}
    union distinct
    select {{ change_tables.column_list(spec.key, 'ends') }}
    from entries_and_ends as ends
    inner join events
        on
            ends._change_seq >= events._change_seq
            and {{ change_tables.same_key(spec.key, 'ends', 'events') }}
    left anti join events as new_ends
        on ends._change_id = new_ends._change_id and ends._change_seq = new_ends._change_seq
    left semi join entries_and_ends as entries
        on entries._ct_enters and {{ change_tables.same_key(spec.key, 'ends', 'entries') }}
    where ends._is_deleted
    {%- endif %}

)
{%- endmacro %}


{#-
    Inside one transaction a row may move to a key whose row has not left yet. Whoever entered a key first leaves it first,
    so a departure or a delete need not end the row that entered last: only the key's whole past says who is there.
    These steps end in `covered_ends`: the departures and deletes that ended a row which another had covered already.
-#}
{% macro covered_end_steps(spec, events, run) -%}
-- a move adds a row, a departure or a delete takes the first, any other change sets the newest; the end of a transaction
-- leaves only that, a truncate none; a change without a transaction is one of its own
counted_rows as (

    select
        {{ change_tables.column_list(spec.key) }},
        aggregate(
            array_sort(collect_list(struct(
                _change_seq, _precedence, _change_id, _transaction_id, _ct_enters, _is_deleted
            ))),
            named_struct(
                'transaction_id', cast(null as string),
                'rows', 0,
                'covered', cast(array() as array<struct<_change_id: string, _precedence: bigint>>)
            ),
            (held, event) -> named_struct(
                'transaction_id', event._transaction_id,
                'rows', case
                    when event._is_deleted
                        then greatest(if(event._transaction_id = held.transaction_id, held.rows, least(held.rows, 1)) - 1, 0)
                    when event._ct_enters
                        then if(event._transaction_id = held.transaction_id, held.rows, least(held.rows, 1)) + 1
                    else greatest(if(event._transaction_id = held.transaction_id, held.rows, least(held.rows, 1)), 1)
                end,
                'covered', if(
                    event._is_deleted and event._transaction_id = held.transaction_id and held.rows > 1,
                    concat(held.covered, array(named_struct('_change_id', event._change_id, '_precedence', event._precedence))),
                    held.covered
                )
            )
        ).covered as _ct_covered
    from {{ events }}
    {%- if run.run == 'first' %}
    left semi join exchanged_keys
        on {{ change_tables.same_key(spec.key, events, 'exchanged_keys') }}
    {%- endif %}
    {%- if run.folds and run.has_floors %}
    cross join floors
    group by {{ change_tables.column_list(spec.key) }}, size(filter(_ct_floors, floor -> floor._change_seq <= {{ events }}._change_seq))
    {%- else %}
    {%- if run.mark.floor %}
    where {{ events }}._change_seq >= {{ change_tables.text_literal(run.mark.floor) }}
    {%- endif %}
    group by {{ change_tables.column_list(spec.key) }}
    {%- endif %}

),

covered_ends as (

    select
        {{ change_tables.column_list(spec.key) }},
        _change_id,
        _precedence
    from counted_rows
        lateral view inline(_ct_covered) as _change_id, _precedence

)
{%- endmacro %}
