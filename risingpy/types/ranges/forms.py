"""Range types: text `[1,10)`, `(,"2024-01-01 00:00:00"]`, `empty`; binary flags, then each bound with its length.

    binary  flags: 01 empty, 02 and 04 lower and upper bound inclusive, 08 and 10 no lower and no upper bound
            | per bound that there is int32 length, the binary form of its value

    [1,10) of int4range     02  00000004 00000001  00000004 0000000a

Values are the bytes of `bounds`. A discrete range is shown in its canonical form, and the bounds of numrange without
zeros at their end. Source: PostgreSQL's rangetypes.c.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import InvalidTextRepresentation, SqlError
from risingpy.types import forms
from risingpy.types.ranges.bounds import (
    AT,
    Ends,
    Places,
    RangeBound,
    canonical,
    column_of,
    empty_range,
    packed_range,
    ranges_of,
    unpacked_range,
)
from risingpy.types.ranges.elements import ELEMENTS, BoundType, column_of_keys, key_of, keys_of, value_of
from risingpy.types.sql_type import SqlType

_EMPTY = "empty"
_NO_BOUND = RangeBound(None, inclusive=False)
_EMPTY_FLAG, _LOWER_INCLUSIVE, _UPPER_INCLUSIVE, _NO_LOWER, _NO_UPPER = 1, 2, 4, 8, 16
_SPACES = " \t\n\r\v\f"
_NEEDS_QUOTES = frozenset('"\\()[],' + _SPACES)
_ITEM = r'(?:"(?P<{0}q>[^"\\]+)"|(?P<{0}>[^"\\,()\[\]]*))'
_PLAIN = rf"^(?P<start>[\[(]){_ITEM.format('low')},{_ITEM.format('high')}(?P<end>[\])])$"


def parse(type_: SqlType, text: str, time_zone: str) -> bytes:
    """Raises 22P02 for a text that is no range, and what a bound of the wrong form deserves."""
    element = ELEMENTS[type_.kind]
    trimmed = text.strip(_SPACES)
    if trimmed[: len(_EMPTY)].lower() == _EMPTY:
        if len(trimmed) > len(_EMPTY):
            raise _malformed(text, 'Junk after "empty" key word.')
        return empty_range(element)
    if trimmed[:1] not in ("[", "("):
        raise _malformed(text, "Missing left parenthesis or bracket.")
    lower, at = _item(text, trimmed, 1)
    if trimmed[at] != ",":
        raise _malformed(text, "Missing comma after lower bound.")
    upper, at = _item(text, trimmed, at + 1)
    if trimmed[at] == ",":
        raise _malformed(text, "Too many commas.")
    if len(trimmed) > at + 1:
        raise _malformed(text, "Junk after right parenthesis or bracket.")
    first = _bound(element, lower, time_zone, inclusive=trimmed[0] == "[")
    return packed_range(element, first, _bound(element, upper, time_zone, inclusive=trimmed[at] == "]"))


def _item(text: str, trimmed: str, at: int) -> tuple[str | None, int]:
    """(The text of a bound without its quotes, None if it has no character, and where it ends)."""
    if trimmed[at : at + 1] in (",", ")", "]"):
        return None, at
    characters, quoted = [], False
    while quoted or trimmed[at : at + 1] not in (",", ")", "]"):
        character = trimmed[at : at + 1]
        at += 1
        if character == "\\" and at < len(trimmed):
            characters.append(trimmed[at])
            at += 1
        elif character in ("", "\\"):
            raise _malformed(text, "Unexpected end of input.")
        elif character != '"':
            characters.append(character)
        elif quoted and trimmed[at : at + 1] == '"':
            characters.append('"')
            at += 1
        else:
            quoted = not quoted
    return "".join(characters), at


def _bound(element: BoundType, text: str | None, time_zone: str, *, inclusive: bool) -> RangeBound:
    if text is None:
        return _NO_BOUND
    return RangeBound(key_of(forms.parse_text(element.type, text, time_zone=time_zone)), inclusive)


def _malformed(text: str, detail: str) -> SqlError:
    return InvalidTextRepresentation(f'malformed range literal: "{text}"', detail=detail)


def format_value(type_: SqlType, value: object, time_zone: str) -> str:
    """The canonical form; a bound with a blank in its text is in double quotes."""
    assert isinstance(value, bytes)
    element = ELEMENTS[type_.kind]
    bounds = unpacked_range(element, value)
    if bounds is None:
        return _EMPTY
    lower, upper = bounds
    shown = ",".join(_shown(element, bound, time_zone) for bound in bounds)
    return f"{'[' if lower.inclusive else '('}{shown}{']' if upper.inclusive else ')'}"


def _shown(element: BoundType, bound: RangeBound, time_zone: str) -> str:
    if bound.key is None:
        return ""
    text = forms.format_text(element.type, value_of(element, bound.key), time_zone=time_zone)
    return f'"{text}"' if _NEEDS_QUOTES & set(text) else text


def encode(type_: SqlType, value: object) -> bytes:
    """As range_send writes it."""
    assert isinstance(value, bytes)
    element = ELEMENTS[type_.kind]
    bounds = unpacked_range(element, value)
    if bounds is None:
        return bytes([_EMPTY_FLAG])
    lower, upper = bounds
    flags = lower.inclusive * _LOWER_INCLUSIVE | upper.inclusive * _UPPER_INCLUSIVE
    flags |= (lower.key is None) * _NO_LOWER | (upper.key is None) * _NO_UPPER
    sent = [forms.encode_binary(element.type, value_of(element, b.key)) for b in bounds if b.key is not None]
    return bytes([flags]) + b"".join(len(each).to_bytes(4, "big") + each for each in sent)


def decode(type_: SqlType, data: bytes) -> bytes:
    """Raises 22P03 for bytes that are no range, 08P01 where they end too early, and what `packed_range` raises."""
    element = ELEMENTS[type_.kind]
    if not data:
        raise _cut_off()
    flags, at = data[0], 1
    if flags & _EMPTY_FLAG:
        lower = upper = _NO_BOUND
    else:
        lower, at = _received(element, data, at, flags & _NO_LOWER, flags & _LOWER_INCLUSIVE)
        upper, at = _received(element, data, at, flags & _NO_UPPER, flags & _UPPER_INCLUSIVE)
    if at != len(data):
        raise SqlError("incorrect binary data format", sqlstate="22P03")
    return empty_range(element) if flags & _EMPTY_FLAG else packed_range(element, lower, upper)


def _received(element: BoundType, data: bytes, at: int, absent: int, inclusive: int) -> tuple[RangeBound, int]:
    if absent:
        return _NO_BOUND, at
    end = at + 4 + int.from_bytes(data[at : at + 4], "big", signed=True)
    if not at + 4 <= end <= len(data):
        raise _cut_off()
    value = forms.decode_binary(element.type, data[at + 4 : end])
    return RangeBound(key_of(value), bool(inclusive)), end


def _cut_off() -> SqlError:
    return SqlError("insufficient data left in message", sqlstate="08P01")


def text_column(type_: SqlType, array: pa.Array, time_zone: str) -> pa.Array:
    """As `format_value` writes them; NULLs stay."""
    element = ELEMENTS[type_.kind]
    if not len(array) or array.null_count == len(array):
        return pa.nulls(len(array), pa.string())
    ranges = ranges_of(array)
    starts = pc.if_else(pa.array(ranges.lower.finite & (ranges.lower.edges == AT)), "[", "(")
    ends = pc.if_else(pa.array(ranges.upper.finite & (ranges.upper.edges == AT)), "]", ")")
    shown = [_texts(element, places, time_zone) for places in (ranges.lower, ranges.upper)]
    texts = pc.binary_join_element_wise(starts, shown[0], ",", shown[1], ends, "")
    texts = pc.if_else(pa.array(ranges.empty), _EMPTY, texts)
    return pc.if_else(pc.is_valid(array), texts, pa.scalar(None, pa.string())) if array.null_count else texts


def _texts(element: BoundType, places: Places, time_zone: str) -> pa.Array:
    """The bounds' texts, empty where there is no value."""
    values = column_of_keys(element, places.keys, ~places.finite)
    texts = forms.text_column(element.type, values, time_zone=time_zone)
    spaced = pc.fill_null(pc.match_substring(texts, " "), False)
    quoted = pc.binary_join_element_wise('"', texts, '"', "")
    return pc.fill_null(pc.if_else(spaced, quoted, texts), "")


