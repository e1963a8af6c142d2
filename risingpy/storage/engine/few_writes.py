"""The writes of one table in an epoch that came row by row, as their executors have few rows: stored keys and values.

Of each key it has what was there before the epoch, as far as that is known, and what is there now.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum


class NotKnown(Enum):
    """The one value that stands for what is not known, where None is a key that is not there."""

    NOT_KNOWN = "not known"


NOT_KNOWN = NotKnown.NOT_KNOWN

FewWrite = tuple[bytes, "bytes | NotKnown | None", "bytes | None"]  # key, value before, value now


class FewWrites:
    """Collects writes."""

    __slots__ = ("_written",)

    def __init__(self) -> None:
        self._written: dict[bytes, FewWrite] = {}

    def __bool__(self) -> bool:
        return bool(self._written)

    def get(self, key: bytes) -> bytes | NotKnown | None:
        """What is there now, if it was written."""
        written = self._written.get(key)
        return NOT_KNOWN if written is None else written[2]

    def put(self, key: bytes, value: bytes | None, before: bytes | NotKnown | None) -> None:
        """Writes a key; None deletes it. `before`: what was there when it was written for the first time."""
        earlier = self._written.get(key)
        self._written[key] = (key, before if earlier is None else earlier[1], value)

    def writes(self) -> Iterable[FewWrite]:
        """In no particular order."""
        return self._written.values()
