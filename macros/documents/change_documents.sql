{#- A model that publishes what logs take in, once: see xds_documents. -#}
{% materialization change_documents, adapter='spark' %}
    {%- set view = this.incorporate(type='view') -%}
    {%- set state = change_tables.state_relation(this) -%}
    {%- set run = change_tables.handed_over().run -%}

    {%- do change_tables.refuse_foreign_table(view, [state]) -%}
    {%- for taken_in in run.checkpoint.logs.values() -%}
        {%- do change_tables.refuse_unfinished_log(taken_in) -%}
    {%- endfor -%}
    {%- for entry in run.outdated -%}
        {%- do change_tables.refuse_log_of_other_columns(entry) -%}
    {%- endfor -%}

    {{ run_hooks(pre_hooks) }}

    {%- set checkpoint = run.checkpoint_before -%}
    {%- set is_shown = true -%}
    {%- set is_written = run.kind == 'first' or (run.kind == 'since' and run.checkpoint_before.batch < run.checkpoint.batch) -%}
    {%- if is_written -%}
        {%- do change_tables.prepare_session() -%}
        {%- do change_tables.remove_cached_checkpoint(view) -%}
        {%- set checkpoint = run.checkpoint -%}
    {%- endif -%}
    {%- if run.kind == 'empty' -%}
        {%- set is_shown = change_tables.make_empty_table(view, state, sql) -%}
    {%- elif run.kind == 'first' -%}
        {%- do change_tables._refuse_what_has_been_built_since(state) -%}
        {%- call statement('main') -%}
            {{ change_tables.create_state_table(
                state, change_tables._documents_with_checkpoint(sql, run.checkpoint), uses_deletion_vectors=true,
                found_by=['_checkpoint', '_batch_id', '_first_record_id', '_last_record_id']
            ) }}
        {%- endcall -%}
    {%- elif is_written -%}
        {%- call statement('main') -%}
            {{ change_tables.add_documents(state, sql, run) }}
        {%- endcall -%}
    {%- else -%}
        {%- do log(this ~ ' was written by a run that began later; what it has not published, the next run publishes', info=true) if run.kind == 'since' -%}
        {%- call noop_statement('main', 'nothing new') -%}{%- endcall -%}
    {%- endif -%}

    {%- if is_shown -%}
        {%- do change_tables.ensure_state_view(view, state, change_tables._document_spec(), ['_batch_id', '_position'], '_checkpoint is null', checkpoint=checkpoint, is_written=is_written) -%}
    {%- endif -%}
    {%- do apply_grants(view, config.get('grants'), should_revoke(view, full_refresh_mode=run.kind == 'first')) -%}

    {{ run_hooks(post_hooks) }}

    {{ return(change_tables.made_relations([view, state])) }}
{% endmaterialization %}


{#-
    Stops a first run when another one has built the table since this run looked: it would publish the same documents again. Of two
    that write at the same moment, only one can commit.
-#}
{% macro _refuse_what_has_been_built_since(state) %}
    {% if not change_tables.is_rebuild() and change_tables.is_in_schema(state) %}
        {% if run_query('select 1 from ' ~ state ~ ' where _checkpoint is not null limit 1').rows %}
            {% do exceptions.raise_compiler_error(
                "change_tables: another run has built " ~ state ~ " at the same time; nothing was changed, run again"
            ) %}
        {% endif %}
    {% endif %}
{% endmacro %}


{% macro _documents_with_checkpoint(sql, checkpoint) -%}
{%- set columns = change_tables.document_columns() | reject('equalto', '_checkpoint') | list -%}
with document_rows as (

{{ sql }}

)

select
    _checkpoint,
    {{ change_tables.column_list(columns) }}
from document_rows
union all
select
    {{ change_tables.text_literal(tojson(checkpoint)) }} as _checkpoint,
    {{ change_tables.each(columns, 'null as {name}') | join(', ') }}
{%- endmacro %}


{#-
    Adds documents with the checkpoint, in one statement, where the table is still what this run looked at. Only the checkpoint matches a
    row that is there: it has no position, and every document has one.
-#}
{% macro add_documents(state, sql, run) -%}
{%- set columns = change_tables.document_columns() | reject('equalto', '_checkpoint') | list -%}
merge into {{ state }} as target
using (
    {{ change_tables._documents_with_checkpoint(sql, run.checkpoint) }}
) as source
    on source._position <=> target._position and target._checkpoint is not null
when matched then update set
    _checkpoint = {{ change_tables.guarded_checkpoint(run.checkpoint_before) }}
when not matched then insert (_checkpoint, {{ change_tables.column_list(columns) }})
    values ({{ change_tables.checkpoint_of_new_row() }}, {{ change_tables.column_list(columns, 'source') }})
{%- endmacro %}


{#- The columns that readers see first, as `ensure_view` takes them. -#}
{% macro _document_spec() %}
    {% do return({'columns_of_format': [], 'columns': [
        {'name': 'record_ids', 'data_type': 'array<bigint>'},
        {'name': 'class_name', 'data_type': 'string'},
        {'name': 'association', 'data_type': 'string'},
        {'name': 'document', 'data_type': 'string'},
        {'name': 'reason', 'data_type': 'string'},
    ], 'descriptions': {
        'record_ids': 'the events that the document stands for, in their order, those included that add nothing to it',
        'class_name': 'table_name of the entry',
        'association': 'the pairs of the table key as they were logged, then table and schema',
        'document': 'the element, without declaration and without nds around it',
        'reason': 'null where there is a document, else code: detail',
        '_batch_id': 'the run that published',
        '_position': 'the place in that run; gaps mean nothing',
    }}) %}
{% endmacro %}


{#- The columns of the table: name -> type. By the least and greatest record id a run skips documents that it need not compare with. -#}
{% macro document_columns() %}
    {% set shown = change_tables._document_spec().columns %}
    {% do return(dict(
        [('_checkpoint', 'string')] + zip(shown | map(attribute='name'), shown | map(attribute='data_type')) | list,
        _batch_id='string', _position='int', _first_record_id='bigint', _last_record_id='bigint'
    )) %}
{% endmacro %}
