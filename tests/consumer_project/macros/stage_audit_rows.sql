{#-
    A format of this project's own: an audit table, which a trigger writes. Each row has a number that rises as rows land, `I`,
    `U` or `D`, and the whole row.
-#}
{% macro audit_rows_format() %}
    {% do return({
        'stage': consumer_project.stage_audit_rows,
        'settings': {'numbered_by': {'default': 'audit_id', 'type': 'text'}},
        'mistakes': consumer_project.audit_rows_mistakes,
        'may_wait': consumer_project.audit_rows_may_wait,
    }) %}
{% endmacro %}


{% macro default__further_formats() %}
    {% do return({'audit_rows': consumer_project.audit_rows_format}) %}
{% endmacro %}


{% macro audit_rows_mistakes(node, given) %}
    {% set found = change_tables.lookback_mistakes(given, 'audit tables have') %}
    {% if given.get('hold_open_transactions') %}
        {% do found.append("`hold_open_transactions` must be false: audit rows do not say where a transaction ends, got true") %}
    {% endif %}
    {% if not modules.re.match('^([0-9]{19})?$', given.get('snapshot_seq', '')) %}
        {% do found.append("`snapshot_seq` must be empty or a number of 19 digits, got '" ~ given.snapshot_seq ~ "'") %}
    {% endif %}
    {% do return(found) %}
{% endmacro %}


{#- None: each row says all of its change. -#}
{% macro audit_rows_may_wait(spec) %}
    {% do return('false') %}
{% endmacro %}


{% macro stage_audit_rows(spec, bound) %}
    {%- set number = change_tables.quoted(spec.numbered_by) -%}
    {%- set headers = [spec.numbered_by, 'action'] -%}
    {%- set landed = change_tables.landed_columns(spec, spec.relation, headers + spec.column_names, 'an audit table has them') -%}
    {%- do change_tables.refuse_landed_types(spec, spec.relation, landed) -%}
    {%- set others = spec.column_names | reject('in', spec.key) | list -%}
landed as (

    select
        *,
        struct(*) as _ct_landed_row
    from {{ spec.relation }}
    {%- if bound.predicate %}
    where {{ bound.predicate }}
    {%- endif %}

),

typed as (

    select
    {{- change_tables.typed_columns(spec, landed) }}
        cast({{ number }} as string) as _ct_number,
        action as _ct_landed_code,
        {{ change_tables.misfit(spec, spec.key, landed) }} as _ct_key_misfit,
        {{ change_tables.misfit(spec, others, landed) }} as _ct_column_misfit,
        lower(hex({{ change_tables.hash_of(change_tables.as_landed(headers + spec.column_names, landed)) }})) as _raw_id,
        {%- if bound.arrival %}
        {{ change_tables.arrival_of_row(bound.arrival) }} as _ct_arrival,
        {%- endif %}
        _ct_landed_row
    from landed

),

judged as (

    select
        *,
        case
            when _ct_landed_code is null or _ct_landed_code not in ('I', 'U', 'D')
                then concat('unknown_operation: action is ', coalesce(_ct_landed_code, 'null'))
            when _ct_number is null
                then 'change_seq_missing: the row has no number'
            when not _ct_number rlike '^[0-9]{1,19}$'
                then concat('change_seq_malformed: \'', _ct_number, '\' is not a number of 1 to 19 digits')
            when _ct_key_misfit is not null
                then concat('value_does_not_fit: ', _ct_key_misfit)
            when _ct_landed_code <> 'D' and _ct_column_misfit is not null
                then concat('value_does_not_fit: ', _ct_column_misfit)
            when {{ change_tables.key_is_null(spec) }}
                then {{ change_tables.key_missing(spec) }}
        end as _ct_rejection
    from typed

),

staged_rows as (

    select
        {{ change_tables.column_list(spec.column_names) }},
        case
            when _ct_rejection is null then element_at(map('I', 'insert', 'U', 'update', 'D', 'delete'), _ct_landed_code)
        end as _change_op,
        case when _ct_number rlike '^[0-9]{1,19}$' then lpad(_ct_number, 19, '0') end as _change_seq,
        cast(null as timestamp) as _changed_at,
        cast(null as string) as _transaction_id,
        case when _ct_rejection is null then concat_ws(':', lpad(_ct_number, 19, '0'), {{ change_tables.key_text(spec) }}) end as _change_id,
        cast(null as array<string>) as _present_columns,
        cast(null as array<string>) as _changed_columns,
        cast(null as {{ change_tables.key_type(spec) }}) as _key_before,
        _raw_id,
        case when _ct_rejection is not null then to_json(_ct_landed_row, map('ignoreNullFields', 'false')) end as _raw_row,
        if(_ct_rejection is null, 'accepted', 'rejected') as _status,
        _ct_rejection as _status_reason,
        cast(null as string) as _report,
        {{ change_tables.place_of_row(bound) }}
    from judged

),

{{ change_tables.staged_with_snapshot(spec, bound) }}
{% endmacro %}
