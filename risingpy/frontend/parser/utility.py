"""Statements about the session and the catalog: SHOW, SET, BEGIN and their like."""

from __future__ import annotations

import re
from dataclasses import replace

from risingpy.errors import InvalidParameterValue
from risingpy.frontend.parser.ast import (
    Backup,
    Begin,
    Commit,
    Describe,
    Discard,
    Flush,
    NoOperation,
    ReleaseSavepoint,
    Rollback,
    RollbackTo,
    Savepoint,
    SetConstraints,
    SetTransaction,
    SetVariable,
    Show,
    ShowKind,
    ShowVariable,
    Statement,
    UseDatabase,
)
from risingpy.frontend.parser.ast_parts import ColumnName
from risingpy.frontend.parser.cursor import Cursor

_DISTANCE = re.compile(r"\s*([-+]?\s*)(\d{1,3})(?::(\d{1,2}))?(?::00)?\s*")  # of a time zone from UTC
_WITH_NAME = (
    *(ShowKind.COLUMNS, ShowKind.CREATE_TABLE, ShowKind.CREATE_VIEW),
    *(ShowKind.CREATE_MATERIALIZED_VIEW, ShowKind.CREATE_SOURCE, ShowKind.CREATE_SINK),
    ShowKind.CREATE_SUBSCRIPTION,
)
_WITHOUT_SCHEMA = (
    *(ShowKind.SCHEMAS, ShowKind.DATABASES, ShowKind.PARAMETERS, ShowKind.JOBS),
    ShowKind.SUBSCRIPTION_CURSORS,
)


def parse_show(cursor: Cursor) -> Statement:
    """SHOW of a kind of catalog object, else of a setting. The words of the kinds come first."""
    cursor.expect("SHOW")
    for kind in ShowKind:
        if cursor.accept(*kind.value.upper().split()):
            return _parse_show_kind(cursor, kind)
    if cursor.accept("TRANSACTION", "ISOLATION", "LEVEL"):
        return ShowVariable("transaction_isolation")
    position = cursor.position
    return ShowVariable(_parse_variable(cursor), position)


def _parse_show_kind(cursor: Cursor, kind: ShowKind) -> Show:
    name = schema = None
    if kind in _WITH_NAME:
        if kind is ShowKind.COLUMNS:
            cursor.one_of("FROM", "IN")
        name = cursor.object_name()
    elif kind is ShowKind.INDEXES:
        if cursor.accept("FROM") or cursor.accept("ON"):
            name = cursor.object_name()
    elif kind not in _WITHOUT_SCHEMA and (cursor.accept("FROM") or cursor.accept("IN")):
        schema = cursor.name().name
    like = cursor.string() if cursor.accept("LIKE") else None
    return Show(kind, name, schema, like)


def parse_describe(cursor: Cursor) -> Describe:
    """DESCRIBE and MySQL's DESC, as in RisingWave."""
    cursor.one_of("DESCRIBE", "DESC")
    return Describe(cursor.object_name())


def parse_flush(cursor: Cursor) -> Flush:
    """RisingWave's FLUSH; it takes no words."""
    cursor.expect("FLUSH")
    return Flush()


def parse_backup(cursor: Cursor) -> Backup:
    """BACKUP TO 'directory'; the directory is a literal, not a parameter."""
    cursor.expect("BACKUP", "TO")
    return Backup(cursor.string())


def parse_set(cursor: Cursor) -> Statement:
    """SET in all its spellings: NAMES is client_encoding, TIME ZONE is timezone.

    A transaction's snapshot has no effect:
    `pg_dump -j` reads each table at the epoch of that moment, as pg_dump without it does.
    """
    cursor.expect("SET")
    if cursor.accept("TRANSACTION", "SNAPSHOT"):
        cursor.string()
        return NoOperation("SET")
    if cursor.accept("SESSION", "CHARACTERISTICS", "AS", "TRANSACTION"):
        return SetTransaction(_parse_transaction_modes(cursor), of_session=True)
    if cursor.accept("TRANSACTION"):
        return SetTransaction(_parse_transaction_modes(cursor), of_session=False)
    if cursor.accept("CONSTRAINTS"):
        names = () if cursor.accept("ALL") else cursor.comma_separated(cursor.object_name)
        return SetConstraints(names, cursor.one_of("DEFERRED", "IMMEDIATE") == "DEFERRED")
    local = cursor.accept("LOCAL")
    if not local and cursor.peek(2) != ["SESSION", "AUTHORIZATION"]:
        cursor.accept("SESSION")
    position = cursor.position
    if cursor.accept("NAMES"):
        return SetVariable("client_encoding", _parse_values(cursor), local, position)
    if cursor.accept("TIME", "ZONE"):
        return SetVariable("timezone", _parse_time_zone(cursor), local, position)
    if cursor.accept("SESSION", "AUTHORIZATION"):
        return SetVariable("session_authorization", _parse_role(cursor), local, position)
    if cursor.word == "ROLE" and cursor.peek(2)[1:] not in (["TO"], ["="]):
        cursor.expect("ROLE")
        return SetVariable("role", _parse_role(cursor), local, position)
    if not local and cursor.word == "DATABASE":
        cursor.expect("DATABASE")
        cursor.one_of("TO", "=")
        return UseDatabase(ColumnName(cursor.any_word(), position))
    name = _parse_variable(cursor)
    cursor.one_of("TO", "=")
    return SetVariable(name, _parse_values(cursor), local, position)


