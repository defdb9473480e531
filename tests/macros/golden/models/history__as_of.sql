select * except (_valid_from, _valid_to, _valid_from_seq, _valid_to_seq, _is_current)
from lake.history_feed__full
where
    (_valid_from is null or _valid_from <= timestamp '2026-01-31 12:00:00')
    and (_valid_to_seq is null or _valid_to > timestamp '2026-01-31 12:00:00')
