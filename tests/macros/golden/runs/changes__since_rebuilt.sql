select 0 as place, _checkpoint from lake.current_feed__full__state where startswith(_checkpoint, '{')
;

select max(_batch_id) as taken_in from lake.changes
;
