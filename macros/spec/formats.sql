{#-
    A format is how one product writes down the changes of a table. What the models must know of it is one dict, which the
    macro `<format>_format` at the end of the format's file returns. It names what differs from the defaults below. A part that takes the
    spec alone is given as it is, instead of a macro, where it is the same for all entries of the format.

    stage(spec, bound)         the steps from the raw rows to `staged`: see `staged_changes`
    settings                   its settings, and general ones that it has otherwise, each whole: see `format_settings`
    column_settings            settings of a declared column under its `config.meta`, in the same shape; `mistakes` checks them
    mistakes(node, given)      what can be wrong in an entry of this format alone, as a list of texts. `given` are the settings
                               as they are written: one that is left out is not there
    columns                    columns of its own that it carries through staging and log: {name, data_type, description};
                               `is_content` where it is a value of the change that is no column of the row, `completes`
                               where it says how complete a delivery of the change is, `is_name` where it is the name of a declared column
    origin                     the columns that are alike in all deliveries of a change, where its identity is a number of the feed: rows that
                               differ in one of them are two changes, and the numbers have been used again
    key_columns(given)         key columns that no user declares, as `columns` of a spec; `given` as above
    counts_columns(spec)       whether the order of the declared columns says what the feed means (a mask)
    settings_of_order          the settings by which sequences are made: the log stops where one changes
    keeps_sequences(spec, before, log)  whether the sequences in the log stay as they are all the same, by the settings before
    reports(spec, log)         SQL over the log for further rows of its reports: _change_id, _change_seq, code, detail
    array_of_text(column)      SQL for an array out of the text that a load has of it
    other_tables               the settings that name another raw table which staging reads: it can have news of its own
    arrival(spec)              where raw rows say their own position, {kind, group, columns, record, only}: see
                               `arrival_of_row`. The kind is `whole_number`
    arrival_column             the setting that names the raw column which is the arrival, where the entry names none
    read_with(spec, condition)  of rows that are compared with rows that landed before: SQL for all raw rows that a run reads which reads those
                               of the condition. Then staged rows without `_raw_id` are no raw rows
    lasting_sequence(seq)      SQL for what of a `_change_seq` stays the same whenever its delivery is read: by that, keys are forgotten. Left
                               out: all of it
    group_of_sequence(seq)     SQL for the group of a `_change_seq`, where those of two groups say nothing of which change is the later one. Left
                               out: they always do
    landed_sequence(spec)      SQL for the sequence of a raw row, where the rows of a sequence are judged together
    read_again(spec)           which raw rows later runs may read again: see `read_again`
    blocks_watermark(spec)     SQL for the staged rows that block the watermark: later runs must read them again. Left out: those that
                               are `waiting`, and where the format has `arrival` those with `_ct_blocks_watermark`
    time_in_sequence(sequence)  the time in the sequence of a load, `yyyy-mm-dd hh:mm:ss`; empty where it has none
    raw_id(spec)               of raw rows that are each of one key: SQL for their `_raw_id`, a hash. Left out: `forget` deletes no raw rows
    reads                      SQL over the log for the changes whose values come from another table than the raw one
    retracts_changes(spec)     whether later rows can show that an accepted change cannot be used
    unclaimed_steps(specs)     the steps to the rows of a shared raw table that no entry stages: see `unclaimed_rows`
    shared_relation(spec)      the raw table that entries share, where it is not their own
    undeclared_columns(spec)   the raw columns of the source table that no column declares, as {name, data_type} in the order of the raw
                               table; `declared_as` where it is declared under another name. None where the raw table of the
                               entry does not have a column for each one of the source table. Left out: it never has
    absent_columns(spec)       the retired columns that the raw table no longer has. Left out: each row says itself which columns it has
    numbers(spec)              the raw column by whose numbers rows or files arrive, one after the other: {column, group, only, remedy}.
                               `group` are the columns of which each value has numbers of its own, `only` a condition on the rows
                               or none, `remedy` what to do about a hole. See `sequence_gaps`
    commits(spec)              of a feed that can send whole transactions again, at another place: SQL over the log for the `group` in
                               which they are sent, the `number` of the commit as a text, and the columns that are its `name`. None where
                               it is applied. Where `bound.asks_log` is true, staging leaves out what `bound.log` has from an earlier place
    mapping(spec)              of formats that `mapped_parts` gives most of what they are: how their rows are read, see `mapping_of`
    put_together(spec)         where one run can put the rows of a shared raw table together for all entries (see `shared_rows`): {steps, tables,
                               alike}. `steps(specs, bound)` are those of the staging up to `put_together`, which the staging takes from
                               `bound.shared` where that is given; `tables(spec)` the values of `_ct_table` that the entry needs, none:
                               all; `alike(spec)` what entries must have in common
    functions(spec)            the Python functions that its steps call: `staged`, and those of `unclaimed_steps`, as lists by these names
-#}
{% macro format_of(name) %}
    {#- a model asks some fifty times; kept where it is for one model alone, since macros see the model that they were got for -#}
    {% set known = context.setdefault('change_tables_formats', {}) %}
    {% do return(known[name]) if name in known %}
    {% set defaults = {
        'stage': none, 'settings': {}, 'column_settings': {}, 'mistakes': none,
        'columns': [], 'origin': [], 'key_columns': none, 'counts_columns': none,
        'settings_of_order': [], 'keeps_sequences': none, 'reports': none, 'array_of_text': none, 'other_tables': [],
        'arrival': none, 'landed_sequence': none, 'read_again': {}, 'blocks_watermark': none,
        'reads': none, 'retracts_changes': false, 'unclaimed_steps': none, 'shared_relation': none,
        'undeclared_columns': none, 'absent_columns': [], 'numbers': none, 'commits': none, 'functions': {}, 'mapping': none,
        'put_together': none, 'arrival_column': none, 'read_with': none, 'time_in_sequence': none, 'raw_id': none, 'lasting_sequence': none,
        'group_of_sequence': none,
    } %}
    {#- a look at the project's formats, which dbt must search for, only where the package has none of the name -#}
    {% set own = change_tables.formats_of_package() %}
    {% set given = (own[name] if name in own else change_tables.known_formats()[name])() %}
    {% for part, value in given.items() %}
        {% set is_macro = part in [
            'stage', 'mistakes', 'key_columns', 'keeps_sequences', 'reports', 'array_of_text', 'unclaimed_steps',
            'read_with', 'time_in_sequence', 'lasting_sequence'
        ] %}
        {% if part not in defaults %}
            {% do exceptions.raise_compiler_error(
                "change_tables: format '" ~ name ~ "' has no part `" ~ part ~ "`; its parts: " ~ defaults.keys() | join(', ')
            ) %}
        {#- jinja says that an undefined name is callable: that of a macro that is not there -#}
        {% elif value is undefined or (is_macro and value is not callable) %}
            {% do exceptions.raise_compiler_error(
                "change_tables: format '" ~ name ~ "': `" ~ part ~ "` must be " ~ ("a macro that is there" if is_macro else "given") ~ ", got " ~ change_tables.shown_value(value)
            ) %}
        {% endif %}
    {% endfor %}
    {% do exceptions.raise_compiler_error("change_tables: format '" ~ name ~ "' must have `stage`, the macro that stages its rows") if 'stage' not in given %}
    {% do defaults.update(given) %}
    {% do known.update({name: defaults}) %}
    {% do return(defaults) %}
{% endmacro %}


{#- A part of an entry's format by its spec; a part that is the same for all entries can be given as it is. -#}
{% macro part_of_format(spec, name) %}
    {% set part = change_tables.format_of(spec.format)[name] %}
    {% do return(part(spec) if part is callable else part) %}
{% endmacro %}


{#-
    Which raw rows later runs of an entry may read again, and for how long. A format names what differs:

    passed    the reason codes of waiting rows that do so for `waiting_days` alone: a run that reads on finds them again, when what they wait for
              has landed. See `settings_of_several`
    returning(spec, quarantine)  where it cannot tell by the rows that have landed: SQL for the first position of each group at which a
              quarantined row waits no longer, as texts
    for_good  SQL for the raw rows that are read again for ever, so that `purge` leaves them; `false`: none is
-#}
{% macro read_again(spec) %}
    {% do return(dict({'passed': [], 'returning': none, 'for_good': 'true'}, **change_tables.part_of_format(spec, 'read_again'))) %}
{% endmacro %}


{#- The declared columns that the raw table of an entry has, or has in some rows: all but the retired ones that it has no more. -#}
{% macro columns_in_raw(spec) %}
    {% do return(spec.column_names | reject('in', change_tables.absent_columns(spec)) | list) %}
{% endmacro %}


{#- The retired columns that it has no more. -#}
{% macro absent_columns(spec) %}
    {% do return(change_tables.part_of_format(spec, 'absent_columns') or [] if spec.retired else []) %}
{% endmacro %}


{% macro formats_of_package() %}
    {% do return({
        'debezium': change_tables.debezium_format,
        'dms': change_tables.dms_format,
        'full_loads': change_tables.full_loads_format,
        'goldengate_messages': change_tables.goldengate_messages_format,
        'goldengate_trail': change_tables.goldengate_trail_format,
        'idm_event_log': change_tables.idm_event_log_format,
        'mapped': change_tables.mapped_format,
        'openedge_cdc': change_tables.openedge_cdc_format,
        'qlik_change_tables': change_tables.qlik_change_tables_format,
        'qlik_kafka': change_tables.qlik_kafka_format,
    }) %}
{% endmacro %}


{#- The formats that can be staged: name -> macro. The project that runs dbt adds its own by a macro `default__further_formats`. -#}
{% macro known_formats() %}
    {% set formats = change_tables.formats_of_package() %}
    {% for name, format in adapter.dispatch('further_formats', 'change_tables')().items() %}
        {% do exceptions.raise_compiler_error("change_tables: the package has a format '" ~ name ~ "'; name the project's own otherwise") if name in formats %}
        {% do formats.update({name: format}) %}
    {% endfor %}
    {% do return(formats) %}
{% endmacro %}


{% macro default__further_formats() %}
    {% do return({}) %}
{% endmacro %}
