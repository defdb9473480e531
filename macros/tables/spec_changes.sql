{#-
    What becomes of a model's table when the declared columns of its spec change:

    - A renamed column is renamed, and so is its name wherever the table has it as a text. No row is read again: see `follow_names`.
    - A new column is added. The log then reads all of raw for its values: see `raw_bound`.
    - A type that only widens is widened.
    - Every other change is refused.

    The schema version of a log is the number of such changes so far. Each row has the version in which it was logged (`_schema_version`),
    and the checkpoint has the version in which a column was added (`added`). A change of an earlier version was logged without that column.
    Where masks count columns, a version also begins when the raw table is first seen without a retired one: the places of others change.
    So does one with each rename: what was logged before it may lack the column (`renamed_checkpoint`).
-#}

{#- The declared columns and their types, as a checkpoint has them: in order. -#}
{% macro column_types(spec) %}
    {% set types, known = {}, change_tables.known_in_run('canonical_types') %}
    {% for column in spec.columns %}
        {% do known.update({column.data_type: change_tables.canonical_type(column.data_type)}) if column.data_type not in known %}
        {% do types.update({column.name: known[column.data_type]}) %}
    {% endfor %}
    {% do return(types) %}
{% endmacro %}


{% macro settings_of_order(spec) %}
    {% do return(dict(spec.items() | selectattr(0, 'in', change_tables.format_of(spec.format).settings_of_order))) %}
{% endmacro %}


{#- Whether the declared columns, their types or their order differ from those of a checkpoint. -#}
{% macro columns_have_changed(spec, checkpoint) %}
    {% do return(checkpoint is not none and checkpoint.columns.items() | list != change_tables.column_types(spec).items() | list) %}
{% endmacro %}


{#-
    What there is to do where a checkpoint has columns under names of before (see `landing_names`); none: nothing.

    names        those of its names that are of before -> those of today
    checkpoint   the checkpoint as it is
-#}
{% macro renaming(spec, checkpoint) %}
    {% do return(none) if not spec.renamed or checkpoint is none %}
    {% set known = change_tables.names_by_lower_case(checkpoint.columns) %}
    {% set names = {} %}
    {% for name in spec.renamed %}
        {% set there = change_tables.landing_names(spec, name) | map('lower') | select('in', known) | list %}
        {#- a table that has two of them does not follow: see `_changes_that_do_not_follow` -#}
        {% do names.update({known[there[0]]: name}) if there | length == 1 and there[0] != name | lower %}
    {% endfor %}
    {% do return(none) if not names %}
    {% do return({'names': names, 'checkpoint': checkpoint}) %}
{% endmacro %}


{#-
    The checkpoint under the names of today. That of a log is one schema version further: before it was declared, the new name may have landed,
    and then a change was logged without what it has there.
-#}
{% macro renamed_checkpoint(renaming, checkpoint) %}
    {% do return(checkpoint) if not renaming %}
    {% set key = change_tables._by_names_of_today(renaming, dict.fromkeys(checkpoint.key)) | list %}
    {% set of_state = dict(checkpoint, key=key, columns=change_tables._by_names_of_today(renaming, checkpoint.columns)) %}
    {% do return(of_state) if checkpoint.schema_version is not defined %}
    {% set version = checkpoint.schema_version + 1 %}
    {% set renamed = change_tables._by_names_of_today(renaming, checkpoint.renamed) %}
    {% do renamed.update(dict.fromkeys(renaming.names.values(), version)) %}
    {% do return(dict(
        of_state, schema_version=version, renamed=renamed, added=change_tables._by_names_of_today(renaming, checkpoint.added),
        absent=change_tables._by_names_of_today(renaming, checkpoint.absent)
    )) %}
{% endmacro %}


{% macro _by_names_of_today(renaming, by_name) %}
    {% set found = {} %}
    {% for name, what in by_name.items() %}
        {% do found.update({renaming.names.get(name, name): what}) %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}


{#-
    Renames columns of a model's table, and what the table has of their names: arrays of names and the checkpoint, in one commit that comes
    last. What is to be done is seen by the table and by its checkpoint, so the work of a run that died half way is completed.

    naming   columns of the table that are names or arrays of them: name -> whether it is an array
-#}
{% macro follow_names(view, state, renaming, naming={}) %}
    {% do change_tables.remove_cached_checkpoint(view) %}
    {% set held = change_tables._held_types(state, renaming.checkpoint.columns) %}
    {% for before, name in renaming.names.items() %}
        {% if change_tables.landed_fields(change_tables.type_tree(held.get('_key_before', 'struct<>')), before) %}
            {% do change_tables._rename(state, '_key_before.' ~ change_tables.quoted(before), name) %}
        {% endif %}
        {% do change_tables._rename(state, change_tables.quoted(before), name) if before | lower in held %}
    {% endfor %}
    {% do log(this ~ ': renamed in its table: ' ~ renaming.names.items() | map('join', ' to ') | join(', '), info=true) %}
    {% set checkpoint = change_tables.text_literal(tojson(renaming.checkpoint)) %}
    {% set renamed = change_tables.map_of_texts(renaming.names) %}
    {% set values, conditions = [], ['_checkpoint = ' ~ checkpoint] %}
    {% do values.append(
        '_checkpoint = if(_checkpoint = ' ~ checkpoint ~ ', '
        ~ change_tables.text_literal(tojson(change_tables.renamed_checkpoint(renaming, renaming.checkpoint))) ~ ', _checkpoint)'
    ) %}
    {% for column, is_array in naming.items() %}
        {% if is_array %}
            {% do values.append(column ~ ' = transform(' ~ column ~ ', name -> coalesce(' ~ renamed ~ '[name], name))') %}
            {% do conditions.append('arrays_overlap(' ~ column ~ ', ' ~ change_tables.names_array(renaming.names.keys()) ~ ')') %}
        {% else %}
            {% do values.append(column ~ ' = coalesce(' ~ renamed ~ '[' ~ column ~ '], ' ~ column ~ ')') %}
            {% do conditions.append(column ~ ' in (' ~ change_tables.text_literals(renaming.names.keys()) ~ ')') %}
        {% endif %}
    {% endfor %}
    {% do run_query('update ' ~ state ~ ' set ' ~ values | join(', ') ~ ' where ' ~ conditions | join(' or ')) %}
{% endmacro %}


{% macro _rename(state, before, name) %}
    {% do run_query('alter table ' ~ state ~ ' rename column ' ~ before ~ ' to ' ~ change_tables.quoted(name)) %}
{% endmacro %}


{#- The first names of the columns of a key of several, which are in the identity of changes. -#}
{% macro first_names_of_key(spec) %}
    {% set names = [] %}
    {% for name in spec.key if spec.key | length > 1 %}
        {% do names.append(change_tables.landing_names(spec, name) | last) %}
    {% endfor %}
    {% do return(names) %}
{% endmacro %}


{#-
    The spec as a run of the log has it, with four keys more:

    schema_version   the version in which the run logs its changes
    added            the versions in which columns were added: name -> version
    absent           the versions in which the raw table was first seen without retired columns, in the same way
    renamed_in       the versions in which columns were renamed, in the same way
-#}
{% macro spec_in_version(spec, checkpoint) %}
    {% set before = checkpoint or dict(change_tables.checkpoint_of_unbuilt_log(), columns=spec.column_names) %}
    {% set added, absent = before.added.copy(), before.absent.copy() %}
    {% set newly_absent = change_tables.absent_columns(spec) | reject('in', absent) | list %}
    {% set has_other_places = newly_absent and change_tables.part_of_format(spec, 'counts_columns') %}
    {% set is_changed = checkpoint and (change_tables.columns_have_changed(spec, checkpoint) or has_other_places) %}
    {% set version = before.schema_version + (1 if is_changed else 0) %}
    {% do added.update(dict.fromkeys(spec.column_names | reject('in', before.columns), version)) %}
    {% do absent.update(dict.fromkeys(newly_absent, version)) %}
    {% do return(dict(spec, schema_version=version, added=added, absent=absent, renamed_in=before.renamed)) %}
{% endmacro %}


{#- Where masks count columns, the version since which they have the places of today. -#}
{% macro places_since(spec) %}
    {% do return(([0] + spec.absent.values() | list) | max if change_tables.part_of_format(spec, 'counts_columns') else 0) %}
{% endmacro %}


{#- Stops a model whose table cannot follow the spec, with every reason at once. -#}
{% macro refuse_changed_columns(spec, checkpoint, state) %}
    {% do return('') if checkpoint is none %}
    {% set found = [] %}
    {% do found.extend(change_tables._changes_that_do_not_follow(spec, checkpoint, state)) if change_tables.columns_have_changed(spec, checkpoint) %}
    {#- the checkpoint of a log has the first names of its key, and what orders its changes -#}
    {% set first_names = change_tables.first_names_of_key(spec) %}
    {% set order_before = checkpoint.order or {} %}
    {% if checkpoint.key != spec.key %}
        {% do found.append("`key` is " ~ spec.key | join(', ') ~ ", was " ~ checkpoint.key | join(', ')) %}
    {% elif checkpoint.first_names is defined and checkpoint.first_names != first_names %}
        {% do found.append(
            "the first names of the key columns, which are in the identity of each change, are " ~ first_names | join(', ') ~ " by `renamed_from`, were "
            ~ checkpoint.first_names | join(', ')
        ) %}
    {% endif %}
    {% set keeps_sequences = change_tables.format_of(spec.format).keeps_sequences %}
    {% for name, value in change_tables.settings_of_order(spec).items() if name in order_before and order_before[name] != value %}
        {% if not (keeps_sequences and keeps_sequences(spec, order_before, state)) %}
            {% do found.append(
                "`" ~ name ~ "`, by which changes are ordered, is " ~ change_tables.shown_value(value) ~ ", was " ~ change_tables.shown_value(order_before[name])
            ) %}
        {% endif %}
    {% endfor %}
    {% if found %}
        {% do change_tables.refuse_model(
            "source '" ~ spec.source_name ~ "." ~ spec.table_name ~ "' has changed since the model was built: " ~ found | join('; ')
            ~ "; declare it as it was, or rebuild the log and the models after it with --full-refresh"
        ) %}
    {% endif %}
{% endmacro %}


{% macro _changes_that_do_not_follow(spec, checkpoint, state) %}
    {% set found = [] %}
    {% set declared = change_tables.column_types(spec) %}
    {% set spelt = change_tables.names_by_lower_case(declared) %}
    {% for name in checkpoint.columns if name not in declared %}
        {% if name | lower in spelt %}
            {% do found.append("column '" ~ spelt[name | lower] ~ "' was spelt '" ~ name ~ "'") %}
        {% elif name | lower in change_tables.names_of_today(spec) | map('lower') %}
            {% do found.append("column '" ~ name ~ "' has another name by `renamed_from`, and the table has a column of that name, too") %}
        {% else %}
            {% do found.append("column '" ~ name ~ "' is no longer declared, was " ~ checkpoint.columns[name]) %}
        {% endif %}
    {% endfor %}
    {% set known = change_tables._known_types(spec, checkpoint, state) %}
    {% for name, type in declared.items() if name in known %}
        {% set reason = change_tables.cannot_become(known[name], type, name in spec.key) %}
        {% set reason = change_tables.cannot_widen(known[name], type) if reason is none else reason %}
        {% if reason is not none %}
            {% do found.append(
                ("key column '" if name in spec.key else "column '") ~ name ~ "' is " ~ type ~ ", was " ~ known[name] ~ reason
            ) %}
        {% endif %}
    {% endfor %}
    {% set in_raw = change_tables.columns_in_raw(spec) %}
    {% set order_before = checkpoint.columns | select('in', in_raw) | list %}
    {% set order = in_raw | select('in', order_before) | list %}
    {% if order != order_before and change_tables.part_of_format(spec, 'counts_columns') %}
        {% do found.append(
            "the order of the columns, by which masks count, is " ~ order | join(', ') ~ ", was " ~ order_before | join(', ')
        ) %}
    {% endif %}
    {% do return(found) %}
{% endmacro %}


{#-
    The types that the declared columns had: those of the checkpoint. A column that the checkpoint does not have can be in the table, where
    a run died after it had added it: then its type there.
-#}
{% macro _known_types(spec, checkpoint, state) %}
    {% set known = checkpoint.columns.copy() %}
    {% if spec.column_names | reject('in', checkpoint.columns) | list %}
        {% set held = change_tables._held_types(state, spec.column_names) %}
        {% for column in spec.columns if column.name not in known and column.name | lower in held %}
            {% set stored = change_tables.canonical_type(change_tables.stored_type(column.data_type)) %}
            {% set is_there = held[column.name | lower] == stored %}
            {% do known.update({column.name: change_tables.canonical_type(column.data_type) if is_there else held[column.name | lower]}) %}
        {% endfor %}
    {% endif %}
    {% do return(known) %}
{% endmacro %}


{#- The columns of a table: name in lower case -> type. `names`: the table's own, among them. -#}
{% macro _held_types(state, names) %}
    {% set held = {} %}
    {% for name, type in change_tables.types_in_relation(state, names).items() %}
        {% do held.update({name | lower: change_tables.canonical_type(type)}) %}
    {% endfor %}
    {% do return(held) %}
{% endmacro %}


{#-
    None where another type can hold the values of a type as they are: exact numbers with as many digits or more before and after
    the point, and texts. Else the end of the message, which can be empty. The text of a key must stay the same as well, since
    `_change_id` has it.
-#}
{% macro cannot_become(was, type, is_key) %}
    {% do return(none) if was == type %}
    {% set digits_before = change_tables._digits(was) %}
    {% set digits = change_tables._digits(type) %}
    {% set wholes = ['tinyint', 'smallint', 'int', 'bigint'] %}
    {% if was in wholes and type in wholes %}
        {% do return(none if wholes.index(was) < wholes.index(type) else '') %}
    {% elif digits_before and digits and type not in wholes %}
        {% do return('') if digits[0] < digits_before[0] or digits[1] < digits_before[1] %}
        {% do return(none if not is_key or digits[1] == digits_before[1] else ', and its text, which identifies changes, would change') %}
    {% elif change_tables._text_length(was) is not none and change_tables._text_length(type) is not none %}
        {% set fits = change_tables._text_length(type) >= change_tables._text_length(was) %}
        {% do return('') if not fits or (type.startswith('char') and not was.startswith('char')) %}
        {% do return(none if not is_key or type.startswith('char') == was.startswith('char') else ', and its text, which identifies changes, would change') %}
    {% elif was == 'float' and type == 'double' %}
        {% do return(', and would show other values than the raw table') %}
    {% elif (digits_before and type in ['float', 'double']) or (was == 'date' and type.startswith('timestamp')) %}
        {% do return(', which is a type of another kind') %}
    {% endif %}
    {% do return('') %}
{% endmacro %}


{#- How many digits an exact number has before and after its point; of a whole number, how many a decimal needs for it. -#}
{% macro _digits(type) %}
    {% set tree = change_tables.type_tree(type) %}
    {% do return([tree.digits - tree.places, tree.places]) if tree.kind == 'decimal' %}
    {% do return({'tinyint': [10, 0], 'smallint': [10, 0], 'int': [10, 0], 'bigint': [20, 0]}.get(type)) %}
{% endmacro %}


{#- How long a text may be: none where the type is no text. -#}
{% macro _text_length(type) %}
    {% set limited = modules.re.match('^(?:var)?char\\((\\d+)\\)$', type) %}
    {% do return(limited.group(1) | int) if limited %}
    {% do return(2147483647 if type == 'string' else none) %}
{% endmacro %}


{#-
    Adds and widens columns of a model's table, as its spec says. What is to be done is seen by the table, so the work of a run that
    died half way is completed. The checkpoint stays as it is: the run writes it with its rows.

    nested   columns of the table that are a struct of the key columns
-#}
{% macro follow_spec(spec, state, nested=[]) %}
    {% set held = change_tables._held_types(state, spec.column_names) %}
    {% set added = [] %}
    {% for column in spec.columns %}
        {% set type = change_tables.stored_type(column.data_type) %}
        {% if column.name | lower not in held %}
            {% do added.append(change_tables.quoted(column.name) ~ ' ' ~ type) %}
        {% elif change_tables._digits(change_tables.canonical_type(type)) %}
            {% set held_type = held[column.name | lower] %}
            {% set wanted = change_tables.canonical_type(type) %}
            {% if held_type != wanted and change_tables.cannot_become(held_type, wanted, false) is none %}
                {#- the column itself comes last, since its type shows whether this is done -#}
                {% for struct in nested if column.name in spec.key %}
                    {% do change_tables._widen(state, struct ~ '.' ~ change_tables.quoted(column.name), type) %}
                {% endfor %}
                {% do change_tables._widen(state, change_tables.quoted(column.name), type) %}
            {% endif %}
        {% endif %}
    {% endfor %}
    {% do run_query('alter table ' ~ state ~ ' add columns (' ~ added | join(', ') ~ ')') if added %}
{% endmacro %}


{% macro _widen(state, name, type) %}
    {% do run_query('alter table ' ~ state ~ ' alter column ' ~ name ~ ' type ' ~ type) %}
{% endmacro %}