def _parse_values(cursor: Cursor) -> tuple[str, ...] | None:
    if cursor.accept("DEFAULT"):
        return None
    return cursor.comma_separated(cursor.value)


def _parse_time_zone(cursor: Cursor) -> tuple[str, ...] | None:
    """A zone, or `INTERVAL '-03:00' [HOUR TO MINUTE]`: its distance from UTC."""
    if not cursor.accept("INTERVAL"):
        return _parse_values(cursor)
    position = cursor.position
    distance = _DISTANCE.fullmatch(cursor.string())
    if cursor.accept("HOUR"):
        _ = cursor.accept("TO", "MINUTE")
    if distance is None:
        raise InvalidParameterValue("the distance of a time zone is hours and minutes", position=position)
    hours = int(distance[2]) + int(distance[3] or 0) / 60
    return (f"{distance[1].strip()}{hours!r}",)  # a number of hours is east of UTC, a text with a colon is west


def _parse_role(cursor: Cursor) -> tuple[str, ...] | None:
    """DEFAULT, a name, or a name as a text; NONE stays a word, which means no role."""
    return None if cursor.accept("DEFAULT") else (cursor.any_word(),)


def _parse_variable(cursor: Cursor) -> str:
    if cursor.accept("TIME", "ZONE"):
        return "timezone"
    if cursor.accept("SESSION", "AUTHORIZATION"):
        return "session_authorization"
    name = cursor.any_word()
    while cursor.accept("."):
        name += f".{cursor.any_word()}"
    return name.lower()


def parse_reset(cursor: Cursor) -> SetVariable:
    """RESET is a SET without values; `RESET ALL` has the name "all"."""
    cursor.expect("RESET")
    position = cursor.position
    return SetVariable(_parse_variable(cursor), None, position=position)


def parse_begin(cursor: Cursor) -> Begin:
    """BEGIN with any of PostgreSQL's modes, in any order; DEFERRABLE is read and dropped."""
    cursor.expect("BEGIN")
    _ = cursor.accept("WORK") or cursor.accept("TRANSACTION")
    return _parse_transaction_modes(cursor)


def parse_start(cursor: Cursor) -> Begin:
    """START TRANSACTION, the standard's BEGIN."""
    cursor.expect("START", "TRANSACTION")
    return replace(_parse_transaction_modes(cursor), starts=True)


def _parse_transaction_modes(cursor: Cursor) -> Begin:
    read_only: bool | None = None
    isolation: str | None = None
    deferrable: bool | None = None
    while not cursor.at_end:
        cursor.accept(",")
        if cursor.accept("ISOLATION", "LEVEL"):
            words = [cursor.one_of("READ", "REPEATABLE", "SERIALIZABLE")]
            if words[0] == "READ":
                words.append(cursor.one_of("COMMITTED", "UNCOMMITTED"))
            elif words[0] == "REPEATABLE":
                words.append(cursor.one_of("READ"))
            isolation = " ".join(words).lower()
        elif cursor.accept("READ"):
            read_only = cursor.one_of("ONLY", "WRITE") == "ONLY"
        else:
            deferrable = not cursor.accept("NOT")
            cursor.expect("DEFERRABLE")
    return Begin(read_only, isolation, deferrable=deferrable)


def parse_commit(cursor: Cursor) -> Commit:
    """COMMIT and END. Raises FeatureNotSupported (0A000) for COMMIT PREPARED."""
    cursor.one_of("COMMIT", "END")
    _ = cursor.accept("WORK") or cursor.accept("TRANSACTION")
    return Commit(_parse_chain(cursor))


def parse_rollback(cursor: Cursor) -> Rollback | RollbackTo:
    """ROLLBACK and ABORT; only ROLLBACK goes to a savepoint."""
    may_go_to = cursor.one_of("ROLLBACK", "ABORT") == "ROLLBACK"
    _ = cursor.accept("WORK") or cursor.accept("TRANSACTION")
    if may_go_to and cursor.accept("TO"):
        cursor.accept("SAVEPOINT")
        return RollbackTo(cursor.name().name)
    return Rollback(_parse_chain(cursor))


def parse_savepoint(cursor: Cursor) -> Savepoint:
    """The name is folded as other names are."""
    cursor.expect("SAVEPOINT")
    return Savepoint(cursor.name().name)


def parse_release(cursor: Cursor) -> ReleaseSavepoint:
    """The word SAVEPOINT may be missing, as in PostgreSQL."""
    cursor.expect("RELEASE")
    cursor.accept("SAVEPOINT")
    return ReleaseSavepoint(cursor.name().name)


def _parse_chain(cursor: Cursor) -> bool:
    """`AND [NO] CHAIN`."""
    chain = False
    if cursor.accept("AND"):
        chain = not cursor.accept("NO")
        cursor.expect("CHAIN")
    if cursor.word == "PREPARED":
        cursor.unsupported("two-phase commit")
    return chain


def parse_discard(cursor: Cursor) -> Discard:
    """What is discarded, in lower case; TEMP and TEMPORARY stay as they were written."""
    cursor.expect("DISCARD")
    return Discard(cursor.one_of("ALL", "PLANS", "SEQUENCES", "TEMPORARY", "TEMP").lower())
