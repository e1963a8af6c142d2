"""vector(n), pgvector's vectors of reals: text `[1,2.5,-3]`; binary the number of dimensions, 16 bits 0, the reals.

A value is its reals in turn, 4 bytes each, big-endian, with the first bit turned, and all bits of a negative number:

    [1,-1]     bf800000 407fffff
    [0]        80000000

So bytes order as pgvector orders vectors: by the first dimension that differs, and a vector before those that it
begins. Vectors are grouped, joined, sorted and stored as byte strings. -0 becomes 0, as both are equal; no NaN and no
infinity is a part of a vector. Source of errors and limits: pgvector's src/vector.c.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import InvalidTextRepresentation, NumericValueOutOfRange, SqlError
from risingpy.types import floating
from risingpy.types.bytea import offsets_and_bytes
from risingpy.types.sql_type import REAL, SqlType

MAX_DIMENSIONS = 16_000
BYTES_OF_DIMENSION = 4
_SIGN = np.uint32(1 << 31)
_OUTER = re.compile(r"\s*\[([^\[\]]*)\](.*)", re.DOTALL)
_NUMBER = re.compile(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*", re.ASCII)
_NO_NUMBER = re.compile(r"\s*[+-]?(nan|inf(?:inity)?)\s*", re.IGNORECASE)
_PLAIN_TEXT = re.compile(r"\[[-0-9.eE, ]+\]")
_PLAIN = r"^\[[-+0-9.eE, ]+\]$"
_EMPTY = "vector must have at least 1 dimension"

Reals = npt.NDArray[np.float32]
Offsets = npt.NDArray[np.int64]


def reals_of(array: pa.Array) -> tuple[Reals, Offsets]:
    """All dimensions of a column, one vector after the other, and where each vector begins; NULL has no dimension."""
    offsets, data = offsets_and_bytes(array)
    return _turned_back(data.view(">u4")), (offsets - offsets[0]).astype(np.int64) // BYTES_OF_DIMENSION


def _turned_back(stored: npt.NDArray[np.uint32]) -> Reals:
    words = stored.astype(np.uint32)
    return np.where(words & _SIGN, words ^ _SIGN, ~words).view(np.float32)


def column_of(reals: npt.NDArray[np.floating], starts: Offsets, valid: pa.Buffer | None = None) -> pa.Array:
    """The column of vectors whose dimensions are `reals`; vector i has those from `starts[i]` to `starts[i + 1]`.

    Raises NumericValueOutOfRange for what no real can hold. Of the rest of what a vector must be nothing is checked.
    """
    offsets = pa.py_buffer((starts * BYTES_OF_DIMENSION).astype(np.int32))
    return pa.Array.from_buffers(pa.binary(), len(starts) - 1, [valid, offsets, pa.py_buffer(_turned(reals))])


def _turned(reals: npt.NDArray[np.floating]) -> npt.NDArray[np.uint32]:
    """The stored form; raises NumericValueOutOfRange for what no real can hold."""
    with np.errstate(over="ignore"):
        single = np.ascontiguousarray(reals, np.float32) + np.float32(0)  # -0 becomes 0
    if not np.isfinite(single).all():
        raise NumericValueOutOfRange("value out of range: overflow")
    bits = single.view(np.uint32)
    return np.where(bits & _SIGN, ~bits, bits | _SIGN).astype(">u4")


def check_dimensions(count: int, wanted: int | None = None) -> None:
    """Raises SqlError for a number of dimensions that no vector has, or that is not that of vector(`wanted`)."""
    if count < 1:
        raise SqlError(_EMPTY, sqlstate="22000")
    if count > MAX_DIMENSIONS:
        raise SqlError(f"vector cannot have more than {MAX_DIMENSIONS} dimensions", sqlstate="54000")
    if wanted is not None and count != wanted:
        raise SqlError(f"expected {wanted} dimensions, not {count}", sqlstate="22000")


def parse(type_: SqlType, text: str, time_zone: str) -> bytes:
    """Raises 22P02, 22003 for a number beyond a real's, 22000 for NaN, infinity and another number of dimensions."""
    reals = _plain_reals(text)
    if reals is not None:
        check_dimensions(len(reals), type_.length)
        return _bytes_of(reals)
    outer = _OUTER.fullmatch(text)
    if outer is None or outer[2].strip():
        raise InvalidTextRepresentation(f'invalid input syntax for type vector: "{text}"', detail=_what_is_wrong(text))
    if not outer[1].strip():
        raise SqlError(_EMPTY, sqlstate="22000")
    items = outer[1].split(",")
    check_dimensions(min(len(items), MAX_DIMENSIONS + 1))
    for item in items:
        _check_number(item, text)
    check_dimensions(len(items), type_.length)
    reals = np.array(pa.array([item.strip().lstrip("+") for item in items]).cast(pa.float32()))
    for item in np.array(items)[~np.isfinite(reals)].tolist():
        raise NumericValueOutOfRange(f'"{item.strip()}" is out of range for type vector')
    return _bytes_of(reals)


def _plain_reals(text: str) -> Reals | None:
    """The dimensions of a text of finite decimals, as programs write it; None for others, right or wrong."""
    if not _PLAIN_TEXT.fullmatch(text):
        return None
    try:
        reals = pa.array(text[1:-1].replace(", ", ",").split(",")).cast(pa.float32()).to_numpy()
    except pa.ArrowInvalid:
        return None
    return reals if np.isfinite(reals).all() else None


