"""Arrays of any type and depth, as nested lists.

text    {1,NULL,"a b"}, {{1,2},{3,4}}
binary  int32 dimensions | int32 has nulls | uint32 element OID | per dimension int32 length, int32 lower bound
        | per element int32 length (-1: NULL), binary form

The depth belongs to the type: integer[][] is an array of integer[], and its parts may have different lengths, which
only the binary form cannot say. Values are Python lists or tuples.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import FeatureNotSupported, InvalidTextRepresentation, SqlError
from risingpy.types import forms
from risingpy.types.families import TypeKind
from risingpy.types.far_moments import values_of
from risingpy.types.sql_type import SqlType, array_of

Integers = npt.NDArray[np.int64]

_NEEDS_QUOTES = re.compile(r'[{}",\\\s]|^$|^null$', re.IGNORECASE)
_ARROW_NEEDS_QUOTES = r'(?i)[{}",\\ \t\n\r\x0b\x0c]|^$|^null$'
_TOKEN = re.compile(r'\s*(?:([{},])|"((?:[^"\\]|\\.)*)"|((?:[^{}",\\\s]|\\.|\s+(?=[^\s{},"]))+))', re.DOTALL)
_BOUNDS = re.compile(r"\s*((?:\[[+-]?\d+(?::[+-]?\d+)?\])+)\s*=")
_LOWER_BOUND = re.compile(r"\[(?:([+-]?\d+):)?")
_SHORT = 64  # characters of a literal whose tokens are read as fast as it is looked at
_INTEGERS = (TypeKind.SMALLINT, TypeKind.INTEGER, TypeKind.BIGINT)
_PLAIN_INTEGERS = re.compile(r"-?\d{1,19}(?:,-?\d{1,19})*", re.ASCII)
_NOT_PLAIN_TEXTS = re.compile(r'[{}"\\\s\0]|(?:^|,)null(?:,|$)', re.IGNORECASE)
_PLAIN_KINDS = (TypeKind.SMALLINT, TypeKind.INTEGER, TypeKind.BIGINT, TypeKind.REAL, TypeKind.DOUBLE, TypeKind.NUMERIC)


class OtherDepth(InvalidTextRepresentation):
    """A value has more or fewer dimensions than the type: a parameter's type may be made to fit."""


def parse(type_: SqlType, text: str, time_zone: str) -> tuple[object, ...]:
    """The elements of an array literal. `[1:2]={…}` is taken where arrays begin at 1."""
    bounds = _BOUNDS.match(text)
    body = text
    if bounds is not None:
        if any(lower and int(lower) != 1 for lower in _LOWER_BOUND.findall(bounds[1])):
            raise FeatureNotSupported("arrays whose subscripts do not begin at 1 are not supported")
        body = text[bounds.end() :]
    at_once = _parsed_at_once(type_.element, body)
    if at_once is not None:
        return at_once
    tokens = _tokens(body, text)
    if next(tokens, None) != "{":
        detail = 'Array value must start with "{" or dimension information.'
        raise _malformed(text, detail)
    value = _array(type_, tokens, text, time_zone)
    if next(tokens, None) is not None:
        raise _malformed(text, "Junk after closing right brace.")
    return value


def _parsed_at_once(element: SqlType, body: str) -> tuple[object, ...] | None:
    """Many integers or texts without blanks, quotes and NULLs, as drivers send lists: a token for each takes longest.

    None for anything else, and where there is an error to be found.
    """
    if len(body) < _SHORT or body[0] != "{" or body[-1] != "}":
        return None
    inner = body[1:-1]
    if element.kind in _INTEGERS and not element.system:
        if not _PLAIN_INTEGERS.fullmatch(inner):
            return None
        numbers = tuple(map(int, inner.split(",")))
        bound = 1 << (8 * element.arrow.byte_width - 1)
        return numbers if -bound <= min(numbers) and max(numbers) < bound else None
    if element.kind is not TypeKind.VARCHAR or element.length is not None or element.system:
        return None
    texts = tuple(inner.split(","))
    is_plain = _NOT_PLAIN_TEXTS.search(inner) is None and "" not in texts
    return texts if is_plain else None


