"""Functions on bytea: slices and single bytes by NumPy over the column's buffers, digests and codecs row by row."""

from __future__ import annotations

import base64
import binascii
import codecs
import hashlib
import re
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import InvalidTextRepresentation, NumericValueOutOfRange, SqlError
from risingpy.functions.topics.calling import Compute, Function, by_row, fail_where, per_constant

Integers: TypeAlias = "npt.NDArray[np.int64]"

_BASE64_LINE = 76
_OCTAL = re.compile(rb"\\(?:\\|([0-3][0-7]{2})|(.?))", re.DOTALL)
_SUBSCRIPT = "2202E"
# PostgreSQL's names of encodings, without case and punctuation, and Python's codecs.
_ENCODINGS = {
    "utf8": "utf-8", "unicode": "utf-8", "sqlascii": "utf-8", "latin1": "latin-1", "iso88591": "latin-1",
    "latin2": "iso8859-2", "latin3": "iso8859-3", "latin4": "iso8859-4", "latin5": "iso8859-9", "latin6": "iso8859-10",
    "latin7": "iso8859-13", "latin8": "iso8859-14", "latin9": "iso8859-15", "latin10": "iso8859-16",
    "iso88595": "iso8859-5", "iso88596": "iso8859-6", "iso88597": "iso8859-7", "iso88598": "iso8859-8",
    "win866": "cp866", "win874": "cp874", "win1250": "cp1250", "win1251": "cp1251", "win1252": "cp1252",
    "win1253": "cp1253", "win1254": "cp1254", "win1255": "cp1255", "win1256": "cp1256", "win1257": "cp1257",
    "win1258": "cp1258", "koi8r": "koi8-r", "koi8u": "koi8-u", "eucjp": "euc_jp", "euckr": "euc_kr", "euccn": "gb2312",
    "sjis": "shift_jis", "big5": "big5", "gbk": "gbk", "gb18030": "gb18030", "uhc": "cp949", "johab": "johab",
    "windows1252": "cp1252", "windows1251": "cp1251", "windows1250": "cp1250",
}  # fmt: skip


def bounds(column: pa.Array) -> tuple[Integers, Integers, npt.NDArray[np.uint8]]:
    """The start and the length of each value, and the bytes of all values."""
    offsets = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + len(column) + 1]
    raw = column.buffers()[2]
    data = np.frombuffer(raw, np.uint8) if raw is not None else np.zeros(0, np.uint8)
    starts = offsets[:-1].astype(np.int64)
    return starts, np.diff(offsets).astype(np.int64), data


def gathered(data: npt.NDArray[np.uint8], starts: Integers, lengths: Integers) -> pa.Array:
    """The byte strings that begin at `starts` in `data`."""
    offsets = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    index = np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])
    buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(np.ascontiguousarray(data[index]))]
    return pa.Array.from_buffers(pa.binary(), len(starts), buffers)


def _slice(column: pa.Array, first: Integers, end: Integers) -> pa.Array:
    """Bytes `first` to before `end`, counted from 0, of what there is."""
    starts, lengths, data = bounds(column)
    first = np.clip(first, 0, lengths)
    return gathered(data, starts + first, np.maximum(np.minimum(end, lengths) - first, 0))


def _wide(column: pa.Array) -> Integers:
    numbers: Integers = column.to_numpy().astype(np.int64)
    return numbers


def _substring(column: pa.Array, start: pa.Array, length: pa.Array | None = None) -> pa.Array:
    first = _wide(start) - 1
    if length is None:
        return _slice(column, first, np.full(len(first), 2**40))
    fail_where(_wide(length) < 0, "22011", "negative substring length not allowed")
    return _slice(column, first, np.maximum(first + _wide(length), 0))


def _overlay(column: pa.Array, other: pa.Array, start: pa.Array, length: pa.Array | None = None) -> pa.Array:
    first = _wide(start) - 1
    replaced = bounds(other)[1] if length is None else _wide(length)
    fail_where(first < 0, "22011", "negative substring length not allowed")
    fail_where(first + 1 + replaced >= 2**31, NumericValueOutOfRange, "integer out of range")
    before = _slice(column, np.zeros(len(first), np.int64), first)
    after = _slice(column, first + replaced, np.full(len(first), 2**40))
    return pc.binary_join_element_wise(before, other, after, b"")


def _checked(index: Integers, sizes: Integers) -> Integers:
    outside = (index < 0) | (index >= sizes)
    if outside.any():
        row = int(np.flatnonzero(outside)[0])
        message = f"index {index[row]} out of valid range, 0..{sizes[row] - 1}"
        raise SqlError(message, sqlstate=_SUBSCRIPT)
    return index


