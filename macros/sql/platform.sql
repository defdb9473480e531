{#-
    All that tells one of dbt's adapters from another: dbt-spark, and dbt-databricks. The rest of the package asks here.

    Databricks' SQL warehouses and serverless compute refuse settings of Spark: none is sent. Unity Catalog has managed tables of Delta alone.
    dbt-databricks lists a schema without the properties of its views.
-#}
{% macro is_databricks() %}
    {% do return(target.type == 'databricks') %}
{% endmacro %}


{#- Sets a setting of Spark for this session; none as `value` resets it. -#}
{% macro set_in_session(name, value) %}
    {% do run_query('reset ' ~ name if value is none else 'set ' ~ name ~ ' = ' ~ value) if not change_tables.is_databricks() %}
{% endmacro %}


{#-
    The settings of the session that are known: name -> value. Of Databricks, those that show in what the session makes of a query; the package's
    server is not there.

    only   of this one alone
-#}
{% macro settings_of_session(only='') %}
    {% if not change_tables.is_databricks() %}
        {% set found = dict(run_query(('set ' ~ only) | trim).rows | map('list')) %}
        {#- what nobody has set is not there; the default of the zone depends on the machine -#}
        {% if not only and 'spark.sql.session.timeZone' not in found %}
            {% do found.update({'spark.sql.session.timeZone': run_query('select current_timezone()').rows[0][0]}) %}
        {% endif %}
        {% do return(found) %}
    {% endif %}
    {% do return({}) if only %}
    {% set shown = run_query("select current_timezone(), typeof(timestamp'2026-01-31 12:00:00'), length('\\t')").rows[0] %}
    {% do return({
        'spark.sql.session.timeZone': shown[0],
        'spark.sql.timestampType': {'timestamp': 'TIMESTAMP_LTZ'}.get(shown[1], shown[1] | upper),
        'spark.sql.parser.escapedStringLiterals': 'false' if shown[2] | int == 1 else 'true',
    }) %}
{% endmacro %}


{#- The version of the server's Spark. Databricks has what models need in runtimes that name an older one: empty there. -#}
{% macro version_of_spark() %}
    {% do return('' if change_tables.is_databricks() else run_query('select version()').rows[0][0].split(' ')[0]) %}
{% endmacro %}


{#- Where users set a setting, as the end of a message. -#}
{% macro place_of_settings() %}
    {% do return(
        "for the warehouse or the cluster, or under `session_properties` in the profile (a warehouse calls the time zone `TIMEZONE`)"
        if change_tables.is_databricks() else "where the server starts, or under `server_side_parameters` in the profile, as `set:<name>: <value>`"
    ) %}
{% endmacro %}


{#- How a table is stored that one run writes and reads. Names of its columns can be any. -#}
{% macro storage_of_batch() -%}
    {{- "using delta tblproperties ('delta.columnMapping.mode' = 'name')" if change_tables.is_databricks() else 'using parquet' -}}
{%- endmacro %}


{#- Where a model's table is stored, by its `location_root`. -#}
{% macro location_of_state() -%}
    {{- location_clause(adapter.build_catalog_relation(config.model)) if change_tables.is_databricks() else location_clause() -}}
{%- endmacro %}


{#- What a view shows of itself, with its properties as `name=text`: by dbt's listing of the schema, or where that has none, by a statement. -#}
{% macro shown_of_view(view) %}
    {% do return(view.information or '' if view else '') if not change_tables.is_databricks() %}
    {% set known = change_tables.known_in_run('views') %}
    {% if view and view.is_view and view | string not in known %}
        {% do known.setdefault(view | string, run_query('show tblproperties ' ~ view).rows | map('join', '=') | join('\n')) %}
    {% endif %}
    {% do return(known.get(view | string, '')) %}
{% endmacro %}


{#- Lets the models after this one know what a view shows by now. Returns the relation that dbt's cache has of it. -#}
{% macro remember_view(view, text) %}
    {% if change_tables.is_databricks() %}
        {% do change_tables.known_in_run('views').update({view | string: text}) %}
        {% set found = view.incorporate(type='view') %}
    {% else %}
        {% set found = view.incorporate(type='view', information=text) %}
    {% endif %}
    {% do adapter.cache_dropped(view) %}
    {% do adapter.cache_added(found) %}
    {% do return(found) %}
{% endmacro %}