def _what_is_wrong(text: str) -> str | None:
    if not text.lstrip().startswith("["):
        return 'Vector contents must start with "[".'
    closed = text.find("]")
    if closed < 0:
        return None
    return "Junk after closing right brace." if text[closed + 1 :].strip() else None


def _check_number(item: str, text: str) -> None:
    found = _NO_NUMBER.fullmatch(item)
    if found is not None:
        what = "NaN" if found[1].lower() == "nan" else "infinite value"
        raise SqlError(f"{what} not allowed in vector", sqlstate="22000")
    if not _NUMBER.fullmatch(item):
        raise InvalidTextRepresentation(f'invalid input syntax for type vector: "{text}"')


def of_reals(type_: SqlType, reals: Reals) -> bytes:
    """The value of a program's numbers. Raises SqlError as for the text of such a vector."""
    check_dimensions(len(reals), type_.length)
    if np.isnan(reals).any():
        raise SqlError("NaN not allowed in vector", sqlstate="22000")
    if not np.isfinite(reals).all():
        raise SqlError("infinite value not allowed in vector", sqlstate="22000")
    return _bytes_of(reals)


def _bytes_of(reals: Reals) -> bytes:
    return _turned(reals).tobytes()


def to_reals(value: object) -> Reals:
    """The dimensions of one value."""
    assert isinstance(value, bytes)
    return _turned_back(np.frombuffer(value, ">u4"))


def format_value(type_: SqlType, value: object, time_zone: str) -> str:
    """The shortest texts that read back as the same reals, between brackets."""
    return f"[{','.join(floating.format_real(float(real)) for real in to_reals(value))}]"


def encode(type_: SqlType, value: object) -> bytes:
    """As pgvector's vector_send writes it."""
    reals = to_reals(value)
    return len(reals).to_bytes(2, "big") + bytes(2) + reals.astype(">f4").tobytes()


def decode(type_: SqlType, data: bytes) -> bytes:
    """Raises 22P03 for bytes that are none, and what `of_reals` raises."""
    if len(data) < 2 * 2 or len(data) != 2 * 2 + BYTES_OF_DIMENSION * int.from_bytes(data[:2], "big"):
        raise SqlError("incorrect binary data format", sqlstate="22P03")
    if any(data[2:4]):
        raise SqlError(
            f"expected unused to be 0, not {int.from_bytes(data[2:4], 'big', signed=True)}", sqlstate="22000"
        )
    return of_reals(type_, np.frombuffer(data[4:], ">f4").astype(np.float32))


def text_column(type_: SqlType, array: pa.Array, time_zone: str) -> pa.Array:
    """As `format_value` writes them; NULLs stay."""
    reals, starts = reals_of(array)
    items = floating.text_column(REAL, pa.array(reals), time_zone)
    lists = pa.ListArray.from_arrays(pa.array(starts.astype(np.int32)), items)
    texts = pc.binary_join_element_wise("[", pc.binary_join(lists, ","), "]", "")
    return pc.if_else(pc.is_valid(array), texts, pa.scalar(None, pa.string())) if array.null_count else texts


def binary_column(type_: SqlType, array: pa.Array) -> pa.Array:
    """As `encode` writes them, as Arrow binary; NULLs stay."""
    reals, starts = reals_of(array)
    rows = len(array)
    heads = starts[:-1] + np.arange(rows)  # a word in front of each vector
    words = np.empty(len(reals) + rows, np.uint32)
    is_head = np.zeros(len(words), np.bool_)
    is_head[heads] = True
    words[is_head] = np.diff(starts).astype(np.uint32) << 16
    words[~is_head] = reals.view(np.uint32)
    offsets = (BYTES_OF_DIMENSION * (starts + np.arange(rows + 1))).astype(np.int32)
    valid = None if array.null_count == 0 else pc.is_valid(array).buffers()[1]
    return pa.Array.from_buffers(pa.binary(), rows, [valid, pa.py_buffer(offsets), pa.py_buffer(words.astype(">u4"))])


def parse_plain(type_: SqlType, texts: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """Finite decimals between brackets; see `forms.parse_column`."""
    plain = pc.fill_null(pc.match_substring_regex(texts, _PLAIN), False)
    chosen = pc.if_else(plain, texts, pa.scalar(None, pa.string()))
    lists = pc.split_pattern(pc.utf8_trim(chosen, characters="[]"), ",")
    counts = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    items = pc.utf8_ltrim(pc.utf8_trim_whitespace(lists.flatten()), characters="+")
    reals = items.cast(pa.float32()).to_numpy(zero_copy_only=False)
    if not np.isfinite(reals).all():
        raise pa.ArrowInvalid("a number that no real can hold")
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])
    right = counts == type_.length if type_.length is not None else counts <= MAX_DIMENSIONS
    decided = pc.or_(pc.and_(plain, pa.array(right)), pc.is_null(texts))
    valid = None if texts.null_count == 0 else pc.is_valid(texts).buffers()[1]
    return column_of(reals, starts, valid), decided


def lists_of(array: pa.Array) -> pa.Array:
    """The column as lists of reals, for programs and files; NULLs stay."""
    reals, starts = reals_of(array)
    offsets = pa.array(starts.astype(np.int32))
    valid = None if array.null_count == 0 else pc.is_valid(array).buffers()[1]
    items = pa.array(reals)
    return pa.Array.from_buffers(pa.list_(pa.float32()), len(array), [valid, offsets.buffers()[1]], children=[items])
