select 0 as place, _mark from lake.dedup_feed__events__state where startswith(_mark, '{') union all select 1 as place, _mark from lake.dedup_feed__events_multi_valued__state where startswith(_mark, '{') union all select 2 as place, _mark from lake.documents__state where startswith(_mark, '{')
;

select coalesce(min(record_id), 0), coalesce(max(record_id), 0) from (select cast(_change_id as bigint) as record_id from lake.dedup_feed__events__state where _mark is null
        and _event_type is not null
        and _batch_id > '20260130T120000000000_00000001'
        and _batch_id <= '20260131T110000000000_00000009' union all select cast(_change_id as bigint) as record_id from lake.dedup_feed__events_multi_valued__state where _mark is null
        and _event_type is not null
        and _batch_id > '20260130T120000000000_00000001'
        and _batch_id <= '20260131T110000000000_00000009')
;

merge into lake.documents__state as target
using (
    with document_rows as (

select * from the_model

)

select
    _mark,
    record_ids, class_name, association, document, reason, _batch_id, _position, _first_record_id, _last_record_id
from document_rows
union all
select
    '{"layout": 4, "batch": "20260131T120000000000_00000000", "logs": {"usr": {"log": "20260130T120000000000_00000001", "batch": "20260131T110000000000_00000009"}, "multi": {"log": "20260130T120000000000_00000001", "batch": "20260131T110000000000_00000009"}}}' as _mark,
    null as record_ids, null as class_name, null as association, null as document, null as reason, null as _batch_id, null as _position, null as _first_record_id, null as _last_record_id
) as source
    on source._position <=> target._position and target._mark is not null
when matched then update set
    _mark = case
        when target._mark = '{"layout": 4, "batch": "20260130T120000000000_00000001", "logs": {"usr": {"log": "20260130T120000000000_00000001", "batch": "20260130T120000000000_00000001"}, "multi": {"log": "20260130T120000000000_00000001", "batch": "20260130T120000000000_00000001"}}}' then source._mark
        else raise_error('change_tables: another run has written to this table at the same time; nothing was changed, run again')
    end
when not matched then insert (_mark, record_ids, class_name, association, document, reason, _batch_id, _position, _first_record_id, _last_record_id)
    values (case when source._mark is not null then raise_error('change_tables: this table has lost the mark of its runs, as if it was emptied or replaced by hand; nothing was changed, run again') else source._mark end, source.record_ids, source.class_name, source.association, source.document, source.reason, source._batch_id, source._position, source._first_record_id, source._last_record_id)
;

create or replace view lake.documents
(
    record_ids comment 'the events that the document stands for, in their order, those included that add nothing to it',
    class_name comment 'table_name of the entry',
    association comment 'the pairs of the table key as they were logged, then table and schema',
    document comment 'the element, without declaration and without nds around it',
    reason comment 'null where there is a document, else code: detail',
    _batch_id comment 'the run that published',
    _position comment 'the place in that run; gaps mean nothing'
)
tblproperties ('change_tables.digest' = '…', 'change_tables.mark' = '…', 'change_tables.mark.0' = '…')
as
select
    record_ids, -- array<bigint>
    class_name, -- string
    association, -- string
    document, -- string
    reason, -- string
    _batch_id, _position
from lake.documents__state
where _mark is null
;
