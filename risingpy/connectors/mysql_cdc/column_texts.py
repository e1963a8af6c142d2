"""The values of a column of row events as the texts that the snapshot's SELECT gives, too."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.connectors.mysql_cdc import events
from risingpy.connectors.mysql_cdc.events import MapColumn
from risingpy.connectors.mysql_cdc.row_kernel import NULL, Bytes, EventRows, Positions

Integers = npt.NDArray[np.int64]

_UTF8 = frozenset(("utf8", "utf8mb3", "utf8mb4", "ascii"))
# Character sets by MySQL's names, with Python's; those of UTF-8 need no conversion.
CHARACTER_SETS = {
    "latin1": "cp1252", "latin2": "iso8859-2", "latin5": "iso8859-9", "latin7": "iso8859-13", "greek": "iso8859-7",
    "hebrew": "iso8859-8", "cp1250": "cp1250", "cp1251": "cp1251", "cp1257": "cp1257", "cp850": "cp850",
    "cp852": "cp852", "cp866": "cp866", "koi8r": "koi8-r", "koi8u": "koi8-u", "gbk": "gbk", "gb2312": "gb2312",
    "big5": "big5", "euckr": "euc-kr", "ujis": "euc-jp", "sjis": "shift-jis", "cp932": "cp932", "ucs2": "utf-16-be",
    "utf16": "utf-16-be", "utf16le": "utf-16-le", "utf32": "utf-32-be", **{name: "" for name in _UTF8},
}  # fmt: skip
_HEX = np.array([ord(f"{value:02X}"[k]) for value in range(256) for k in range(2)], np.uint8).reshape(256, 2)


def column_texts(rows: EventRows, place: int, column: MapColumn, character_set: str) -> pa.Array:
    """The texts of a column; `character_set` is empty for bytes, which become PostgreSQL's `\\\\x…`."""
    starts, lengths = rows.starts[place], rows.lengths[place]
    there = lengths != NULL
    if column.has_length:
        texts = _characters(rows.data, starts, np.maximum(lengths, 0), there, character_set)
        if column.type == events.STRING and not character_set:  # BINARY, whose zeros at the end are not sent
            texts = pc.utf8_rpad(texts, 2 + 2 * column.detail[0], "0")
        return texts
    made = _texts_of(column, rows.data, np.where(there, starts, 0))
    return made if there.all() else pc.if_else(pa.array(there), made, pa.scalar(None, pa.string()))


def _texts_of(column: MapColumn, data: Bytes, starts: Positions) -> pa.Array:
    match column.type:
        case events.FLOAT | events.DOUBLE:
            width, kind = (4, "<f4") if column.type == events.FLOAT else (8, "<f8")
            values = data[starts[:, None] + np.arange(width)].view(kind).reshape(-1)
            return pa.array(values.astype(np.float64)).cast(pa.string())
        case events.DECIMAL:
            return _decimals(data, starts, *column.detail)
        case events.DATE:
            value = _little(data, starts, 3)
            return _dates(value >> 9, value >> 5 & 15, value & 31)
        case events.YEAR:
            value = _little(data, starts, 1)
            return _padded(np.where(value == 0, 0, value + 1900), 4)
        case events.TIMESTAMP2:
            return _timestamps(data, starts, column.detail[0])
        case events.DATETIME2:
            return _datetimes(data, starts, column.detail[0])
        case events.TIME2:
            return _times(data, starts, column.detail[0])
        case events.ENUM:
            return _labels(_little(data, starts, column.size), column.labels)
        case events.SET:
            return _sets(_little(data, starts, column.size), column.labels)
        case events.BIT:
            value = _big(data, starts, column.size)
            return pa.array(value.view(np.uint64)).cast(pa.string())
        case _:
            value = _little(data, starts, column.size)
            if column.is_unsigned:
                return pa.array(value.view(np.uint64)).cast(pa.string())
            free = 64 - 8 * column.size
            return pa.array(value << free >> free).cast(pa.string())


def _little(data: Bytes, starts: Positions, size: int) -> Integers:
    value = np.zeros(len(starts), np.int64)
    for k in range(size):
        value |= data[starts + k].astype(np.int64) << (8 * k)
    return value


def _big(data: Bytes, starts: Positions, size: int) -> Integers:
    value: Integers = np.zeros(len(starts), np.int64)
    for k in range(size):
        np.left_shift(value, 8, out=value)
        np.bitwise_or(value, data[starts + k], out=value)
    return value


def _padded(values: Integers, width: int) -> pa.Array:
    return pc.utf8_lpad(pa.array(values).cast(pa.string()), width, "0")