def binary_column(type_: SqlType, array: pa.Array) -> pa.Array:
    """As `encode` writes them, as Arrow binary; NULLs stay."""
    element = ELEMENTS[type_.kind]
    if not len(array) or array.null_count == len(array):
        return pa.nulls(len(array), pa.binary())
    ranges = ranges_of(array)
    lower, upper, there = ranges.lower, ranges.upper, ~ranges.empty
    flags = ranges.empty * _EMPTY_FLAG
    flags |= (lower.finite & (lower.edges == AT)) * _LOWER_INCLUSIVE
    flags |= (upper.finite & (upper.edges == AT)) * _UPPER_INCLUSIVE
    flags |= (there & ~lower.finite) * _NO_LOWER | (there & ~upper.finite) * _NO_UPPER
    heads = _fixed(flags.astype(np.uint8)[:, None])
    pieces = [piece for places in (lower, upper) for piece in _sent(element, places)]
    sent = pc.binary_join_element_wise(heads, *pieces, b"")
    return pc.if_else(pc.is_valid(array), sent, pa.scalar(None, pa.binary())) if array.null_count else sent


def _sent(element: BoundType, places: Places) -> tuple[pa.Array, pa.Array]:
    """The lengths of the bounds' binary forms, and these; nothing where there is no value."""
    values = column_of_keys(element, places.keys, ~places.finite)
    encoded = forms.binary_column(element.type, values)
    if not isinstance(encoded, pa.Array):
        items = np.ascontiguousarray(encoded)
        encoded = _fixed(items.view(np.uint8).reshape(len(items), items.itemsize))
    lengths = pc.fill_null(pc.binary_length(encoded), 0).to_numpy(zero_copy_only=False).astype(">i4")
    heads = _fixed(lengths.view(np.uint8).reshape(-1, 4))
    finite, nothing = pa.array(places.finite), pa.scalar(b"", pa.binary())
    return pc.if_else(finite, heads, nothing), pc.if_else(finite, encoded, nothing)


