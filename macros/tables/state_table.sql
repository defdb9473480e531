{#-
    An incremental model `<name>` is a view over the table `<name>__state`. The table has the model's rows, what else must be
    remembered (keys that ended), and one row with a checkpoint: a JSON object that says what the table has taken in.
    Rows and checkpoint are written by one statement, so that a run which dies leaves both as they were.

    node   the model's, where it is known: then the view need not be there
-#}
{% macro state_relation(relation, node=none) %}
    {% do return(change_tables._relation_beside(relation, '__state', 'table', change_tables._schema_of_tables(relation, node))) %}
{% endmacro %}


{#- A relation beside that of a model, with the same quotes. It has all rows: --empty and --sample leave some out of what `ref` gives. -#}
{% macro _relation_beside(relation, suffix, type, schema=none) %}
    {% do return(api.Relation.create(
        database=relation.database, schema=schema or relation.schema, identifier=relation.identifier ~ suffix, type=type,
        quote_policy=relation.quote_policy.to_dict()
    )) %}
{% endmacro %}


{#-
    The schema of a model's tables: that of its view, unless `config.meta.tables_schema` of a model over a log names another. What only reads
    the model sees by its view which one that is, also under --defer.
-#}
{% macro _schema_of_tables(relation, node) %}
    {% set node = node or model or {} %}
    {% if (node.alias or '') | lower == relation.identifier | lower and (node.schema or '') | lower == relation.schema | lower %}
        {% do return(change_tables.tables_schema_of_node(node) or relation.schema) %}
    {% endif %}
    {% do return(change_tables.tables_schema_of_view(relation) or relation.schema) %}
{% endmacro %}


{#- What a view says of it; none: that the tables are in its own schema. -#}
{% macro tables_schema_of_view(relation) %}
    {% set found = change_tables.properties_of_view(change_tables.found_relation(relation)).get('change_tables.tables') %}
    {% do return(''.encode().fromhex(found).decode() if found else none) %}
{% endmacro %}


{#- Stops a model whose table is in another schema than it says by now: it would be built anew, and from whatever its log has. -#}
{% macro refuse_moved_table(view, state) %}
    {% set before = change_tables._relation_beside(view, '__state', 'table', change_tables.tables_schema_of_view(view)) %}
    {% if before.schema | lower != state.schema | lower and not change_tables.is_rebuild() and change_tables.found_relation(before) is not none %}
        {% do change_tables.refuse_model(
            "its table is " ~ before ~ ", and it must be " ~ state ~ " by `tables_schema`: move it as docs/operations.md says, or build the model with --full-refresh"
        ) %}
    {% endif %}
{% endmacro %}


{#- The view beside a log that lists which of its changes need a look. -#}
{% macro reports_relation(relation) %}
    {% do return(change_tables._relation_beside(relation, '__reports', 'view')) %}
{% endmacro %}


{#- The table beside a log with the raw rows that it could not use. -#}
{% macro quarantine_relation(relation) %}
    {% do return(change_tables._relation_beside(relation, '__quarantine', 'table')) %}
{% endmacro %}


{#- Whether a row of that table has this status, and has not healed. -#}
{% macro is_open(status) -%}
    _status = '{{ status }}' and _healed_at is null
{%- endmacro %}


{#- The table with the new changes of one run. No other run touches it while that run needs it. -#}
{% macro batch_relation(relation, batch, node=none) %}
    {% do return(change_tables._relation_beside(relation, '__batch_' ~ batch | lower, 'table', change_tables._schema_of_tables(relation, node))) %}
{% endmacro %}


{#-
    Drops the batches that dead runs have left, once this run has written: those of runs that began before the one whose checkpoint this run
    has replaced. A run that began later may be alive. Its write will fail, and must find its batch to say why.
-#}
{% macro drop_stale_batches(checkpoint_before) %}
    {#- what an older run has put together for other logs, too, may still be read (see `shared_rows`): it is left alone for a day -#}
    {% set day_before = (run_started_at - modules.datetime.timedelta(days=1)).strftime('%Y%m%dt') %}
    {% for table in change_tables.batches_before(this, checkpoint_before.batch) if not table.identifier.endswith('s') or table.identifier.split('__batch_')[-1] < day_before %}
        {% do adapter.drop_relation(table) %}
    {% endfor %}
{% endmacro %}


{#- The tables with batches of a model that are there, of runs before `batch`. -#}
{% macro batches_before(relation, batch, node=none) %}
    {% set prefix = relation.identifier | lower ~ '__batch_' %}
    {% set tables = [] %}
    {% set schema = change_tables.batch_relation(relation, batch, node).without_identifier() %}
    {% for table in run_query('show tables in ' ~ schema ~ " like '" ~ prefix ~ "*'").rows %}
        {% set found = table['tableName'][prefix | length:] %}
        {% if modules.re.fullmatch('[0-9]{8}t[0-9]{12}_[0-9a-f]{8}[rls]?', found) and found < batch | lower %}
            {% do tables.append(change_tables.batch_relation(relation, found, node)) %}
        {% endif %}
    {% endfor %}
    {% do return(tables) %}
{% endmacro %}


{#-
    sql                     the query for its rows
    columns                 name -> type, instead of a query: of a table that begins empty
    over                    also where the table is there
    partitioned_by          the columns by whose values rows are kept in separate files
    uses_deletion_vectors   whether an update deletes rows by vectors, instead of writing their files again (see
                            `use_deletion_vectors`)
    found_by                the columns by which statements find rows: of these alone each file has statistics. Of all columns they are a
                            quarter to half of what it costs to write, and rows of a file have nothing else in common; and Delta's log would
                            keep values of rows that are erased
-#}
{% macro create_state_table(state, sql=none, columns={}, over=true, partitioned_by=[], uses_deletion_vectors=false, found_by=[]) -%}
    create {{ 'or replace table' if over else 'table if not exists' }} {{ state }}
    {{- ' (' ~ columns.items() | map('join', ' ') | join(', ') ~ ')' if columns }}
    using {{ change_tables.table_format() }}
    tblproperties ({{ change_tables.property_list(change_tables.state_table_properties(uses_deletion_vectors, found_by)) }})
    {%- if partitioned_by %}
    partitioned by ({{ change_tables.column_list(partitioned_by) }})
    {%- endif %}
    {{ change_tables.location_of_state() }}
    {%- if not columns %}
    as
    {{ sql }}
    {%- endif %}
{%- endmacro %}


{#- Gives a table deletion vectors in the run that makes it large, by how many rows it had before and has then. -#}
{% macro use_deletion_vectors_once_large(state, before, after) %}
    {% do change_tables.use_deletion_vectors(state) if before < change_tables.rows_of_large_table() <= after %}
{% endmacro %}


{#-
    A table that is written once, read by the run that made it, and dropped. A cached table would not do: Spark reads it
    again when raw rows land meanwhile, and keeps that of a run that fails until the server stops.
-#}
{% macro create_batch_table(batch, sql) -%}
    create table {{ batch }} {{ change_tables.storage_of_batch() }} as
{{ sql }}
{%- endmacro %}


{% macro table_of_package(name) %}
    {% do return(api.Relation.create(
        database=target.database or none, schema=var('change_tables_runs_schema', target.schema), identifier=name, type='table'
    )) %}
{% endmacro %}


{#- The table of runs (see `record_runs`); none where the variable `change_tables_runs` is false. -#}
{% macro table_of_runs() %}
    {% set name = var('change_tables_runs', 'change_table_runs') %}
    {% do return(none if name is sameas false else change_tables.table_of_package(name)) %}
{% endmacro %}


{#- Makes a table that no model makes, unless it is there: `columns` are name -> [type, comment]. -#}
{% macro ensure_described_table(table, columns, comment) %}
    {% do return('') if change_tables.found_relation(table) is not none %}
    {% do adapter.create_schema(table) %}
    {% set described = [] %}
    {% for name, column in columns.items() %}
        {% do described.append(name ~ ' ' ~ column[0] ~ ' comment ' ~ change_tables.text_literal(column[1])) %}
    {% endfor %}
    {% do run_query('create table if not exists ' ~ table ~ ' (' ~ described | join(', ') ~ ') using ' ~ change_tables.table_format() ~ ' comment ' ~ change_tables.text_literal(comment)) %}
    {% do change_tables.known_in_run('relations').update({table | string | lower: table}) %}
{% endmacro %}


{#- Stops before anything is written when the model's name is taken by a table that it did not make, or that of one of its tables by a view. -#}
{% macro refuse_foreign_table(view, tables=[]) %}
    {% set existing = change_tables.found_relation(view) %}
    {% if existing is not none and not existing.is_view and not change_tables.is_rebuild() %}
        {% do change_tables.refuse_model(
            view ~ " is a " ~ existing.type ~ " that this model did not make;"
            ~ " rename or drop it, or rebuild the model with --full-refresh, which drops it"
        ) %}
    {% endif %}
    {% for table in tables if (change_tables.found_relation(table) or {}).is_view %}
        {% do change_tables.refuse_model(table ~ " is a view, and this model keeps rows in a table of that name; rename or drop it") %}
    {% endfor %}
{% endmacro %}


{#-
    Stops a first run that would replace a table which is there, and which dbt has not seen. Either the table was made after dbt had
    listed the schema, or dbt saw an empty schema: dbt-spark does where a table is dropped while Spark lists them.
-#}
{% macro refuse_unseen_table(state) %}
    {% if not change_tables.is_rebuild() and change_tables.found_relation(state) is none and change_tables.is_in_schema(state) %}
        {% do change_tables.refuse_model(state ~ " is there, and was not when dbt listed its schema; nothing was changed, run again") %}
    {% endif %}
{% endmacro %}


{#- Whether the server has a table of that name, whatever dbt has listed. -#}
{% macro is_in_schema(table) %}
    {% do return(run_query('show tables in ' ~ table.without_identifier() ~ " like '" ~ table.identifier | lower ~ "'").rows | length > 0) %}
{% endmacro %}


{#-
    Settings for the session of this model alone, since what other models write is not ours:

    - Spark infers constraints of every column from every other one. Over a wide table that takes minutes and all of the memory. The
      server of this package has it off; this is for other servers.
    - Spark goes through a statement that writes again for each of its steps, unless the steps are inlined at once (see
      docs/performance.md).
-#}
{% macro prepare_session() %}
    {% do change_tables.set_in_session('spark.sql.constraintPropagation.enabled', 'false') %}
    {% do change_tables.set_in_session('spark.sql.legacy.inlineCTEInCommands', 'true') %}
{% endmacro %}


{#-
    The view that readers see: the table's own columns and `further_columns`. Its text has their types as comments. So it is made again
    where types have changed, also after a run that changed the table and died before it made the view.

    checkpoint, number   the latest checkpoint of the table, and how many it has; none where it has none
    is_written           whether this run has written them: then the view gets the checkpoint, too (see read_checkpoints). Else a cached
                         checkpoint that differs is removed
    rows                 how many rows the run has left in a state, where that is known
-#}
{% macro ensure_state_view(view, state, spec, further_columns, predicate, checkpoint=none, number=1, is_written=false, rows=none) %}
    {% set properties = change_tables.checkpoint_as_properties(checkpoint, number, rows) if is_written else {} %}
    {% set tables_schema = '' if state.schema | lower == view.schema | lower else state.schema.encode('utf-8').hex() %}
    {% set found = change_tables.properties_of_view(change_tables.found_relation(view)) %}
    {% do properties.update({'change_tables.tables': tables_schema}) if tables_schema or found.get('change_tables.tables') %}
    {% if not is_written and found.get('change_tables.checkpoint') %}
        {% do properties.update({'change_tables.checkpoint': ''}) if (change_tables.cached_checkpoint(view) or {}).checkpoint != checkpoint %}
    {% endif %}
    {% set query %}
select
    {%- for name, type in change_tables.column_types(spec).items() %}
    {{ change_tables.quoted(name) }}, -- {{ type }}
    {%- endfor %}
    {{ change_tables.column_list(further_columns) }}
from {{ state }}
where {{ predicate }}
    {%- endset %}
    {% do change_tables.ensure_view(
        view, query, change_tables.described_columns(spec, further_columns), properties, anew=change_tables.is_rebuild()
    ) %}
{% endmacro %}
