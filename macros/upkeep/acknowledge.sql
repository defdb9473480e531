{#-
    `change-tables acknowledge`: notes of the rows and changes of a table that have a code now that nothing is to be done about them. Only what
    is there now: what comes later is news. One commit to a table that no run writes (see `macros/health/acknowledgements.sql`).
-#}

{#-
    table      the entry
    code       the reason code
    note       why nothing is to be done
    source     the source, where two have an entry of this name
    only       as `rejected_changes` and `reported_changes` show them, the `_raw_id` or `_change_id`; none: all with the code
    withdraw   take back what was acknowledged
    dry_run    say what would be sent, and change nothing
-#}
{% macro acknowledge(table, code, note='', source='', only=[], withdraw=false, dry_run=false) %}
    {% do change_tables.refuse_command('acknowledge', '`note` must say why nothing is to be done') if not withdraw and not note | trim %}
    {% set log = change_tables.logs_of_entry('acknowledge', source, table)[0] %}
    {% set acknowledgements = change_tables.acknowledgements() %}
    {% set is_there = load_cached_relation(acknowledgements) is not none %}
    {% set troubles = change_tables.open_troubles(log.relation) %}
    {% do change_tables.refuse_command('acknowledge', log.relation ~ ' is not built') if not troubles %}
    {% set found %}
select troubles.id, troubles.code, troubles.rows, acknowledged._ct_acknowledged_id is not null as is_acknowledged
from (
{{ troubles }}
) as troubles
{{ change_tables.join_acknowledged(log.spec, 'troubles.id', 'troubles.code') }}
        {%- if only %}
where troubles.shown_id in ({{ change_tables.text_literals(only) }})
        {%- endif %}
    {% endset %}
    {% set rows = run_query('select code, is_acknowledged, count(*) as known, sum(rows) as all_rows from (' ~ found ~ ') group by 1, 2 order by 1, 2').rows %}
    {% set taken = rows | selectattr('code', 'equalto', code) | selectattr('is_acknowledged', 'equalto', withdraw) | list %}
    {% set name = log.spec.source_name ~ '.' ~ log.spec.table_name %}
    {% if not taken %}
        {% set others = [] %}
        {% for row in rows if row['is_acknowledged'] == withdraw %}
            {% do others.append(row['code'] ~ ' ' ~ row['all_rows']) %}
        {% endfor %}
        {% do change_tables.refuse_command(
            'acknowledge', name ~ ' has no ' ~ ('acknowledged ' if withdraw) ~ 'row or change with the code ' ~ code
            ~ (' among those that --only names' if only) ~ '; there are: ' ~ (others | join(', ') or 'none')
        ) %}
    {% endif %}
    {% if not dry_run %}
        {% do change_tables.ensure_described_table(
            acknowledgements, change_tables.columns_of_acknowledgements(), 'one row a raw row or change and code that nothing is to be done about'
        ) %}
    {% endif %}
    {% set new_row = {
        'source_name': change_tables.text_literal(log.spec.source_name), 'table_name': change_tables.text_literal(log.spec.table_name), 'code': 'source.code',
        'id': 'source.id', 'note': change_tables.text_literal(note), 'acknowledged_at': 'current_timestamp()', 'acknowledged_by': 'current_user()',
    } %}
    {% set merge %}
merge into {{ acknowledgements }} as target
using (select id, code from ({{ found }}) where code = {{ change_tables.text_literal(code) }}) as source
    on {{ change_tables.is_of_entry(log.spec, 'target.') }} and target.code = source.code and target.id = source.id
{{ 'when matched then delete' if withdraw else 'when not matched then insert (' ~ new_row | join(', ') ~ ') values (' ~ new_row.values() | join(', ') ~ ')' }}
    {%- endset %}
    {% do change_tables.send_or_say(merge, taken[0]['all_rows'] ~ ' rows or changes', dry_run) %}
    {% do print(name ~ ': ' ~ taken[0]['all_rows'] ~ ' ' ~ code ~ (' no longer' if withdraw) ~ ' acknowledged') if not dry_run %}
    {% do print('build the models of rejected_changes and reported_changes, which show it from now on') if not is_there and not dry_run %}
{% endmacro %}
