"""The modes of a transaction: its isolation level, READ ONLY, DEFERRABLE, and when they may change, as in PostgreSQL.

Only READ ONLY has an effect. Every query of every transaction reads one committed epoch, so each level is READ
COMMITTED; the settings tell the client what it has asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from risingpy.errors import SqlError
from risingpy.frontend.parameters.definitions import BY_NAME
from risingpy.frontend.parser.ast import Begin
from risingpy.frontend.settings import OF_TRANSACTION, READ_ONLY, is_on
from risingpy.frontend.statement_context import StatementContext

ISOLATION, DEFERRABLE = OF_TRANSACTION
_DEFAULTS = {name: f"default_{name}" for name in (READ_ONLY, ISOLATION, DEFERRABLE)}


def shown(modes: Begin) -> Iterator[tuple[str, str]]:
    """(The setting, its value) of each mode that is said."""
    if modes.isolation is not None:
        yield ISOLATION, modes.isolation
    if modes.read_only is not None:
        yield READ_ONLY, "on" if modes.read_only else "off"
    if modes.deferrable is not None:
        yield DEFERRABLE, "on" if modes.deferrable else "off"


def present(session: StatementContext) -> Begin:
    """The modes of the transaction that is open."""
    settings = session.settings
    return Begin(
        session.transaction.chosen_read_only, settings.get(ISOLATION), deferrable=is_on(settings.get(DEFERRABLE))
    )


def set_modes(session: StatementContext, modes: Begin) -> None:
    """Gives the open transaction the modes that are said.

    Raises 25001 for READ WRITE of one that may only read, for another isolation level and for [NOT] DEFERRABLE, once
    the transaction has a savepoint or has run a query.
    """
    for name, words in shown(modes):
        _check(session, name, words)
        if name == READ_ONLY:
            session.transaction.chosen_read_only = is_on(words)
        else:
            session.settings.set(name, (words,))


def is_mode(name: str) -> bool:
    """Whether a setting of that name is a mode of the transaction."""
    return name.lower() in _DEFAULTS


def set_variable(session: StatementContext, name: str, values: Sequence[str] | None) -> bool:
    """SET and RESET of the settings that are modes; whether `name` is one. Outside of a block, nothing stays."""
    key = name.lower()
    if not is_mode(name):
        return False
    words = session.settings.get(_DEFAULTS[key]) if values is None else BY_NAME[key].check(name, values)
    if session.transaction.is_open:
        mode = {ISOLATION: Begin(isolation=words), DEFERRABLE: Begin(deferrable=is_on(words))}
        set_modes(session, mode.get(key, Begin(is_on(words))))
    return True


def _check(session: StatementContext, name: str, words: str) -> None:
    transaction, has_run = session.transaction, session.scope.has_run_query
    if name == ISOLATION and words != session.settings.get(ISOLATION):
        what = "SET TRANSACTION ISOLATION LEVEL"
        if has_run:
            raise _refused(f"{what} must be called before any query")
        if transaction.has_savepoints:
            raise _refused(f"{what} must not be called in a subtransaction")
    elif name == DEFERRABLE:
        what = "SET TRANSACTION [NOT] DEFERRABLE"
        if transaction.has_savepoints:
            raise _refused(f"{what} cannot be called within a subtransaction")
        if has_run:
            raise _refused(f"{what} must be called before any query")
    elif name == READ_ONLY and not is_on(words) and transaction.read_only:
        if transaction.has_savepoints:
            raise _refused("cannot set transaction read-write mode inside a read-only transaction")
        if has_run:
            raise _refused("transaction read-write mode must be set before any query")


def _refused(message: str) -> SqlError:
    return SqlError(message, sqlstate="25001")
