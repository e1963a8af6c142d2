"""Texts of a message's fields become columns; a message with a text that is no value of its column is bad."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.connectors.formats.decoder import BadMessage, Decoded
from risingpy.connectors.formats.handling import Handling
from risingpy.types import SqlType, TypeKind
from risingpy.types.forms import parse_rows
from risingpy.types.plain_texts import content_of

_INTEGERS = frozenset({TypeKind.SMALLINT, TypeKind.INTEGER, TypeKind.BIGINT})

DEFAULT_HANDLING = Handling()
Positions = npt.NDArray[np.int64]
"""The positions of messages in their chunk."""


@dataclass(slots=True)
class Reasons:
    """Why messages of a chunk are bad: the first reason of each, by its position."""

    by_message: dict[int, str] = field(default_factory=dict)

    def add(self, message: int, reason: str) -> None:
        self.by_message.setdefault(message, reason)


def parsed(
    name: str,
    type_: SqlType,
    texts: pa.Array,
    messages: Positions,
    reasons: Reasons,
    handling: Handling = DEFAULT_HANDLING,
) -> pa.Array:
    """The values of a field's texts. `messages`: the position of each text's message."""
    texts = _without_zero_decimals(texts) if type_.kind in _INTEGERS else handling.texts(type_, texts)
    values, wrong = parse_rows(type_, texts)
    for row, reason in wrong.items():
        reasons.add(int(messages[row]), f'column "{name}": {reason}')
    return values


def decoded(columns: Sequence[pa.Array], messages: pa.Array, reasons: Reasons, ops: pa.Array | None = None) -> Decoded:
    """The rows of the messages that are not bad, inserted if `ops` is None. `messages`: the position of each row's."""
    if ops is None:
        ops = pa.repeat(pa.scalar(1, pa.int8()), len(messages))
    bad = tuple(BadMessage(index, reason) for index, reason in sorted(reasons.by_message.items()))
    if bad:
        good = pa.array(~np.isin(messages.to_numpy(), [each.index for each in bad]))
        columns, messages, ops = [column.filter(good) for column in columns], messages.filter(good), ops.filter(good)
    return Decoded(ops, columns, messages, bad)


def spread(columns: Sequence[pa.Array], rows: Positions, length: int) -> list[pa.Array]:
    """Columns of `length` rows: the given ones at `rows`, which ascend, and NULL elsewhere."""
    if len(rows) == length:
        return list(columns)
    places = np.full(length, -1)
    places[rows] = np.arange(len(rows))
    taken = pa.array(places, mask=places < 0)
    return [column.take(taken) for column in columns]


def texts_of(payloads: pa.Array, messages: Positions, reasons: Reasons) -> pa.Array:
    """The payloads as texts; those that are missing or no UTF-8 are NULL, and bad."""
    texts = _as_strings(payloads)
    for row in np.flatnonzero(payloads.is_null().to_numpy(zero_copy_only=False)):
        reasons.add(int(messages[row]), "the message is empty")
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        values = zip(messages.tolist(), payloads.to_pylist(), strict=True)
        texts = pa.array([_utf8(message, value, reasons) for message, value in values], pa.string())
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
    if b"." not in content_of(texts):
        return texts
    return pc.replace_substring_regex(texts, r"^(-?[0-9]+)\.0+$", r"\1")
