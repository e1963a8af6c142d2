"""Texts of a message's fields become columns; a message with a text that is no value of its column is bad."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.connectors.formats.decoder import BadMessage, Decoded
from risingpy.types import SqlType, TypeKind
from risingpy.types.forms import parse_rows

_INTEGERS = frozenset({TypeKind.SMALLINT, TypeKind.INTEGER, TypeKind.BIGINT})
_MOMENTS = frozenset({TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ})
# Where a moment is a number, its size says its unit, as in RisingWave: seconds, milliseconds, microseconds.
_SECONDS_BELOW, _MILLISECONDS_BELOW = 10**11, 10**14


@dataclass(slots=True)
class Reasons:
    """Why messages of a chunk are bad: the first reason of each, by its position."""

    by_message: dict[int, str] = field(default_factory=dict)

    def add(self, message: int, reason: str) -> None:
        self.by_message.setdefault(message, reason)


def parsed(name: str, type_: SqlType, texts: pa.Array, messages: npt.NDArray[np.int64], reasons: Reasons) -> pa.Array:
    """The values of a field's texts. `messages`: the position of each text's message."""
    if type_.kind in _INTEGERS:
        texts = _without_zero_decimals(texts)
    elif type_.kind in _MOMENTS:
        texts = _moments_of_numbers(texts)
    values, wrong = parse_rows(type_, texts)
    for row, reason in wrong.items():
        reasons.add(int(messages[row]), f'column "{name}": {reason}')
    return values


def decoded(columns: Sequence[pa.Array], messages: pa.Array, reasons: Reasons) -> Decoded:
    """The rows of the messages that are not bad, all of them inserted. `messages`: the position of each row's."""
    bad = tuple(BadMessage(index, reason) for index, reason in sorted(reasons.by_message.items()))
    if bad:
        good = pa.array(~np.isin(messages.to_numpy(), [each.index for each in bad]))
        columns, messages = [column.filter(good) for column in columns], messages.filter(good)
    return Decoded(pa.repeat(pa.scalar(1, pa.int8()), len(messages)), columns, messages, bad)


def texts_of(payload: pa.Array, reasons: Reasons) -> pa.Array:
    """The payloads as texts; those that are missing or no UTF-8 are NULL, and bad."""
    texts = _as_strings(payload)
    for row in np.flatnonzero(payload.is_null().to_numpy(zero_copy_only=False)):
        reasons.add(int(row), "the message is empty")
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        texts = pa.array([_utf8(row, value, reasons) for row, value in enumerate(payload.to_pylist())], pa.string())
    return texts


def _as_strings(payload: pa.Array) -> pa.Array:
    return pa.Array.from_buffers(pa.string(), len(payload), payload.buffers(), offset=payload.offset)


def _utf8(row: int, value: bytes | None, reasons: Reasons) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError as error:
        reasons.add(row, f"invalid byte sequence for encoding UTF8: byte {error.start}")
        return None


def _without_zero_decimals(texts: pa.Array) -> pa.Array:
    """Texts of whole numbers that were written as 1.0."""
    if not pc.any(pc.match_substring(texts, "."), min_count=0).as_py():
        return texts
    return pc.replace_substring_regex(texts, r"^(-?[0-9]+)\.0+$", r"\1")


def _moments_of_numbers(texts: pa.Array) -> pa.Array:
    """Texts of whole numbers as texts of the moments that they count."""
    numbers = pc.fill_null(pc.and_(pc.ascii_is_decimal(texts), pc.less(pc.binary_length(texts), 18)), False)
    if not pc.any(numbers, min_count=0).as_py():
        return texts
    counts = pc.cast(texts.filter(numbers), pa.int64()).to_numpy()
    scale = np.where(counts < _SECONDS_BELOW, 10**6, np.where(counts < _MILLISECONDS_BELOW, 10**3, 1))
    moments = pc.strftime(pa.array(counts * scale, pa.timestamp("us")), format="%Y-%m-%d %H:%M:%S")
    return pc.replace_with_mask(texts, numbers, moments)
