{#-
    The raw rows of forgotten keys, which `change-tables forget --raw` deletes, and those of the load: the rows that staging leaves out for these,
    found by their `_raw_id`. Only where each is of one key (`raw_id` of `format_of`), and one entry alone reads the table: elsewhere a row is of
    other tables too, or of several pieces.

    The log has counted raw rows. So the number that is deleted is noted with its view before, and taken off its count after, as by `purge`.
-#}

{#- Deletes them, or says why not. `held`: as `forget` hands it on. -#}
{% macro forget_in_raw(logs, held) %}
    {% set spec = held.spec %}
    {% set format = change_tables.format_of(spec.format) %}
    {% set tables = change_tables.raw_tables_with_logs('forget', []) | selectattr('relation', 'equalto', spec.relation) | list %}
    {% set existing = load_relation(spec.relation) %}
    {% set reason = 'raw rows of the format ' ~ spec.format ~ ' do not say by themselves of which key they are' if not format.raw_id
        else change_tables.why_left_alone(existing) if change_tables.why_left_alone(existing)
        else 'it is beside the raw table of another entry' if not tables
        else 'it has two logs' if logs | length > 1
        else 'other entries read it too: ' ~ tables[0].specs | map(attribute='table_name') | sort | join(', ') if tables[0].specs | length > 1 %}
    {% if reason %}
        {% do print(spec.relation ~ ': left alone: ' ~ reason ~ '. No run takes in what it has of these keys') %}
        {% do return('') %}
    {% endif %}
    {% set log = dict(logs[0], checkpoint=change_tables.checkpoint_of_table(logs[0].relation)) %}
    {% set arrival = change_tables.arrival_of(spec) %}
    {% set counted = change_tables.is_below_watermark(arrival, log.checkpoint.watermark, log.checkpoint.lookback) if arrival else 'true' %}
    {% set gone = change_tables._ids_of_forgotten(held) %}
    {% set on = change_tables.part_of_format(spec, 'raw_id') ~ ' = gone._ct_gone_id' %}
    {% set row = run_query(
        'select count_if(_ct_goes) as all_rows, ' ~ change_tables.count_below_watermark(arrival, '_ct_is_below and _ct_goes') ~ ' as counted_rows, '
        ~ change_tables.count_below_watermark(arrival, '_ct_is_below') ~ ' as rows_below from (select raw_rows.*, gone._ct_gone_id is not null as _ct_goes from (select *, ' ~ counted
        ~ ' as _ct_is_below from ' ~ spec.relation ~ ') as raw_rows left join ' ~ gone ~ ' as gone on ' ~ on ~ ')'
    ).rows[0] %}
    {% set noted = change_tables.properties_of_view(load_cached_relation(log.relation)).get('change_tables.purged') or '0' %}
    {% set missing = log.checkpoint.watermark_rows - row['rows_below'] | int if log.checkpoint else 0 %}
    {% if missing > 0 and missing == noted | int and not held.dry_run %}
        {#- a command before this one has deleted them, and died -#}
        {% do change_tables.take_off(log, missing) %}
    {% endif %}
    {% if row['all_rows'] | int > 0 %}
        {% do change_tables.set_properties_of_view(log.relation, {'change_tables.purged': row['counted_rows'] | int}) if log.checkpoint and not held.dry_run %}
        {% do change_tables._delete_landed(spec.relation, held, on, row['all_rows'] | int) %}
        {% set now = change_tables.checkpoint_of_table(log.relation) %}
        {% do change_tables.take_off(dict(log, checkpoint=now), row['counted_rows'] | int) if now and row['counted_rows'] | int > 0 and not held.dry_run %}
    {% endif %}
    {% do print(spec.relation ~ ': ' ~ row['all_rows'] ~ ' rows' ~ (' would be' if held.dry_run) ~ ' deleted') %}
    {% do change_tables._forget_in_load(held) if spec.snapshot %}
{% endmacro %}


{% macro _forget_in_load(held) %}
    {% set spec = held.spec %}
    {% set load = change_tables.relation_of_setting(spec, 'snapshot') %}
    {% set existing = load_relation(load) %}
    {% if change_tables.why_left_alone(existing) %}
        {% do print(load ~ ': left alone: ' ~ change_tables.why_left_alone(existing)) %}
        {% do return('') %}
    {% endif %}
    {% set on = change_tables.raw_id_of_load(spec) ~ ' = gone._ct_gone_id' %}
    {% set rows = run_query('select count(*) as all_rows from ' ~ load ~ ' as raw_rows left semi join ' ~ change_tables._ids_of_forgotten(held) ~ ' as gone on ' ~ on).rows[0][0] | int %}
    {% do change_tables._delete_landed(load, held, on, rows) if rows > 0 %}
    {% do print(load ~ ': ' ~ rows ~ ' rows' ~ (' would be' if held.dry_run) ~ ' deleted') %}
{% endmacro %}


{% macro _ids_of_forgotten(held) -%}
    (select distinct _raw_id as _ct_gone_id from {{ held.batch }} where is_forgotten and _raw_id is not null)
{%- endmacro %}


{% macro _delete_landed(table, held, on, rows) %}
    {% do change_tables.send_or_say(
        'merge into ' ~ table ~ ' as raw_rows\nusing ' ~ change_tables._ids_of_forgotten(held) ~ ' as gone\n    on ' ~ on ~ '\nwhen matched then delete', rows ~ ' rows', held.dry_run
    ) %}
{% endmacro %}
