"""The errors that a client sees: one class per family, each with its SQLSTATE.

Every error that leaves the binder, an executor or storage towards a client is a `SqlError`. The wire layer turns it
into an ErrorResponse (severity, SQLSTATE, message, detail, hint, position); anything else there is a defect, XX000.
Messages use PostgreSQL's wording where it has one (https://www.postgresql.org/docs/15/errcodes-appendix.html).
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from typing import Any

Check = Callable[[], None]
"""Called between the steps of long work; raises QueryCanceled when the statement is cancelled."""


def unchecked() -> None:
    """A Check that never raises: for work that nobody cancels."""


class SqlError(Exception):
    """An error with a SQLSTATE, for the client to act on.

    `position` counts characters of the statement's text from 1, as psql's caret needs it; None if unknown.
    """

    sqlstate = "XX000"
    severity = "ERROR"
    about: tuple[
        tuple[str, str], ...
    ] = ()  # schema (s), table (t), column (c), constraint (n), by the protocol's codes

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
        """The text for a terminal: the message, and on its own line the hint, if there is one."""
        return self.message if self.hint is None else f"{self.message}\n  {self.hint}"

    def rewrite(self, change: Callable[[str], str]) -> None:
        """Puts `change` of each text that a client sees in the text's place."""
        self.message = change(self.message)
        self.args = (self.message,)
        others = (self.detail, self.hint, self.where)
        self.detail, self.hint, self.where = (None if text is None else change(text) for text in others)

    def __reduce__(self) -> tuple[object, ...]:
        # Errors are pickled between processes (Spark tasks): keep every field.
        return _rebuild, (type(self), self.message, self.sqlstate, self.position, self.detail, self.hint, self.where)


def _rebuild(cls: type[SqlError], message: str, sqlstate: str, position: int | None, *texts: str | None) -> SqlError:
    return cls(message, sqlstate=sqlstate, position=position, detail=texts[0], hint=texts[1], where=texts[2])


class SyntaxError_(SqlError):
    """The text is not SQL: the author of the statement must correct it."""

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
    """A window function in a wrong place, or an impossible window. The client must change the query."""

    sqlstate = "42P20"


class DatatypeMismatch(SqlError):
    """An expression's type does not fit its context."""

    sqlstate = "42804"


class CannotCoerce(SqlError):
    """No cast between the two types."""

    sqlstate = "42846"


class InvalidTextRepresentation(SqlError):
    """A text is not a literal of its target type."""

    sqlstate = "22P02"


class NumericValueOutOfRange(SqlError):
    """A number does not fit its type."""

    sqlstate = "22003"


def as_out_of_range(error: Exception) -> NumericValueOutOfRange | None:
    """The error for a number in a user's text with too many digits, or too large an exponent, for Python; else None.

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


class CardinalityViolation(SqlError):
    """A statement meets a row a second time that it has written already."""

    sqlstate = "21000"


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
    """DROP of an object on which others depend; the hint names CASCADE."""

    sqlstate = "2BP01"


class InsufficientPrivilege(SqlError):
    """The role may not do this: another one must, or must give it the right."""

    sqlstate = "42501"


class InFailedTransaction(SqlError):
    """The transaction has failed: only ROLLBACK is accepted."""

    sqlstate = "25P02"


class UndefinedSavepoint(SqlError):
    """ROLLBACK TO or RELEASE of a savepoint that does not exist: the client's author must act."""

    sqlstate = "3B001"


class NoActiveTransaction(SqlError):
    """A statement that needs a transaction block is outside of one: the client's author must act."""

    sqlstate = "25P01"


class UndefinedStatement(SqlError):
    """No statement of that name has been prepared: the client's author must act."""

    sqlstate = "26000"


class UndefinedCursor(SqlError):
    """No cursor of that name is open: the client's author must act."""

    sqlstate = "34000"


class SerializationFailure(SqlError):
    """Another session has changed the same object meanwhile: the client may retry."""

    sqlstate = "40001"


class StalePlan(SerializationFailure):
    """A relation was altered after the statement was planned. The session plans again, or else the client retries.

    `written` is the table's id if the statement writes to it.
    """

    written: int | None = None


class DeadlockDetected(SqlError):
    """Transactions wait for each other in a circle. This one fails, and the client may retry."""

    sqlstate = "40P01"


class StatementTooComplex(SqlError):
    """The statement nests too deeply, or has too many parts: its author must split or simplify it."""

    sqlstate = "54001"

    def __init__(self, message: str = "stack depth limit exceeded", **fields: Any) -> None:
        fields.setdefault("hint", "The statement nests its expressions too deeply.")
        super().__init__(message, **fields)


class TooManyConditions(StatementTooComplex):
    """An AND, an OR or a CASE has too many parts: its author should compare with a list, or join with a table."""

    def __init__(self, message: str) -> None:
        super().__init__(message, hint="Compare with a list (x IN (…)), or join with a table that has the values.")


class QueryCanceled(SqlError):
    """The client, or a timeout, ended the statement."""

    sqlstate = "57014"


class LockNotAvailable(SqlError):
    """A statement waited for a lock longer than lock_timeout."""

    sqlstate = "55P03"


class CannotConnectNow(SqlError):
    """The server is starting or stopping."""

    sqlstate = "57P03"


class EpochsCannotRun(SqlError):
    """Epochs fail again and again: the operator must act. The server goes on trying."""

    sqlstate = "58000"


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
    """The disk or the state store failed: the operator must act."""

    sqlstate = "58030"


class SourceUnavailable(IoError):
    """The system that a source reads does not answer: it is tried again, and other sources go on."""

    sqlstate = "HV00N"


class TargetUnavailable(IoError):
    """The system that a sink writes to does not answer: the epoch is delivered again later."""

    sqlstate = "HV00N"


class OutOfMemory(SqlError):
    """A statement, or an operator of an epoch, needs more memory than it may have: the query's author must act."""

    sqlstate = "53200"


class DiskFailure(IoError):
    """The data directory's disk fails: acknowledged writes are safe, and failed ones can be repeated."""


class DiskFull(DiskFailure):
    """The data directory's disk is full: the operator must free space."""

    sqlstate = "53100"


class InternalError(SqlError):
    """A defect of ours."""

    sqlstate = "XX000"


class InvalidFunctionDefinition(SqlError):
    """CREATE FUNCTION with a body that does not fit its declaration: its author must correct it."""

    sqlstate = "42P13"


class ExternalRoutineError(SqlError):
    """A function in Python raised an error: its author, or the statement's, must act."""

    sqlstate = "38000"


class ExternalRoutineLimitExceeded(ExternalRoutineError):
    """A function in Python took too much time or memory, or ended its process: its author must correct it.

    A view that calls it stops: no single row causes the error, and every epoch would wait for the function.
    """

    sqlstate = "54000"
