"""The errors that a client sees: one class per family, each with its SQLSTATE.

Every error that leaves the binder, an executor or storage towards a client is a `SqlError`. The wire layer
turns it into an ErrorResponse (severity, SQLSTATE, message, detail, hint, position); anything else that
reaches the wire layer is a defect and is answered as XX000. Messages use PostgreSQL's wording where
PostgreSQL has one (https://www.postgresql.org/docs/15/errcodes-appendix.html).
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from typing import Any

Check = Callable[[], None]
"""Called between the steps of long work; raises QueryCanceled when nobody wants the work any more."""


def unchecked() -> None:
    """The Check of work that nobody ends early."""


class SqlError(Exception):
    """An error with a SQLSTATE, for the client to act on.

    `position` counts characters of the statement's text from 1, as psql's caret needs it; None if unknown.
    """

    sqlstate = "XX000"
    severity = "ERROR"

    def __init__(
        self,
        message: str,
        *,
        sqlstate: str | None = None,
        position: int | None = None,
        detail: str | None = None,
        hint: str | None = None,
        where: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        if sqlstate is not None:
            self.sqlstate = sqlstate
        self.position = position
        self.detail = detail
        self.hint = hint
        self.where = where

    @property
    def told(self) -> str:
        """For a terminal: the message, and the hint if there is one on a line of its own."""
        return self.message if self.hint is None else f"{self.message}\n  {self.hint}"

    def __reduce__(self) -> tuple[object, ...]:
        # Errors cross process borders (Spark tasks): rebuild with every field.
        state = (self.message, self.sqlstate, self.position, self.detail, self.hint, self.where)
        return _rebuild, (type(self), *state)


def _rebuild(
    cls: type[SqlError],
    message: str,
    sqlstate: str,
    position: int | None,
    detail: str | None,
    hint: str | None,
    where: str | None,
) -> SqlError:
    return cls(message, sqlstate=sqlstate, position=position, detail=detail, hint=hint, where=where)


class SyntaxError_(SqlError):
    """The text is not SQL: the author of the statement mends it."""

    sqlstate = "42601"


class FeatureNotSupported(SqlError):
    """The construct is valid SQL that this version does not run; the message names the construct."""

    sqlstate = "0A000"


class UndefinedTable(SqlError):
    """No relation of that name on the search path."""

    sqlstate = "42P01"


class UndefinedColumn(SqlError):
    """No such column in the relations at hand."""

    sqlstate = "42703"


class AmbiguousColumn(SqlError):
    """More than one relation has a column of that name."""

    sqlstate = "42702"


class UndefinedFunction(SqlError):
    """No function or operator of that name takes these argument types."""

    sqlstate = "42883"


class UndefinedObject(SqlError):
    """No type, parameter or other object of that name."""

    sqlstate = "42704"


class DuplicateRelation(SqlError):
    """A relation of that name exists."""

    sqlstate = "42P07"


class DuplicateColumn(SqlError):
    """A column is named twice."""

    sqlstate = "42701"


class WrongObjectType(SqlError):
    """The object exists but is of another kind (a view where a table is needed, say)."""

    sqlstate = "42809"


class InvalidTableDefinition(SqlError):
    """CREATE TABLE contradicts itself (two primary keys, say)."""

    sqlstate = "42P16"


class GroupingError(SqlError):
    """A column is neither grouped nor aggregated."""

    sqlstate = "42803"


class WindowError(SqlError):
    """A window function where none may stand, or a window that cannot be. The client must change the query."""

    sqlstate = "42P20"


class DatatypeMismatch(SqlError):
    """An expression's type does not fit where it stands."""

    sqlstate = "42804"


class CannotCoerce(SqlError):
    """No cast between the two types."""

    sqlstate = "42846"


class InvalidTextRepresentation(SqlError):
    """A text is no literal of the type it should become."""

    sqlstate = "22P02"


class NumericValueOutOfRange(SqlError):
    """A number does not fit its type."""

    sqlstate = "22003"


def as_out_of_range(error: Exception) -> NumericValueOutOfRange | None:
    """The error of a number in a user's text that Python refuses for its digits, or for its exponent; else None.

    Python reads whole numbers of 4,300 digits at most, so that a long text does not keep the interpreter for seconds.
    No type has values of so many digits: wherever such a number stands, it is out of range.
    """
    if isinstance(error, ValueError) and str(error).startswith("Exceeds the limit"):
        return NumericValueOutOfRange("value out of range: a number with more digits than any type has")
    if isinstance(error, decimal.InvalidOperation | decimal.Overflow):
        return NumericValueOutOfRange("value overflows numeric format")
    return None


