"""The changes of a view or table, as they happen, in a session of their own."""

from __future__ import annotations

import threading
from collections.abc import Generator

import pyarrow as pa

from risingpy.client.interface import Change, ChangeStream
from risingpy.client.python_values import python_rows
from risingpy.errors import CannotConnectNow, QueryCanceled
from risingpy.frontend.portals import row_stream
from risingpy.frontend.results import Result, ResultField
from risingpy.frontend.session import ClientSession

_LEADING = 2  # rw_epoch and op stand before the relation's columns


class EmbeddedChanges(ChangeStream):
    """The changes that a SUBSCRIBE statement gives in a session of this process."""

    def __init__(self, session: ClientSession, text: str) -> None:
        """`text` is a SUBSCRIBE statement. Raises SqlError."""
        self._session = session
        try:
            [statement] = session.split(text)
            self._result = session.execute(session.prepare(statement, ()), ())
        except BaseException:
            session.close()
            raise
        self._rows = row_stream(self._result)
        self._changes = self._all()

    def _cancel(self) -> None:
        self._session.cancel()

    def _release(self) -> None:
        self._rows.close()
        self._session.close()

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
        except CannotConnectNow:
            if threading.main_thread().is_alive():  # else the process ends, which has closed the database
                raise
        finally:
            self._release()


def _fields(result: Result) -> tuple[ResultField, ...]:
    assert result.fields is not None
    return result.fields
