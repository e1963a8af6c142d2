"""The changes of a view or table, as they happen, in a session of their own."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import pyarrow as pa

from risingpy.embedded.python_values import python_rows
from risingpy.errors import QueryCanceled
from risingpy.frontend.portals import row_stream
from risingpy.frontend.results import Result, ResultField
from risingpy.frontend.session import ClientSession

_LEADING = 2  # rw_epoch and op stand before the relation's columns


@dataclass(frozen=True, slots=True)
class Change:
    """A row that came or went. `op` is Insert, Delete, or, for the two rows of an update, UpdateDelete, UpdateInsert.

    All changes of a commit have one `epoch`; AFTER EPOCH goes on behind it.
    """

    op: str
    row: dict[str, Any]
    epoch: int


class ChangeStream:
    """Iterates over the changes; waits for the next one, until `close`. For one thread; `close` is for any.

    A loop over it that is left by `break` should close it, or stand in a `with` block: the session stays open.
    """

    def __init__(self, session: ClientSession, text: str) -> None:
        """`text` is a SUBSCRIBE statement. Raises SqlError."""
        self._session = session
        self._closed = False
        try:
            [statement] = session.split(text)
            self._result = session.execute(session.prepare(statement, ()), ())
        except BaseException:
            session.close()
            raise
        self._rows = row_stream(self._result)
        self._changes = self._all()

    def __iter__(self) -> Iterator[Change]:
        return self._changes

    def __next__(self) -> Change:
        return next(self._changes)

    def close(self) -> None:
        """Ends the iteration, in whatever thread it waits."""
        self._closed = True
        self._session.cancel()

    def __enter__(self) -> ChangeStream:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()
        self._changes.close()

    def _all(self) -> Generator[Change]:
        fields = _fields(self._result)
        names = [field.name for field in fields[_LEADING:]]
        types = [field.type for field in fields]
        try:
            for batch in self._rows.take(None):
                for epoch, op, *values in python_rows(types, pa.Table.from_batches([batch])):
                    yield Change(op, dict(zip(names, values, strict=True)), epoch)
        except QueryCanceled:
            if not self._closed:
                raise
        finally:
            self._rows.close()
            self._session.close()


def _fields(result: Result) -> tuple[ResultField, ...]:
    assert result.fields is not None
    return result.fields
