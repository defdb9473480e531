{#-
    `change-tables forget`: erases keys of an entry from what the package keeps. First it writes their hashes, with the sequence up to which
    they are forgotten, into the table that is the door of the log (see `macros/feeds/forgotten_keys.sql`). Then it deletes what is of them.

    Each statement is one commit, and deletes what is of any key that the entry has forgotten. So wherever it dies, the same command again does what is
    left, and no run in between brings anything back. What names other rows goes before what it is found by: acknowledgements and
    documents, then rows in quarantine, then the log, then its states. The log and each state lose their rows in one commit with the
    checkpoint that counts them.
-#}

{#-
    table     the entry
    keys      the keys: name of a column -> text, number, boolean or null
    source    the source, where two have an entry of this name
    raw       also delete rows of the raw table and of the load
    dry_run   say what would be deleted, and change nothing
-#}
{% macro forget(table, keys, source='', raw=false, dry_run=false) %}
    {% set logs = change_tables._logs_to_forget_in(source, table) %}
    {% set spec = logs[0].spec %}
    {% set name = spec.source_name ~ '.' ~ spec.table_name %}
    {% set asked = change_tables._texts_of_keys(spec, keys) %}
    {% set door = change_tables.forgotten_keys(spec) %}
    {% set known = load_cached_relation(door) is not none %}
    {% set salt = run_query('select coalesce(' ~ ('(select max(salt) from ' ~ door ~ ')' if known else 'null') ~ ', uuid())').rows[0][0] %}
    {% set found = change_tables._hashes_with_moves(logs, salt, asked) %}
    {% do change_tables._refuse_living_by_moves(name, logs, salt, found.moved) if found.moved %}
    {% set hashes = found.asked + found.moved %}
    {% set look = change_tables._look_for_forgotten(logs, salt, hashes) %}
    {% set rows = [] %}
    {% for hash in hashes %}
        {% do rows.append("('" ~ hash ~ "', " ~ change_tables.text_literal(look.until) ~ ')') %}
    {% endfor %}
    {% set new = '(select * from values ' ~ rows | join(', ') ~ ' as new_keys (key_hash, until_seq))' %}
    {% do print(name ~ ': keys: ' ~ found.asked | length ~ (', and ' ~ found.moved | length ~ ' that their rows moved from or to' if found.moved) ~ '; forgotten up to ' ~ (look.until or 'the beginning')) %}
    {% do print(name ~ ': raw has no row of these keys; they are forgotten all the same') if not look.rows %}
    {#- also what an earlier command has remembered, and died before it was deleted -#}
    {% set known_and_new = '(select key_hash, until_seq from ' ~ door ~ ' union all select * from ' ~ new ~ ')' if known else new %}
    {% set forgotten = '(select key_hash, max(until_seq) as until_seq from ' ~ (known_and_new if dry_run else door) ~ ' group by key_hash)' %}
    {% do change_tables.ensure_described_table(door, change_tables.columns_of_forgotten_keys(), 'one row a key that the entry has forgotten, as a salted hash') if not dry_run %}
    {% do change_tables.send_or_say(change_tables._remember_forgotten(door, new, salt), hashes | length ~ ' keys', dry_run) %}
    {% set held = {'spec': spec, 'salt': change_tables.text_literal(salt), 'forgotten': forgotten, 'batch': look.batch, 'dry_run': dry_run} %}
    {% for log in logs %}
        {% do change_tables._forget_in_models(log, held) %}
    {% endfor %}
    {% if raw %}
        {% do change_tables.forget_in_raw(logs, held) %}
    {% elif look.rows %}
        {% do print(name ~ ': ' ~ look.rows ~ ' raw rows of these keys stay in ' ~ spec.relation ~ (' and its load' if spec.snapshot) ~ ': no run takes them in') %}
    {% endif %}
    {% do run_query(change_tables.drop_of('table', look.batch)) %}
    {% do print('to know: files keep what was deleted until change-tables maintain has removed them') %}
{% endmacro %}


{#-
    The logs of the entry, with their checkpoints and the models over them: [{relation, spec, node, checkpoint, models}]. Each model has its
    checkpoint, too, where it is a state. Stops where the log has other columns than are declared, or a state another key.
-#}
{% macro _logs_to_forget_in(source, table) %}
    {% set logs = [] %}
    {% for found in change_tables.logs_of_entry('forget', source, table) %}
        {% set models = [] %}
        {% for model in change_tables.models_over_log('forget', found.node) %}
            {% do models.append(dict(model, checkpoint=change_tables.checkpoint_of_table(model.relation) if model.node.config.materialized == 'change_state')) %}
        {% endfor %}
        {% set log = dict(found, checkpoint=change_tables.checkpoint_of_table(found.relation), models=models) %}
        {% set outdated = [log.relation] if log.checkpoint and change_tables.columns_have_changed(log.spec, log.checkpoint) else [] %}
        {% for model in models if model.checkpoint and model.checkpoint.key != log.spec.key %}
            {% do outdated.append(model.relation) %}
        {% endfor %}
        {% if outdated %}
            {% do change_tables.refuse_command(
                'forget', 'the columns of ' ~ log.spec.source_name ~ '.' ~ log.spec.table_name ~ ' have changed since ' ~ outdated[0]
                ~ ' was built: build it and the models after it first'
            ) %}
        {% endif %}
        {% do logs.append(log) %}
    {% endfor %}
    {% do return(logs) %}
{% endmacro %}


{#-
    Deletes what a log has, and the models over it. `held` is handed to all that delete: {spec, salt, forgotten, batch, dry_run}.

    salt        that of the hashes, as a literal
    forgotten   the hashes and sequences, as a query
    batch       see `_look_for_forgotten`
-#}
{% macro _forget_in_models(log, held) %}
    {% do change_tables._forget_in_acknowledgements(log, held) %}
    {% for found in log.models if found.node.config.materialized == 'change_documents' %}
        {% do change_tables._forget_in_documents(log, found, held) %}
    {% endfor %}
    {% do change_tables._forget_in_quarantine(log, held) %}
    {% do change_tables._forget_in_log(log, held) if log.checkpoint %}
    {% set now = change_tables.checkpoint_of_table(log.relation) or {} %}
    {% for found in log.models if found.node.config.materialized == 'change_state' %}
        {% do change_tables._forget_in_state(found, dict(held, held_changes=now.held_changes or 0)) %}
    {% endfor %}
    {% do change_tables._rewrite_files_with_vectors(log) if not held.dry_run %}
    {% set staging = graph.nodes.values() | selectattr('resource_type', 'eq', 'model') | map(attribute='unique_id') | select('in', log.node.depends_on.nodes) | list %}
    {% set own = [log.node.unique_id] + log.models | map(attribute='node.unique_id') | list + staging %}
    {% do change_tables._drop_stored_failures(own, held.dry_run) %}
    {% do change_tables._name_other_models(own) %}
{% endmacro %}


{#- The keys that are asked for, as the SQL of their texts. Stops where a column or a value is wrong. -#}
{% macro _texts_of_keys(spec, keys) %}
    {% set wanted = 'a key of ' ~ spec.source_name ~ '.' ~ spec.table_name ~ ' must be a JSON object of ' ~ spec.key | join(', ') %}
    {% set texts, checks, checked = [], [], [] %}
    {% for key in keys %}
        {% do change_tables.refuse_command('forget', wanted ~ ', got ' ~ (key | sort | join(', ') or 'none')) if key | sort != spec.key | sort %}
        {% do change_tables.refuse_command('forget', wanted ~ ', of which one must not be null') if not key.values() | reject('none') | list %}
        {% set columns = [] %}
        {% for name in spec.key %}
            {% set given = change_tables._key_value(change_tables.column_of(spec, name), key[name]) %}
            {% do columns.append(given.value ~ ' as ' ~ change_tables.quoted(name)) %}
            {% if key[name] is not none %}
                {#- by a name of its own: two that are written alike would be one -#}
                {% do checks.append(given.is_wrong ~ ' as is_wrong_' ~ checks | length) %}
                {% do checked.append(name) %}
            {% endif %}
        {% endfor %}
        {% do texts.append('(select ' ~ change_tables.key_text(spec) ~ ' from (select ' ~ columns | join(', ') ~ '))') %}
    {% endfor %}
    {% for name, is_wrong in zip(checked, run_query('select ' ~ checks | join(', ')).rows[0].values()) if is_wrong %}
        {% set column = change_tables.column_of(spec, name) %}
        {% do change_tables.refuse_command('forget', 'column ' ~ column.name ~ ' is ' ~ column.data_type ~ ', and what is given as its value is not') %}
    {% endfor %}
    {% do return(texts) %}
{% endmacro %}


{#-
    SQL for a value of a key as staging reads it from a text, bytes from hex digits, and for whether it is none of the column's type:
    {value, is_wrong}. Stops where it is written otherwise.
-#}
{% macro _key_value(column, value) %}
    {% set declared = change_tables.type_tree(column.data_type) %}
    {% set kind = declared.kind %}
    {% if kind in ['string', 'binary', 'date', 'timestamp', 'timestamp_ntz'] %}
        {% set wanted, is_right = 'a text', value is string %}
    {% elif kind == 'boolean' %}
        {% set wanted, is_right = 'true or false', value is boolean %}
    {% else %}
        {% set wanted, is_right = 'a number', value is string or (value is number and value is not boolean) %}
    {% endif %}
    {% if kind in ['array', 'map', 'struct', 'variant', 'other'] %}
        {% do change_tables.refuse_command('forget', 'column ' ~ column.name ~ ' is ' ~ declared.text ~ ', and no such key can be named') %}
    {% elif value is not none and not is_right %}
        {% do change_tables.refuse_command(
            'forget', 'column ' ~ column.name ~ ' is ' ~ declared.text ~ ', so its value must be ' ~ wanted ~ ' in the JSON'
        ) %}
    {% endif %}
    {% set literal = 'cast(null as string)' if value is none else change_tables.text_literal(value | string) %}
    {% set written = change_tables.type_tree('hex' if kind == 'binary' else 'string') %}
    {% do return({
        'value': change_tables.read_value(literal, written, declared),
        'is_wrong': change_tables.does_not_fit(literal, column.data_type, written) or 'false',
    }) %}
{% endmacro %}


{#- The hashes of these keys, each once, as `asked`, and as `moved` those of all keys that rows of the log have moved from or to. -#}
{% macro _hashes_with_moves(logs, salt, texts) %}
    {% set literal = change_tables.text_literal(salt) %}
    {% set asked = [] %}
    {% for text in texts %}
        {% do asked.append(change_tables.hash_of_forgotten_key(literal, text)) %}
    {% endfor %}
    {% set hashes = run_query('select ' ~ asked | join(', ')).rows[0].values() | unique | list %}
    {% set number_asked = hashes | length %}
    {% set before = namespace(number=0) %}
    {% set edges = [] %}
    {% for log in logs if log.checkpoint and log.checkpoint.moves %}
        {% do edges.append('select ' ~ change_tables.hash_of_forgotten_key(literal, change_tables.key_before_text(log.spec)) ~ ' as key_before, '
            ~ change_tables.hash_of_forgotten_key(literal, change_tables.key_text(log.spec)) ~ ' as key_after from ' ~ change_tables.state_relation(log.relation)
            ~ ' where _checkpoint is null and _key_before is not null') %}
    {% endfor %}
    {% for _ in range(1000) if edges and hashes | length > before.number %}
        {% set before.number = hashes | length %}
        {% set among = change_tables.text_literals(hashes) %}
        {% do hashes.extend(run_query(
            'select distinct explode(array(key_before, key_after)) as key_hash from (' ~ edges | join(' union all ') ~ ') where key_before in (' ~ among ~ ') or key_after in (' ~ among ~ ') order by key_hash'
        ).rows | map(attribute=0) | reject('in', hashes) | list) %}
    {% endfor %}
    {% do return({'asked': hashes[:number_asked], 'moved': hashes[number_asked:]}) %}
{% endmacro %}


{#-
    Stages raw once, and keeps in a batch which of its rows are of forgotten keys, and which are rejected or wait. Returns what raw has of the keys
    that are asked for: {batch, rows, until}.

    batch   the table: _row_id of a row that is rejected or waits, _raw_id, _change_seq (see `lasting_sequence`), is_asked, is_forgotten
    rows    how many raw rows are of these keys
    until   the sequence up to which they are forgotten: the highest that the log has of any key, or raw of these. Of any key in the groups of
            these, where sequences have `group_of_sequence`: in another group a later change can have a lower one
-#}
{% macro _look_for_forgotten(logs, salt, hashes) %}
    {% set log = logs[0] %}
    {% set spec = log.spec %}
    {% set batch = change_tables.batch_relation(log.relation, change_tables.batch_id(), log.node) %}
    {% set bound = {'predicate': none, 'snapshot': true, 'arrival': none, 'with_forgotten': true} %}
    {% set door = change_tables.forgotten_keys(spec) %}
    {% set among = change_tables.text_literals(hashes) %}
    {% set row_id = change_tables.row_id_column() %}
    {#- above every sequence: no text begins with this byte -#}
    {% set until = "select explode(array(" ~ among ~ ")) as key_hash, cast(X'FF' as string) as until_seq" %}
    {% set until = '(select key_hash, max(until_seq) as until_seq from (' ~ (until if load_cached_relation(door) is none else 'select key_hash, until_seq from ' ~ door ~ ' union all ' ~ until) ~ ') group by key_hash)' %}
    {% set literal = change_tables.text_literal(salt) %}
    {% if load_relation(spec.relation) is none %}
        {% set rows = "select cast(null as string) as " ~ row_id ~ ", cast(null as string) as _raw_id, cast(null as string) as _change_seq, false as is_asked, false as is_forgotten where false" %}
    {% else %}
        {% set rows %}
with {{ change_tables.staging_steps(spec, bound) }}

select {{ row_id }}, _raw_id, _change_seq, is_asked, is_forgotten
from (
    select
        {{ change_tables.quarantine_id(spec, bound) | indent(8) }} as {{ row_id }},
        _raw_id,
        {#- an ignored row that names no change says nothing of how far the key's changes go #}
        if(_status = 'ignored' and _change_id is null, null, {{ change_tables.lasting_sequence(spec, change_tables.sequence_that_counts()) }}) as _change_seq,
        coalesce(of_key.key_hash in ({{ among }}), false) or coalesce(of_key_before.key_hash in ({{ among }}), false) as is_asked,
        {{ change_tables.is_of_forgotten_key(spec) }} as is_forgotten
    from staged
    {{ change_tables.joins_of_forgotten(spec, until, literal, 'staged') | indent(4) }}
)
where {{ row_id }} is not null or is_forgotten
        {% endset %}
    {% endif %}
    {% do run_query(change_tables.create_batch_table(batch, rows)) %}
    {% set queries = ['select count_if(is_asked and is_forgotten) as raw_rows, max(if(is_asked, _change_seq, null)) as until_seq from ' ~ batch] %}
    {% set format = change_tables.format_of(spec.format) %}
    {% for log in logs if log.checkpoint %}
        {% set highest = change_tables.text_literal(log.checkpoint.highest_seq) %}
        {% if format.lasting_sequence or format.group_of_sequence %}
            {% set changes = change_tables.state_relation(log.relation) ~ ' where _checkpoint is null' %}
            {% set highest = 'max(' ~ change_tables.lasting_sequence(spec, '_change_seq') ~ ') from ' ~ changes
                ~ (change_tables._in_groups_of_keys(spec, format.group_of_sequence('_change_seq'), changes, literal, among) if format.group_of_sequence) %}
        {% endif %}
        {% do queries.append('select 0, ' ~ highest) %}
    {% endfor %}
    {% set row = run_query("select sum(raw_rows) as raw_rows, coalesce(max(until_seq), '') as until_seq from (" ~ queries | join(' union all ') ~ ')').rows[0] %}
    {% do return({'batch': batch, 'rows': row['raw_rows'] | int, 'until': row['until_seq']}) %}
{% endmacro %}


{#- The end of a query of these changes: only those of the groups in which the keys have some. -#}
{% macro _in_groups_of_keys(spec, group, changes, salt, hashes) -%}
    {%- set of_keys = [] -%}
    {%- for text in [change_tables.key_text(spec), change_tables.key_before_text(spec)] -%}
        {%- do of_keys.append(change_tables.hash_of_forgotten_key(salt, text) ~ ' in (' ~ hashes ~ ')') -%}
    {%- endfor -%}
    {{- ' and ' ~ group ~ ' in (select ' ~ group ~ ' from ' ~ changes ~ ' and (' ~ of_keys | join(' or ') ~ '))' -}}
{%- endmacro %}


{#- The first statement. A key that was forgotten before is forgotten up to the higher sequence. All keys of an entry have one salt. -#}
{% macro _remember_forgotten(door, new, salt) -%}
merge into {{ door }} as target
using (
    select *
    from {{ new }}
    where
        case
            when (select count_if(salt <> {{ change_tables.text_literal(salt) }}) from {{ door }}) = 0 then true
            else raise_error('change_tables: forget: another one of this entry has begun meanwhile; run again')
        end
) as source
    on source.key_hash = target.key_hash
when matched and source.until_seq > target.until_seq then update set until_seq = source.until_seq, forgotten_at = current_timestamp(), forgotten_by = current_user()
when not matched then insert (key_hash, until_seq, salt, forgotten_at, forgotten_by)
    values (source.key_hash, source.until_seq, {{ change_tables.text_literal(salt) }}, current_timestamp(), current_user())
{%- endmacro %}


{#-
    Stops where a key that moves connect with those that were asked for still has a row: it can be another person's, whose row came to a key, or left
    it, after or before the one that is meant.
-#}
{% macro _refuse_living_by_moves(name, logs, salt, moved) %}
    {% set queries = [] %}
    {% for log in logs %}
        {% for model in log.models if change_tables.maker_of(model.node) == 'current_state' and model.checkpoint and load_cached_relation(model.relation) is not none %}
            {% if model.checkpoint.batch != log.checkpoint.batch %}
                {% do change_tables.refuse_command(
                    'forget', model.relation ~ ' has not taken in all that ' ~ log.relation ~ ' has, so it cannot say which keys live that moves connect with these: build it first'
                ) %}
            {% endif %}
            {% do queries.append(
                'select ' ~ change_tables.key_text(log.spec) ~ ' as key_text, to_json(struct(' ~ change_tables.column_list(log.spec.key) ~ ')) as shown from ' ~ model.relation
                ~ (' where not _is_deleted' if model.checkpoint.keeps_deleted)
            ) %}
        {% endfor %}
    {% endfor %}
    {% if queries %}
        {% set shown = run_query(
            'select distinct shown from (' ~ queries | join(' union all ') ~ ') where ' ~ change_tables.hash_of_forgotten_key(change_tables.text_literal(salt), 'key_text')
            ~ ' in (' ~ change_tables.text_literals(moved) ~ ') order by shown limit 6'
        ).rows | map(attribute=0) | list %}
        {% if shown %}
            {% do change_tables.refuse_command(
                'forget', 'rows of ' ~ name ~ ' that live are under keys that moves connect with these: ' ~ shown[:5] | join(', ') ~ (' and more' if shown | length > 5)
                ~ '. Name them with --key too, or delete them at the source first, if they are to go; else this cannot be undone'
            ) %}
        {% endif %}
    {% endif %}
{% endmacro %}


{#-
    A query for rows of a table of this package that are of forgotten keys.

    columns      what is selected, as SQL; the row is `held`
    seq          the column with the sequence up to which it counts
    moves        whether rows have a key before: those of a log, of which a truncate has no key
-#}
{% macro _rows_of_forgotten(held, table, columns, seq='_change_seq', moves=false) -%}
select {{ columns }}
    from {{ table }} as held
    {{ change_tables.joins_of_forgotten(held.spec, held.forgotten, held.salt, 'held', moves) | indent(4) }}
    where held._checkpoint is null{{ " and held._change_op <> 'truncate'" if moves }} and {{ change_tables.is_up_to(held.spec, 'held.' ~ seq) }}
{%- endmacro %}


{#-
    Deletes the rows of a table that a source names, or says what would be sent. Returns how many there are.

    source   a query
    on       which row of `target` it names
-#}
{% macro _delete_named(table, source, on, held) %}
    {% set rows = run_query('select count(*) as number from ' ~ table ~ ' as target left semi join ' ~ source ~ ' as source on ' ~ on).rows[0][0] | int %}
    {% set statement = 'merge into ' ~ table ~ ' as target\nusing ' ~ source ~ ' as source\n    on ' ~ on ~ '\nwhen matched then delete' %}
    {% do change_tables.send_or_say(statement, rows ~ ' rows of ' ~ table, held.dry_run) if rows > 0 %}
    {% do change_tables._say_deleted(table, rows, held) %}
    {% do return(rows) %}
{% endmacro %}


{% macro _say_deleted(table, rows, held) %}
    {% do print(table ~ ': ' ~ rows ~ ' rows' ~ (' would be' if held.dry_run) ~ ' deleted') %}
{% endmacro %}


{% macro _forget_in_acknowledgements(log, held) %}
    {% set table = change_tables.acknowledgements() %}
    {% do return('') if load_cached_relation(table) is none %}
    {% set ids = [] %}
    {% do ids.append('select ' ~ change_tables.row_id_column() ~ ' as id from ' ~ change_tables._quarantined_of_forgotten(log, held)) if load_cached_relation(change_tables.quarantine_relation(log.relation)) is not none %}
    {% set state = change_tables.state_relation(log.relation) %}
    {% do ids.append(change_tables._rows_of_forgotten(held, state, 'held._change_id', moves=true)) if load_cached_relation(state) is not none %}
    {% do return('') if not ids %}
    {% set source = '(select distinct id from (' ~ ids | join('\nunion all\n') ~ '))' %}
    {% do change_tables._delete_named(table, source, 'target.id = source.id and ' ~ change_tables.is_of_entry(held.spec, 'target.'), held) %}
{% endmacro %}


{% macro _forget_in_documents(log, documents, held) %}
    {% set table = change_tables.state_relation(documents.relation, documents.node) %}
    {% do return('') if load_cached_relation(table) is none or load_cached_relation(change_tables.state_relation(log.relation)) is none %}
    {% set source = '(' ~ change_tables._rows_of_forgotten(held, change_tables.state_relation(log.relation), 'distinct try_cast(held._change_id as bigint) as record_id', moves=true) ~ ')' %}
    {% set on = 'target.class_name = ' ~ change_tables.text_literal(held.spec.settings.table_name) ~ ' and array_contains(target.record_ids, source.record_id)' %}
    {% do change_tables._delete_named(table, source, on, held) %}
{% endmacro %}


{#- Rejected and waiting rows. Those that raw has no more are known by what their JSON has under the names of the key. -#}
{% macro _forget_in_quarantine(log, held) %}
    {% set table = change_tables.quarantine_relation(log.relation) %}
    {% do return('') if load_cached_relation(table) is none %}
    {% set row_id = change_tables.row_id_column() %}
    {% set rows = change_tables._delete_named(table, change_tables._quarantined_of_forgotten(log, held), 'target.' ~ row_id ~ ' = source.' ~ row_id, held) %}
    {% set left = run_query('select count(*) as number from ' ~ table).rows[0][0] | int - (rows if held.dry_run else 0) %}
    {% do print(table ~ ': ' ~ left ~ ' other rows are left; look at those whose key cannot be read') if left > 0 %}
{% endmacro %}


{% macro _quarantined_of_forgotten(log, held) -%}
    {%- set quarantine = change_tables.quarantine_relation(log.relation) -%}
    {%- set row_id = change_tables.row_id_column() -%}
    {%- set laterals = [] -%}
    {%- for name in held.spec.key -%}
        {%- do laterals.append('lateral view explode(' ~ change_tables._values_in_json(held.spec, name, 'held._raw_row') ~ ') as _ct_value_' ~ loop.index) -%}
    {%- endfor -%}
(
    {%- for name in [row_id, '_raw_id'] %}
    select held.{{ row_id }}
    from {{ quarantine }} as held
    left semi join {{ held.batch }} as staged
        on held.{{ name }} = staged.{{ name }} and staged.is_forgotten
    union
    {%- endfor %}
    select {{ row_id }}
    from (
        select
            {{ row_id }},
            {{ change_tables.hash_of_forgotten_key(held.salt, change_tables.key_text(held.spec)) }} as key_hash
        from (
            select {{ row_id }}, {{ change_tables.each(held.spec.key, '_ct_value_{number} as {name}') | join(', ') }}
            from (select held.* from {{ quarantine }} as held left anti join {{ held.batch }} as staged on held.{{ row_id }} = staged.{{ row_id }}) as held
            {{ laterals | join('\n            ') }}
        )
    ) as gone
    left semi join {{ held.forgotten }} as of_key
        on gone.key_hash = of_key.key_hash
)
{%- endmacro %}


{#-
    SQL for all values that a JSON text has under the names of a column, also in JSON that is a text within it: there each quote has as many
    backslashes more as the first one of the name. Each is read in every way in which it can have been written.
-#}
{% macro _values_in_json(spec, name, json) -%}
    {%- set column = change_tables.column_of(spec, name) -%}
    {%- set names = [] -%}
    {%- for other in change_tables.landing_names(spec, name) -%}
        {%- do names.append(modules.re.escape(other)) -%}
    {%- endfor -%}
    {%- set in_quotes = '\\1"(?:[^"\\\\]++|\\1\\\\(?:\\1\\\\|\\1"|[^"\\\\]))*+\\1"' -%}
    {%- set pattern = '(?i)(\\\\*)"(?:' ~ names | join('|') ~ ')\\1"\\s*:\\s*(?:' ~ in_quotes ~ '|[^"\\\\,}\\]\\s]++)' -%}
    {#- as an object of its own, out of the texts that it is in -#}
    {%- set object = "aggregate(array(1, 2, 3), concat('{', pair, '}'), (object, depth) -> if(startswith(object, '{\\\\'), get(from_json(concat('[\"', object, '\"]'), 'array<string>'), 0), object))" -%}
    {#- a number as it stands there: read as JSON, it can lose digits -#}
    {%- set text = "if(endswith(pair, '\"'), get(map_values(from_json(" ~ object ~ ", 'map<string, string>')), 0), nullif(regexp_extract(pair, '[^:\\\\s]*$', 0), 'null'))" -%}
    {%- set declared = change_tables.type_tree(column.data_type) -%}
    {%- set values = [] -%}
    {%- if declared.kind == 'binary' -%}
        {%- do values.extend(['cast(text as binary)', "try_to_binary(text, 'hex')", "try_to_binary(text, 'base64')"]) -%}
    {%- else -%}
        {%- do values.append(change_tables.read_value('text', change_tables.type_tree('string'), declared)) -%}
    {%- endif -%}
    {%- if column.meta.get('written_as') and declared.kind != 'binary' -%}
        {%- set written = change_tables.written_value(column.meta.written_as, 'text', column) -%}
        {%- do values.append(change_tables.read_value(written.sql, change_tables.type_tree(written.data_type), declared)) -%}
    {%- endif -%}
    flatten(transform(transform(regexp_extract_all({{ json }}, {{ change_tables.text_literal(pattern) }}, 0), pair -> {{ text }}), text -> array({{ values | join(', ') }})))
{%- endmacro %}


{#- The changes, with a checkpoint that counts the rest. -#}
{% macro _forget_in_log(log, held) %}
    {% set table = change_tables.state_relation(log.relation) %}
    {% set quarantine = change_tables.quarantine_relation(log.relation) %}
    {% set source = change_tables._rows_of_forgotten(held, table, 'cast(null as string) as _checkpoint, held._change_id, held._change_seq', moves=true) %}
    {% set rows = run_query('select count(*) as number from (' ~ source ~ ')').rows[0][0] | int %}
    {% set after = dict(log.checkpoint, held_changes=log.checkpoint.held_changes - rows, forgets=true) %}
    {% if load_cached_relation(quarantine) is not none %}
        {% set open = change_tables.nothing_quarantined() %}
        {% for row in run_query('select _status, sum(_equal_rows) as number, min(_batch_id) as since from ' ~ quarantine ~ ' where _healed_at is null group by _status').rows %}
            {% do open.update({row['_status']: row['number'] | int}) %}
            {% do open.update({'waiting_since': row['since']}) if row['_status'] == 'waiting' %}
        {% endfor %}
        {% do after.update({'quarantined': open}) %}
    {% endif %}
    {% do change_tables._delete_with_checkpoint(log.relation, table, source, ['_change_id', '_change_seq'], log.checkpoint, after) if after != log.checkpoint and not held.dry_run %}
    {% do change_tables._say_deleted(table, rows, held) %}
{% endmacro %}


{#-
    The rows of a state. Its checkpoint then says that it was built whole: so a model that asks for its changes is told that the key has ended
    (see `changes_since`).
-#}
{% macro _forget_in_state(found, held) %}
    {% set table = change_tables.state_relation(found.relation, found.node) %}
    {% do return('') if load_cached_relation(table) is none %}
    {% set checkpoint = found.checkpoint %}
    {% do return('') if checkpoint is none %}
    {% set is_history = change_tables.maker_of(found.node) == 'history' %}
    {% set seq = '_valid_from_seq' if is_history else '_change_seq' %}
    {% set identity = held.spec.key + ([seq] if is_history else []) %}
    {% set source = change_tables._rows_of_forgotten(held, table, 'cast(null as string) as _checkpoint, ' ~ change_tables.column_list(identity, 'held'), seq) %}
    {% set rows = run_query('select count(*) as number from (' ~ source ~ ')').rows[0][0] | int %}
    {% set after = dict(checkpoint, built=change_tables.batch_id(), written=change_tables.batch_id(), log_changes=[checkpoint.log_changes, held.held_changes] | min) %}
    {% do change_tables._delete_with_checkpoint(found.relation, table, source, identity, checkpoint, after) if rows > 0 and not held.dry_run %}
    {% do change_tables._say_deleted(table, rows, held) %}
{% endmacro %}


{#-
    Deletes rows of the table of a model and changes its checkpoint, in one commit, where the table is still what was looked at. How many rows
    are left is counted by the next run that asks.
-#}
{% macro _delete_with_checkpoint(relation, table, source, identity, before, after) %}
    {% do change_tables.remove_cached_checkpoint(relation) %}
    {% set merge %}
merge into {{ table }} as target
using (
    {{ source }}
    union all
    select {{ change_tables.text_literal(tojson(after)) }}{% for name in identity %}, null{% endfor %}
) as source
    on
        {{ change_tables.same_key(identity, 'source', 'target') }}
        and (source._checkpoint is null) = (target._checkpoint is null)
when matched and source._checkpoint is not null and get_json_object(target._checkpoint, '$.batch') < '{{ before.batch }}' then delete
when matched and source._checkpoint is not null then update set
    _checkpoint = {{ change_tables.guarded_checkpoint(before) }}
when matched then delete
    {%- endset %}
    {% do change_tables.send_or_say(merge, '', false) %}
    {% do change_tables.set_properties_of_view(relation, change_tables.checkpoint_as_properties(after, 1, none)) if load_cached_relation(relation) is not none %}
{% endmacro %}


{#- Writes files anew of which vectors alone say that rows were deleted: `optimize` does not. -#}
{% macro _rewrite_files_with_vectors(log) %}
    {% set tables = [change_tables.state_relation(log.relation), change_tables.quarantine_relation(log.relation)] %}
    {% for found in log.models %}
        {% do tables.append(change_tables.state_relation(found.relation, found.node)) %}
    {% endfor %}
    {% for table in tables if change_tables.has_deletion_vectors(table) %}
        {% do change_tables.send_or_say(change_tables.removal_of_vectors(table), '', false) %}
        {% do print(table ~ ': files with deleted rows are written anew') %}
    {% endfor %}
{% endmacro %}


{#- Failures that data tests of these models have stored: the next `dbt test` makes them anew. -#}
{% macro _drop_stored_failures(models, dry_run) %}
    {% for node in graph.nodes.values() | sort(attribute='unique_id') if node.resource_type == 'test' and node.depends_on.nodes | select('in', models) | list %}
        {% set stored = adapter.get_relation(node.database, node.schema, node.alias) %}
        {% if stored is not none and stored.is_table %}
            {% do change_tables.send_or_say(change_tables.drop_of('table', stored), 'stored failures of a data test', dry_run) %}
            {% do print(stored ~ ': dropped, stored failures of a data test') if not dry_run %}
        {% endif %}
    {% endfor %}
{% endmacro %}


{% macro _name_other_models(models) %}
    {% for node in graph.nodes.values() | sort(attribute='unique_id') if node.resource_type in ['model', 'snapshot'] and node.depends_on.nodes | select('in', models) | list %}
        {% if node.unique_id not in models and node.config.materialized not in ['view', 'ephemeral', 'change_view', 'change_log', 'change_state', 'change_documents'] %}
            {% do print('to know: ' ~ change_tables.relation_of_node(node) ~ ' reads these models, and may hold values: erase there') %}
        {% endif %}
    {% endfor %}
{% endmacro %}
