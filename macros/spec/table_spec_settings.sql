{#-
    The settings under `change_table`, as data: name -> {default, and what is allowed}.

    required    must be given
    type        text, number, flag, names (a list of texts) or any
    values      the texts that are allowed; null counts as one where the default is null

    A format adds its own settings, and may change a default, in the macro `<format>_settings` beside its staging macro.
-#}
{% macro _format_settings(format) %}
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
    {% do settings.update(context['change_tables'][format ~ '_settings']()) %}
    {% do return(settings) %}
{% endmacro %}


{#- The formats that this package can stage: every one that has a macro `stage_<format>`. -#}
{% macro _known_formats() %}
    {% set formats = [] %}
    {% for name in context['change_tables'].keys() if name.startswith('stage_') %}
        {% do formats.append(name[6:]) %}
    {% endfor %}
    {% do return(formats | sort) %}
{% endmacro %}
