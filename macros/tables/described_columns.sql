{#-
    What comes after the name in `create view`: the columns, each with its comment, and the comment of the view. The columns
    that the models add are described by the package. With dbt's `persist_docs` the view has the model's
    description, and the table's own columns those of the model or, where it gives none, of the sources file.
-#}
{% macro described_columns(spec, further_columns) -%}
{%- set texts = change_tables._column_descriptions(spec) -%}
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
        {% if found %}
            {% do change_tables.refuse_model(
                "`contract` must name the columns that the model has, with their types: " ~ found | join('; ')
            ) %}
        {% endif %}
    {% endif %}
{% endmacro %}


{#- The description of each column that has one: name in lower case -> text. `descriptions` of a spec come before those of the contract. -#}
{% macro _column_descriptions(spec) %}
    {% set texts = change_tables.contract_column_descriptions() %}
    {% do texts.update(spec.descriptions or {}) %}
    {% for column in change_tables.further_columns(spec) %}
        {% do texts.update({column.name: column.description}) %}
    {% endfor %}
    {% for column in (spec.columns + model.columns.values() | list if config.persist_column_docs() else []) if column.description %}
        {% do texts.update({column.name | lower: column.description | trim}) %}
    {% endfor %}
    {% do return(texts) %}
{% endmacro %}
