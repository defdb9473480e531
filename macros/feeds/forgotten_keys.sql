{#-
    Keys that `change-tables forget` has erased. Deliveries of a forgotten key up to a sequence are none: that is a filter at the end of
    staging, through which all that a log takes in must come. So no run, rescan, replay, new column or full refresh brings back what was
    erased, and what the source sends of the key later is a beginning.

    The keys are salted hashes in a table of their own for each entry, beside the table of runs. No run writes it, and whether it is there dbt
    knows from its cache: an entry that has forgotten nothing sends nothing more. Of an entry, not of a model: a log that is built under
    another name forgets the same.
-#}

{#- The table of an entry. It is there once a key of it was forgotten. -#}
{% macro forgotten_keys(spec) %}
    {% set entry = spec.source_name ~ '__' ~ spec.table_name %}
    {% set plain = modules.re.sub('[^a-z0-9_]', '_', entry | lower) %}
    {#- other names that differ in what a table's name cannot have -#}
    {% set suffix = '' if plain == entry else '_' ~ local_md5(spec.source_name ~ '.' ~ spec.table_name)[:8] %}
    {% do return(change_tables.table_of_package('change_table_forgotten__' ~ plain ~ suffix)) %}
{% endmacro %}


{% macro has_forgotten_keys(spec) %}
    {% do return(change_tables.found_relation(change_tables.forgotten_keys(spec)) is not none) %}
{% endmacro %}


{#- Stops a log that has forgotten keys where their table is not to be seen: what it keeps out would come in again. -#}
{% macro refuse_lost_door(spec, checkpoint) %}
    {% if checkpoint and checkpoint.forgets and not change_tables.has_forgotten_keys(spec) %}
        {% do change_tables.refuse_model(
            change_tables.forgotten_keys(spec) ~ ", which keeps forgotten keys out of the log, is not to be seen: run again."
            ~ " If it is gone, restore it, or name the keys to change-tables forget once more, before the log is built"
        ) %}
    {% endif %}
{% endmacro %}


{% macro columns_of_forgotten_keys() %}
    {% do return({
        'key_hash': ['string', 'a salted hash of the key'],
        'until_seq': ['string', 'deliveries of the key up to this sequence are none'],
        'salt': ['string', 'one for all keys of the entry'],
        'forgotten_at': ['timestamp', 'when'],
        'forgotten_by': ['string', 'the user of the session'],
    }) %}
{% endmacro %}


{#- The hash of a key. `salt` and `text` are SQL; the latter is that of `key_text`. -#}
{% macro hash_of_forgotten_key(salt, text) -%}
    sha2(concat({{ salt }}, ':', {{ text }}), 256)
{%- endmacro %}


{#- The joins of the row `of` with these hashes, a query or a step: by its key, and where rows can have one, by the key before. -#}
{% macro joins_of_forgotten(spec, forgotten, salt, of, moves=true) -%}
left join {{ forgotten }} as of_key
    on {{ change_tables.hash_of_forgotten_key(salt, change_tables.key_text(spec, of)) }} = of_key.key_hash
left join {{ forgotten }} as of_key_before
    on {{ change_tables.hash_of_forgotten_key(salt, change_tables.key_before_text(spec, of)) if moves else 'cast(null as string)' }} = of_key_before.key_hash
{%- endmacro %}


{#- Whether such a row is of a key that is forgotten up to this sequence. One without a sequence is. -#}
{% macro is_up_to(spec, sequence) -%}
    {%- set seq = change_tables.lasting_sequence(spec, sequence) -%}
    coalesce({{ seq }} <= greatest(of_key.until_seq, of_key_before.until_seq), coalesce(of_key.until_seq, of_key_before.until_seq) is not null)
{%- endmacro %}


{#- The steps from `staged_deliveries` to `staged`: rows of forgotten keys are ignored, and have no values. -#}
{% macro steps_without_forgotten(spec, bound) -%}
    {%- set table = change_tables.forgotten_keys(spec) -%}
    {%- set salt = '(select max(salt) from ' ~ table ~ ')' -%}
    {%- set emptied = spec.column_names + ['_change_op', '_change_id', '_present_columns', '_changed_columns', '_key_before', '_report']
        + spec.columns_of_format | map(attribute='name') | list -%}
    {%- set blocks = ['_ct_blocks_watermark'] if bound.arrival and change_tables.natural_arrival(spec) else [] -%}
forgotten_keys as (

    select
        key_hash,
        max(until_seq) as until_seq
    from {{ table }}
    group by key_hash

),

-- deliveries of forgotten keys are none
staged as (

    select
        * except ({{ change_tables.column_list(emptied + ['_status', '_status_reason', '_raw_row'] + blocks) }}),
        {{ change_tables.each(emptied, 'if(_ct_is_forgotten, null, {name}) as {name},') | join('\n        ') }}
        {%- if blocks %}
        _ct_blocks_watermark and not _ct_is_forgotten as _ct_blocks_watermark,
        {%- endif %}
        if(_ct_is_forgotten, 'ignored', _status) as _status,
        if(_ct_is_forgotten, 'forgotten: the key was forgotten up to this sequence', _status_reason) as _status_reason,
        if(_ct_is_forgotten, '{}', _raw_row) as _raw_row
    from (
        select
            deliveries.*,
            {{ change_tables.is_of_forgotten_key(spec) }} as _ct_is_forgotten
        from staged_deliveries as deliveries
        {{ change_tables.joins_of_forgotten(spec, 'forgotten_keys', salt, 'deliveries') | indent(8) }}
    ) as marked_deliveries

)
{%- endmacro %}


{#- The same of a staged row. What waits for its sequence is kept until it has one, and a truncate has no key, whatever it landed with. -#}
{% macro is_of_forgotten_key(spec) -%}
_status is not null
            and not (_status = 'waiting' and _change_seq is null)
            and not _change_op <=> 'truncate'
            and {{ change_tables.is_up_to(spec, change_tables.sequence_that_counts()) }}
{%- endmacro %}


{#- What of a sequence stays the same whenever its delivery is read: all of it, unless the format says otherwise. -#}
{% macro lasting_sequence(spec, sequence) %}
    {% set part = change_tables.format_of(spec.format).lasting_sequence %}
    {% do return(part(sequence) if part else sequence) %}
{% endmacro %}


{#- The sequence of a staged row; null where it is malformed. -#}
{% macro sequence_that_counts() -%}
if(_status_reason like 'change_seq_malformed%', null, _change_seq)
{%- endmacro %}