def _joined(separator: str, *parts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(*parts, separator)


def _dates(year: Integers, month: Integers, day: Integers) -> pa.Array:
    return _joined("-", _padded(year, 4), _padded(month, 2), _padded(day, 2))


def _clock(hour: Integers, minute: Integers, second: Integers, micros: Integers) -> pa.Array:
    whole = _joined(":", _padded(hour, 2), _padded(minute, 2), _padded(second, 2))
    return whole if not micros.any() else _joined(".", whole, _padded(micros, 6))


def _fraction(data: Bytes, starts: Positions, digits: int) -> Integers:
    """Microseconds: one to three bytes, of hundredths, ten thousandths or millionths."""
    size = (digits + 1) // 2
    return _big(data, starts, size) * int(10 ** (6 - 2 * size))


def _timestamps(data: Bytes, starts: Positions, digits: int) -> pa.Array:
    seconds, micros = _big(data, starts, 4), _fraction(data, starts + 4, digits)
    shown = pa.array(seconds * 1_000_000 + micros).cast(pa.timestamp("us")).cast(pa.string())
    shown = pc.binary_join_element_wise(shown, "+00", "")
    zero = pa.array((seconds == 0) & (micros == 0))
    return pc.if_else(zero, pa.scalar("0000-00-00 00:00:00"), shown)


def _datetimes(data: Bytes, starts: Positions, digits: int) -> pa.Array:
    packed = _big(data, starts, 5) - 0x8000000000
    days, clock = packed >> 17, packed & 0x1FFFF
    month = days >> 5
    date = _dates(month // 13, month % 13, days & 31)
    micros = _fraction(data, starts + 5, digits)
    return _joined(" ", date, _clock(clock >> 12, clock >> 6 & 63, clock & 63, micros))


def _times(data: Bytes, starts: Positions, digits: int) -> pa.Array:
    """The whole value, fraction included, is one number of two's complement below its offset."""
    size = (digits + 1) // 2
    packed = _big(data, starts, 3 + size) - (0x800000 << (8 * size))
    negative, packed = packed < 0, np.abs(packed)
    clock = packed >> (8 * size)
    micros = (packed & ((1 << (8 * size)) - 1)) * 10 ** (6 - 2 * size)
    shown = _clock(clock >> 12, clock >> 6 & 63, clock & 63, micros)
    return pc.if_else(pa.array(negative), pc.binary_join_element_wise("-", shown, ""), shown)


def _decimals(data: Bytes, starts: Positions, precision: int, scale: int) -> pa.Array:
    """Digits in groups of nine, the odd ones first before the point and last after it; the first bit is the sign."""
    negative = (data[starts] & 0x80) == 0
    size = events.decimal_bytes(precision, scale)
    bytes_ = data[starts[:, None] + np.arange(size)].copy()
    bytes_[:, 0] ^= 0x80
    bytes_[negative] ^= 0xFF
    flat, firsts = bytes_.reshape(-1), np.arange(len(starts)) * size
    parts, at = [], 0
    whole = precision - scale
    for digits in [*([whole % 9] if whole % 9 else []), *[9] * (whole // 9)]:
        width = events.decimal_bytes(digits, 0)
        parts.append(_padded(_big(flat, firsts + at, width), digits))
        at += width
    shown = pc.utf8_ltrim(_joined("", *parts), "0") if parts else pa.array([""] * len(starts))
    shown = pc.if_else(pc.equal(shown, ""), "0", shown)
    fraction = []
    for digits in [*[9] * (scale // 9), *([scale % 9] if scale % 9 else [])]:
        width = events.decimal_bytes(digits, 0)
        fraction.append(_padded(_big(flat, firsts + at, width), digits))
        at += width
    if fraction:
        shown = _joined(".", shown, _joined("", *fraction))
    return pc.if_else(pa.array(negative), pc.binary_join_element_wise("-", shown, ""), shown)


def _labels(values: Integers, labels: tuple[str, ...]) -> pa.Array:
    """The labels by their numbers from 1 on; 0 is the empty one, which stands for a wrong value.

    A row whose value is NULL has any number here.
    """
    return pa.array(["", *labels]).take(pa.array(np.where(values <= len(labels), values, 0)))


def _sets(values: Integers, labels: tuple[str, ...]) -> pa.Array:
    """The labels of the bits that are set. There are few different ones."""
    distinct, which = np.unique(values, return_inverse=True)
    shown = [",".join(label for k, label in enumerate(labels) if value >> k & 1) for value in distinct.tolist()]
    return pa.array(shown, pa.string()).take(pa.array(which))


def _characters(
    data: Bytes, starts: Positions, lengths: Positions, there: npt.NDArray[np.bool_], character_set: str
) -> pa.Array:
    ends = np.cumsum(lengths)
    moved = np.repeat(starts - ends + lengths, lengths) + np.arange(int(lengths.sum()))
    taken, scale = data[moved], 1
    if not character_set:
        taken, scale = _HEX[taken].reshape(-1), 2
    offsets = np.concatenate([np.zeros(1, np.int32), (ends * scale).astype(np.int32)])
    valid = None if there.all() else pa.py_buffer(np.packbits(there, bitorder="little"))
    buffers = [valid, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(taken))]
    codec = CHARACTER_SETS.get(character_set, "")
    if codec:
        return _recoded(pa.Array.from_buffers(pa.binary(), len(lengths), buffers), codec)
    found = pa.Array.from_buffers(pa.string(), len(lengths), buffers)
    return found if character_set else pc.binary_join_element_wise("\\x", found, "")


def _recoded(values: pa.Array, codec: str) -> pa.Array:
    """Texts of another character set than UTF-8: one by one, because Arrow knows none."""
    decode: Callable[[bytes], str] = lambda value: value.decode(codec, "replace")  # noqa: E731
    return pa.array([None if value is None else decode(value) for value in values.to_pylist()], pa.string())
