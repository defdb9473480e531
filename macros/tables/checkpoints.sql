{#-
    A checkpoint is a JSON object in a row of its own of a model's table: what the table has taken in (see state_relation). In `_checkpoint`
    a change or a row of a state has null. Until the first run of a log has ended, rows that are no changes have a text that is no checkpoint
    (see `set_aside_as_checkpoint`). To read a checkpoint takes a scan, which costs more than most of what a run without news does. So
    the view over the table has the checkpoint as well, in its properties: the cached checkpoint. dbt sees these where it lists the schema.

    The checkpoint of the table is the one that counts. A run removes the cached checkpoint before it writes, and sets it once it has
    written. A run that died leaves none, and the next ones read the table until one has written. Where two runs meet, a cached checkpoint
    can be older than that of the table. That is harmless: every write compares the checkpoint that it looked at with the one that is there,
    and a run that rebuilds an existing table has read the checkpoint from the table.
-#}

{#- The storage version of the tables that this version of the package writes, and the only one that it reads. -#}
{% macro storage_version() %}
    {% do return(6) %}
{% endmacro %}


{#- What a log's checkpoint says before the first run, as far as that is asked. -#}
{% macro checkpoint_of_unbuilt_log() %}
    {% do return({
        'log': '', 'origin': '', 'batch': '', 'extends': none, 'held_changes': 0, 'reset_seq': '', 'highest_seq': '',
        'loads': [], 'load_times': {}, 'moves': false, 'has_reported': false, 'retracted_keys': [], 'rebuild': '', 'snapshot_seq': none, 'commits': {},
        'schema_version': 0, 'added': {}, 'absent': {}, 'renamed': {}, 'first_names': [], 'forgets': false,
    }) %}
{% endmacro %}


{#-
    What a table has that a full refresh is about to replace: {checkpoint, rows}, its latest checkpoint and how many rows it has beside
    checkpoints; none where it is not there, has no checkpoint, or is of another storage version.
-#}
{% macro table_to_be_replaced(state) %}
    {% do return(none) if change_tables.found_relation(state) is none or '_checkpoint' not in adapter.get_columns_in_relation(state) | map(attribute='name') %}
    {% set row = run_query(
        "select max_by(_checkpoint, get_json_object(_checkpoint, '$.batch')) filter (where " ~ change_tables.is_checkpoint() ~ ") as replaced_checkpoint,"
        ~ " count_if(_checkpoint is null) as replaced_rows from " ~ state
    ).rows[0] %}
    {% set checkpoint = fromjson(row[0] or '{}') %}
    {% do return({'checkpoint': checkpoint, 'rows': row[1] | int} if checkpoint.storage_version == change_tables.storage_version() else none) %}
{% endmacro %}


{#-
    For each of these models {checkpoint, number, is_cached}: its latest checkpoint, or none, and how many checkpoints its table has. Cached
    checkpoints are used for all models or for none: they are those of when dbt began, and a checkpoint that is read from a table now can be
    newer. Else one query reads the tables. A rescan always reads the tables, and so does `from_tables`.

    Stops where one of the tables has another storage version. A full refresh does not ask for the checkpoints of what it rebuilds.
-#}
{% macro read_checkpoints(relations, from_tables=false) %}
    {% set checkpoints, queries = [], [] %}
    {% set tables_alone = [from_tables or var('change_tables_rescan', false)] %}
    {% for relation in relations %}
        {% set state = change_tables.state_relation(relation) %}
        {% set is_there = change_tables.found_relation(state) is not none %}
        {% set cached = change_tables.cached_checkpoint(relation) if is_there else none %}
        {% do checkpoints.append(cached or {'checkpoint': none, 'number': 0, 'is_cached': false}) %}
        {% if is_there %}
            {% do tables_alone.append(cached is none) %}
            {% do queries.append('select ' ~ loop.index0 ~ ' as place, _checkpoint from ' ~ state ~ ' where ' ~ change_tables.is_checkpoint()) %}
        {% endif %}
    {% endfor %}
    {% if queries and tables_alone | max %}
        {% for found in checkpoints %}
            {% do found.update({'checkpoint': none, 'number': 0, 'is_cached': false}) %}
        {% endfor %}
        {% for row in run_query(queries | join(' union all ')).rows %}
            {% set found = checkpoints[row[0]] %}
            {% set checkpoint = fromjson(row[1]) %}
            {% do found.update({'number': found.number + 1}) %}
            {% do found.update({'checkpoint': checkpoint}) if found.checkpoint is none or checkpoint.batch > found.checkpoint.batch %}
        {% endfor %}
    {% endif %}
    {% for found in checkpoints %}
        {% if found.checkpoint and found.checkpoint.storage_version != change_tables.storage_version() %}
            {% set version = found.checkpoint.storage_version or 0 %}
            {% do change_tables.refuse_model(
                change_tables.state_relation(relations[loop.index0]) ~ " has storage version " ~ (version or 'none') ~ ", and this version of the package reads storage version "
                ~ change_tables.storage_version() ~ " alone: " ~ ("install the later version that wrote it, or " if version > change_tables.storage_version())
                ~ "rebuild the log and the models after it with --full-refresh"
            ) %}
        {% endif %}
    {% endfor %}
    {% do return(checkpoints) %}
{% endmacro %}


{#- The latest checkpoint that the table of a model has, whatever is cached of it; none where it has none. -#}
{% macro checkpoint_of_table(relation) %}
    {% do return((change_tables.read_checkpoints([relation], from_tables=true) | first).checkpoint) %}
{% endmacro %}


{#- What the view of a model has cached of its checkpoints, as `read_checkpoints` returns it; none where it has nothing whole. -#}
{% macro cached_checkpoint(relation) %}
    {% set properties = change_tables.properties_of_view(change_tables.found_relation(relation)) %}
    {% set summary = properties.get('change_tables.checkpoint', '').split(':') %}
    {% do return(none) if summary | length < 3 %}
    {% set parts = [] %}
    {% for number in range(summary[1] | int) %}
        {% do parts.append(properties.get('change_tables.checkpoint.' ~ number, '')) %}
    {% endfor %}
    {% set text = parts | join %}
    {% do return(none) if local_md5(text) != summary[2] %}
    {% do return({
        'checkpoint': fromjson(''.encode().fromhex(text).decode()), 'number': summary[0] | int, 'is_cached': true,
        'rows': summary[3] | int if summary | length > 3 else none,
    }) %}
{% endmacro %}


{#-
    A checkpoint as properties of a view. `change_tables.checkpoint` has how many checkpoints the table has, in how many parts the text of
    the latest is, a digest of it, and of a state how many rows the run has left (see `_add_to_state`). The text is in parts, since
    metastores limit the length of a property. It is in hexadecimal digits, since they do not take every character, and Spark hides values
    that look like secrets.
-#}
{% macro checkpoint_as_properties(checkpoint, number, rows) %}
    {% set text = tojson(checkpoint).encode('utf-8').hex() %}
    {% set parts = text | list | batch(3900) | map('join') | list %}
    {% set properties = {'change_tables.checkpoint': number ~ ':' ~ parts | length ~ ':' ~ local_md5(text) ~ (':' ~ rows if rows is not none)} %}
    {% for part in parts %}
        {% do properties.update({'change_tables.checkpoint.' ~ loop.index0: part}) %}
    {% endfor %}
    {% do return(properties) %}
{% endmacro %}


{#-
    Removes the cached checkpoint of a model, before a statement that changes its table. Also where dbt saw none: another run may have set
    it since.
-#}
{% macro remove_cached_checkpoint(view) %}
    {% set existing = change_tables.found_relation(view) %}
    {% do change_tables.set_properties_of_view(view, {'change_tables.checkpoint': ''}) if existing is not none and existing.is_view %}
{% endmacro %}


{#-
    The last run that a model's view has said of its table, also where the cached checkpoint was removed since; empty where it has said none.
    A table with an older checkpoint, or with none, was set back or emptied by something other than a run.
-#}
{% macro batch_once_cached(view) %}
    {% set text = change_tables.properties_of_view(change_tables.found_relation(view)).get('change_tables.checkpoint.0', '') %}
    {% set found = modules.re.search('"batch": "([^"]*)"', ''.encode().fromhex(text).decode('utf-8', 'ignore')) %}
    {% do return(found.group(1) if found else '') %}
{% endmacro %}


{#- Whether a table has an older checkpoint than its runs have left: somebody has restored an older version. -#}
{% macro is_set_back(view, checkpoint) %}
    {% do return(checkpoint is not none and checkpoint.batch < change_tables.batch_once_cached(view)) %}
{% endmacro %}


{% macro is_checkpoint() -%}
    startswith(_checkpoint, '{')
{%- endmacro %}


{#- The guard of a merge: stops it when the state has taken in something since this run looked at its checkpoint. -#}
{% macro guarded_checkpoint(checkpoint_before) -%}
    case
        when target._checkpoint = {{ change_tables.text_literal(tojson(checkpoint_before)) }} then source._checkpoint
        else {{ change_tables.refuse_meeting() }}
    end
{%- endmacro %}


{#- What a merge inserts as `_checkpoint`. A checkpoint always meets the one before, unless that is gone. -#}
{% macro checkpoint_of_new_row() -%}
    {%- set lost = "raise_error('change_tables: this table has lost the checkpoint of its runs, as if it was emptied or replaced by hand; nothing was changed, run again')" -%}
    case when source._checkpoint is not null then {{ lost }} else source._checkpoint end
{%- endmacro %}


{% macro refuse_other_build() -%}
    raise_error('change_tables: another run has built this table at the same time; run again')
{%- endmacro %}


{% macro refuse_meeting() -%}
    raise_error('change_tables: another run has written to this table at the same time; nothing was changed, run again')
{%- endmacro %}
