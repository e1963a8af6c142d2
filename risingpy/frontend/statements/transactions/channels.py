"""LISTEN, UNLISTEN and NOTIFY: parts of their transaction, as PostgreSQL's.

Names longer than PostgreSQL's names are cut, with a notice: so is the name that a driver asks for, on both sides.
"""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import Listen, Notify, ParsedStatement, Unlisten
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.session_notifications import MOST_CHANNEL_BYTES
from risingpy.frontend.statement_context import StatementContext
from risingpy.types import SqlType


def bind_listen(
    session: StatementContext, parsed: ParsedStatement, statement: Listen, parameter_types: Sequence[SqlType]
) -> Command:
    """From COMMIT on the session hears what is said on the channel. Raises 0A000 where there is no connection."""

    def run(parameters: Parameters) -> Result:
        session.notifications.listen(_cut(session, statement.channel))
        return Result(CommandTag("LISTEN"))

    return Command(run)


def bind_unlisten(
    session: StatementContext, parsed: ParsedStatement, statement: Unlisten, parameter_types: Sequence[SqlType]
) -> Command:
    """From COMMIT on it does not any more."""

    def run(parameters: Parameters) -> Result:
        channel = None if statement.channel is None else _cut(session, statement.channel)
        session.notifications.unlisten(channel)
        return Result(CommandTag("UNLISTEN"))

    return Command(run)


def bind_notify(
    session: StatementContext, parsed: ParsedStatement, statement: Notify, parameter_types: Sequence[SqlType]
) -> Command:
    """At COMMIT all listeners of the channel hear the payload. Raises 22023 for one of 8,000 bytes or more."""

    def run(parameters: Parameters) -> Result:
        session.notifications.notify(_cut(session, statement.channel), statement.payload)
        return Result(CommandTag("NOTIFY"))

    return Command(run)


def _cut(session: StatementContext, name: str) -> str:
    encoded = name.encode()
    if len(encoded) <= MOST_CHANNEL_BYTES:
        return name
    cut = encoded[:MOST_CHANNEL_BYTES].decode(errors="ignore")
    session.notice(f'identifier "{name}" will be truncated to "{cut}"', sqlstate="42622")
    return cut
