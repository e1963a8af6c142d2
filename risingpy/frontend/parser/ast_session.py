"""Statements about the session itself, and maintenance: savepoints, prepared statements, cursors, locks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from risingpy.frontend.parser.ast_parts import ColumnName, Expression, ObjectName, Query, TypeName
from risingpy.plan.catalog import RelationClass


@dataclass(frozen=True, slots=True)
class Begin:
    """BEGIN, or `starts`: START TRANSACTION. A mode is None unless said."""

    read_only: bool | None = None
    isolation: str | None = None
    starts: bool = False
    deferrable: bool | None = None


@dataclass(frozen=True, slots=True)
class Commit:
    """COMMIT and END; AND CHAIN begins another transaction like it."""

    chain: bool = False


@dataclass(frozen=True, slots=True)
class Rollback:
    """ROLLBACK and ABORT of the whole transaction, and AND CHAIN; `RollbackTo` goes back to a savepoint."""

    chain: bool = False


@dataclass(frozen=True, slots=True)
class SetTransaction:
    """SET TRANSACTION, or with `of_session` SET SESSION CHARACTERISTICS AS TRANSACTION."""

    modes: Begin
    of_session: bool


@dataclass(frozen=True, slots=True)
class Savepoint:
    """SAVEPOINT. A name may be set again: the newer one hides the older."""

    name: str


@dataclass(frozen=True, slots=True)
class ReleaseSavepoint:
    """RELEASE SAVEPOINT: forgets it and those set after it; the writes stay."""

    name: str


@dataclass(frozen=True, slots=True)
class RollbackTo:
    """ROLLBACK TO [SAVEPOINT] name."""

    name: str


@dataclass(frozen=True, slots=True)
class InnerStatement:
    """The text of a statement within another one, which begins at `position`; it may ask the system relations."""

    text: str
    position: int


@dataclass(frozen=True, slots=True)
class Prepare:
    """PREPARE name (types) AS statement."""

    name: str
    types: tuple[TypeName, ...]
    statement: InnerStatement


@dataclass(frozen=True, slots=True)
class Execute:
    """EXECUTE name (arguments)."""

    name: str
    arguments: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Deallocate:
    """DEALLOCATE name; `name` is None for ALL."""

    name: str | None


@dataclass(frozen=True, slots=True)
class DeclareCursor:
    """DECLARE name CURSOR FOR query. `scroll` is None unless said."""

    name: str
    query: InnerStatement
    binary: bool = False
    scroll: bool | None = None
    hold: bool = False


class FetchKind(Enum):
    """What the number of a FETCH counts: rows from where the cursor stands, the row itself, or the rows up to it."""

    FORWARD = "forward"
    ABSOLUTE = "absolute"
    RELATIVE = "relative"


class SubscriptionStart(Enum):
    """Where a subscription cursor begins: the value is what SQL says."""

    NOW = "now()"
    BEGIN = "begin()"
    SINCE = "a time"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class DeclareSubscriptionCursor:
    """DECLARE name SUBSCRIPTION CURSOR FOR subscription. `since` is in milliseconds since 1970, for SINCE only."""

    name: str
    subscription: ObjectName
    start: SubscriptionStart = SubscriptionStart.NOW
    since: int | None = None


@dataclass(frozen=True, slots=True)
class Fetch:
    """FETCH and, with `move`, MOVE. `count` is None for ALL, negative backward; `backward` tells only for ALL.

    `timeout` is how long a subscription cursor waits for a row, as text.
    """

    name: str
    kind: FetchKind = FetchKind.FORWARD
    count: int | None = 1
    backward: bool = False
    move: bool = False
    timeout: str | None = None


@dataclass(frozen=True, slots=True)
class Subscribe:
    """SUBSCRIBE TO a relation or a query.

    Changes come after the epoch `after_epoch`, or from now on: then after the rows of now, if `snapshot`. With
    `progress` there are rows that say how far it is; `up_to` is the last epoch that it sends.
    """

    target: ObjectName | Query
    snapshot: bool = True
    progress: bool = False
    up_to: int | None = None
    after_epoch: int | None = None


@dataclass(frozen=True, slots=True)
class CloseCursor:
    """CLOSE name; `name` is None for ALL."""

    name: str | None


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A relation that a statement names, and perhaps columns of it."""

    name: ObjectName
    columns: tuple[ColumnName, ...] = ()


@dataclass(frozen=True, slots=True)
class Maintenance:
    """What PostgreSQL needs from time to time and finds nothing to do here: VACUUM, ANALYZE, … `command` is the tag.

    `alone` is what PostgreSQL calls it where it refuses it inside a transaction block.
    """

    command: str
    tables: tuple[NamedTable, ...] = ()
    alone: str | None = None


@dataclass(frozen=True, slots=True)
class Recover:
    """RECOVER: starts what has failed again. `kind` is what the statement calls the named ones; without names, all."""

    kind: RelationClass | None = None
    names: tuple[ObjectName, ...] = ()


@dataclass(frozen=True, slots=True)
class LockTable:
    """LOCK TABLE. `mode` as PostgreSQL writes it, without MODE."""

    tables: tuple[NamedTable, ...]
    mode: str
    no_wait: bool


@dataclass(frozen=True, slots=True)
class SetConstraints:
    """SET CONSTRAINTS ALL (no names) or some, DEFERRED or IMMEDIATE."""

    names: tuple[ObjectName, ...]
    deferred: bool


@dataclass(frozen=True, slots=True)
class Flush:
    """FLUSH: waits until every view has all earlier writes."""


@dataclass(frozen=True, slots=True)
class Backup:
    """BACKUP TO 'directory', which is the server's."""

    directory: str
