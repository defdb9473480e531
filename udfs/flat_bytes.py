"""Arrow text and binary columns seen as one run of bytes, which numpy can work on without a loop over rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Bytes = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class FlatBytes(NamedTuple):
    """The bytes of a column of n rows, laid end to end."""

    data: Bytes
    """All bytes that the rows refer to; may hold more before the first and after the last row."""
    starts: Integers
    """Shape (n,): where each row's bytes start in `data`."""
    lengths: Integers
    """Shape (n,): how many bytes each row has; 0 for a null."""


def flatten(values: pa.Array) -> FlatBytes:
    """The bytes of a string or binary array, without a copy.

    >>> flatten(pa.array(["ab", None, "c"])).lengths.tolist()
    [2, 0, 1]
    """
    values = values.cast(pa.large_binary())
    _, offset_buffer, data_buffer = values.buffers()
    offsets = np.frombuffer(offset_buffer, np.int64, len(values) + 1, values.offset * 8) if len(values) else np.zeros(1)
    data = np.frombuffer(data_buffer, np.uint8) if data_buffer is not None else np.zeros(0, np.uint8)
    starts = offsets[:-1].astype(np.int64)
    lengths = np.diff(offsets).astype(np.int64)
    if values.null_count:
        lengths[values.is_null().to_numpy(zero_copy_only=False)] = 0
    return FlatBytes(data, starts, lengths)


def starts_of(lengths: Integers) -> Integers:
    """Where each row starts when rows of these lengths are laid end to end.

    >>> starts_of(np.array([2, 0, 3])).tolist()
    [0, 2, 2]
    """
    starts: Integers = np.cumsum(lengths) - lengths
    return starts


def places_in_rows(lengths: Integers) -> Integers:
    """For each byte of rows laid end to end, its 0-based place in its row.

    >>> places_in_rows(np.array([2, 0, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    return np.arange(int(lengths.sum()), dtype=np.int64) - np.repeat(starts_of(lengths), lengths)


def require_type(function: str, argument: str, values: pa.Array, allowed: tuple[str, ...]) -> pa.Array:
    """The array itself; of the first of the allowed types where SQL passed a bare `null`, or an array of nulls alone.

    Raises TypeError when a column of another type was passed: that is a wrong call, not bad data.

    >>> require_type("split_change_seq", "change_seq", pa.array([1]), ("string",))
    Traceback (most recent call last):
        ...
    TypeError: split_change_seq: `change_seq` must be string, got int64
    """
    if pa.types.is_null(values.type):
        return pa.nulls(len(values), pa.list_(pa.string()) if allowed[0] == "array<string>" else pa.string())
    if allowed[0] == "array<string>" and pa.types.is_list(values.type) and pa.types.is_null(values.type.value_type):
        return values.cast(pa.list_(pa.string()))
    fits: dict[str, Any] = {
        "string": pa.types.is_string(values.type) or pa.types.is_large_string(values.type),
        "binary": pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type),
        "array<string>": pa.types.is_list(values.type) and pa.types.is_string(values.type.value_type),
    }
    if not any(fits[name] for name in allowed):
        raise TypeError(f"{function}: `{argument}` must be {' or '.join(allowed)}, got {values.type}")
    return values
