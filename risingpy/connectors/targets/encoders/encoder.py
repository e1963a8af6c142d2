"""What an encoder of messages is: it makes messages of an epoch's changes, by columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Messages:
    """Messages in the order in which they are to be sent: two binary arrays of one length.

    A NULL key: the message has no key. A NULL value: a tombstone, which deletes the key.
    """

    keys: pa.Array
    values: pa.Array

    def __len__(self) -> int:
        return len(self.values)


class MessageEncoder(Protocol):
    """Makes messages for the schema that it was made for. One thread uses it."""

    def encode(self, changes: pa.Table) -> Messages:
        """The messages of a whole epoch: `changes` has `op` and `c0`, `c1`, … as `SinkTarget.deliver` gets them."""
        ...
