"""Change masks: which columns a change touched, one bit a column.

Bit i, counted from the least significant bit of the whole mask, belongs to the column of 1-based ordinal i + 1. A mask
is binary or hex text, in either byte order, of any width. Wide tables have more than 64 columns, so a mask is never one
machine integer here.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from .flat_bytes import Bytes, Flags, FlatBytes, Integers, flatten, places_in_rows, require_type, starts_of

MOST_SIGNIFICANT_FIRST = "most_significant_first"
LEAST_SIGNIFICANT_FIRST = "least_significant_first"

ORDINALS = pa.list_(pa.field("element", pa.int32()))

_NO_DIGIT = 255
_DIGIT_VALUES: Bytes = np.full(256, _NO_DIGIT, np.uint8)
_DIGIT_VALUES[np.frombuffer(b"0123456789abcdef", np.uint8)] = np.arange(16)
_DIGIT_VALUES[np.frombuffer(b"ABCDEF", np.uint8)] = np.arange(10, 16)


def decode_change_mask(mask: pa.Array, byte_order: pa.Array, first_ordinal: pa.Array) -> pa.Array:
    """The columns whose bit is set, as ascending 1-based ordinals.

    `mask`, shape (n,): binary, or text of hex digits (upper or lower case, with or without `0x`; leading zeros may be
    cut, so an odd number of digits means a leading zero).
    `byte_order`, shape (n,): `most_significant_first` or `least_significant_first`. Null = the usual one of the mask's
    type: a text has its most significant byte first, a binary its least significant.
    `first_ordinal`, shape (n,): the ordinal that is 1 in the result; bits before it are dropped. With seven header
    columns it is 8.

    Returns array<int>, shape (n,). No bit set, or an empty mask: an empty array. Null where the mask is null or holds
    anything but hex digits, where the byte order is neither of the two, and where `first_ordinal` is null or below 1.
    Raises TypeError for a column of another type, never for a value.

    Source: the rules for `change_mask` of Qlik's change tables and for `changeMask` and `columnMask` of its Kafka
    messages.

    >>> byte_order, first_ordinal = pa.array([MOST_SIGNIFICANT_FIRST] * 3), pa.array([8] * 3)
    >>> decode_change_mask(pa.array(["0180", "0x3", None]), byte_order, first_ordinal).to_pylist()
    [[1, 2], [], None]
    """
    mask = require_type("decode_change_mask", "mask", mask, ("string", "binary"))
    byte_order = require_type("decode_change_mask", "byte_order", byte_order, ("string",))
    if not (pa.types.is_integer(first_ordinal.type) or pa.types.is_null(first_ordinal.type)):
        raise TypeError(f"decode_change_mask: `first_ordinal` must be an integer, got {first_ordinal.type}")
    is_text = pa.types.is_string(mask.type) or pa.types.is_large_string(mask.type)
    usual_order = MOST_SIGNIFICANT_FIRST if is_text else LEAST_SIGNIFICANT_FIRST

    masks = mask.dictionary_encode()
    orders = pc.fill_null(byte_order, usual_order).dictionary_encode()
    firsts = pc.fill_null(first_ordinal.cast(pa.int64()), 0).dictionary_encode()
    order_values = np.array(orders.dictionary.to_pylist(), dtype=object)
    first_values = firsts.dictionary.to_numpy(zero_copy_only=False)

    if len(order_values) == 1 and len(first_values) == 1:
        distinct, rows = masks.dictionary, masks.indices
        order_of = np.repeat(order_values, len(distinct))
        first_of = np.repeat(first_values, len(distinct))
    else:
        known = mask.is_valid().to_numpy(zero_copy_only=False)
        mask_codes = pc.fill_null(masks.indices, 0).to_numpy().astype(np.int64)
        order_codes, first_codes = orders.indices.to_numpy(), firsts.indices.to_numpy()
        combined = (mask_codes * len(order_values) + order_codes) * len(first_values) + first_codes
        combinations, row_codes = np.unique(combined[known], return_inverse=True)
        rows_of_known = np.zeros(len(mask), np.int64)
        rows_of_known[known] = row_codes
        rows = pa.array(rows_of_known, mask=~known)
        combinations, first_code = np.divmod(combinations, len(first_values))
        mask_code, order_code = np.divmod(combinations, len(order_values))
        distinct, order_of, first_of = (
            masks.dictionary.take(mask_code),
            order_values[order_code],
            first_values[first_code],
        )

    return _ordinals(distinct, is_text, order_of, first_of).take(rows)


def _ordinals(masks: pa.Array, is_text: bool, byte_order: npt.NDArray[np.object_], first_ordinal: Integers) -> pa.Array:
    """The ordinals of masks of which none is null; all arguments have the shape (n,)."""
    most_first = byte_order == MOST_SIGNIFICANT_FIRST
    readable = (most_first | (byte_order == LEAST_SIGNIFICANT_FIRST)) & (first_ordinal >= 1)
    if is_text:
        data, lengths, well_formed = _bytes_of_hex(flatten(masks), most_first)
        readable &= well_formed
    else:
        data, lengths = _bytes_of_binary(flatten(masks), most_first)

    set_bytes = np.flatnonzero(data)
    row_of_byte = np.repeat(np.arange(len(masks)), lengths)[set_bytes]
    place_of_byte = set_bytes - starts_of(lengths)[row_of_byte]
    byte_of_bit, bit = np.nonzero(np.unpackbits(data[set_bytes][:, np.newaxis], axis=1, bitorder="little"))
    row_of_bit = row_of_byte[byte_of_bit]
    ordinal = place_of_byte[byte_of_bit] * 8 + bit + 2 - first_ordinal[row_of_bit]

    counted = (ordinal >= 1) & readable[row_of_bit]
    ends = np.cumsum(np.bincount(row_of_bit[counted], minlength=len(masks)))
    return pa.ListArray.from_arrays(
        pa.array(np.concatenate([[0], ends]), pa.int32()),
        pa.array(ordinal[counted], pa.int32()),
        type=ORDINALS,
        mask=pa.array(~readable),
    )


def _bytes_of_binary(masks: FlatBytes, most_first: Flags) -> tuple[Bytes, Integers]:
    """The masks' bytes laid end to end, least significant first, and their number per mask."""
    lengths = masks.lengths
    place = places_in_rows(lengths)
    read_from = np.where(np.repeat(most_first, lengths), np.repeat(lengths, lengths) - 1 - place, place)
    return masks.data[np.repeat(masks.starts, lengths) + read_from], lengths


