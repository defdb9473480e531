{#-
    A mark is a JSON object in a row of its own of a model's table: what the table has taken in (see state_relation). In `_mark` a
    change or a row of a state has null. To read a mark takes a scan, which costs more than most of what a run without news does. So the view over the table has the mark as
    well, in its properties: the cached mark. dbt sees these where it lists the schema.

    The mark of the table is the one that counts. A run removes the cached mark before it writes, and sets it once it has written. A
    run that died leaves none, and the next ones read the table until one has written. Where two runs meet, a cached mark can be
    older than that of the table. That is harmless: every write compares the mark that it looked at with the one that is there, and
    a run that builds an existing table anew has read the mark from the table.
-#}

{#- The layout of the tables that this version of the package writes, and the only one that it reads. -#}
{% macro layout() %}
    {% do return(4) %}
{% endmacro %}


{#- What a log's mark says before the first run, as far as that is asked. -#}
{% macro mark_of_unbuilt_log() %}
    {% do return({
        'log': '', 'batch': '', 'extends': none, 'changes': 0, 'held_changes': 0, 'marks_rows': false, 'floor': '', 'highest_seq': '',
        'loads': [], 'moves': false, 'taken_back': [], 'rebuild': '', 'snapshot_seq': none, 'form': 0, 'added': {},
    }) %}
{% endmacro %}


{#-
    For each of these models {mark, number, is_cached}: its latest mark, or none, and how many marks its table has. Cached marks are
    used for all models or for none: they are those of when dbt began, and a mark that is read from a table now can be newer. Else
    one query reads the tables. A rescan always reads the tables, and so does `from_tables`.

    Stops where one of the tables has another layout. A full refresh does not ask for the marks of what it builds anew.
-#}
{% macro read_marks(relations, from_tables=false) %}
    {% set marks = [] %}
    {% set queries = [] %}
    {% set tables_alone = [from_tables or var('change_tables_rescan', false)] %}
    {% for relation in relations %}
        {% set state = change_tables.state_relation(relation) %}
        {% set is_there = load_cached_relation(state) is not none %}
        {% set cached = change_tables.cached_mark(relation) if is_there else none %}
        {% do marks.append(cached or {'mark': none, 'number': 0, 'is_cached': false}) %}
        {% if is_there %}
            {% do tables_alone.append(cached is none) %}
            {% do queries.append('select ' ~ loop.index0 ~ ' as place, _mark from ' ~ state ~ ' where ' ~ change_tables.is_mark()) %}
        {% endif %}
    {% endfor %}
    {% if queries and tables_alone | max %}
        {% for found in marks %}
            {% do found.update({'mark': none, 'number': 0, 'is_cached': false}) %}
        {% endfor %}
        {% for row in run_query(queries | join(' union all ')).rows %}
            {% set found = marks[row[0]] %}
            {% set mark = fromjson(row[1]) %}
            {% do found.update({'number': found.number + 1}) %}
            {% do found.update({'mark': mark}) if found.mark is none or mark.batch > found.mark.batch %}
        {% endfor %}
    {% endif %}
    {% for found in marks %}
        {% if found.mark and found.mark.layout != change_tables.layout() %}
            {% do change_tables.refuse_model(
                change_tables.state_relation(relations[loop.index0]) ~ " has layout " ~ (found.mark.layout or 'none')
                ~ ", and this version of the package reads layout " ~ change_tables.layout() ~ " alone: "
                ~ ("install the later version that wrote it, or " if (found.mark.layout or 0) > change_tables.layout())
                ~ "build the log and the models after it anew with --full-refresh"
            ) %}
        {% endif %}
    {% endfor %}
    {% do return(marks) %}
{% endmacro %}


{#- What the view of a model has cached of its marks, as `read_marks` returns it; none where it has nothing whole. -#}
{% macro cached_mark(relation) %}
    {% set properties = change_tables.properties_of_view(load_cached_relation(relation)) %}
    {% set summary = properties.get('change_tables.mark', '').split(':') %}
    {% do return(none) if summary | length < 3 %}
    {% set parts = [] %}
    {% for number in range(summary[1] | int) %}
        {% do parts.append(properties.get('change_tables.mark.' ~ number, '')) %}
    {% endfor %}
    {% set text = parts | join %}
    {% do return(none) if local_md5(text) != summary[2] %}
    {% do return({
        'mark': fromjson(''.encode().fromhex(text).decode()), 'number': summary[0] | int, 'is_cached': true,
        'rows': summary[3] | int if summary | length > 3 else none,
    }) %}
{% endmacro %}


{#-
    A mark as properties of a view. `change_tables.mark` has how many marks the table has, in how many parts the text of the latest
    is, a digest of it, and of a state how many rows the run has left (see `_rows_after_merge`). The text is in parts, since metastores limit the length of a property. It is in hexadecimal digits, since
    they do not take every character, and Spark hides values that look like secrets.
-#}
{% macro mark_as_properties(mark, number, rows) %}
    {% set text = tojson(mark).encode('utf-8').hex() %}
    {% set parts = text | list | batch(3900) | map('join') | list %}
    {% set properties = {'change_tables.mark': number ~ ':' ~ parts | length ~ ':' ~ local_md5(text) ~ (':' ~ rows if rows is not none)} %}
    {% for part in parts %}
        {% do properties.update({'change_tables.mark.' ~ loop.index0: part}) %}
    {% endfor %}
    {% do return(properties) %}
{% endmacro %}


{#-
    Removes the cached mark of a model, before a statement that changes its table. Also where dbt saw none: another run may have set
    it since.
-#}
{% macro take_cached_mark_back(view) %}
    {% set existing = load_cached_relation(view) %}
    {% if existing is not none and existing.is_view %}
        {% do change_tables.set_properties_of_view(view, {'change_tables.mark': ''}) %}
    {% endif %}
{% endmacro %}


{#-
    The last run that a model's view has said of its table, also where the cached mark was taken back since; empty where it has said none.
    A table with an older mark, or with none, was set back or emptied by something other than a run.
-#}
{% macro batch_once_cached(view) %}
    {% set text = change_tables.properties_of_view(load_cached_relation(view)).get('change_tables.mark.0', '') %}
    {% set found = modules.re.search('"batch": "([^"]*)"', ''.encode().fromhex(text).decode('utf-8', 'ignore')) %}
    {% do return(found.group(1) if found else '') %}
{% endmacro %}


{#- Whether a table has an older mark than its runs have left: somebody has restored an older version. -#}
{% macro is_set_back(view, mark) %}
    {% do return(mark is not none and mark.batch < change_tables.batch_once_cached(view)) %}
{% endmacro %}


{#- Whether a row of a model's table is a mark. -#}
{% macro is_mark(prefix='') -%}
    startswith({{ prefix }}_mark, '{')
{%- endmacro %}


{#- The guard of a merge: stops it when the state has taken in something since this run looked at its mark. -#}
{% macro guarded_mark(mark_before) -%}
    case
        when target._mark = {{ change_tables.text_literal(tojson(mark_before)) }} then source._mark
        else {{ change_tables.refuse_meeting() }}
    end
{%- endmacro %}


{#- What a merge inserts as `_mark`. A mark always meets the one before, unless that is gone. -#}
{% macro mark_of_new_row(is_mark) -%}
    {%- set lost = "raise_error('change_tables: this table has lost the mark of its runs, as if it was emptied or replaced by hand; nothing was changed, run again')" -%}
    case when {{ is_mark }} then {{ lost }} else source._mark end
{%- endmacro %}


{% macro refuse_other_build() -%}
    raise_error('change_tables: another run has built this table at the same time; run again')
{%- endmacro %}


{% macro refuse_meeting() -%}
    raise_error('change_tables: another run has written to this table at the same time; nothing was changed, run again')
{%- endmacro %}
