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


{#- The version of this package: that of `dbt_project.yml`, which macros cannot read, and of `change_tables/version.py`. -#}
{% macro version_of_package() %}
    {% do return('0.1.0') %}
{% endmacro %}


{#- What the versions of package and server must have in common: the major number, and before 1.0 the minor one, too. -#}
{% macro _compatible_part(version) %}
    {% set numbers = version.split('.') %}
    {% do return(numbers[:2] | join('.') if numbers[0] == '0' else numbers[0]) %}
{% endmacro %}


{#-
    The version of the server's functions, where it does not fit the package, as a list of one text. The server of this package has
    it among its settings. A server that says none is another one: see `function_mistakes`.
-#}
{% macro _version_mistakes(found) %}
    {% set package, server = change_tables.version_of_package(), found.get('spark.change_tables.version') %}
    {% if server and change_tables._compatible_part(server) != change_tables._compatible_part(package) %}
        {% do return([
            "change_tables: the package is version " ~ package ~ ", and the server has the functions of version " ~ server
            ~ ": take version " ~ server ~ " of the package in packages.yml and run `dbt deps`, or install version " ~ package
            ~ " where the server starts, and start it anew"
        ]) %}
    {% endif %}
    {% do return([]) %}
{% endmacro %}


{#-
    What is wrong with the server or with dbt's sessions there, as a list of texts. One statement returns what somebody has set. What nobody has set is
    right, apart from the time zone: its default depends on the machine. The package does not set them right itself: a view keeps
    the settings of the session that made it, and dbt makes staging views in sessions of its own.

    specs_are_right   whether entries can be read: then also for the functions that the selected models need
-#}
{% macro session_mistakes(specs_are_right) %}
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
    {% set of_server = change_tables._version_mistakes(found) + (change_tables.function_mistakes(found) if specs_are_right else []) %}
    {% if mistakes %}
        {% do return(of_server + [
            "change_tables: the sessions that dbt opens at the server would make other rows: " ~ mistakes | join('; ')
            ~ "; set it where the server starts, or under `server_side_parameters` in the profile, as `set:<name>: <value>`"
        ]) %}
    {% endif %}
    {% do return(of_server) %}
{% endmacro %}
