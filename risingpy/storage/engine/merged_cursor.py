"""A cursor over a table's rows in the tree with its sorted runs over them, for reads that go forward.

It has the methods of py-lmdb's cursor that `key_scan` calls, and they mean the same. The rows come a window at a time,
each larger than the one before it, because nobody knows how far a reader goes.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from risingpy.storage.codec.key_encoding import prefix_end

if TYPE_CHECKING:
    from risingpy.storage.engine.stored_rows import RowPage

Pair = tuple[bytes, bytes]

_LEAST_WINDOW = 32
_LARGEST_WINDOW = 8192
_GROWTH = 4


class ReadPage(Protocol):
    """`StoredRows.page`"""

    def __call__(self, start: bytes, stop: bytes, rows: int, *, behind: bool) -> RowPage: ...


class MergedCursor:
    """Of one table: it ends behind the table's last row. `rows` is how many may be read at least."""

    def __init__(self, read_page: ReadPage, table: bytes, rows: int) -> None:
        self._read_page = read_page
        self._table = table
        self._end = prefix_end(table)
        self._window: list[Pair] = []
        self._place = 0
        # Where the next window begins: at this key, or behind it. None: there is no more.
        self._start: bytes | None = None
        self._is_behind = False
        self._first_size = min(max(rows, _LEAST_WINDOW), _LARGEST_WINDOW)
        self._size = self._first_size

    def __enter__(self) -> MergedCursor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._window, self._start = [], None

    def set_range(self, key: bytes) -> bool:
        """Goes to the first row at `key` or behind it; False if the table has none."""
        self._start, self._is_behind, self._size = max(key, self._table), False, self._first_size
        return self._advance()

    def item(self) -> Pair:
        return self._window[self._place] if self._window else (b"", b"")

    def key(self) -> bytes:
        return self.item()[0]

    def next(self) -> bool:
        """Goes to the row behind; False if there is none."""
        self._place += 1
        return self._place < len(self._window) or self._advance()

    def iternext(self) -> Iterator[Pair]:
        """The rows from this one on; when it is left, the cursor is at the last one that it gave."""
        while self._window:
            window = self._window
            for place in range(self._place, len(window)):
                self._place = place
                yield window[place]
            self._advance()

    def _advance(self) -> bool:
        self._window, self._place = [], 0
        while self._start is not None and self._start < self._end and not self._window:
            page = self._read_page(self._start, self._end, self._size, behind=self._is_behind)
            self._window = list(zip(page.keys.to_pylist(), page.values.to_pylist(), strict=True))
            self._start, self._is_behind = page.last, True
            self._size = min(self._size * _GROWTH, _LARGEST_WINDOW)
        return bool(self._window)