def _fixed(rows: np.ndarray[tuple[int, int], np.dtype[np.uint8]]) -> pa.Array:
    """Rows of bytes as Arrow binary."""
    offsets = pa.py_buffer((rows.shape[1] * np.arange(len(rows) + 1)).astype(np.int32))
    return pa.Array.from_buffers(pa.binary(), len(rows), [None, offsets, pa.py_buffer(np.ascontiguousarray(rows))])


def parse_plain(type_: SqlType, texts: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """Two bounds without escapes, and `empty`; see `forms.parse_column`.

    A timestamptz without an offset depends on the time zone, which only `parse` knows: such rows are left to it.
    """
    element = ELEMENTS[type_.kind]
    if not len(texts):
        return pa.array([], pa.binary()), None
    parts = pc.extract_regex(texts, _PLAIN)
    empty = pc.fill_null(pc.equal(texts, _EMPTY), False)
    lower, decided = _ends(element, parts, "low", pc.equal(pc.struct_field(parts, "start"), "["))
    upper, also = _ends(element, parts, "high", pc.equal(pc.struct_field(parts, "end"), "]"))
    plain = pc.and_(pc.fill_null(parts.is_valid(), False), pc.and_(decided, also))
    skipped = pc.invert(plain).to_numpy(zero_copy_only=False)
    ranges = canonical(element, lower, upper, skipped)
    valid = None if texts.null_count == 0 else pc.is_valid(texts).buffers()[1]
    return column_of(ranges, valid), pc.or_(pc.or_(plain, empty), pc.is_null(texts))


def _ends(element: BoundType, parts: pa.Array, name: str, inclusive: pa.Array) -> tuple[Ends, pa.Array]:
    """The bounds of one side, and which rows are decided: those whose values are read in one go."""
    quoted, bare = pc.struct_field(parts, f"{name}q"), pc.struct_field(parts, name)
    texts = pc.fill_null(pc.if_else(pc.equal(quoted, ""), bare, quoted), "")
    written = pc.not_equal(texts, "")
    values, decided = forms.parse_plain(element.type, pc.if_else(written, texts, pa.scalar(None, pa.string())))
    keys = keys_of(element, values)
    included = pc.and_(pc.fill_null(inclusive, False), written)
    ends = Ends(keys, written.to_numpy(zero_copy_only=False), included.to_numpy(zero_copy_only=False))
    return ends, pa.array([True] * len(texts)) if decided is None else pc.or_(pc.invert(written), decided)
