"""What a decoder of messages is. It works by columns: no loop over messages in Python."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import pyarrow as pa

from risingpy.types import SqlType

KEY_ENCODING = "key.encode"
"""The option that `KEY ENCODE …` of a sink is kept as."""


@dataclass(frozen=True, slots=True)
class MessageFormat:
    """`FORMAT row_format ENCODE encoding (options)`, all names in lower case."""

    row_format: str  # plain, upsert, debezium, native
    encoding: str  # json, avro, protobuf, csv, bytes, native
    options: tuple[tuple[str, str], ...] = ()


def with_more_options(message_format: MessageFormat | None, more: tuple[tuple[str, str], ...]) -> MessageFormat | None:
    """The format, if there is one, with more options after its own."""
    return None if message_format is None else replace(message_format, options=(*message_format.options, *more))


@dataclass(frozen=True, slots=True)
class BadMessage:
    """A message that does not decode: its position in the chunk, and why."""

    index: int
    reason: str


@dataclass(frozen=True, slots=True)
class Decoded:
    """The rows of a chunk of messages.

    `ops` is int8, +1 or −1. `columns` are arrays of the Arrow types of the decoder's columns. `messages` is int64: the
    position in the chunk of the message that each row is from. A bad message has no rows.
    """

    ops: pa.Array
    columns: Sequence[pa.Array]
    messages: pa.Array
    bad: Sequence[BadMessage] = ()


class Decoder(Protocol):
    """Makes rows of messages, for the columns it was made for. It is pure but for what a schema registry says."""

    def decode(self, messages: pa.Table) -> Decoded:
        """The rows of `messages` (`connectors.seekable.MESSAGES`), in their order.

        Raises SourceUnavailable if a schema registry does not answer. What a message holds never raises.
        """
        ...


class DecoderFactory(Protocol):
    """What `choice.decoder_of` is."""

    def __call__(
        self,
        message_format: MessageFormat,
        columns: Sequence[tuple[str, SqlType]],
        key_columns: Sequence[str],
        null_keys: Collection[str] = (),
    ) -> Decoder:
        """A decoder for the named columns; `key_columns` are the primary key of a table whose rows are upserted.

        Of these, `null_keys` may be NULL.

        Raises InvalidParameterValue for options that the format does not have, FeatureNotSupported for what it cannot.
        """
        ...