def parts_of(text: str) -> list[str | None]:
    """The texts of an array's parts, which are arrays themselves."""
    tokens = list(_tokens(text, text))
    if tokens[:1] != ["{"] or tokens[-1:] != ["}"]:
        raise _malformed(text, 'Array value must start with "{" or dimension information.')
    parts: list[str | None] = []
    depth, piece = 0, ""
    for token in tokens[1:]:
        is_mark = not isinstance(token, _Quoted)
        if is_mark and depth == 0 and token in (",", "}"):
            if piece or token == ",":
                parts.append(None if piece.lower() == "null" else piece)
            piece = ""
            depth -= token == "}"
            continue
        depth += (token == "{") - (token == "}") if is_mark else 0
        piece += token if is_mark else quoted(token)
    if depth != -1:
        raise _malformed(text, "Unexpected end of input.")
    return parts


class _Quoted(str):
    """An element in quotes: never NULL, never an array."""

    __slots__ = ()


def _tokens(body: str, whole: str) -> Iterator[str]:
    at, end = 0, len(body.rstrip())
    while at < end:
        found = _TOKEN.match(body, at)
        if found is None:
            raise _malformed(whole, "Unexpected array element." if '"' in body[at:] else "Unexpected end of input.")
        at = found.end()
        mark, quoted, plain = found.groups()
        if mark is not None:
            yield mark
        elif quoted is not None:
            yield _Quoted(re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL))
        else:
            raw = plain.rstrip()
            yield _Quoted(re.sub(r"\\(.)", r"\1", raw, flags=re.DOTALL)) if "\\" in raw else raw


def _array(type_: SqlType, tokens: Iterator[str], whole: str, time_zone: str) -> tuple[object, ...]:
    """What follows an opening brace, up to the closing one."""
    element = type_.element
    values: list[object] = []
    expects_value = True
    for token in tokens:
        quoted = isinstance(token, _Quoted)
        if token == "}" and not quoted:
            if expects_value and values:
                raise _malformed(whole, 'Unexpected "}" character.')
            return tuple(values)
        if token == "," and not quoted:
            if expects_value:
                raise _malformed(whole, 'Unexpected "," character.')
            expects_value = True
            continue
        if not expects_value:
            raise _malformed(whole, "Unexpected array element.")
        expects_value = False
        if token == "{" and not quoted:
            if element.kind is not TypeKind.ARRAY:
                raise _malformed(whole, f"{type_} has fewer dimensions than the literal.", OtherDepth)
            values.append(_array(element, tokens, whole, time_zone))
        elif not quoted and token.lower() == "null":
            values.append(None)
        elif element.kind is TypeKind.ARRAY:
            raise _malformed(whole, f"{type_} has more dimensions than the literal.", OtherDepth)
        else:
            values.append(forms.parse_text(element, str(token), time_zone=time_zone))
    raise _malformed(whole, "Unexpected end of input.")


def _malformed(
    text: str, detail: str, kind: type[InvalidTextRepresentation] = InvalidTextRepresentation
) -> InvalidTextRepresentation:
    return kind(f'malformed array literal: "{text}"', detail=detail)


def format_value(type_: SqlType, value: object, time_zone: str) -> str:
    """Braces around the elements' texts. An inner array stands unquoted, other texts as array_out quotes them."""
    element = type_.element
    shown = []
    for item in cast(Sequence[object], value):
        text = "NULL" if item is None else forms.format_text(element, item, time_zone=time_zone)
        shown.append(text if item is None or element.kind is TypeKind.ARRAY else quoted(text))
    return "{" + ",".join(shown) + "}"


