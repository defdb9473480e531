{#-
    The settings under `change_table`, as data: name -> {default, and what is allowed}.

    required    must be given
    type        text, number, flag or names (a list of texts)
    values      what is allowed; null counts as one where the default is null
    meaning     what it does, as Markdown for docs/settings.md, with links from there. Nothing else reads it

    A format adds its own, and may change a default: see `format_of`. Where it gives no meaning, the general one holds.
-#}
{% macro general_settings() %}
    {% do return({
        'format': {
            'required': true, 'type': 'text',
            'meaning': "the kind of feed: one of the formats below",
        },
        'key': {
            'required': true, 'type': 'names',
            'meaning': "the key columns: declared ones, of simple types",
        },
        'images': {
            'default': 'full', 'type': 'text', 'values': ['full', 'partial'],
            'meaning': "`full`: every update has every column. `partial`: a column that an update lacks keeps its value",
        },
        'snapshot': {
            'default': none, 'type': 'text',
            'meaning': "another entry of this source: the full load, with the declared columns and no headers",
        },
        'snapshot_seq': {
            'default': '', 'type': 'text',
            'meaning': "the sequence of the load, written as `_change_seq` is; `''`: before every change. See [loads and truncates](semantics.md#7-loads-and-truncates)",
        },
        'arrival': {
            'default': 'auto', 'type': 'text',
            'meaning': "what says that a raw row landed after another: a column of the raw table that never decreases as rows land, or `none`. `auto`: offsets of Kafka messages, positions of trail records, else `none`. See [the arrival column](feeds/qlik_change_tables.md#the-arrival-column)",
        },
        'lookback': {
            'default': 0, 'type': 'number',
            'meaning': "how far below the highest arrival to read again: numbers (offsets; files of a trail), or days of dates and times. For Kafka messages not with `hold_open_transactions`",
        },
        'orphans': {
            'default': 'report', 'type': 'text', 'values': ['report', 'insert'],
            'meaning': "whether an update that lacks columns and finds no row waits for its base (`report`), or starts a row (`insert`). See [orphans](semantics.md#4-orphans)",
        },
        'track': {
            'default': none, 'type': 'names',
            'meaning': "the columns whose change begins a version in the history; null: all",
        },
        'hold_open_transactions': {
            'default': false, 'type': 'flag',
            'meaning': "whether changes wait until their transaction is whole: of `qlik_kafka` and `goldengate_trail` alone",
        },
    }) %}
{% endmacro %}


{#- The settings that an entry of a format can have. -#}
{% macro format_settings(format) %}
    {% set settings = change_tables.general_settings() %}
    {% do settings.update(change_tables.format_of(format).settings) %}
    {% do return(settings) %}
{% endmacro %}