def _get_byte(column: pa.Array, index: pa.Array) -> pa.Array:
    starts, lengths, data = bounds(column)
    return pa.array(data[starts + _checked(_wide(index), lengths)].astype(np.int32))


def _get_bit(column: pa.Array, index: pa.Array) -> pa.Array:
    starts, lengths, data = bounds(column)
    bit = _checked(_wide(index), lengths * 8)
    return pa.array(((data[starts + bit // 8] >> (bit % 8)) & 1).astype(np.int32))


def _changed(column: pa.Array, change: Callable[[Any, Integers, Integers], None]) -> pa.Array:
    """A copy of the column whose bytes `change` (bytes, starts, lengths) may write."""
    starts, lengths, data = bounds(column)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    copy = np.array(data[starts[0] : starts[0] + offsets[-1]])
    change(copy, offsets[:-1], lengths)
    buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(copy)]
    return pa.Array.from_buffers(pa.binary(), len(column), buffers)


def _set_byte(column: pa.Array, index: pa.Array, value: pa.Array) -> pa.Array:
    def change(data: Any, starts: Integers, lengths: Integers) -> None:
        data[starts + _checked(_wide(index), lengths)] = (_wide(value) & 255).astype(np.uint8)

    return _changed(column, change)


def _set_bit(column: pa.Array, index: pa.Array, value: pa.Array) -> pa.Array:
    bits = _wide(value)

    def change(data: Any, starts: Integers, lengths: Integers) -> None:
        bit = _checked(_wide(index), lengths * 8)
        fail_where((bits != 0) & (bits != 1), "22023", "new bit must be 0 or 1")
        at, mask = starts + bit // 8, (1 << (bit % 8)).astype(np.uint8)
        data[at] = np.where(bits == 1, data[at] | mask, data[at] & ~mask)

    return _changed(column, change)


def _bit_count(column: pa.Array) -> pa.Array:
    starts, lengths, data = bounds(column)
    totals = np.concatenate([[0], np.cumsum(np.bitwise_count(data), dtype=np.int64)])
    return pa.array(totals[starts + lengths] - totals[starts])


def _trim(left: bool, right: bool) -> Compute:
    def one(value: bytes, removed: bytes) -> bytes:
        value = value.lstrip(removed) if left and removed else value
        return value.rstrip(removed) if right and removed else value

    return by_row(one, pa.binary())


def _digest(name: str) -> Function:
    one = by_row(lambda value: hashlib.new(name, value).digest(), pa.binary())
    return Function(lambda column: one(column.cast(pa.binary())))


def _unknown_encoding(name: str) -> SqlError:
    return SqlError(f'unrecognized encoding: "{name}"', sqlstate="22023")


def _encode(name: str) -> Compute:
    match name.lower():
        case "hex":
            return by_row(bytes.hex, pa.string())
        case "base64":
            return by_row(_to_base64, pa.string())
        case "escape":
            return by_row(_to_escapes, pa.string())
    raise _unknown_encoding(name)


def _to_base64(value: bytes) -> str:
    text = base64.b64encode(value).decode()
    return "\n".join(text[k : k + _BASE64_LINE] for k in range(0, len(text), _BASE64_LINE))


def _to_escapes(value: bytes) -> str:
    return "".join("\\\\" if b == 92 else chr(b) if 0 < b < 128 else f"\\{b:03o}" for b in value)


def _decode(name: str) -> Compute:
    match name.lower():
        case "hex":
            return by_row(_from_hex, pa.binary())
        case "base64":
            return by_row(_from_base64, pa.binary())
        case "escape":
            return by_row(_from_escapes, pa.binary())
    raise _unknown_encoding(name)


def _from_hex(text: str) -> bytes:
    digits = re.sub(r"[ \n\t\r]", "", text)
    wrong = re.search(r"[^0-9a-fA-F]", digits)
    if wrong:
        raise SqlError(f'invalid hexadecimal digit: "{wrong[0]}"', sqlstate="22023")
    if len(digits) % 2:
        raise SqlError("invalid hexadecimal data: odd number of digits", sqlstate="22023")
    return bytes.fromhex(digits)


def _from_base64(text: str) -> bytes:
    digits = re.sub(r"[ \n\t\r]", "", text)
    wrong = re.search(r"[^A-Za-z0-9+/=]", digits)
    if wrong:
        raise SqlError(f'invalid symbol "{wrong[0]}" found while decoding base64 sequence', sqlstate="22023")
    try:
        return base64.b64decode(digits, validate=True)
    except binascii.Error:
        hint = "Input data is missing padding, is truncated, or is otherwise corrupted."
        raise SqlError("invalid base64 end sequence", sqlstate="22023", hint=hint) from None


def _from_escapes(text: str) -> bytes:
    def octet(found: re.Match[bytes]) -> bytes:
        if found[1] is not None:
            return bytes([int(found[1], 8)])
        if found[0] != b"\\\\":
            raise InvalidTextRepresentation("invalid input syntax for type bytea")
        return b"\\"

    return _OCTAL.sub(octet, text.encode())


def _codec(name: str, message: str) -> codecs.CodecInfo:
    folded = re.sub(r"[^a-z0-9]", "", name.lower())
    if folded not in _ENCODINGS:
        raise SqlError(message.format(name), sqlstate="22023")
    return codecs.lookup(_ENCODINGS[folded])


def _convert_from(name: str) -> Compute:
    codec = _codec(name, 'invalid source encoding name "{}"')

    def one(value: bytes) -> str:
        try:
            text, _ = codec.decode(value)
        except UnicodeDecodeError as error:
            shown = " ".join(f"0x{b:02x}" for b in value[error.start : error.end])
            message = f'invalid byte sequence for encoding "{name.upper()}": {shown}'
            raise SqlError(message, sqlstate="22021") from None
        if "\0" in text:
            raise SqlError('invalid byte sequence for encoding "UTF8": 0x00', sqlstate="22021")
        return text

    return by_row(one, pa.string())


def _length(name: str) -> Compute:
    decode = _convert_from(name)
    if name.lower() == "sql_ascii":
        return by_row(_ascii_length, pa.int32())
    return lambda column: pc.utf8_length(decode(column))


def _ascii_length(value: bytes) -> int:
    """Of a text in no encoding: its bytes."""
    if b"\0" in value:
        raise SqlError('invalid byte sequence for encoding "SQL_ASCII": 0x00', sqlstate="22021")
    return len(value)


def _convert_to(name: str) -> Compute:
    codec = _codec(name, 'invalid destination encoding name "{}"')

    def one(text: str) -> bytes:
        try:
            return codec.encode(text)[0]
        except UnicodeEncodeError as error:
            shown = " ".join(f"0x{b:02x}" for b in text[error.start].encode())
            message = f'character with byte sequence {shown} in encoding "UTF8" has no equivalent in "{name.upper()}"'
            raise SqlError(message, sqlstate="22P05") from None

    return by_row(one, pa.binary())


def _as_characters(column: pa.Array) -> pa.Array:
    """The text whose characters have the bytes' numbers: what Latin 1 makes of them."""
    starts, lengths, data = bounds(column)
    mine = data[int(starts[0]) : int(starts[-1] + lengths[-1])]
    wide = (mine >= 0x80).astype(np.int64)
    places = np.arange(len(mine)) + np.cumsum(wide)  # where the last byte of each character goes
    out = np.empty(len(mine) + int(wide.sum()), np.uint8)
    out[places] = np.where(wide, mine & 0x3F | 0x80, mine)
    out[places[wide > 0] - 1] = 0xC0 | mine[wide > 0] >> 6
    ends = np.concatenate(([0], np.cumsum(1 + wide)))
    offsets = ends[np.append(starts - starts[0], len(mine))].astype(np.int32)
    return pa.Array.from_buffers(pa.string(), len(column), [None, pa.py_buffer(offsets), pa.py_buffer(out)])


BYTE_STRINGS: dict[str, Function] = {
    "substring_bytes": Function(_substring),
    "overlay_bytes": Function(_overlay),
    "bytes_as_characters": Function(_as_characters),
    "position_bytes": Function(by_row(lambda value, part: value.find(part) + 1, pa.int32())),
    "trim_both_bytes": Function(_trim(left=True, right=True)),
    "trim_leading_bytes": Function(_trim(left=True, right=False)),
    "trim_trailing_bytes": Function(_trim(left=False, right=True)),
    "reverse_bytes": Function(pc.binary_reverse),
    "get_byte": Function(_get_byte),
    "get_bit": Function(_get_bit),
    "set_byte": Function(_set_byte),
    "set_bit": Function(_set_bit),
    "bit_count": Function(_bit_count),
    "md5_bytes": Function(by_row(lambda value: hashlib.md5(value).hexdigest(), pa.string())),
    **{name: _digest(name) for name in ("sha1", "sha224", "sha256", "sha384", "sha512")},
    "encode": Function(per_constant(_encode, [1])),
    "decode": Function(per_constant(_decode, [1])),
    "convert_from": Function(per_constant(_convert_from, [1])),
    "length_encoded": Function(per_constant(_length, [1])),
    "convert_to": Function(per_constant(_convert_to, [1])),
}
