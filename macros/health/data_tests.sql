{#-
    The spec of the table that a data test is about, by the model that it is put on. Stops where that is no model of `maker`, the
    macros that make the models which the test is for.
-#}
{% macro spec_of_data_test(maker) %}
    {% set makers = [maker] if maker is string else maker %}
    {% set tested = graph.nodes.get(model.attached_node) %}
    {% set made_by = change_tables.maker_of(tested) if tested else none %}
    {% if made_by not in makers %}
        {% do change_tables.refuse_data_test(
            "must be put on a model of " ~ makers | join(' or ') ~ ", got " ~ ("one of " ~ made_by if made_by else "another one")
        ) %}
    {% endif %}
    {% do return(change_tables.table_spec_of_model(tested)) %}
{% endmacro %}


{% macro refuse_data_test(mistake) %}
    {% set tested = graph.nodes.get(model.attached_node) %}
    {% do exceptions.raise_compiler_error(
        "change_tables: data test '" ~ model.test_metadata.name ~ "' on '" ~ (tested or model).name ~ "': " ~ mistake
    ) %}
{% endmacro %}


{#- Whether a data test looks: not while dbt parses, and not in a run with --empty, which has no rows to look at. -#}
{% macro data_test_looks() %}
    {% do return(execute and not change_tables.is_empty_run()) %}
{% endmacro %}


{#- The query of a data test that does not look: it finds nothing. -#}
{% macro nothing_to_look_at() -%}
    select 1 as nothing_to_look_at
    where false
{%- endmacro %}


{#- The columns of a table that a data test reads: see `landed_columns`. Stops where the table is not there. -#}
{% macro columns_for_data_test(spec, relation, what) %}
    {% set landed = change_tables.landed_columns(spec, relation) %}
    {% do change_tables.refuse_data_test(what ~ ", " ~ relation ~ ", must be there and have columns") if not landed %}
    {% do return(landed) %}
{% endmacro %}


{#- The table of the model that a data test is put on. It has more rows than the model shows; `looks_at` says what a test looks at. -#}
{% macro table_of_data_test(model, looks_at='what the log keeps') %}
    {% if model is string %}
        {% set got = change_tables.shown_value(config.get('where')) %}
        {% do change_tables.refuse_data_test("takes no `where`, since it looks at " ~ looks_at ~ ", got " ~ got) %}
    {% endif %}
    {% do return(change_tables.state_relation(model)) %}
{% endmacro %}


{% macro quarantine_of_data_test(model) %}
    {% do change_tables.table_of_data_test(model) %}
    {% do return(change_tables.quarantine_relation(model)) %}
{% endmacro %}


{#- What the checkpoint of a log says that its view has, where a test then has nothing to read; none: that is not known. -#}
{% macro known_checkpoint(model) %}
    {% do return((change_tables.cached_checkpoint(model) or {'checkpoint': none}).checkpoint) %}
{% endmacro %}


{#- How many seconds ago the run began that a row of a log is of. Batch ids are in UTC. -#}
{% macro age_of_batch() -%}
    timestampdiff(second, try_to_timestamp(left(_batch_id, 15), "yyyyMMdd'T'HHmmss"), to_utc_timestamp(current_timestamp(), current_timezone()))
{%- endmacro %}


{#- A column as a line of a sources file, as `change-tables init` writes it. -#}
{% macro yaml_of_column(name, data_type) %}
    {% do return('- {name: ' ~ change_tables._yaml_text(name) ~ ', data_type: ' ~ change_tables._yaml_text(data_type) ~ '}') %}
{% endmacro %}


{#- A text in YAML: in quotes unless it reads as itself without them. -#}
{% macro _yaml_text(text) %}
    {% set is_plain = modules.re.match('^[^\\s,:#\'"\\[\\]{}&*!|>%@`?\\\\-][^,:#\'"\\[\\]{}\\\\\\n\\t]*(?<! )$', text) and fromyaml(text) == text %}
    {% do return(text if is_plain else '"' ~ text | replace('\\', '\\\\') | replace('"', '\\"') ~ '"') %}
{% endmacro %}


{#- SQL for the names whose condition is true, as an array, so many blanks from the left. `conditions`: name -> SQL. -#}
{% macro names_where(conditions, indent) %}
    {% set cases = [] %}
    {% for name, condition in conditions.items() %}
        {% do cases.append('case when ' ~ condition ~ ' then ' ~ change_tables.text_literal(name) ~ ' end') %}
    {% endfor %}
    {% do return('cast(array() as array<string>)') if not cases %}
    {% set margin = '\n' ~ ' ' * indent %}
    {% do return('array_compact(array(' ~ margin ~ '    ' ~ cases | join(',' ~ margin ~ '    ') ~ margin ~ '))') %}
{% endmacro %}


{#-
    Prints a line for each model that a statement of this package has stopped, which Spark buries in a stack trace, and for each data
    test of this package that has failed or warns: which table, what was found, and what to do. dbt itself prints how many rows a
    test has. Their rows are read again, which costs something only where there are some.
-#}
{% macro say_what_to_do(results) %}
    {% for result in results if execute and result.status == 'error' %}
        {% set raised = modules.re.search('\\[USER_RAISED_EXCEPTION\\] (change_tables: .*?)(?: SQLSTATE|\n|$)', result.message or '') %}
        {% do print(raised.group(1)) if raised %}
    {% endfor %}
    {% for result in results if execute and result.node.resource_type == 'test' and result.status in ['fail', 'warn'] and result.failures %}
        {% if (result.node.test_metadata or {}).namespace == 'change_tables' %}
            {% set found = run_query('select * from (\n' ~ result.node.compiled_code ~ '\n) limit 1') %}
            {% if found.rows and 'what_to_do' in found.column_names %}
                {% set row = found.rows[0] %}
                {% set facts = [] %}
                {% for name in found.column_names if name not in ['source_name', 'table_name', 'what_to_do'] and row[name] is not none %}
                    {% do facts.append(name ~ ' ' ~ row[name]) %}
                {% endfor %}
                {% set more = ' (and ' ~ (result.failures - 1) ~ ' more)' if result.failures > 1 else '' %}
                {% do print(
                    'change_tables: ' ~ result.status ~ ': ' ~ row['source_name'] ~ '.' ~ row['table_name'] ~ ': ' ~ result.node.test_metadata.name
                    ~ ': ' ~ facts | join(', ') ~ more ~ ': ' ~ row['what_to_do'] | replace('\n', ' ')
                ) %}
            {% endif %}
        {% endif %}
    {% endfor %}
    {% do return('') %}
{% endmacro %}
