"""What the connectors need of a storage of files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file: its name (components divided by `/`, whatever it is called in an error or a column), and its bytes."""

    name: str
    size: int


class FileStore(Protocol):
    """Files by name. Not for several threads at once."""

    def check(self) -> None:
        """Raises, within 5 s, SourceUnavailable or InvalidParameterValue if there is no such storage."""
        ...

    def files(self) -> Iterable[StoredFile]:
        """Every file whose writer has finished, in no order. Raises SourceUnavailable."""
        ...

    def read(self, name: str, start: int, end: int) -> bytes:
        """The bytes at `start` ≤ position < `end`; there are fewer if the file ends before.

        Raises SourceUnavailable, also for a file that is gone or that nobody may read.
        """
        ...

    def size(self, name: str) -> int:
        """The bytes of a file. Raises as `read` does."""
        ...

    def close(self) -> None: ...
