"""What reads payloads of one encoding. FORMAT says what rows become of what it has read."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from risingpy.connectors.formats.columns import Positions, Reasons


class PayloadReader(Protocol):
    """Reads the fields of payloads, for the columns that it was made for."""

    def read(self, payloads: pa.Array, messages: Positions, reasons: Reasons) -> list[pa.Array]:
        """An array of each column, as long as `payloads`, of the columns' Arrow types.

        `messages` are the positions of the payloads' messages, by which `reasons` says why some are bad. The rows of
        bad ones hold anything. Raises SourceUnavailable if a schema registry does not answer.
        """
        ...


class KeyReader(Protocol):
    """Reads columns of the keys of messages. It has `PayloadReader.read`, but a key may be missing.

    A column that a key does not have is NULL. A key that does not decode makes its message bad.
    """

    def read(self, keys: pa.Array, messages: Positions, reasons: Reasons) -> list[pa.Array]: ...
