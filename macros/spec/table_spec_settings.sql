{#-
    The settings under `change_table`, as data: name -> {default, and what is allowed}.

    required    must be given
    type        text, number, flag, names (a list of texts) or any
    values      the texts that are allowed; null counts as one where the default is null

    A format adds its own, and may change a default: see `format_of`.
-#}
{% macro format_settings(format) %}
    {% set settings = {
        'format': {'required': true, 'type': 'text'},
        'key': {'required': true, 'type': 'names'},
        'images': {'default': 'full', 'type': 'text', 'values': ['full', 'partial']},
        'snapshot': {'default': none, 'type': 'text'},
        'snapshot_seq': {'default': '', 'type': 'text'},
        'arrival': {'default': 'auto', 'type': 'text'},
        'lookback': {'default': 0, 'type': 'number'},
        'orphans': {'default': 'report', 'type': 'text', 'values': ['report', 'insert']},
        'track': {'default': none, 'type': 'names'},
        'hold_open_transactions': {'default': false, 'type': 'flag'},
    } %}
    {% do settings.update(change_tables.format_of(format).settings) %}
    {% do return(settings) %}
{% endmacro %}
