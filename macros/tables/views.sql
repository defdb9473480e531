{#-
    Views cost nothing before they are read, but to make one takes the time that Spark needs to resolve it. So each view of the
    package has a digest of all that it was made of, as a property in the metastore. It is made again only where the digest has
    changed. dbt sees the properties where it lists a schema: to compare them takes no statement.
-#}

{#-
    Makes a view where it is missing, or was made of something else.

    query        its text
    described    columns and comments that come before the text, as `described_columns` writes them
    properties   further properties, name -> text. Where only these differ, they are set, and the view is not made again
    anew         make it in any case
-#}
{% macro ensure_view(view, query, described='', properties={}, anew=false) %}
    {% set query = query | trim %}
    {% set wanted = {'change_tables.digest': local_md5(described ~ '\n' ~ query)} %}
    {% do wanted.update(properties) %}
    {% set found = change_tables._properties_of_own_view(view) %}
    {% if anew or found['change_tables.digest'] != wanted['change_tables.digest'] or change_tables._has_other_text(view, query) %}
        {% call change_tables._make_view(view, query, wanted) %}
create or replace view {{ view }}
{{ described }}
tblproperties ({{ change_tables.property_list(wanted) }})
as
{{ query }}
        {% endcall %}
    {% elif wanted.items() | reject('in', found.items() | list) | list %}
        {% do change_tables.set_properties_of_view(view, properties) %}
    {% endif %}
{% endmacro %}


{#- The same for a view that dbt's own macro makes, with the comments and contracts of models. -#}
{% macro ensure_view_of_dbt(view, query, anew) %}
    {% set made_of = [query, model.description, model.columns, model.config.persist_docs, model.config.contract] %}
    {% set wanted = {'change_tables.digest': local_md5(tojson(made_of))} %}
    {% if anew or change_tables._properties_of_own_view(view) != wanted or change_tables._has_other_text(view, query) %}
        {% call change_tables._make_view(view, query, {}) %}
            {{ create_view_as(view, query) }}
        {% endcall %}
        {% do change_tables.set_properties_of_view(view, wanted) %}
    {% endif %}
{% endmacro %}


{#- The properties of a view that is there; a table in its place is dropped. -#}
{% macro _properties_of_own_view(view) %}
    {% set existing = change_tables.found_relation(view) %}
    {% if existing is not none and not existing.is_view %}
        {% do adapter.drop_relation(view.incorporate(type=existing.type)) %}
        {% do change_tables.known_in_run('relations').update({view | string | lower: none}) %}
        {% do return({}) %}
    {% endif %}
    {% do return(change_tables.properties_of_view(existing)) %}
{% endmacro %}


{#-
    Sends the statement of the caller, which makes a view. Spark inlines the steps of a view at once, whenever it is read: a view keeps
    this setting. `prepare_session` does so for statements that write. Without it Spark goes through the steps one by one, in everything
    that reads the view. The setting is reset after that, since a hook of the model may give a step the name of one around it.
-#}
{% macro _make_view(view, query, properties) %}
    {% set text = change_tables.text_of_view(caller()) %}
    {% do change_tables.refuse_tables_not_there(text) %}
    {% do change_tables.set_in_session('spark.sql.legacy.ctePrecedencePolicy', 'LEGACY') %}
    {% call statement('view') %}{{ text }}{% endcall %}
    {% do change_tables.set_in_session('spark.sql.legacy.ctePrecedencePolicy', none) %}
    {#- as dbt's listing shows it -#}
    {% do change_tables._remember_view(view, 'View Text: ' ~ change_tables.text_of_view(query) ~ '\nView Original Text: ', properties) %}
{% endmacro %}


{#- The properties of this package that a view has: name -> text. -#}
{% macro properties_of_view(relation) %}
    {% do return(dict(modules.re.findall('(change_tables[.][a-z.0-9]+)=([0-9a-f:]*)', change_tables.text_and_properties_of_view(relation)))) %}
{% endmacro %}


{% macro set_properties_of_view(view, properties) %}
    {% call statement('properties') %}
        alter view {{ view }} set tblproperties ({{ change_tables.property_list(properties) }})
    {% endcall %}
    {% do change_tables._remember_view(view, change_tables.text_and_properties_of_view(change_tables.found_relation(view)), properties) %}
{% endmacro %}


{#-
    Keeps what a view has by now, for the models after this one: what it has shown, and properties, of which the last of a name counts.
-#}
{% macro _remember_view(view, shown, properties) %}
    {% set texts = [shown] + properties.items() | map('join', '=') | list %}
    {% set found = change_tables.remember_view(view, texts | join('\n')) %}
    {% do change_tables.known_in_run('relations').update({view | string | lower: found}) %}
{% endmacro %}


{#-
    Whether a view has been given another text by something other than a run: it keeps its properties then. Spark leaves out the comments
    at both ends of a text. Where the text is not shown, that says nothing.
-#}
{% macro _has_other_text(view, query) %}
    {% set found = modules.re.search('(?s)View Text: (.*?)\nView Original Text: ', change_tables.text_and_properties_of_view(change_tables.found_relation(view))) %}
    {% set query = change_tables.text_of_view(query) %}
    {% do return(false) if not found or found.group(1) == query %}
    {% set around = query.split(found.group(1), 1) %}
    {% do return(around | length != 2 or not modules.re.fullmatch('(?s)(\\s|;|--[^\n]*(\n|$)|/\\*.*?\\*/)*', around | join('\n'))) %}
{% endmacro %}


{% macro property_list(properties) -%}
    {%- for name, text in properties.items() -%}
        '{{ name }}' = '{{ text }}'{{ ', ' if not loop.last }}
    {%- endfor -%}
{%- endmacro %}


{#-
    What comes after the name in `create view`: the columns, each with its comment, and the comment of the view. The columns
    that the models add are described by the package. With dbt's `persist_docs` the view has the model's
    description, and the table's own columns those of the model or, where it gives none, of the sources file.
-#}
{% macro described_columns(spec, further_columns) -%}
{#- by names in lower case; `descriptions` of a spec come before those of the contract -#}
{%- set texts = dict(change_tables.contract_column_descriptions(), **(spec.descriptions or {})) -%}
{%- do texts.update(zip(spec.columns_of_format | map(attribute='name'), spec.columns_of_format | map(attribute='description'))) -%}
{%- for column in (spec.columns + model.columns.values() | list if config.persist_column_docs() else []) if column.description -%}
    {%- do texts.update({column.name | lower: column.description | trim}) -%}
{%- endfor -%}
(
    {%- for name in spec.columns | map(attribute='name') | list + further_columns %}
    {{ change_tables.quoted(name) }}{{ ' comment ' ~ change_tables.text_literal(texts[name | lower]) if texts.get(name | lower) }}{{ ',' if not loop.last }}
    {%- endfor %}
)
{%- if config.persist_relation_docs() and model.description %}
comment {{ change_tables.text_literal(model.description | trim) }}
{%- endif -%}
{%- endmacro %}


{#-
    Stops before anything is written where the model's contract is enforced and names other columns than the view has, or gives
    them other types.
-#}
{% macro refuse_other_contract(spec, further_columns) %}
    {% if config.get('contract') and config.get('contract').enforced %}
        {% set types = {} %}
        {% for name, type in change_tables.columns_of_table(spec, spec.column_names + further_columns).items() %}
            {% do types.update({name | lower: [name, change_tables.canonical_type(change_tables.stored_type(type))]}) %}
        {% endfor %}
        {% set found = [] %}
        {% set given = model.columns.values() | map(attribute='name') | map('lower') | list %}
        {% for name in types if name not in given %}
            {% do found.append("it lacks '" ~ types[name][0] ~ "', which is " ~ types[name][1]) %}
        {% endfor %}
        {% for column in model.columns.values() %}
            {% set type = change_tables.canonical_type(change_tables.stored_type(column.data_type or '')) %}
            {% if column.name | lower not in types %}
                {% do found.append("the model has no column '" ~ column.name ~ "'") %}
            {% elif type != types[column.name | lower][1] %}
                {% do found.append("'" ~ column.name ~ "' is " ~ types[column.name | lower][1] ~ ", not " ~ (column.data_type or 'without a type')) %}
            {% endif %}
        {% endfor %}
        {% do change_tables.refuse_model("`contract` must name the columns that the model has, with their types: " ~ found | join('; ')) if found %}
    {% endif %}
{% endmacro %}
