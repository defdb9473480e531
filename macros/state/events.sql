{#-
    From the log of a table to what happened to its keys: the steps that every model downstream of a log begins with.

    An event sets the row of one key or ends it. A change is one event, a change that moved its key is two. Events of a key
    are ordered by `_change_seq`, `_precedence`, `_change_id`.
-#}

{#-
    What an event has besides the table's own columns. Not always:

    _schema_version  where changes may have been logged without a column that they could have
    _ct_enters       whether a row has moved to the key: where rows have moved
    _ct_is_base      whether a state has folded it already: where older events count
    _valid_from, …   what a history has of the version of a base event
    _has_row         where rows of ended keys are kept: whether a base event has the last row of its key
-#}
{% macro event_columns(spec, run) %}
    {% do return(
        ['_change_op', '_change_seq', '_changed_at', '_transaction_id', '_change_id']
        + (['_present_columns'] if spec.images == 'partial' else [])
        + (['_schema_version'] if spec.images == 'partial' and run.added else [])
        + ['_precedence', '_is_deleted'] + (['_ct_enters'] if run.moves else [])
        + (change_tables._columns_of_version().keys() | list if run.history else [])
        + (['_has_row'] if run.keeps_deleted else []) + (['_ct_is_base'] if run.folds else [])
    ) %}
{% endmacro %}


{#- What the end of a key has of these that no change of its own brings, as SQL. -#}
{% macro end_of_key(run) %}
    {% do return({
        '_precedence': change_tables.precedence_of('truncate'), '_is_deleted': 'true', '_ct_enters': 'false', '_schema_version': run.schema_version,
        '_ct_is_base': 'false', '_has_row': 'false',
    }) %}
{% endmacro %}


{% macro _columns_of_version() %}
    {% do return({'_valid_from': 'timestamp', '_valid_from_seq': 'string', '_latest_at': 'timestamp'}) %}
{% endmacro %}


{#-
    What changes do to keys: a change sets the row of its key or ends it; one that moved its key has ended the key before as well,
    by a departure. The last step is `events`, those that the run adds to a state; with `logged_` before, all that the log has.
-#}
{% macro event_steps(spec, run, prefix='') -%}
{%- set made = {
    '_precedence': 'array_position(' ~ change_tables.names_array(change_tables._precedences()) ~ ', _change_op)', '_is_deleted': "_change_op = 'delete'", '_ct_is_base': 'false',
    '_has_row': 'false',
} -%}
{%- if run.moves -%}
    {%- do made.update({
        '_precedence': 'if(_ct_departs, ' ~ change_tables.precedence_of('departure') ~ ', ' ~ made['_precedence'] ~ ')',
        '_is_deleted': '_ct_departs or ' ~ made['_is_deleted'],
        '_ct_enters': '_key_before is not null and not _ct_departs',
    }) -%}
{%- endif -%}
{%- for column, type in change_tables._columns_of_version().items() -%}
    {%- do made.update({column: 'cast(null as ' ~ type ~ ')'}) -%}
{%- endfor -%}
{{ prefix }}changes as (

    select *
    from {{ run.log }}
    where
        _checkpoint is null
        and _change_op <> 'truncate'
        {#- changes of multi-valued columns alone have nothing of the row, and leave it as it is #}
        {%- if spec.multi_valued %}
        and not coalesce(size(_present_columns) = 0, false)
        {%- endif %}
        {%- if run.kind == 'since' and not prefix %}
        and _batch_id > '{{ run.checkpoint_before.batch }}'
        {%- endif %}
        {{- change_tables.until_checkpoint(run) }}

),

{{ prefix }}events as (

    select
    {%- for column in spec.column_names %}
        {%- set value = change_tables.quoted(column) %}
        {% if not run.moves -%}
        {{ value }},
        {%- else -%}
        if(_ct_departs, {{ '_key_before[' ~ change_tables.text_literal(column) ~ ']' if column in spec.key else 'null' }}, {{ value }}) as {{ value }},
        {%- endif %}
    {%- endfor %}
    {%- for column in change_tables.event_columns(spec, run) %}
        {{ made[column] ~ ' as ' ~ column if column in made else column }}{{ ',' if not loop.last }}
    {%- endfor %}
    from {{ prefix }}changes
    {%- if run.moves %}
        lateral view explode(if(_key_before is null, array(false), array(false, true))) as _ct_departs
    {%- endif %}

)
{%- endmacro %}


{#- The bound that keeps a run to what its checkpoint says; the view of reports has none. -#}
{% macro until_checkpoint(run) -%}
    {%- if run.checkpoint.batch %}
        and _batch_id <= '{{ run.checkpoint.batch }}'
    {%- endif -%}
{%- endmacro %}


{#-
    What comes first when several changes of one key have the same sequence: the later in this list wins. A departure is
    what a key move leaves at the key before.
-#}
{% macro _precedences() %}
    {% do return(['truncate', 'snapshot', 'departure', 'insert', 'update', 'upsert', 'delete']) %}
{% endmacro %}


{% macro precedence_of(change_op) -%}
    {{- change_tables._precedences().index(change_op) + 1 -}}
{%- endmacro %}