class DivisionByZero(SqlError):
    """Division by zero."""

    sqlstate = "22012"


class StringTooLong(SqlError):
    """A string is longer than varchar(n) or char(n) allows."""

    sqlstate = "22001"


class BadCopyFileFormat(SqlError):
    """A line of COPY data is malformed; `where` says which."""

    sqlstate = "22P04"


class NotNullViolation(SqlError):
    """NULL in a NOT NULL column."""

    sqlstate = "23502"


class DependentObjectsStillExist(SqlError):
    """DROP of something that others use; the hint names CASCADE."""

    sqlstate = "2BP01"


class InFailedTransaction(SqlError):
    """The transaction has failed: only ROLLBACK is accepted."""

    sqlstate = "25P02"


class UndefinedSavepoint(SqlError):
    """ROLLBACK TO or RELEASE of a savepoint that the transaction has not: the client's author."""

    sqlstate = "3B001"


class NoActiveTransaction(SqlError):
    """A statement that only makes sense within BEGIN … COMMIT stands alone: the client's author."""

    sqlstate = "25P01"


class UndefinedStatement(SqlError):
    """No statement of that name has been prepared: the client's author."""

    sqlstate = "26000"


class UndefinedCursor(SqlError):
    """No cursor of that name is open: the client's author."""

    sqlstate = "34000"


class SerializationFailure(SqlError):
    """Something else changed meanwhile: the client may retry."""

    sqlstate = "40001"


class StalePlan(SerializationFailure):
    """A relation was altered after the statement was planned. The session plans again; where it cannot, the client.

    `written` is the table's id if the statement was to write to it.
    """

    written: int | None = None


class DeadlockDetected(SqlError):
    """Two transactions wait for each other; this one gives way, and the client may retry."""

    sqlstate = "40P01"


class StatementTooComplex(SqlError):
    """The statement nests too deeply, or is made of too many parts: write it as several, or with fewer."""

    sqlstate = "54001"

    def __init__(self, message: str = "stack depth limit exceeded", **fields: Any) -> None:
        fields.setdefault("hint", "The statement nests its expressions too deeply.")
        super().__init__(message, **fields)


class TooManyConditions(StatementTooComplex):
    """The statement has an AND, an OR or a CASE of too many parts: compare with a list, or join with a table."""

    def __init__(self, message: str) -> None:
        super().__init__(message, hint="Compare with a list (x IN (…)), or join with a table that has the values.")


class QueryCanceled(SqlError):
    """The client, or a timeout, ended the statement."""

    sqlstate = "57014"


class CannotConnectNow(SqlError):
    """The server is starting or stopping."""

    sqlstate = "57P03"


class AdminShutdown(SqlError):
    """The server stops; the client reconnects later."""

    sqlstate = "57P01"
    severity = "FATAL"


class ProtocolViolation(SqlError):
    """The client's bytes are not the protocol's."""

    sqlstate = "08P01"


class InvalidParameterValue(SqlError):
    """A setting or an argument is out of its range."""

    sqlstate = "22023"


class IoError(SqlError):
    """The disk or the state store failed; the operator acts."""

    sqlstate = "58030"


class OutOfMemory(SqlError):
    """More than a statement, or an operator of an epoch, may have in memory: whoever wrote the query asks for less."""

    sqlstate = "53200"


class DiskFailure(IoError):
    """The disk of the data directory refuses: what was acknowledged is safe, what failed can be tried again."""


class DiskFull(DiskFailure):
    """There is no space left on the disk of the data directory; the operator makes some."""

    sqlstate = "53100"


class InternalError(SqlError):
    """A defect of ours."""

    sqlstate = "XX000"


class InvalidFunctionDefinition(SqlError):
    """CREATE FUNCTION with a body that does not fit its declaration: the user corrects it."""

    sqlstate = "42P13"


class ExternalRoutineError(SqlError):
    """A function in Python raised: its author corrects it, or the arguments."""

    sqlstate = "38000"


class ExternalRoutineLimitExceeded(ExternalRoutineError):
    """A function in Python took too long, too much memory, or its process with it: its author corrects it.

    A view that calls it stops: no row is to blame, and every epoch would wait for it.
    """

    sqlstate = "54000"
