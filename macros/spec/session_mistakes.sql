{#- Settings of a session that change what the SQL means: name -> the right values; messages show the first. -#}
{% macro _settings_of_session() %}
    {% do return({
        'spark.sql.session.timeZone': ['UTC', 'Etc/UTC', 'GMT', 'Etc/GMT', 'Z', '+00:00'],
        'spark.sql.timestampType': ['TIMESTAMP_LTZ'],
        'spark.sql.legacy.timeParserPolicy': ['EXCEPTION', 'CORRECTED'],
        'spark.sql.parser.escapedStringLiterals': ['false'],
        'spark.sql.caseSensitive': ['false'],
    }) %}
{% endmacro %}


{#-
    The wrong settings of dbt's sessions, as a list of one text. One statement returns what somebody has set. What nobody has set is
    right, apart from the time zone: its default depends on the machine. The package does not set them right itself: a view keeps
    the settings of the session that made it, and dbt makes staging views in sessions of its own.
-#}
{% macro session_mistakes() %}
    {% set found = {} %}
    {% for row in run_query('set').rows %}
        {% do found.update({row[0]: row[1]}) %}
    {% endfor %}
    {% if 'spark.sql.session.timeZone' not in found %}
        {% do found.update({'spark.sql.session.timeZone': run_query('select current_timezone()').rows[0][0]}) %}
    {% endif %}
    {% set mistakes = [] %}
    {% for name, right in change_tables._settings_of_session().items() if name in found %}
        {% if found[name] | lower not in right | map('lower') %}
            {% do mistakes.append("`" ~ name ~ "` must be " ~ right[0] ~ ", got '" ~ found[name] ~ "'") %}
        {% endif %}
    {% endfor %}
    {% if mistakes %}
        {% do return([
            "change_tables: the sessions that dbt opens at the server would make other rows: " ~ mistakes | join('; ')
            ~ "; set it where the server starts, or under `server_side_parameters` in the profile, as `set:<name>: <value>`"
        ]) %}
    {% endif %}
    {% do return([]) %}
{% endmacro %}
