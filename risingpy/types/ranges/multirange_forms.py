"""Multiranges: text `{[1,3),[7,9)}`, `{}`; binary the number of ranges, then each with its length.

    {[1,3)} of int4multirange    00000001  00000011  02 00000004 00000001 00000004 00000003

Values are the bytes of `multiranges`. Texts and messages may have the ranges in any order, overlapping and empty ones
too. Source: PostgreSQL's multirangetypes.c.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import InvalidTextRepresentation, SqlError
from risingpy.types.ranges import forms as range_forms
from risingpy.types.ranges.bounds import ranges_of, width_of
from risingpy.types.ranges.multiranges import (
    NO_RANGES,
    RANGE_OF,
    column_of_multiranges,
    element_of,
    list_of_ranges,
    multiranges_of,
    united,
)
from risingpy.types.sql_type import SqlType

_EMPTY = "empty"
_SPACES = " \t\n\r\v\f"
_PLAIN = r"^\{(?:[\[(][^{}\\]*[\])])?\}$"
_BETWEEN = r"([\])]),([\[(])"
_MARK = "\0"  # which no text has


def parse(type_: SqlType, text: str, time_zone: str) -> bytes:
    """Raises 22P02 for a text that is no multirange, and what a range of it deserves."""
    one = RANGE_OF[type_.kind]
    return _packed(type_, [range_forms.parse(one, each, time_zone) for each in _ranges_in(text)])


def _packed(type_: SqlType, ranges: Sequence[bytes]) -> bytes:
    """The multirange of ranges in any order."""
    if not ranges:
        return NO_RANGES
    together = united(1, np.zeros(len(ranges), np.int64), ranges_of(pa.array(ranges, pa.binary())))
    packed: bytes = column_of_multiranges(element_of(type_.kind), together)[0].as_py()
    return packed


def _ranges_in(text: str) -> Iterator[str]:
    """The texts of the ranges that are not written `empty`."""
    trimmed = text.strip(_SPACES)
    if not trimmed.startswith("{"):
        raise _malformed(text, "Missing left brace.")
    at, seen = _after_spaces(text, trimmed, 1), False
    while seen or trimmed[at] != "}":
        if trimmed[at] in "[(":
            end = _end_of_range(text, trimmed, at)
            yield trimmed[at:end]
        elif trimmed[at : at + len(_EMPTY)].lower() == _EMPTY:
            end = at + len(_EMPTY)
        else:
            raise _malformed(text, "Expected range start.")
        at, seen = _after_spaces(text, trimmed, end), True
        if trimmed[at] == "}":
            break
        if trimmed[at] != ",":
            raise _malformed(text, "Expected comma or end of multirange.")
        at = _after_spaces(text, trimmed, at + 1)
    if at + 1 < len(trimmed):
        raise _malformed(text, "Junk after closing right brace.")


def _after_spaces(text: str, trimmed: str, at: int) -> int:
    while trimmed[at : at + 1] in tuple(_SPACES):
        at += 1
    if at == len(trimmed):
        raise _malformed(text, "Unexpected end of input.")
    return at


def _end_of_range(text: str, trimmed: str, at: int) -> int:
    """Where the range that begins here ends: at the first bracket outside of quotes, and without a backslash before."""
    quoted = False
    while at < len(trimmed):
        character = trimmed[at]
        if character == "\\":
            at += 1
        elif character == '"':
            quoted = not quoted  # two quotes within quotes leave and enter them
        elif character in "])" and not quoted:
            return at + 1
        at += 1
    raise _malformed(text, "Unexpected end of input.")


def _malformed(text: str, detail: str) -> SqlError:
    return InvalidTextRepresentation(f'malformed multirange literal: "{text}"', detail=detail)


def _parts(type_: SqlType, value: object) -> list[bytes]:
    assert isinstance(value, bytes)
    width = width_of(element_of(type_.kind))
    return [value[at : at + width] for at in range(0, len(value), width)]


def format_value(type_: SqlType, value: object, time_zone: str) -> str:
    """The ranges in order, as `forms.format_value` writes each."""
    one = RANGE_OF[type_.kind]
    return "{" + ",".join(range_forms.format_value(one, part, time_zone) for part in _parts(type_, value)) + "}"


def encode(type_: SqlType, value: object) -> bytes:
    """As multirange_send writes it."""
    sent = [range_forms.encode(RANGE_OF[type_.kind], part) for part in _parts(type_, value)]
    return len(sent).to_bytes(4, "big") + b"".join(len(each).to_bytes(4, "big") + each for each in sent)


def decode(type_: SqlType, data: bytes) -> bytes:
    """Raises 22P03 for bytes that are no multirange, 08P01 where they end too early, and what a range deserves."""
    ranges, at = [], 4
    for _ in range(_number(data, 0)):
        end = at + 4 + _number(data, at)
        if end > len(data):
            raise _cut_off()
        ranges.append(range_forms.decode(RANGE_OF[type_.kind], data[at + 4 : end]))
        at = end
    if at != len(data):
        raise SqlError("incorrect binary data format", sqlstate="22P03")
    return _packed(type_, ranges)


def _number(data: bytes, at: int) -> int:
    if len(data) < at + 4:
        raise _cut_off()
    return int.from_bytes(data[at : at + 4], "big")


def _cut_off() -> SqlError:
    return SqlError("insufficient data left in message", sqlstate="08P01")


def text_column(type_: SqlType, array: pa.Array, time_zone: str) -> pa.Array:
    """As `format_value` writes them; NULLs stay."""
    lists = list_of_ranges(multiranges_of(element_of(type_.kind), array))
    texts = range_forms.text_column(RANGE_OF[type_.kind], lists.values, time_zone)
    joined = pc.binary_join(pa.ListArray.from_arrays(lists.offsets, texts), ",")
    return _where_valid(array, pc.binary_join_element_wise("{", joined, "}", ""))


def binary_column(type_: SqlType, array: pa.Array) -> pa.Array:
    """As `encode` writes them, as Arrow binary; NULLs stay."""
    multiranges = multiranges_of(element_of(type_.kind), array)
    lists = list_of_ranges(multiranges)
    ranges = range_forms.binary_column(RANGE_OF[type_.kind], lists.values)
    sent = pc.binary_join_element_wise(_numbers(pc.binary_length(ranges).to_numpy(zero_copy_only=False)), ranges, b"")
    joined = pc.binary_join(pa.ListArray.from_arrays(lists.offsets, sent), b"")
    return _where_valid(array, pc.binary_join_element_wise(_numbers(multiranges.counts), joined, b""))


def _numbers(numbers: np.ndarray[tuple[int], np.dtype[np.int64]]) -> pa.Array:
    """Each number as four bytes, most significant first."""
    encoded = pa.py_buffer(numbers.astype(">i4"))
    return pa.Array.from_buffers(pa.binary(4), len(numbers), [None, encoded]).cast(pa.binary())


def _where_valid(array: pa.Array, results: pa.Array) -> pa.Array:
    return pc.if_else(pc.is_valid(array), results, pa.scalar(None, results.type)) if array.null_count else results


def parse_plain(type_: SqlType, texts: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """Ranges without escapes and blanks between them, each as `forms.parse_plain` reads it; see `forms.parse_column`.

    A bracket within quotes tears a range apart, whose pieces are no ranges: such a row is left to `parse`.
    """
    if not len(texts):
        return pa.array([], pa.binary()), None
    plain = pc.fill_null(pc.match_substring_regex(texts, _PLAIN), False)
    inside = pc.utf8_slice_codeunits(pc.if_else(plain, texts, "{}"), 1, -1)
    marked = pc.replace_substring_regex(inside, _BETWEEN, rf"\1{_MARK}\2")
    lists = pc.split_pattern(marked, _MARK)
    rows = np.repeat(np.arange(len(texts)), np.diff(np.asarray(lists.offsets)))
    written = pc.not_equal(lists.values, "")
    values, decided = range_forms.parse_plain(RANGE_OF[type_.kind], lists.values.filter(written))
    rows = rows[written.to_numpy(zero_copy_only=False)]
    known = plain.to_numpy(zero_copy_only=False).copy()
    if decided is not None:
        known[rows[~decided.to_numpy(zero_copy_only=False)]] = False
    together = united(len(texts), rows, ranges_of(values))
    valid = None if texts.null_count == 0 else pc.is_valid(texts).buffers()[1]
    return column_of_multiranges(element_of(type_.kind), together, valid), pc.or_(pa.array(known), pc.is_null(texts))
