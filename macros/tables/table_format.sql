{#-
    All that tells one table format from another: Delta, and Apache Iceberg. The server has one of them. The rest of the package asks here.

    Both commit rows and checkpoint together. If two runs write one table, Delta fails the second whenever it has read what the first changed.
    Iceberg checks merges, updates and deletes, never inserts, so on Iceberg every run merges. The guard reads the checkpoint in the merge's own version of the table, and the checkpoint is among what the merge looks at.
-#}

{#- The format of the server's tables. -#}
{% macro table_format() %}
    {% do return('delta') if not execute %}
    {#- asked often; `table_format_mistakes` knows it before the first model -#}
    {% set known = change_tables.known_in_run('format') %}
    {% if 'name' not in known %}
        {% do known.update({'name': change_tables._table_format_by(change_tables.settings_of_session('spark.sql.catalog.spark_catalog'))}) %}
    {% endif %}
    {% do return(known.name) %}
{% endmacro %}


{% macro _table_format_by(settings) %}
    {% do return('iceberg' if settings.get('spark.sql.catalog.spark_catalog') == 'org.apache.iceberg.spark.SparkCatalog' else 'delta') %}
{% endmacro %}


{% macro nodes_with_tables() %}
    {% do return(
        graph.nodes.values() | selectattr('resource_type', 'eq', 'model')
        | selectattr('config.materialized', 'in', ['change_log', 'change_state', 'change_documents']) | sort(attribute='name') | list
    ) %}
{% endmacro %}


{#-
    What is wrong between models, project and the server's table format, as a list of texts.

    settings   those of the session that somebody has set: name -> value
-#}
{% macro table_format_mistakes(settings) %}
    {% set table_format = change_tables._table_format_by(settings) %}
    {% do change_tables.known_in_run('format').update({'name': table_format}) %}
    {#- dbt-spark gives parquet where none is set -#}
    {% set others = [] %}
    {% for node in change_tables.nodes_with_tables() if (node.config.file_format or table_format) not in ['parquet', table_format] %}
        {% do others.append(node.name ~ ' (' ~ node.config.file_format ~ ')') %}
    {% endfor %}
    {% if others %}
        {% do return(["change_tables: the tables of the server are of format " ~ table_format ~ ": `file_format` must be that, or not be set, for " ~ others | join(', ')]) %}
    {% elif table_format == 'iceberg' and settings.get('spark.sql.catalog.spark_catalog.cache-enabled') != 'false' %}
        {% do return(["change_tables: a server of Iceberg needs spark.sql.catalog.spark_catalog.cache-enabled=false: else a session does not see what another has written"]) %}
    {% elif table_format == 'iceberg' and adapter.dispatch('list_relations_without_caching', 'dbt').macro.package_name == 'dbt_spark' %}
        {% do return(["change_tables: a server of Iceberg needs in dbt_project.yml `dispatch: [{macro_namespace: dbt, search_order: [" ~ project_name ~ ", change_tables, dbt]}]`"]) %}
    {% endif %}
    {% do return([]) %}
{% endmacro %}


{#- How dbt says the format of a table that it makes, as the seeds of this package. -#}
{% macro spark__file_format_clause() %}
    {% do return('using iceberg' if change_tables.table_format() == 'iceberg' else dbt.spark__file_format_clause()) %}
{% endmacro %}


{#- What dbt lists of a schema. For Iceberg Spark lists tables alone: views are asked for. -#}
{% macro spark__list_relations_without_caching(relation) %}
    {% set listed = dbt.spark__list_relations_without_caching(relation) %}
    {% do return(listed) if change_tables.table_format() != 'iceberg' %}
    {% set found = listed.rows | map('list') | list %}
    {% for row in run_query('show views in ' ~ relation.schema).rows if not row[2] %}
        {% do found.append([row[0], row[1], row[2], 'Type: VIEW']) %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}


{#-
    The text of a view and the properties of this package, as `shown_of_view` has them: of Iceberg's, of which a listing has neither, asked for
    once a run, in the words of that. Empty where Spark does not tell the text: a run makes such a view again.
-#}
{% macro text_and_properties_of_view(view) %}
    {% set shown = change_tables.shown_of_view(view) %}
    {% do return(shown) if not view or not view.is_view or 'View Text: ' in shown or change_tables.table_format() != 'iceberg' %}
    {#- comments before the properties can have such a line, too -#}
    {% set described, _, text = change_tables.ask_once('show create table ' ~ view)[0][0].partition("')\nAS\n") %}
    {% do return('') if not text %}
    {% set properties = modules.re.findall("'(change_tables[.][a-z.0-9]+)' = '([0-9a-f:]*)'", described ~ "'") | map('join', '=') | join('\n') %}
    {% do return('View Text: ' ~ text | trim ~ '\nView Original Text: \n' ~ properties) %}
{% endmacro %}


{#- How dbt drops a relation: where Iceberg is not told to purge a table, all of its files stay. -#}
{% macro spark__drop_relation(relation) %}
    {% call statement('drop_relation', auto_begin=False) -%}
        {{ change_tables.drop_of(relation.type, relation) }}
    {%- endcall %}
{% endmacro %}


{% macro drop_of(type, relation) %}
    {% do return('drop ' ~ type ~ ' if exists ' ~ relation ~ (' purge' if type == 'table' and change_tables.table_format() == 'iceberg')) %}
{% endmacro %}


{#-
    The statement that makes a view. Spark cannot read an Iceberg view that has a named window, so each window is written out where it is used;
    parentheses in it may be two deep.
-#}
{% macro text_of_view(text) %}
    {% do return(text) if change_tables.table_format() != 'iceberg' %}
    {% set within = '(?:[^()]|\\((?:[^()]|\\([^()]*\\))*\\))*' %}
    {% set definition = modules.re.compile('(\\w+) as (\\(' ~ within ~ '\\))') %}
    {% set parts, ends = [], [0] %}
    {% for clause in modules.re.finditer('\\n\\s*window\\s+(?:\\w+ as \\(' ~ within ~ '\\)(?:,\\s*)?)+', text) %}
        {% set steps = [text[ends[-1]:clause.start()]] %}
        {% for name, window in definition.findall(clause.group(0)) %}
            {% do steps.append(modules.re.sub('\\bover ' ~ name ~ '\\b', ('over ' ~ window).replace('\\\\', '\\\\\\\\'), steps[-1])) %}
        {% endfor %}
        {% do parts.append(steps[-1]) %}
        {% do ends.append(clause.end()) %}
    {% endfor %}
    {% do return(parts | join ~ text[ends[-1]:]) %}
{% endmacro %}


{#-
    What a state table asks of its format: any column name, and cheap updates. Where it is `found_by` some columns, files have statistics of these
    alone: manifests of Iceberg keep the statistics of files that a commit has removed.
-#}
{% macro state_table_properties(uses_deletion_vectors, found_by) %}
    {% if change_tables.table_format() == 'delta' %}
        {% do return(dict({
            'delta.columnMapping.mode': 'name',
            'delta.enableDeletionVectors': 'true' if uses_deletion_vectors else 'false',
            'delta.enableTypeWidening': 'true',
        }, **({'delta.dataSkippingStatsColumns': found_by | join(',')} if found_by else {}))) %}
    {% endif %}
    {% set properties = {'format-version': '2', 'write.merge.mode': 'merge-on-read', 'write.merge.isolation-level': 'serializable'} %}
    {% for name in found_by %}
        {% do properties.update({'write.metadata.metrics.default': 'none', 'write.metadata.metrics.column.' ~ name: 'truncate(32)'}) %}
    {% endfor %}
    {% do return(properties) %}
{% endmacro %}


{#- The column of a quarantine that identifies its rows. Iceberg keeps `_row_id` for itself, and merges into no table that has it. -#}
{% macro row_id_column() %}
    {% do return('_row_id' if change_tables.table_format() == 'delta' else '_row_hash') %}
{% endmacro %}


{#- From so many rows on it costs more to write the files of a few rows again than to delete these by vectors: see docs/performance.md. -#}
{% macro rows_of_large_table() %}
    {% do return(250000) %}
{% endmacro %}


{#-
    Gives a large table deletion vectors from now on: an update then does not write the files of its rows again. A small table is read and
    merged into in half the time without. No table goes back: vectors cost every reader.
-#}
{% macro use_deletion_vectors(state) %}
    {% if change_tables.table_format() == 'delta' %}
        {% call statement('deletion_vectors') %}
            alter table {{ state }} set tblproperties ('delta.enableDeletionVectors' = 'true')
        {% endcall %}
    {% endif %}
{% endmacro %}


{#- Whether an insert fails where another run has written since it read. -#}
{% macro inserts_are_guarded() %}
    {% do return(change_tables.table_format() == 'delta') %}
{% endmacro %}


{#-
    Puts the checkpoint of a first build into its table, in the place of rows that have something else as `_checkpoint`.

    replaces   whether there are such rows
    columns    the table's columns after `_checkpoint`
    guard      SQL for whether the table is still the one that the run made
-#}
{% macro put_first_checkpoint(state, checkpoint, replaces, columns, guard) -%}
{%- if change_tables.inserts_are_guarded() -%}
insert into {{ state }}{{ ' replace where _checkpoint is not null' if replaces else ' (_checkpoint)' }}
select {{ change_tables.text_literal(tojson(checkpoint)) }} as _checkpoint
    {%- for name in columns if replaces %}, null as {{ change_tables.quoted(name) }}{% endfor %}
where
    {{ guard }}
{%- else -%}
merge into {{ state }} as target
using (
    select {{ change_tables.text_literal(tojson(checkpoint)) }} as _checkpoint
    where
        {{ guard | indent(4) }}
    union all
    select null
) as source
    on source._checkpoint is null and target._checkpoint is not null
when matched then delete
when not matched and source._checkpoint is not null then insert (_checkpoint, {{ change_tables.column_list(columns) }})
    values (source._checkpoint{% for name in columns %}, null{% endfor %})
{%- endif -%}
{%- endmacro %}


{#- None where a column of a table can become one of a wider type (see `cannot_become`); else the end of the message. -#}
{% macro cannot_widen(was, type) %}
    {% set text = modules.re.compile('string|(var)?char\\(') %}
    {% if change_tables.table_format() == 'delta' or was == type or text.match(was) %}
        {% do return(none) %}
    {% endif %}
    {% set wholes = ['tinyint', 'smallint', 'int', 'bigint'] %}
    {% set digits = modules.re.compile('decimal\\(\\d+,(\\d+)\\)') %}
    {% set scales = [digits.match(was), digits.match(type)] %}
    {% set follows = (was in wholes and type in wholes) or (scales[0] and scales[1] and scales[0].group(1) == scales[1].group(1)) %}
    {% do return(none if follows else ', and columns of Iceberg tables only become bigint, or decimals of more digits with the same scale') %}
{% endmacro %}


{#- Whether a table with these properties answers `count(*)` without a scan: Delta by its log, Iceberg by its manifests while no file is there that deletes rows of others. -#}
{% macro counts_without_scan(properties) %}
    {% do return(properties.get('delta.minReaderVersion', '0') | int > 0 or properties.get('format', '').startswith('iceberg/')) %}
{% endmacro %}


{#-
    The commits of a table with these properties as arrival; none where it keeps none with its rows. All rows of a commit are there at once. A
    table that was dropped and made again counts its commits anew. A Delta table has then another name for the column in which it keeps those
    of rows that it has moved. Of an Iceberg table the snapshot of before is no ancestor of the current one then, nor is it after a rollback.
-#}
{% macro arrival_by_commits(properties) %}
    {% set commits = {'group': [], 'kind': 'whole_number', 'type': 'bigint', 'is_whole': true} %}
    {% if properties.get('delta.enableRowTracking') == 'true' %}
        {% do return(dict(
            commits, columns=['row_commit_version'], hidden='_metadata.{name}', table=properties['delta.rowTracking.materializedRowCommitVersionColumnName']
        )) %}
    {% elif properties.get('format', '').startswith('iceberg/') and properties['format-version'] | int >= 3 %}
        {% do return(dict(
            commits, columns=['_last_updated_sequence_number'], hidden='{name}', table=properties['current-snapshot-id'],
            earlier="select 1 from {relation}.history where is_current_ancestor and cast(snapshot_id as string) = '{table}'"
        )) %}
    {% endif %}
    {% do return(none) %}
{% endmacro %}


{#- Stops an entry with `arrival: files` whose raw table says nothing of when rows landed. `provider`: none for a view. -#}
{% macro refuse_arrival_by_files(spec, provider) %}
    {% set wanted = {
        'delta': ['row tracking', "'delta.enableRowTracking' = 'true'"], 'iceberg': ['format version 3', "'format-version' = '3'"],
    }.get(provider) %}
    {% do change_tables.refuse_entry(spec, "`arrival: files` needs " ~ (
        wanted[0] ~ ", which " ~ spec.relation ~ " has not: alter table " ~ spec.relation ~ " set tblproperties (" ~ wanted[1] ~ ")" if wanted
        else "a table of Delta or Iceberg, or one of parquet, ORC, JSON or CSV files, and " ~ spec.relation ~ " is "
        ~ ("a view" if provider is none else "of " ~ provider) ~ ": name a column"
    )) %}
{% endmacro %}


{#- Why a relation, as dbt has listed it, is left alone where rows are deleted for good; none: it is not. -#}
{% macro why_left_alone(existing) %}
    {% do return('it is not there') if existing is none %}
    {% do return(none if change_tables.is_maintained(existing) else 'it is no table of Delta or Iceberg') %}
{% endmacro %}


{#- How many files a table has: as the format counts them, with those that say which rows are deleted. -#}
{% macro live_files(table) %}
    {% if change_tables.table_format() == 'delta' %}
        {% do return(run_query('describe detail ' ~ table).rows[0]['numFiles'] | int) %}
    {% endif %}
    {% do return(run_query('select count(*) as number from ' ~ table ~ '.files').rows[0][0] | int) %}
{% endmacro %}


{#-
    The statement that brings a table into few files. Iceberg gives them a new sequence number: by that of before, files that say which rows are
    deleted would stay.
-#}
{% macro compaction_of(table) %}
    {% do return('optimize ' ~ table if change_tables.table_format() == 'delta' else
        "call system.rewrite_data_files(table => '" ~ table ~ "', options => map('delete-file-threshold', '1', 'min-input-files', '2',"
        ~ " 'remove-dangling-deletes', 'true', 'use-starting-sequence-number', 'false'))") %}
{% endmacro %}


{#- The statement that deletes files which no version of the last `retain_days` has; none: seven. -#}
{% macro deletion_of_replaced_files(table, retain_days) %}
    {% if change_tables.table_format() == 'delta' %}
        {% do return('vacuum ' ~ table ~ (' retain ' ~ (retain_days * 24) ~ ' hours' if retain_days is not none)) %}
    {% endif %}
    {#- with none to retain also what the command has replaced by now -#}
    {% set days = -1 if retain_days == 0 else 7 if retain_days is none else retain_days %}
    {% set until = run_started_at - modules.datetime.timedelta(days=days) %}
    {% do return("call system.expire_snapshots(table => '" ~ table ~ "', older_than => timestamp '" ~ until.strftime('%Y-%m-%d %H:%M:%S.%f') ~ "+00:00')") %}
{% endmacro %}


{#- Lets files be deleted sooner than seven days after they were replaced. -#}
{% macro allow_short_retention() %}
    {% do change_tables.set_in_session('spark.databricks.delta.retentionDurationCheck.enabled', 'false') %}
{% endmacro %}


{#- Whether files of a table can have deleted rows, of which other files alone say so. -#}
{% macro has_deletion_vectors(table) %}
    {% do return(false) if not change_tables.is_maintained(change_tables.found_relation(table)) %}
    {% if change_tables.table_format() == 'iceberg' %}
        {% do return(run_query('select count(*) as number from ' ~ table ~ '.delete_files').rows[0][0] | int > 0) %}
    {% endif %}
    {% do return(run_query('show tblproperties ' ~ table ~ " ('delta.enableDeletionVectors')").rows | map(attribute=1) | first == 'true') %}
{% endmacro %}


{#- The statement that writes such files anew: `optimize` does not. -#}
{% macro removal_of_vectors(table) %}
    {% do return('reorg table ' ~ table ~ ' apply (purge)' if change_tables.table_format() == 'delta' else change_tables.compaction_of(table)) %}
{% endmacro %}


{#- Whether dbt has listed a relation as a table that `maintain` can bring into few files. -#}
{% macro is_maintained(existing) %}
    {% do return(existing is not none and (existing.is_delta or existing.is_iceberg)) %}
{% endmacro %}
