{#-
    All that tells one of dbt's adapters from another: dbt-spark (`default__`), and dbt-databricks. The rest of the package asks here.

    Databricks' SQL warehouses and serverless compute refuse settings of Spark: none is sent. Unity Catalog has managed tables of Delta alone.
    dbt-databricks lists a schema without the properties of its views.
-#}

{#- Sets a setting of Spark for this session; none as `value` resets it. -#}
{% macro set_in_session(name, value) %}
    {% do adapter.dispatch('set_in_session', 'change_tables')(name, value) %}
{% endmacro %}

{% macro default__set_in_session(name, value) %}
    {% do run_query('reset ' ~ name if value is none else 'set ' ~ name ~ ' = ' ~ value) %}
{% endmacro %}

{% macro databricks__set_in_session(name, value) %}{% endmacro %}


{#- The settings of the session that are known: name -> value. `only`: of this one alone. -#}
{% macro settings_of_session(only='') %}
    {% do return(adapter.dispatch('settings_of_session', 'change_tables')(only)) %}
{% endmacro %}

{% macro default__settings_of_session(only) %}
    {% set found = dict(run_query(('set ' ~ only) | trim).rows | map('list')) %}
    {#- what nobody has set is not there; the default of the zone depends on the machine -#}
    {% if not only and 'spark.sql.session.timeZone' not in found %}
        {% do found.update({'spark.sql.session.timeZone': run_query('select current_timezone()').rows[0][0]}) %}
    {% endif %}
    {% do return(found) %}
{% endmacro %}

{#- Those that show in what the session makes of a query. The package's server is not there. -#}
{% macro databricks__settings_of_session(only) %}
    {% do return({}) if only %}
    {% set shown = run_query("select current_timezone(), typeof(timestamp'2026-01-31 12:00:00'), length('\\t')").rows[0] %}
    {% do return({
        'spark.sql.session.timeZone': shown[0],
        'spark.sql.timestampType': {'timestamp': 'TIMESTAMP_LTZ'}.get(shown[1], shown[1] | upper),
        'spark.sql.parser.escapedStringLiterals': 'false' if shown[2] | int == 1 else 'true',
    }) %}
{% endmacro %}


{#- The version of the server's Spark, where that says what it can do. -#}
{% macro version_of_spark() %}
    {% do return(adapter.dispatch('version_of_spark', 'change_tables')()) %}
{% endmacro %}

{% macro default__version_of_spark() %}
    {% do return(run_query('select version()').rows[0][0].split(' ')[0]) %}
{% endmacro %}

{#- Databricks has what models need in runtimes that name an older Spark. -#}
{% macro databricks__version_of_spark() %}
    {% do return('') %}
{% endmacro %}


{#- Where users set it, as the end of a message. -#}
{% macro place_of_settings() %}
    {% do return(adapter.dispatch('place_of_settings', 'change_tables')()) %}
{% endmacro %}

{% macro default__place_of_settings() %}
    {% do return("where the server starts, or under `server_side_parameters` in the profile, as `set:<name>: <value>`") %}
{% endmacro %}

{% macro databricks__place_of_settings() %}
    {% do return("for the warehouse or the cluster, or under `session_properties` in the profile (a warehouse calls the time zone `TIMEZONE`)") %}
{% endmacro %}


{#- How a table is stored that one run writes and reads. Names of its columns can be any. -#}
{% macro storage_of_batch() -%}
    {{- adapter.dispatch('storage_of_batch', 'change_tables')() -}}
{%- endmacro %}

{% macro default__storage_of_batch() -%}
    using parquet
{%- endmacro %}

{% macro databricks__storage_of_batch() -%}
    using delta tblproperties ('delta.columnMapping.mode' = 'name')
{%- endmacro %}


{#- Where a model's table is stored, by its `location_root`. -#}
{% macro location_of_state() -%}
    {{- adapter.dispatch('location_of_state', 'change_tables')() -}}
{%- endmacro %}

{% macro default__location_of_state() -%}
    {{ location_clause() }}
{%- endmacro %}

{% macro databricks__location_of_state() -%}
    {{ location_clause(adapter.build_catalog_relation(config.model)) }}
{%- endmacro %}


{#- What a view shows of itself, with its properties as `name=text`: by dbt's listing of the schema, or where that has none, by a statement. -#}
{% macro shown_of_view(view) %}
    {% do return(adapter.dispatch('shown_of_view', 'change_tables')(view) if view else '') %}
{% endmacro %}

{% macro default__shown_of_view(view) %}
    {% do return(view.information or '') %}
{% endmacro %}

{% macro databricks__shown_of_view(view) %}
    {% set known = change_tables.known_in_run('views') %}
    {% if view.is_view and view | string not in known %}
        {% do known.setdefault(view | string, run_query('show tblproperties ' ~ view).rows | map('join', '=') | join('\n')) %}
    {% endif %}
    {% do return(known.get(view | string, '')) %}
{% endmacro %}


{#- Lets the models after this one know what a view shows by now. Returns the relation that dbt's cache has of it. -#}
{% macro remember_view(view, text) %}
    {% set found = adapter.dispatch('relation_of_view', 'change_tables')(view, text) %}
    {% do adapter.cache_dropped(view) %}
    {% do adapter.cache_added(found) %}
    {% do return(found) %}
{% endmacro %}

{% macro default__relation_of_view(view, text) %}
    {% do return(view.incorporate(type='view', information=text)) %}
{% endmacro %}

{% macro databricks__relation_of_view(view, text) %}
    {% do change_tables.known_in_run('views').update({view | string: text}) %}
    {% do return(view.incorporate(type='view')) %}
{% endmacro %}
