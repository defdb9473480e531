{#-
    From the event log of Identity Manager's JDBC driver to `staged`. Keys and values are texts in the log: they are typed, and the
    events are judged. Events without values (query-back) read the replica of the source table.
-#}
{% macro stage_idm_event_log(spec, bound) %}
    {%- set reads = spec.replica is not none -%}
    {%- set others = spec.column_names | reject('in', spec.key) | list -%}
    {%- set names = change_tables._names_as_logged(spec) -%}
    {%- set multi_valued = change_tables.text_literals(spec.multi_valued | map(attribute='name')) -%}
    {%- set texts = change_tables.texts_of_rows(spec, bytes_as='base64') -%}
    {%- set landed = change_tables.landed_columns(
        spec, spec.relation, change_tables._event_log_columns(), "event logs land by the names of their columns"
    ) -%}
    {%- set header, read = change_tables.header_columns(change_tables._event_log_columns()), {} -%}
    {%- do change_tables.refuse_landed_types(spec, spec.relation, landed, header) -%}
    {%- for column in header -%}
        {%- do read.update({column.name: change_tables.read_landed(column, landed)}) -%}
    {%- endfor %}
landed as (

    select
        {{ read.record_id }} as _ct_record_id,
        {{ read.status }} as _ct_logged_status,
        {{ read.event_type }} as _event_type,
        {{ read.event_time }} as _ct_event_time,
        {{ read.perpetrator }} as _ct_perpetrator,
        {{ read.table_key }} as _table_key,
        {{ read.column_name }} as _ct_logged_column,
        {{ read.old_value }} as _old_value,
        {{ read.new_value }} as _new_value,
        case when {{ read.event_type }} not in (4, 5, 6) then {{ change_tables._name_of_column(names, read.column_name) }} end as _column_name,
        parse_table_key({{ read.table_key }}) as _ct_parsed_key,
        {{ change_tables.misfit({'columns': header}, read, landed) }} as _ct_header_misfit,
        {{- change_tables.arrival_column(bound.arrival) }}
        {%- if reads and bound.predicate is not none %}
        {{ bound.predicate }} as _ct_is_wanted,
        {%- endif %}
        struct({{ change_tables.column_list(change_tables._event_log_columns()) }}) as _ct_landed_row
    from {{ spec.relation }}
    {{- change_tables.where(['table_name = ' ~ change_tables.text_literal(spec.settings.table_name), bound.predicate if not reads]) }}

),

unpacked as (

    select
        *,
    {%- for name in spec.column_names %}
        {%- if name in spec.key %}
        {%- set logged = change_tables.text_literals(names.items() | selectattr(1, 'equalto', name) | map(attribute=0)) %}
        {%- set text = "get(filter(_ct_parsed_key['pairs'], pair -> lower(trim(pair['name'])) in (" ~ logged ~ ")), 0)['value']" %}
        {{ change_tables._unpadded(spec, name, text) }} as {{ change_tables.quoted(name) }},
        {%- else %}
        case when _column_name = {{ change_tables.text_literal(name) }} and _event_type in (1, 2, 3) then _new_value end as {{ change_tables.quoted(name) }},
        {%- endif %}
    {%- endfor %}
        transform(_ct_parsed_key['pairs'], pair -> {{ change_tables._name_of_column(dict(names.items() | selectattr(1, 'in', spec.key)), "pair['name']") }}) as _ct_named_keys
    from landed

),

{{ change_tables.typed_step(spec, texts, {}, change_tables._key_fault(spec) ~ ' as _ct_key_fault') }},

judged as (

    select
        *,
        _ct_key_fault is null and _ct_key_misfit is null as _ct_has_key,
        case
            when _ct_header_misfit is not null
                then {{ change_tables.rejected('value_does_not_fit: {_ct_header_misfit}') }}
            when _ct_record_id is null or _ct_record_id <= 0
                then {{ change_tables.rejected("position_missing: record_id is {coalesce(cast(_ct_record_id as string), 'null')}") }}
            when _ct_event_time is null
                then {{ change_tables.rejected('event_time_missing: event_time is null') }}
            {%- if spec.future_events %}
            when not {{ change_tables._event_time_is_placed('_ct_event_time') }}
                then {{ change_tables.rejected('event_time_out_of_range: event_time is {cast(_ct_event_time as string)}, and events are ordered by times of the years 1 to 9999') }}
            {%- endif %}
            when not coalesce(_ct_logged_status in ('N', 'S', 'W', 'E', 'F'), false)
                then {{ change_tables.rejected('reserved_status: status is {_ct_logged_status?}') }}
            when not coalesce(_event_type between 1 and 8, false)
                then {{ change_tables.rejected("unknown_operation: event_type is {coalesce(cast(_event_type as string), 'null')}") }}
            when _ct_logged_status <> 'N'
                then {{ change_tables.ignored('already_processed: status is {_ct_logged_status}') }}
            {%- if spec.driver_user is not none and not spec.allow_loopback %}
            when _ct_perpetrator = {{ change_tables.text_literal(spec.driver_user) }}
                then {{ change_tables.ignored('loopback: the driver itself caused the event, as {_ct_perpetrator}') }}
            {%- endif %}
            when _ct_key_fault is not null
                then {{ change_tables.rejected('key_malformed: {_ct_key_fault}') }}
            when _ct_key_misfit is not null
                then {{ change_tables.rejected('value_does_not_fit: table_key: {_ct_key_misfit}') }}
            when _event_type not in (4, 5, 6) and _column_name is null
                then {{ change_tables.rejected('column_not_declared: column_name is {_ct_logged_column?}') }}
            when _event_type in (2, 3, 8) and _column_name in ({{ change_tables.text_literals(spec.key) }})
                then {{ change_tables.rejected('key_updated: an update of the key column {_column_name} alone does not say which row it makes') }}
            {%- for text, types in {'table_key': none, 'old_value': '= 2', 'new_value': 'in (1, 2, 3)'}.items() %}
            when {{ '_event_type ' ~ types ~ ' and ' if types }}_{{ text }} rlike {{ change_tables.xml_forbidden_characters() }}
                then {{ change_tables.rejected('xml_forbidden_character: ' ~ text ~ ': character {' ~ change_tables._place_of_forbidden_character('_' ~ text) ~ '} is not allowed in XML') }}
            {%- endfor %}
            when _event_type in (1, 2, 3) and _ct_column_misfit is not null
                then {{ change_tables.rejected('value_does_not_fit: new_value: {_ct_column_misfit}') }}
            {%- set binary = change_tables.binary_columns(spec.columns + spec.multi_valued) %}
            {%- set binary_values = change_tables.binary_columns(spec.multi_valued) %}
            {%- for text, type, names in [('old_value', '= 2', binary), ('new_value', 'in (1, 2, 3)', binary_values)] if names %}
            when _event_type {{ type }} and _column_name in ({{ change_tables.text_literals(names) }}) and _{{ text }} is not null and try_to_binary(_{{ text }}, 'base64') is null
                then {{ change_tables.rejected('value_does_not_fit: ' ~ text ~ ": column {_column_name}: '{_" ~ text ~ "}' is not binary") }}
            {%- endfor %}
            {%- for name in spec.key %}
            {%- set declared = change_tables.type_tree(change_tables.column_of(spec, name).data_type) %}
            {%- set landed = {'kind': 'base64' if declared.kind == 'binary' else 'string', 'text': 'string'} %}
            {%- set value = change_tables.read_value(change_tables._unpadded(spec, name, '_new_value'), landed, declared) %}
            when _event_type = 1 and _column_name = {{ change_tables.text_literal(name) }} and _new_value is not null and not coalesce({{ value }} = {{ change_tables.quoted(name) }}, false)
                then {{ change_tables.rejected('key_contradicted: new_value of the key column {_column_name} is not that of table_key') }}
            {%- endfor %}
            {%- if not reads %}
            when _event_type in (5, 6, 7, 8)
                then {{ change_tables.rejected('no_replica: the event has no value, and `replica` names no entry to read it from') }}
            {%- elif spec.multi_valued %}
            when _event_type in (7, 8) and _column_name in ({{ multi_valued }})
                then {{ change_tables.rejected('no_replica: the event has no value, and the replica does not hold the multi-valued {_column_name}') }}
            {%- endif %}
            {%- if spec.future_events %}
            when _ct_event_time > current_timestamp()
                then {{ change_tables.waiting('future_event: event_time is yet to come') }}
            {%- endif %}
        end as _ct_verdict
    from typed

),
{%- if reads %}

{{ change_tables._read_event_steps(spec, bound, others) }},
{%- endif %}

{% set present = [('_event_type not in (4, 5, 6)', change_tables.present_columns(spec, 'array(_column_name)'))] -%}
{%- set absent = change_tables.absent_columns(spec) -%}
{%- if absent -%}
    {%- set present = [
        ('_event_type in (7, 8) and _column_name in (' ~ change_tables.text_literals(absent) ~ ')', change_tables.names_array(spec.key)),
        ('_event_type = 6', change_tables.present_columns(spec, change_tables.names_array(change_tables.columns_in_raw(spec)))),
    ] + present -%}
{%- endif -%}
{%- set present = [('_column_name in (' ~ multi_valued ~ ')', 'cast(array() as array<string>)')] + present if spec.multi_valued else present -%}
{{ change_tables.staged_rows(spec, bound, {
    'operation': [
        ('_event_type = 4', "'delete'"), ('_event_type = 5', "'insert'"),
        ('_event_type in (1, 6, 7)', "'upsert'"), ('_event_type in (2, 3, 8)', "'update'"),
    ],
    'id': change_tables._event_id('_ct_record_id'),
    'seq': change_tables._event_seq(spec, "_ct_last_event['_ct_event_time']", "_ct_last_event['_ct_record_id']", '_ct_read_at') if reads
        else change_tables._event_seq(spec, '_ct_event_time', '_ct_record_id', "'" ~ '0' * 20 ~ "'"),
    'changed_at': '_ct_event_time',
    'transaction_id': 'cast(null as string)',
    'raw_id': 'coalesce(cast(_ct_record_id as string), lower(hex(xxhash64(to_json(_ct_landed_row)))))',
    'present_columns': present,
    'changed_columns': [('_event_type not in (4, 5, 6)', 'array(_column_name)')],
}, 'answered' if reads else 'judged', '_ct_is_wanted' if reads and bound.predicate is not none) }}
{%- endmacro %}


{% macro _landed_replica(spec) %}
    {% do return(change_tables.landed_row(spec, change_tables.relation_of_setting(spec, 'replica'), help="a replica has the table's declared columns")) %}
{% endmacro %}


{#- The log of events names columns in each event; its replica may be without some. -#}
{% macro idm_event_log_absent_columns(spec) %}
    {% do return(change_tables.absent_names(change_tables._landed_replica(spec)) if spec.replica is not none else []) %}
{% endmacro %}


{#-
    What query-back events read. The last step is `answered`. The row that is read shows all that was logged before the reading. So
    the event is ordered after the last event that is logged of its key before the next delete of that key. An event that the log
    of changes has (`bound.log`) has read before, and does not read again.

    An inserted field (7) can come after updates that find no row. So it has the other columns as read, too, though they are not among
    `_present_columns`: they count only where it starts the row.
-#}
{% macro _read_event_steps(spec, bound, others) -%}
{%- set replica = change_tables.relation_of_setting(spec, 'replica') -%}
{%- set landed = change_tables._landed_replica(spec) -%}
{%- do change_tables.refuse_landed_types(spec, replica, landed) -%}
{%- set misfits, forbidden = {}, {} -%}
{%- for column in spec.columns if column.name in others -%}
    {%- set misfit = change_tables.misfit(spec, [column.name], landed) -%}
    {%- do misfits.update({column.name: misfit}) if misfit != change_tables.misfit(spec, [], landed) -%}
    {%- set value = change_tables.landed_value(column.name, landed) -%}
    {%- if change_tables.type_tree(column.data_type).kind == 'string' and not landed.get(column.name | lower, {}).is_absent -%}
        {%- do forbidden.update({column.name:
            'case when ' ~ value ~ ' rlike ' ~ change_tables.xml_forbidden_characters()
            ~ " then concat('column ', " ~ change_tables.text_literal(column.name) ~ ", ': character ', "
            ~ change_tables._place_of_forbidden_character(value) ~ ", ' is not allowed in XML') end"
        }) -%}
    {%- endif -%}
{%- endfor -%}
{%- set order = '_ct_event_time, _ct_record_id' if spec.future_events else '_ct_record_id' -%}
{%- set event = 'struct(_ct_event_time, _ct_record_id)' if spec.future_events else 'struct(_ct_record_id, _ct_event_time)' -%}
{% if bound.get('log') -%}
logged_events as (

    select _change_id
    from {{ bound.log }}
    where _checkpoint is null and {{ change_tables.idm_event_log_format().reads }}

),

{% endif -%}
-- _ct_counts: the key and the position of an event can be read, and its time has come. Only such events order others
flagged as (

    select
        judged.*,
        judged._ct_has_key and coalesce(judged._ct_record_id > 0{{ ' and judged._ct_event_time <= current_timestamp()' if spec.future_events }}, false) as _ct_counts,
        {%- if bound.get('log') %}
        logged_events._change_id is not null as _ct_is_logged
    from judged
    left join logged_events
        on {{ change_tables._event_id('judged._ct_record_id') }} = logged_events._change_id
        {%- else %}
        false as _ct_is_logged
    from judged
        {%- endif %}

),

read_keys as (

    select distinct {{ change_tables.column_list(spec.key) }}
    from flagged
    where {{ change_tables._reads_row() }}

),

replica_rows as (

    select
    {{- change_tables.typed_columns(spec, landed) }}
        {{ change_tables.hash_of(change_tables.as_landed(spec.column_names, landed)) }} as _row_hash,
        {{ change_tables._faults_by_column(misfits) }} as _ct_misfits,
        {{ change_tables._faults_by_column(forbidden) }} as _ct_forbidden
    from {{ replica }}
    {%- set fits = change_tables.fits(spec, spec.key, landed) %}
    {%- if fits %}
    where {{ fits }}
    {%- endif %}

),

-- where the replica has a key more than once, one of its rows counts
read_rows as (

    select
        {{ change_tables.column_list(spec.key, 'replica_rows') }},
        max_by(struct({{ change_tables.column_list(others + ['_ct_misfits', '_ct_forbidden']) }}), _row_hash) as _ct_read
    from replica_rows
    left semi join read_keys
        on {{ change_tables.same_key(spec.key, 'replica_rows', 'read_keys') }}
    group by {{ change_tables.column_list(spec.key, 'replica_rows') }}

),

placed as (

    select
        *,
        count_if(_event_type = 4) over (
            partition by _ct_counts, {{ change_tables.column_list(spec.key) }}
            order by {{ order }}
            rows between unbounded preceding and 1 preceding
        ) as _ct_deletes_before
    from flagged

),

spans as (

    select
        *,
        max(case when not _event_type <=> 4 then {{ event }} end) over (
            partition by _ct_counts, {{ change_tables.column_list(spec.key) }}, _ct_deletes_before
        ) as _ct_last_of_span
    from placed

),

answered as (

    select
        spans.* except (_ct_verdict{% if others %}, {{ change_tables.column_list(others) }}{% endif %}),
        {%- for name in others %}
        case
            when {{ change_tables._reads_row() }} and {{ change_tables._has_read(name, name in misfits or name in forbidden) }}
                then _ct_read[{{ change_tables.text_literal(name) }}]
            when _event_type in (1, 2, 3)
                then spans.{{ change_tables.quoted(name) }}
        end as {{ change_tables.quoted(name) }},
        {%- endfor %}
        if({{ change_tables._reads_row() }}, _ct_last_of_span, {{ event }}) as _ct_last_event,
        if({{ change_tables._reads_row() }}, '{{ bound.get('read_at', '9' * 20) }}', '{{ '0' * 20 }}') as _ct_read_at,
        case
            when _ct_verdict is not null
                then _ct_verdict
            when _event_type in (5, 6, 7, 8) and _ct_is_logged
                then {{ change_tables.ignored('read_before: the log holds what the event read') }}
            when {{ change_tables._reads_row() }} and _ct_read is null
                then {{ change_tables.ignored('row_gone: the replica does not hold the row; it is looked for again while the event is new') }}
            {%- for faults, code in {'_ct_misfits': 'value_does_not_fit', '_ct_forbidden': 'xml_forbidden_character'}.items() %}
            {%- set fault = "get(filter(_ct_read['" ~ faults ~ "'], fault -> _event_type in (5, 6) or fault['name'] = _column_name), 0)['text']" %}
            when {{ change_tables._reads_row() }} and {{ fault }} is not null
                then {{ change_tables.rejected(code ~ ': replica: {' ~ fault ~ '}') }}
            {%- endfor %}
        end as _ct_verdict
    from spans
    left join read_rows
        on {{ change_tables.same_key(spec.key, 'spans', 'read_rows') }}

)
{%- endmacro %}


{% macro idm_event_log_mistakes(node, given) %}
    {% set found = [] %}
    {% for name in ['table_name', 'schema_name', 'driver_user'] if given.get(name) == '' %}
        {% do found.append("`" ~ name ~ "` must not be empty" ~ ("; leave it out where no user is the driver's" if name == 'driver_user')) %}
    {% endfor %}
    {% do found.extend(change_tables.other_entry_mistakes(node, given, 'replica')) %}
    {% do found.extend(change_tables.feed_mistakes(given, 'event logs')) %}
    {% set time = 'time/' if given.get('future_events') else '' %}
    {% do found.extend(change_tables.snapshot_seq_mistakes(
        given, '^' ~ ('[0-9]{18}/' if time) ~ '[0-9]{19}/[0-9]{20}/[0-9]{19}$',
        "a sequence as `_change_seq` has it (" ~ time ~ "record/time of reading/record_id, of " ~ ("18, " if time) ~ "19, 20 and 19 digits)"
    )) %}
    {% set columns = change_tables.declared_columns(node) %}
    {% do found.extend(change_tables.nested_column_mistakes(columns)) %}
    {% for column in columns %}
        {% if column.meta.multi_valued and (column.name in given.key or column.name in (given.get('track') or [])) %}
            {% do found.append("`key` and `track` must name columns of the state, got the multi-valued '" ~ column.name ~ "'") %}
        {% endif %}
        {% if column.meta.multi_valued is defined and column.meta.multi_valued is not boolean %}
            {% do found.append(
                "`columns`: `multi_valued` of '" ~ column.name ~ "' must be true or false, got " ~ change_tables.shown_value(column.meta.multi_valued)
            ) %}
        {% endif %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}


{#- The columns of an event log, with their types. Their order differs between driver generations, so they are always named. -#}
{% macro _event_log_columns() %}
    {% do return({
        'record_id': 'bigint', 'status': 'string', 'event_type': 'int', 'event_time': 'timestamp', 'perpetrator': 'string', 'table_name': 'string',
        'table_key': 'string', 'column_name': 'string', 'old_value': 'string', 'new_value': 'string',
    }) %}
{% endmacro %}


{#- The columns of the source table by the names that the log can have for them, in lower case: a view's `pk_idu` is `idu`. -#}
{% macro _names_as_logged(spec) %}
    {% set names = change_tables.names_by_landing_name(spec, (spec.columns + spec.multi_valued) | map(attribute='name')) %}
    {% for key in spec.key %}
        {% for name in change_tables.landing_names(spec, key) | map('lower') %}
            {% set other = name[3:] if name.startswith('pk_') else 'pk_' ~ name %}
            {% do names.update({other: key}) if other and other not in names %}
        {% endfor %}
    {% endfor %}
    {% do return(names) %}
{% endmacro %}


{#- The declared column that a logged name means; null where it is none. -#}
{% macro _name_of_column(names, logged) -%}
    {{ change_tables.map_of_texts(names) }}[lower(trim({{ logged }}))]
{%- endmacro %}


{#- The names of the binary columns, which the log has in Base64. -#}
{% macro binary_columns(columns) %}
    {% set names = [] %}
    {% for column in columns if change_tables.canonical_type(column.data_type) == 'binary' %}
        {% do names.append(column.name) %}
    {% endfor %}
    {% do return(names) %}
{% endmacro %}


{#- The text of a key column: of a number without the blanks around it. -#}
{% macro _unpadded(spec, name, text) -%}
    {%- set kind = change_tables.type_tree(change_tables.column_of(spec, name).data_type).kind -%}
    {{- 'trim(' ~ text ~ ')' if kind in ['tinyint', 'smallint', 'int', 'bigint', 'float', 'double', 'decimal'] else text -}}
{%- endmacro %}


{#- The identity of an event, which sorts as text. -#}
{% macro _event_id(record_id) -%}
    lpad(cast({{ record_id }} as string), 19, '0')
{%- endmacro %}


{#- What is wrong with a table key; null where it names every key column once, and nothing else. -#}
{% macro _key_fault(spec) -%}
    case
            when _table_key is null
                then 'table_key is null'
            when _ct_parsed_key['error'] is not null
                then _ct_parsed_key['error']
            when exists(_ct_named_keys, name -> name is null)
                then concat(
                    get(transform(filter(_ct_parsed_key['pairs'], (pair, place) -> _ct_named_keys[place] is null), pair -> pair['name']), 0),
                    ' is no key column'
                )
            when size(array_distinct(_ct_named_keys)) < size(_ct_named_keys)
                then concat(
                    get(filter(_ct_named_keys, (name, place) -> array_position(_ct_named_keys, name) <= place), 0),
                    ' is named twice'
                )
            when size(_ct_named_keys) < {{ spec.key | length }}
                then concat('the key column ', get(array_except({{ change_tables.names_array(spec.key) }}, _ct_named_keys), 0), ' is not named')
        end
{%- endmacro %}


{#- Matches a character that XML does not allow (XML 1.0, production 2). -#}
{% macro xml_forbidden_characters() -%}
    '[\\x00-\\x08\\x0B\\x0C\\x0E-\\x1F\\uFFFE\\uFFFF]'
{%- endmacro %}


{#- The place of the first such character in a text, from 1. -#}
{% macro _place_of_forbidden_character(text) -%}
    length(regexp_extract({{ text }}, '^[^\\x00-\\x08\\x0B\\x0C\\x0E-\\x1F\\uFFFE\\uFFFF]*', 0)) + 1
{%- endmacro %}


{#- Whether an event reads the replica in this run. -#}
{% macro _reads_row() -%}
    _event_type in (5, 6, 7, 8) and _ct_verdict is null and not _ct_is_logged
{%- endmacro %}


{#- Whether an event has what was read of a column. A fault in another column than its own is no fault of an inserted field: it leaves that out. -#}
{% macro _has_read(name, can_have_fault) -%}
    {%- set text = change_tables.text_literal(name) -%}
    {%- if can_have_fault -%}
    (_event_type in (5, 6) or _column_name = {{ text }} or _event_type = 7 and not exists(concat(_ct_read['_ct_misfits'], _ct_read['_ct_forbidden']), fault -> fault['name'] = {{ text }}))
    {%- else -%}
    (_event_type in (5, 6, 7) or _column_name = {{ text }})
    {%- endif -%}
{%- endmacro %}


{#- Whether a time is one of the years 1 to 9999, which take eighteen digits of microseconds. -#}
{% macro _event_time_is_placed(event_time) -%}
    unix_micros({{ event_time }}) between -62135596800000000 and 253402300799999999
{%- endmacro %}


{#-
    The sequence of an event. Its parts, of fixed width, with `/` between them:

    time        `event_time`, in microseconds since the year 1; only where events can be of the future
    record      `place`: the event's own record id; where it read its row, that of the event that it is ordered after
    reading     `read_at`: when it read its row, since a later reading shows a later row; zeros where it read none
    record_id   the event's own
-#}
{% macro _event_seq(spec, event_time, place, read_at) -%}
    concat(
            {%- if spec.future_events -%}
            case when {{ change_tables._event_time_is_placed(event_time) }} then lpad(cast(unix_micros({{ event_time }}) + 62135596800000000 as string), 18, '0') end, '/', {% endif -%}
            {{ change_tables._event_id(place) }}, '/', {{ read_at }}, '/', {{ change_tables._event_id('_ct_record_id') }})
{%- endmacro %}


{#- What is wrong with columns of a replica's row, as an array of {name, text}. `texts`: name -> SQL for the text, null where nothing is. -#}
{% macro _faults_by_column(texts) -%}
    filter(cast(array(
    {%- for name, text in texts.items() -%}
        struct({{ change_tables.text_literal(name) }} as name, {{ text }} as text){{ ', ' if not loop.last }}
    {%- endfor -%}
    ) as array<struct<name: string, text: string>>), fault -> fault['text'] is not null)
{%- endmacro %}


{% macro idm_event_log_unclaimed_steps(specs) %}
    {%- do change_tables.landed_columns(
        specs[0], specs[0].relation, change_tables._event_log_columns(), "event logs land by the names of their columns"
    ) -%}
others as (

    select
        table_name,
        struct({{ change_tables.column_list(change_tables._event_log_columns()) }}) as _ct_landed_row
    from {{ specs[0].relation }}
    where
        not coalesce(
            table_name in ({{ change_tables.text_literals(specs | map(attribute='settings') | map(attribute='table_name') | list) }}),
            false
        )

),

unclaimed as (

    select
        coalesce(cast(_ct_landed_row['record_id'] as string), lower(hex(xxhash64(to_json(_ct_landed_row))))) as _raw_id,
        if(table_name <> '', concat('table_not_declared: ', table_name), 'table_unknown: table_name is null or empty') as _status_reason,
        to_json(_ct_landed_row, {{ change_tables.json_options() }}) as raw_row
    from others

)
{%- endmacro %}


{#- The record id: an event that is read again has another place and time. -#}
{% macro idm_event_log_lasting_sequence(seq) %}
    {% do return("substring_index(" ~ seq ~ ", '/', -1)") %}
{% endmacro %}


{#-
    It has no natural arrival: record_ids are drawn before their transactions commit. Where events can be of the future, sequences begin with
    their time. A query-back event reads the replica once: its values do not change later.
-#}
{% macro idm_event_log_format() %}
    {% do return({
        'stage': change_tables.stage_idm_event_log,
        'settings': {
            'images': {'default': 'partial', 'type': 'text', 'values': ['partial'], 'meaning': "always `partial`"},
            'table_name': {'required': true, 'type': 'text', 'meaning': "the table or view, as it is logged"},
            'schema_name': {'required': true, 'type': 'text', 'meaning': "its schema, for the associations of documents"},
            'replica': {
                'default': none, 'type': 'text',
                'meaning': "another entry of this source: the table's own rows, with the declared columns, for [query-back events](feeds/idm_event_log.md#what-query-back-events-read)",
            },
            'driver_user': {
                'default': none, 'type': 'text',
                'meaning': "the driver's user, spelt as the database has it (Oracle: in capitals), whose events are `ignored` as `loopback`",
            },
            'allow_loopback': {'default': false, 'type': 'flag', 'meaning': "whether these events count after all"},
            'future_events': {'default': false, 'type': 'flag', 'meaning': "whether events are ordered by their time, and wait until then"},
        },
        'column_settings': {
            'multi_valued': {
                'default': false, 'type': 'flag',
                'meaning': "whether a row can have several values, logged one by one: they are published, but no part of the row",
            },
        },
        'mistakes': change_tables.idm_event_log_mistakes,
        'columns': [
            {'name': '_event_type', 'data_type': 'int', 'description': 'the type of the event, as it was logged'},
            {'name': '_column_name', 'data_type': 'string', 'is_name': true, 'description': 'the column that was logged, as it is declared'},
            {'name': '_old_value', 'data_type': 'string', 'description': 'the old value, as it was logged'},
            {'name': '_new_value', 'data_type': 'string', 'is_content': true, 'description': 'the new value, as it was logged'},
            {'name': '_table_key', 'data_type': 'string', 'description': 'the table key, as it was logged'},
        ],
        'origin': ['_changed_at'],
        'settings_of_order': ['future_events'],
        'other_tables': ['replica'],
        'absent_columns': change_tables.idm_event_log_absent_columns,
        'blocks_watermark': "(_status = 'waiting' or coalesce(startswith(_status_reason, 'row_gone'), false))",
        'reads': '_event_type in (5, 6, 7, 8)',
        'lasting_sequence': change_tables.idm_event_log_lasting_sequence,
        'unclaimed_steps': change_tables.idm_event_log_unclaimed_steps,
        'numbers': {
            'column': 'record_id', 'group': [], 'only': none,
            'remedy': 'look for these record ids in the source: a transaction that was rolled back has none; if they are there, land them, then build with change_tables_rescan',
        },
        'functions': {'staged': ['parse_table_key']},
    }) %}
{% endmacro %}