def quoted(text: str) -> str:
    """An element's text, in quotes if it needs them."""
    if not _NEEDS_QUOTES.search(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def text_column(type_: SqlType, array: pa.Array, time_zone: str) -> pa.Array:
    """One string per array, made of the flat column of all elements at once."""
    element = type_.element
    offsets, flat = _parts(array)
    texts = forms.text_column(element, flat, time_zone=time_zone)
    if element.kind is not TypeKind.ARRAY:
        texts = _quoted_column(texts)
    lists = pa.ListArray.from_arrays(offsets, pc.fill_null(texts, "NULL"))
    shown = pc.binary_join_element_wise("{", pc.binary_join(lists, ","), "}", "")
    return _with_nulls(shown, array)


def _parts(array: pa.ListArray) -> tuple[pa.Array, pa.Array]:
    """Where each row's elements begin, and all elements, of an array column that may be a slice."""
    offsets = array.offsets
    first, last = offsets[0].as_py(), offsets[len(array)].as_py()
    return pc.subtract(offsets, first), array.values.slice(first, last - first)


def _quoted_column(texts: pa.Array) -> pa.Array:
    special = pc.match_substring_regex(texts, _ARROW_NEEDS_QUOTES)
    if not pc.any(special).as_py():
        return texts
    escaped = pc.replace_substring(pc.replace_substring(texts, "\\", "\\\\"), '"', '\\"')
    return pc.if_else(special, pc.binary_join_element_wise('"', escaped, '"', ""), texts)


def _with_nulls(shown: pa.Array, array: pa.Array) -> pa.Array:
    return pc.if_else(array.is_valid(), shown, pa.scalar(None, shown.type)) if array.null_count else shown


def parse_plain(type_: SqlType, texts: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """Arrays of numbers without blanks and NULLs; see `forms.parse_column`."""
    if type_.element.kind not in _PLAIN_KINDS:
        return pa.nulls(len(texts), type_.arrow), pc.is_null(texts)
    plain = pc.fill_null(pc.match_substring_regex(texts, r"^\{[-+0-9.eE]+(,[-+0-9.eE]+)*\}$"), False)
    chosen = texts.filter(plain)
    lists = pc.split_pattern(pc.utf8_slice_codeunits(chosen, 1, -1), ",")
    offsets, flat = _parts(lists)
    parsed = pa.ListArray.from_arrays(offsets, forms.parse_column(type_.element, flat), type=type_.arrow)
    index = np.full(len(texts), len(parsed), np.int64)
    index[plain.to_numpy(zero_copy_only=False)] = np.arange(len(parsed))
    values = pa.concat_arrays([parsed, pa.nulls(1, type_.arrow)]).take(pa.array(index))
    return values, pc.or_(plain, pc.is_null(texts))


def encode(type_: SqlType, value: object) -> bytes:
    """Raises 2202E for parts of different lengths."""
    lengths = _lengths(type_, value)
    leaf = type_.leaf
    items = list(_leaves(value, len(lengths)))
    parts = [struct.pack("!iiI", len(lengths), int(None in items), leaf.oid)]
    parts += [struct.pack("!ii", length, 1) for length in lengths]
    for item in items:
        if item is None:
            parts.append(b"\xff\xff\xff\xff")
        else:
            data = forms.encode_binary(leaf, item)
            parts.append(struct.pack("!i", len(data)) + data)
    return b"".join(parts)


def _lengths(type_: SqlType, value: object) -> list[int]:
    """The length of each dimension; none for an empty array."""
    level = [cast(Sequence[object], value)]
    lengths: list[int] = []
    for _ in range(type_.depth):
        sizes = {len(part) if part is not None else -1 for part in level}
        if len(sizes) != 1 or -1 in sizes:
            message = "multidimensional arrays must have array expressions with matching dimensions"
            raise SqlError(message, sqlstate="2202E")
        lengths.append(sizes.pop())
        if lengths[-1] == 0:
            return []
        level = [cast(Sequence[object], item) for part in level for item in part]
    return lengths


def _leaves(value: object, depth: int) -> Iterator[object]:
    if depth == 0:
        return
    for item in cast(Sequence[object], value):
        if depth == 1:
            yield item
        else:
            yield from _leaves(item, depth - 1)


def decode(type_: SqlType, data: bytes) -> tuple[object, ...]:
    """The elements as a tuple, nested as the dimensions say. Raises 22P03 for bytes that are no array of the type."""
    try:
        return _decoded(type_, data)
    except (struct.error, IndexError):
        raise SqlError("incorrect binary data format", sqlstate="22P03") from None


def depth_of_text(text: str) -> int:
    """How many dimensions an array literal has: as many as braces open before its first element."""
    bounds = _BOUNDS.match(text)
    body = re.sub(r"\s", "", text if bounds is None else text[bounds.end() :])
    return len(body) - len(body.lstrip("{"))


def depth_of_binary(data: bytes) -> int:
    """How many dimensions an array has in its binary form."""
    (dimensions,) = struct.unpack_from("!i", data)
    return int(dimensions)


def _decoded(type_: SqlType, data: bytes) -> tuple[object, ...]:
    dimensions, _, oid = struct.unpack_from("!iiI", data)
    if dimensions == 0:
        return ()
    leaf = type_.leaf
    if not _is_oid_of(leaf, oid):
        raise SqlError("wrong element type", sqlstate="42804")
    if dimensions != type_.depth:
        raise OtherDepth(f"{type_} has another number of dimensions than the value", sqlstate="42804")
    bounds = [struct.unpack_from("!ii", data, 12 + 8 * k) for k in range(dimensions)]
    at = 12 + 8 * dimensions
    if dimensions == 1 and leaf.kind in _INTEGERS and not leaf.system:
        integers = _decoded_integers(data[at:], leaf.arrow.byte_width, bounds[0][0])
        if integers is not None:
            return integers
    items: list[object] = []
    while at < len(data):
        (length,) = struct.unpack_from("!i", data, at)
        at += 4
        if length < 0:
            items.append(None)
            continue
        if at + length > len(data):
            raise struct.error
        items.append(forms.decode_binary(leaf, data[at : at + length]))
        at += length
    for length, _ in reversed(bounds[1:]):
        items = [tuple(items[k : k + length]) for k in range(0, len(items), length)]
    if len(items) != bounds[0][0]:
        raise struct.error
    return tuple(items)


def _decoded_integers(data: bytes, width: int, count: int) -> tuple[object, ...] | None:
    """So many integers with their lengths before them; None if one is NULL, or if anything is wrong."""
    if count <= 0 or len(data) != count * (4 + width):
        return None
    items = np.frombuffer(data, [("length", ">i4"), ("value", f">i{width}")])
    return tuple(items["value"].tolist()) if (items["length"] == width).all() else None


def _is_oid_of(leaf: SqlType, oid: int) -> bool:
    return oid in (leaf.oid, array_of(leaf).oid) or (leaf.is_text and oid in (25, 1042, 1043))


def binary_column(type_: SqlType, array: pa.Array) -> pa.Array:
    """Arrays of one dimension are joined from their elements' forms; deeper ones are made one by one."""
    if type_.depth > 1:
        values = [None if value is None else encode(type_, value) for value in values_of(array)]
        return pa.array(values, pa.binary())
    offsets, flat = _parts(array)
    starts = offsets.to_numpy().astype(np.int64)
    items = _items(type_.element, flat)
    ends = np.frombuffer(items.buffers()[1], np.int32)[items.offset : items.offset + len(items) + 1]
    bodies = pa.BinaryArray.from_buffers(
        pa.binary(), len(array), [None, pa.py_buffer(np.ascontiguousarray(ends[starts])), items.buffers()[2]]
    )
    missing = np.concatenate([[0], np.cumsum(flat.is_null().to_numpy(zero_copy_only=False))])
    shown = pc.binary_join_element_wise(_headers(type_.element, np.diff(starts), np.diff(missing[starts])), bodies, b"")
    return _with_nulls(shown, array)


def _headers(element: SqlType, counts: Integers, missing: Integers) -> pa.Array:
    fields = [("dimensions", ">i4"), ("nulls", ">i4"), ("oid", ">u4"), ("length", ">i4"), ("bound", ">i4")]
    header = np.empty(len(counts), fields)
    header["dimensions"] = counts > 0
    header["nulls"] = missing > 0
    header["oid"] = element.oid
    header["length"] = counts
    header["bound"] = 1
    fixed = pa.Array.from_buffers(pa.binary(20), len(counts), [None, pa.py_buffer(header)]).cast(pa.binary())
    return pc.if_else(pa.array(counts > 0), fixed, pc.binary_slice(fixed, 0, 12))


def _items(element: SqlType, flat: pa.Array) -> pa.BinaryArray:
    """Each element with its length in front."""
    encoded = forms.binary_column(element, flat)
    if isinstance(encoded, np.ndarray):
        raw = pa.py_buffer(np.ascontiguousarray(encoded))
        width = encoded.dtype.itemsize
        encoded = pa.Array.from_buffers(pa.binary(width), len(flat), [None, raw]).cast(pa.binary())
    there = flat.is_valid()
    lengths = pc.if_else(there, pc.cast(pc.binary_length(encoded), pa.int32()), -1).to_numpy(zero_copy_only=False)
    packed = pa.py_buffer(np.ascontiguousarray(lengths.astype(">i4")))
    sizes = pa.Array.from_buffers(pa.binary(4), len(flat), [None, packed]).cast(pa.binary())
    bodies = pc.fill_null(pc.if_else(there, encoded, b""), b"")
    return pc.binary_join_element_wise(sizes, bodies, b"")