def _bytes_of_hex(masks: FlatBytes, most_first: Flags) -> tuple[Bytes, Integers, Flags]:
    """The same as `_bytes_of_binary` for hex text, and which masks hold nothing but hex digits."""
    data = np.append(masks.data, np.zeros(2, np.uint8))
    has_prefix = (masks.lengths >= 2) & (data[masks.starts] == ord("0")) & ((data[masks.starts + 1] | 0x20) == ord("x"))
    starts = masks.starts + 2 * has_prefix
    lengths = masks.lengths - 2 * has_prefix
    leading_zero = lengths & 1
    padded_lengths = lengths + leading_zero

    place = places_in_rows(lengths)
    digit = _DIGIT_VALUES[data[np.repeat(starts, lengths) + place]]
    well_formed = np.ones(len(lengths), np.bool_)
    well_formed[np.repeat(np.arange(len(lengths)), lengths)[digit == _NO_DIGIT]] = False

    # One place for each half byte, least significant first. If the bytes stay in their order, only the two halves of
    # each byte change places.
    place += np.repeat(leading_zero, lengths)
    half_place = np.where(np.repeat(most_first, lengths), np.repeat(padded_lengths, lengths) - 1 - place, place ^ 1)
    halves = np.zeros(int(padded_lengths.sum()), np.uint8)
    halves[np.repeat(starts_of(padded_lengths), lengths) + half_place] = digit
    whole_bytes: Bytes = halves[0::2] | (halves[1::2] << np.uint8(4))
    return whole_bytes, padded_lengths // 2, well_formed
