{#-
    Full loads of a table, one after the other in one raw table: a column says of which load a row is. What differs from one load to the
    next is a change, at the sequence of the later one.

    A load that is not whole says nothing: it has too few rows, by those of the last whole load before it. A row of a whole load is compared with
    what the whole loads before and after it have of its key. Where the one after has nothing, it deletes the key: so a row can be two staged
    rows, and those without `_raw_id` are no raw rows.

    A run judges all loads from the lowest one on of which it reads a row, and reads the last whole load before them to compare. What it says of a
    key at a load takes the place of what the log has there, also where it says that there is no change: it was made from more rows.

    What raw has lost is read from the log: the load before the first one that raw has left is the rows that the log has then.
-#}
{% macro stage_full_loads(spec, bound) %}
    {%- set landed = change_tables.landed_row(
        spec, spec.relation, [spec.load_column], "`load_column` and the declared columns must be some of its columns"
    ) -%}
    {%- do change_tables.refuse_landed_types(spec, spec.relation, landed) -%}
    {%- set part = change_tables.sequence_of_load(spec) -%}
    {%- set reading = change_tables.loads_of_run(spec, bound) -%}
    {%- set forgets = not bound.with_forgotten and change_tables.has_forgotten_keys(spec) -%}
    {%- set at_key = 'partition by ' ~ change_tables.column_list(spec.key) ~ ' order by _ct_number' -%}
    {%- set has_key = '_ct_key_misfit is null and not (' ~ change_tables.key_is_null(spec) ~ ')' -%}
landed as (

    select
        *,
        {{ change_tables.full_loads_raw_id(spec) }} as _ct_raw_id,
        {{- change_tables.arrival_column(bound.arrival) }}
        {{ change_tables.readable_row(change_tables.landed_columns(spec, spec.relation)) }} as _ct_landed_row
    from {{ spec.relation }}
    {{- change_tables.where([reading.predicate, bound.get('until')]) }}

),

typed as (

    select
    {{- change_tables.typed_columns(spec, landed) }}
        {{ change_tables.misfit(spec, spec.key, landed) }} as _ct_key_misfit,
        {{ change_tables.misfit(spec, spec.column_names | reject('in', spec.key) | list, landed) }} as _ct_column_misfit,
        {{ change_tables._columns_of_load(spec, part) | indent(8) }},
        _ct_raw_id as _raw_id,
        {%- if bound.arrival %}
        _ct_arrival,
        {%- endif %}
        _ct_landed_row
    from landed
    {%- if reading.logged_load %}
    {#- the rows that the log has before the first load that is read, as a load #}
    union all
    select
        {{ change_tables.each(spec.column_names, '_ct_last.{name},') | join('\n        ') }}
        null as _ct_key_misfit,
        null as _ct_column_misfit,
        {{ change_tables.text_literal(reading.logged_load) }} as _ct_sequence,
        {{ change_tables.text_literal(reading.logged_load) }} as _ct_load,
        true as _ct_has_load,
        null as _raw_id,
        {%- if bound.arrival %}
        null as _ct_arrival,
        {%- endif %}
        null as _ct_landed_row
    from (
        select max_by(struct({{ change_tables.column_list(spec.column_names) }}, _change_op), _change_seq) as _ct_last
        from {{ bound.log }}
        where _checkpoint is null and _change_seq < {{ change_tables.text_literal(reading.lowest) }}
        group by {{ change_tables.column_list(spec.key) }}
    ) as logged_rows
    where _ct_last._change_op <> 'delete'
    {%- endif %}

),

{{ change_tables._load_steps(spec, 'typed', reading) }},

-- each row with its load. One without a number is not compared
numbered as (

    select
        typed.*,
        _ct_of_load,
        {{ has_key }} as _ct_has_key,
        case when _ct_column_misfit is null then {{ change_tables.hash_of(spec.columns | rejectattr('name', 'in', spec.retired) | list) }} end as _ct_content,
        {%- for column in spec.columns if column.name in spec.retired %}
        case when {{ change_tables.quoted(column.name) }} is not null then {{ change_tables.hash_of([column]) }} end as _ct_retired_{{ spec.retired.index(column.name) }},
        {%- endfor %}
        case when _ct_of_load['is_whole'] and {{ has_key }}{{ ' and not coalesce(_ct_sequence <= _ct_until_seq, false)' if forgets }} then _ct_of_load['number'] end as _ct_number
    from typed
    left join loads
        on typed._ct_has_load and typed._ct_sequence = _ct_of_load['seq']
    {%- if forgets %}
    {%- set table = change_tables.forgotten_keys(spec) %}
    left join (select key_hash as _ct_key_hash, max(until_seq) as _ct_until_seq from {{ table }} group by key_hash) as forgotten
        on {{ change_tables.hash_of_forgotten_key('(select max(salt) from ' ~ table ~ ')', change_tables.key_text(spec)) }} = _ct_key_hash
    {%- endif %}

),

-- and with what the whole loads before and after have of its key
compared as (

    select
        *,
        count(*) over before_it as _ct_before,
        count(*) over after_it as _ct_after,
        count(_ct_content) over beside_it as _ct_readable,
        -- the greatest is the least of the other load, both ways: all are equal
        coalesce(
            min(_ct_content) over before_it = max(_ct_content) over beside_it and max(_ct_content) over before_it = min(_ct_content) over beside_it,
            false
        )
        {%- for name in spec.retired %}
        {%- set value = '_ct_retired_' ~ loop.index0 %}
        -- a load that has lost the column changes nothing of it
        and (count({{ value }}) over beside_it = 0 or coalesce(min({{ value }}) over before_it = max({{ value }}) over beside_it and max({{ value }}) over before_it = min({{ value }}) over beside_it, false))
        {%- endfor %} as _ct_is_same
    from numbered
    window
        before_it as ({{ at_key }} range between 1 preceding and 1 preceding),
        beside_it as ({{ at_key }} range between current row and current row),
        after_it as ({{ at_key }} range between 1 following and 1 following)

),

-- what each row says of its own load, that its key ends in the next one, and that those between, which are not whole, do not end it
told as (

    select *
    from
        compared
        lateral view inline(array_compact(concat(
            array(
                struct('row' as said, _ct_sequence as seq, _ct_of_load['rows'] as rows, _ct_of_load['earlier'] as earlier),
                case
                    when _ct_number is not null and _ct_after = 0 and _ct_of_load['following'] is not null
                        then struct('end' as said, _ct_of_load['following']['seq'] as seq, _ct_of_load['following']['rows'] as rows, _ct_of_load['following']['earlier'] as earlier)
                end
            ),
            coalesce(
                transform(
                    case when _ct_number is not null then _ct_of_load['failed'] end,
                    load -> struct('none' as said, load.seq as seq, load.rows as rows, load.earlier as earlier)
                ),
                array()
            )
        ))) as _ct_said, _change_seq, _load_rows, _earlier_rows
    {%- if reading.lowest %}
    where _ct_said <> 'row' or not _ct_has_load or _change_seq >= {{ change_tables.text_literal(reading.lowest) }}
    {%- endif %}

),

judged as (

    select
        *,
        {{ 'try_cast(_change_seq as timestamp)' if part.is_time else 'cast(null as timestamp)' }} as _changed_at,
        cast(null as string) as _transaction_id,
        case
            when _ct_said = 'end'
                then null
            when _ct_said = 'none'
                then {{ change_tables.ignored('row_unchanged: {_change_seq} is not whole, so the key does not end there') }}
            when _ct_load is null
                then {{ change_tables.verdict('rejected', change_tables.text_literal('change_seq_missing: ' ~ spec.load_column ~ ' is null')) }}
            when not _ct_has_load
                then {{ change_tables.rejected("change_seq_malformed: '{_ct_load}' is not " ~ part.what) }}
            when not _ct_of_load['is_whole']
                then {{ change_tables.rejected(
                    "load_not_whole: {_ct_load} has {_ct_of_load['rows']} rows, fewer than " ~ spec.least_share
                    ~ " of the {_ct_of_load['base']['rows']} of {_ct_of_load['base']['name']}; land the rest, or name it in `whole_loads`"
                ) }}
            {{ change_tables.value_verdicts(spec, 'true') }}
            when _ct_is_same
                then {{ change_tables.ignored('row_unchanged: the load before {_ct_load} has the same row') }}
        end as _ct_verdict
    from told

),

{{ change_tables.staged_rows(spec, bound, {
    'operation': "case when _ct_said = 'end' then 'delete' when _ct_before = 0 then 'insert' else 'update' end",
    'id': "concat_ws(':', _change_seq, " ~ change_tables.key_text(spec) ~ ')',
    'has_id': "(_ct_said <> 'row' or (_ct_has_load and _ct_has_key and (_ct_content is not null or _ct_readable = 0 or not _ct_of_load['is_whole'])))",
    'raw_id': "if(_ct_said = 'row', _raw_id, null)",
}) }}
{%- endmacro %}


{#-
    How a load is a sequence: a part as `sequence_parts` has it, with

    is_time   whether it is a date or a time, which changes of the load have as theirs
    what      what one that can be read is
-#}
{% macro sequence_of_load(spec) %}
    {% set type = change_tables.landed_columns(spec, spec.relation).get(spec.load_column | lower, {}).get('data_type', 'string') %}
    {% set name = change_tables.quoted(spec.load_column) %}
    {% set tree = change_tables.type_tree(type) %}
    {% if tree.kind not in ['tinyint', 'smallint', 'int', 'bigint', 'decimal', 'date', 'timestamp', 'timestamp_ntz', 'string'] or tree.places %}
        {% do change_tables.refuse_entry(spec, "`load_column` must be a column of whole numbers, dates, times or text, got '" ~ spec.load_column ~ "' of type " ~ type) %}
    {% endif %}
    {% set kind = change_tables.arrival_of(dict(spec, arrival=spec.load_column, lookback=0)).kind %}
    {% set text = 'cast(' ~ name ~ ' as string)' %}
    {% do return(dict({'is_time': kind in ['date', 'timestamp', 'timestamp_ntz']}, **{
        'date': {'sql': text, 'kind': 'fixed_text', 'length': 10, 'what': 'a date of the years 0 to 9999'},
        'text': {'sql': text, 'kind': 'text', 'length': none, 'what': 'a text'},
        'whole_number': {'sql': text, 'kind': 'number', 'length': 20, 'what': 'a whole number from 0'},
        'decimal': {'sql': text, 'kind': 'number', 'length': 38, 'what': 'a whole number from 0'},
    }.get(kind, {'sql': 'date_format(' ~ name ~ ", 'yyyy-MM-dd HH:mm:ss.SSSSSS')", 'kind': 'fixed_text', 'length': 26, 'what': 'a time of the years 0 to 9999'}))) %}
{% endmacro %}


{% macro full_loads_landed_sequence(spec) %}
    {% set part = change_tables.sequence_of_load(spec) %}
    {% do return(change_tables.sequence_of_parts([part]).replace('_ct_sequence_1', part.sql)) %}
{% endmacro %}


{% macro _columns_of_load(spec, part) -%}
{{ change_tables.full_loads_landed_sequence(spec) }} as _ct_sequence,
cast({{ change_tables.quoted(spec.load_column) }} as string) as _ct_load,
coalesce({{ part.sql }} rlike {{ change_tables.text_literal((change_tables.sequence_kinds()[part.kind].pattern or '(?s).').format(length=part.length)) }}, false) as _ct_has_load
{%- endmacro %}


{#-
    The loads of the rows of a step, ending in `loads`, with the one column `_ct_of_load`:

    seq, name, rows   of the load: its sequence, its text, and how many rows it has
    earlier           how many rows the loads before it have
    base              the last whole load before it: {name, rows}
    is_whole          whether it is whole
    number            how many whole loads there are up to it
    following         the next whole load: {seq, rows, earlier}
    failed            the loads up to that, which are not whole, as far as the log may have changes of theirs

    value   of a look, SQL for its value as a text: then a load also has that, and whether it is read
-#}
{% macro _load_steps(spec, rows, reading, value=none) -%}
{%- set looked_at = ', value, is_read' if value -%}
{%- set last = 'get(done, size(done) - 1)' -%}
counted_loads as (

    select
        _ct_sequence as seq,
        min(_ct_load) as name,
        count(*) as rows{{ ', ' ~ value ~ ' as value, bool_or(_ct_is_read) as is_read' if value }}
    from {{ rows }}
    where _ct_has_load
    group by _ct_sequence

),

-- each load with the last whole one before it. The first one is whole
sized_loads as (

    select
        inline(aggregate(
            array_sort(collect_list(struct(seq, name, rows{{ looked_at }}))),
            cast(array() as array<struct<seq: string, name: string, rows: bigint{{ ', value: string, is_read: boolean' if value }}, base: struct<name: string, rows: bigint>>>),
            (done, load) -> array_append(done, struct(
                load.seq, load.name, load.rows{{ ', load.value, load.is_read' if value }},
                if({{ change_tables._is_whole(spec, last ~ '.') }}, struct({{ last }}.name, {{ last }}.rows), {{ last }}.base) as base
            ))
        ))
    from counted_loads

),

judged_loads as (

    select
        *,
        {{ change_tables._is_whole(spec, '') }} as is_whole
    from sized_loads

),

numbered_loads as (

    select
        *,
        count_if(is_whole) over (order by seq) as number,
        {{ reading.earlier }} + sum(rows) over (order by seq) - rows as earlier
    from judged_loads

),

loads as (

    select
        struct(
            seq, name, rows{{ looked_at }}, base, is_whole, number, earlier,
            min(if(is_whole, struct(seq, rows, earlier), null)) over (order by seq rows between 1 following and unbounded following) as following,
            {%- if reading.logged_until %}
            collect_list(
                if(not is_whole and seq between {{ change_tables.text_literal(reading.lowest or '') }} and {{ change_tables.text_literal(reading.logged_until) }}, struct(seq, rows, earlier), null)
            ) over (partition by number order by seq rows between 1 following and unbounded following) as failed
            {%- else %}
            cast(array() as array<struct<seq: string, rows: bigint, earlier: bigint>>) as failed
            {%- endif %}
        ) as _ct_of_load
    from numbered_loads

)
{%- endmacro %}


{% macro _is_whole(spec, of) -%}
    coalesce({{ of }}rows >= {{ spec.least_share }} * {{ of }}base['rows'], true)
    {%- if spec.whole_loads %} or {{ of }}name in ({{ change_tables.text_literals(spec.whole_loads) }}) or {{ of }}seq in ({{ change_tables.text_literals(spec.whole_loads) }}){% endif %}
{%- endmacro %}


{#-
    Which loads a run reads:

    predicate     SQL over the raw table; none: all rows
    lowest        the sequence of the lowest load that it judges; none: that of any
    earlier       SQL for how many rows the loads have that it does not read
    logged_until  the highest sequence that the log can have
    logged_load   the last sequence that the log has before the first load that is read, where raw no longer has what was before that; else none
-#}
{% macro loads_of_run(spec, bound) %}
    {% set reading = {'predicate': bound.predicate, 'lowest': none, 'earlier': 0, 'logged_until': bound.highest_seq, 'logged_load': none} %}
    {% set found = change_tables._look_at_loads(spec, bound.predicate or 'true', bound) if bound.log and not bound.has_no_news else none %}
    {% do return(reading) if not found or found.lowest is none %}
    {% if bound.predicate %}
        {#- rows without a load are in none of these -#}
        {% do reading.update({'predicate': '(' ~ found.is_read ~ ' or ' ~ bound.predicate ~ ')', 'lowest': found.lowest, 'earlier': found.earlier}) %}
    {% endif %}
    {% if not found.has_base %}
        {% set logged = run_query('select max(_change_seq) as logged_load from ' ~ bound.log ~ ' where _checkpoint is null and _change_seq < ' ~ change_tables.text_literal(found.lowest)).rows[0][0] %}
        {% do reading.update({'lowest': found.lowest, 'logged_load': logged, 'earlier': change_tables._rows_lost_before(bound)}) if logged is not none %}
    {% endif %}
    {% do return(reading) %}
{% endmacro %}


{#- How many rows raw has lost, but for those that the log has: so a load that was read before has as many before it as then. -#}
{% macro _rows_lost_before(bound) -%}
(
            select max(logged._earlier_rows - found_loads.earlier)
            from (select seq, sum(rows) over (order by seq) - rows as earlier from judged_loads) as found_loads
            inner join {{ bound.log }} as logged
                on found_loads.seq = logged._change_seq and logged._checkpoint is null
        )
{%- endmacro %}


{#-
    By one scan of the load column, and of what the condition is over: the lowest load of which a row fulfils it, whether there is a whole load
    before that, how many rows are before this, and SQL for all rows from there on.
-#}
{% macro _look_at_loads(spec, condition, bound=none) %}
    {% set arrival = change_tables.arrival_of(dict(spec, arrival=spec.load_column, lookback=0)) %}
    {% do return(none) if not change_tables.landed_columns(spec, spec.relation) %}
    {% set row = run_query(change_tables._lowest_load(spec, condition, arrival, bound)).rows[0] %}
    {% do return({'lowest': none}) if row['lowest'] is none %}
    {% set position = row['first_value'] if arrival.kind in ['decimal', 'text'] else row['first_value'] | int %}
    {% do return({
        'lowest': row['lowest'], 'has_base': row['has_base'], 'earlier': row['earlier'] | int,
        'is_read': change_tables.quoted(spec.load_column) ~ ' >= ' ~ change_tables.arrival_literal(arrival, position),
    }) %}
{% endmacro %}


{#-
    What a look asks. Of a log also loads count that it has rejected and that are whole now, since `whole_loads` names them. And where the last
    load that it has read was rejected, whole ones after its last change: one can have landed late, and is compared with from now on.
-#}
{% macro _lowest_load(spec, condition, arrival, bound) -%}
{%- set is_rejected = 'array_contains((select _ct_sequences from rejected_loads), _ct_of_load.seq)' -%}
{%- set is_wanted = 'is_read' -%}
{%- if bound -%}
    {%- set is_late = '(_ct_last_rejected > _ct_last_whole and seq > ' ~ change_tables.text_literal(bound.highest_seq or '') ~ ')' -%}
    {%- set is_wanted = 'is_read or (is_whole and (_ct_is_rejected or ' ~ is_late ~ '))' -%}
{%- endif -%}
{%- set is_base = 'filter (where is_whole and seq < _ct_lowest)' -%}
with landed as (

    select
        {{ change_tables._columns_of_load(spec, change_tables.sequence_of_load(spec)) | indent(8) }},
        {{ change_tables.quoted(spec.load_column) }} as _ct_value,
        coalesce({{ condition }}, false) as _ct_is_read
    from {{ spec.relation }}

),

{{ change_tables._load_steps(spec, 'landed', {'earlier': 0}, change_tables.arrival_as_text('min(_ct_value)', arrival)) }},
{%- if bound %}

{%- set column = change_tables.landed_columns(spec, spec.relation)[spec.load_column | lower] %}
{%- set type = change_tables.text_literal(change_tables.quoted(column.name) ~ ' ' ~ ('string' if arrival.kind == 'text' else column.data_type)) %}

rejected_loads as (

    select collect_set({{ change_tables.full_loads_landed_sequence(spec) }}) as _ct_sequences
    from
        (
            select _raw_row as _ct_raw_row
            from {{ change_tables.quarantine_relation(this) }}
            where {{ change_tables.is_open('rejected') }} and {{ change_tables.code_of('_status_reason') }} = 'load_not_whole'
        ) as rejected_rows
        lateral view inline(array(from_json(_ct_raw_row, {{ type }}, {{ change_tables.exact_times() }}))) as {{ change_tables.quoted(column.name) }}

),
{%- endif %}

known_loads as (

    select
        {%- if bound %}
        {{ is_rejected }} as _ct_is_rejected,
        max(if({{ is_rejected }}, _ct_of_load.seq, null)) over () as _ct_last_rejected,
        max(if(_ct_of_load.is_whole and not _ct_of_load.is_read, _ct_of_load.seq, null)) over () as _ct_last_whole,
        {%- endif %}
        _ct_of_load.*
    from loads

),

wanted_loads as (

    select
        *,
        min(if({{ is_wanted }}, seq, null)) over () as _ct_lowest
    from known_loads

)

select
    max(_ct_lowest) as lowest,
    coalesce(max_by(value, seq) {{ is_base }}, min_by(value, seq) filter (where seq = _ct_lowest)) as first_value,
    count(*) {{ is_base }} > 0 as has_base,
    coalesce(max_by(earlier, seq) {{ is_base }}, 0) as earlier
from wanted_loads
{%- endmacro %}


{% macro full_loads_read_with(spec, condition) %}
    {% do return(change_tables._look_at_loads(spec, condition).is_read or 'true') %}
{% endmacro %}


{% macro full_loads_mistakes(node, given) %}
    {% set found = [] %}
    {% for name, value in {'snapshot': none, 'images': 'full', 'hold_open_transactions': false}.items() if given.get(name, value) != value %}
        {% do found.append("`" ~ name ~ "` must be " ~ change_tables.shown_value(value) ~ ": each load has whole rows of the whole table, got " ~ change_tables.shown_value(given[name])) %}
    {% endfor %}
    {% set share = given.get('least_share', 0.5) %}
    {% if share is boolean or share is not number or not 0 <= share <= 1 %}
        {% do found.append("`least_share` must be a number from 0 to 1, got " ~ change_tables.shown_value(share)) %}
    {% endif %}
    {% do return(found) %}
{% endmacro %}


{% macro full_loads_raw_id(spec) %}
    {% do return(change_tables.hash_as_id(change_tables.hashed_columns(spec, change_tables.landed_columns(spec, spec.relation, has_row=true)))) %}
{% endmacro %}


{% macro full_loads_format() %}
    {% do return({
        'stage': change_tables.stage_full_loads,
        'settings': {
            'load_column': {
                'required': true, 'type': 'text',
                'meaning': "the raw column that tells loads apart: a whole number, a date, a time, or a text that sorts",
            },
            'least_share': {
                'default': 0.5, 'type': 'number',
                'meaning': "a load is [whole](feeds/full_loads.md#loads-that-are-not-whole) if it has at least this share of the rows of the last whole one before it; from 0 to 1",
            },
            'whole_loads': {'default': none, 'type': 'names', 'meaning': "loads, as texts, that are whole however few rows they have"},
        },
        'mistakes': change_tables.full_loads_mistakes,
        'columns': [
            {'name': '_load_rows', 'data_type': 'bigint', 'completes': true, 'description': 'how many rows the load had when the change was read from it'},
            {'name': '_earlier_rows', 'data_type': 'bigint', 'completes': true, 'description': 'how many rows the loads before it had then'},
        ],
        'settings_of_order': ['load_column'],
        'arrival_column': 'load_column',
        'landed_sequence': change_tables.full_loads_landed_sequence,
        'read_with': change_tables.full_loads_read_with,
        'retracts_changes': true,
        'read_again': {'for_good': 'false'},
        'absent_columns': change_tables.columns_absent_from_raw,
        'raw_id': change_tables.full_loads_raw_id,
    }) %}
{% endmacro %}
