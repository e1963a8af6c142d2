"""What a program can do with an open database, wherever that runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from inspect import GEN_CREATED, getgeneratorstate
from typing import Any, Self

from risingpy.client.given_rows import Rows
from risingpy.client.live_result import LiveResult
from risingpy.client.statement_result import StatementResult


@dataclass(frozen=True, slots=True)
class Change:
    """A row that came or went. `op` is Insert, Delete, or, for the two rows of an update, UpdateDelete, UpdateInsert.

    All changes of a commit have one `epoch`; AFTER EPOCH goes on behind it.
    """

    op: str
    row: dict[str, Any]
    epoch: int


class ChangeStream(ABC):
    """Iterates over the changes; waits for the next one, until `close`. For one thread; `close` is for any.

    A loop over it that is left by `break` should close it, or stand in a `with` block: the session stays open.
    """

    _changes: Generator[Change]
    _closed = False

    def __iter__(self) -> Iterator[Change]:
        return self._changes

    def __next__(self) -> Change:
        return next(self._changes)

    def close(self) -> None:
        """Ends the iteration, in whatever thread it waits. A second call does nothing."""
        self._closed = True
        self._cancel()
        if getgeneratorstate(self._changes) == GEN_CREATED:
            # An iteration that has not begun releases nothing at its end; one that begins just now does.
            with suppress(ValueError):
                self._changes.close()
                self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()
        self._changes.close()

    @abstractmethod
    def _cancel(self) -> None:
        """Ends what the iteration waits for."""

    @abstractmethod
    def _release(self) -> None:
        """Closes the stream's session. A second call does nothing."""


class DatabaseSession(ABC):
    """Runs statements. Threads may share one: a statement then waits for the one before it.

    Settings, transactions, prepared statements and cursors belong to the session, as in PostgreSQL. Every statement
    outside of a transaction is one of its own. All methods raise SqlError, which has `sqlstate`, `position` and `hint`.
    """

    @abstractmethod
    def sql(self, text: str, parameters: Sequence[object] = ()) -> StatementResult:
        """Runs the statements of a text, and returns the answer to the last one.

        `parameters` are the values of $1, $2, … of a single statement. A text of several statements is one transaction.
        """

    @abstractmethod
    def insert(self, relation: str, rows: Rows) -> int:
        """Adds rows to a table, as COPY does; returns their number.

        `relation` is a name as SQL has it (`t`, `s.t`, `"T"`). Columns are found by name; those that are not given have
        their defaults. Values of other types are converted as literals would be. All rows are taken, or none.
        """

    @contextmanager
    def transaction(self) -> Iterator[Self]:
        """BEGIN, and COMMIT at the end of the block, or ROLLBACK where it raises."""
        self.sql("BEGIN")
        try:
            yield self
        except BaseException:
            self.sql("ROLLBACK")
            raise
        self.sql("COMMIT")

    @property
    @abstractmethod
    def in_transaction(self) -> bool:
        """Whether BEGIN has opened a transaction that has not ended, failed ones included."""

    @abstractmethod
    def cancel(self) -> None:
        """Ends the statement that runs in another thread, with QueryCanceled there."""

    @abstractmethod
    def close(self) -> None:
        """Rolls back what is open. A second call does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()


class OpenDatabase(ABC):
    """An open database. Its methods run in a session of its own, and `session` opens others. Threads may share it."""

    _own: DatabaseSession

    def sql(self, text: str, parameters: Sequence[object] = ()) -> StatementResult:
        """See `DatabaseSession.sql`."""
        return self._own.sql(text, parameters)

    def insert(self, relation: str, rows: Rows) -> int:
        """See `DatabaseSession.insert`."""
        return self._own.insert(relation, rows)

    def transaction(self) -> AbstractContextManager[DatabaseSession]:
        """See `DatabaseSession.transaction`."""
        return self._own.transaction()

    def subscribe(self, name: str, *, snapshot: bool = True, after_epoch: int | None = None) -> ChangeStream:
        """The rows of a view, table or subscription, and then its changes as they happen, until that is closed.

        Without `snapshot`, only the changes. `after_epoch` goes on after an epoch that a subscription still has.
        """
        text = f"SUBSCRIBE TO {name}"
        if after_epoch is not None:
            text += f" AFTER EPOCH {after_epoch:d}"
        elif not snapshot:
            text += " WITH (snapshot = false)"
        return self._subscribed(text)

    def watch(self, name: str, query: str | None = None, *, seconds: float = 0.5) -> LiveResult:
        """The answer to `query`, asked again when the view or table `name` changes; a notebook shows it as it becomes.

        Without a query: the first rows of the relation. At most one answer in so many `seconds`. Raises SqlError.
        """
        text = f"SELECT * FROM {name} LIMIT 20" if query is None else query
        changes = self.subscribe(name, snapshot=False)
        try:
            session = self.session()
            try:
                return LiveResult(changes, session, text, session.sql(text), seconds)
            except BaseException:
                session.close()
                raise
        except BaseException:
            changes.close()
            raise

    @abstractmethod
    def session(self) -> DatabaseSession:
        """Another session, with transactions and settings of its own; its statements run beside those of others."""

    @abstractmethod
    def close(self) -> None:
        """Ends all sessions. A second call does nothing."""

    @abstractmethod
    def _subscribed(self, text: str) -> ChangeStream:
        """What a SUBSCRIBE statement gives, in a session of its own."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()
