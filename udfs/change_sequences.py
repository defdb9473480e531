"""Change sequences of 35 digits: a time to the hundredth of a second and a change number."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from .flat_bytes import flatten, require_type

_TIME_DIGITS = 16
_NUMBER_DIGITS = 19
_DIGITS = _TIME_DIGITS + _NUMBER_DIGITS

CHANGED_AT = pa.timestamp("us", tz="UTC")
# 19 digits reach 9,999,999,999,999,999,999: more than a bigint holds (9,223,372,036,854,775,807), less than 2 ** 64.
CHANGE_NUMBER = pa.decimal128(_NUMBER_DIGITS, 0)


def split_change_seq(change_seq: pa.Array) -> pa.Array:
    """The time and the change number of a 35-digit change sequence.

    `change_seq`, string, shape (n,): 16 digits `yyyyMMddHHmmSShh` (UTC, to 1/100 s), then 19 digits, zero-padded.

    Returns struct<changed_at timestamp, change_number decimal(19,0)>, shape (n,). The struct is null where the
    sequence is null, is not 35 ASCII digits, or names a time that does not exist (year 0, 30 February, hour 24, second
    60). So it is null for sequences of loads: they have 16 leading zeros and no time. The number is a decimal because
    19 digits can exceed a bigint. Raises TypeError for a column of another type, never for a value.

    Source: `change_seq` of Qlik's change tables. Changes are ordered by the whole text, not by the time in it.

    >>> split_change_seq(pa.array(["20260131120000990000000000000000042"])).to_pylist()[0]["change_number"]
    Decimal('42')
    >>> split_change_seq(pa.array(["20260230120000990000000000000000042", "42", None])).null_count
    3
    """
    change_seq = require_type("split_change_seq", "change_seq", change_seq, ("string",))
    sequences = flatten(change_seq)
    whole = np.flatnonzero(sequences.lengths == _DIGITS)
    microseconds = np.zeros(len(change_seq), np.int64)
    numbers = np.zeros((len(change_seq), 2), np.uint64)  # the two halves of a decimal128, the lower one first
    readable = np.zeros(len(change_seq), np.bool_)

    if len(whole):
        every_run = np.lib.stride_tricks.sliding_window_view(sequences.data, _DIGITS)
        digits = every_run[sequences.starts[whole]] - ord("0")  # a byte below "0" wraps round to a large number
        pairs = digits[:, 0:_TIME_DIGITS:2].astype(np.int64) * 10 + digits[:, 1:_TIME_DIGITS:2]
        century, year_of_century, month, day, hour, minute, second, hundredth = pairs.T
        year = century * 100 + year_of_century
        first_of_month = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
        date = first_of_month.astype("datetime64[D]") + (day - 1)
        is_time = (
            (digits <= 9).all(axis=1)
            & ((year >= 1) & (month >= 1) & (month <= 12))
            & ((day >= 1) & (date.astype("datetime64[M]") == first_of_month))
            & ((hour <= 23) & (minute <= 59) & (second <= 59))
        )
        seconds = ((date.astype(np.int64) * 24 + hour) * 60 + minute) * 60 + second
        number = digits[:, _TIME_DIGITS:].astype(np.uint64) @ (
            np.uint64(10) ** np.arange(_NUMBER_DIGITS - 1, -1, -1, dtype=np.uint64)
        )
        # The value under a null must be in range as well, so it stays 0.
        microseconds[whole] = np.where(is_time, seconds * 1_000_000 + hundredth * 10_000, 0)
        numbers[whole, 0] = np.where(is_time, number, 0)
        readable[whole] = is_time

    return pa.StructArray.from_arrays(
        [
            pa.array(microseconds).cast(CHANGED_AT),
            pa.Array.from_buffers(CHANGE_NUMBER, len(change_seq), [None, pa.py_buffer(numbers)]),
        ],
        fields=[pa.field("changed_at", CHANGED_AT), pa.field("change_number", CHANGE_NUMBER)],
        mask=pa.array(~readable),
    )
