"""DISCARD, and other statements by which drivers reset a connection."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import Discard, NoOperation, ParsedStatement
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.types import SqlType


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: Discard, parameter_types: Sequence[SqlType]
) -> Command:
    """DISCARD ALL closes cursors, forgets prepared statements, gives up advisory locks and resets settings.

    It raises 25001 in a transaction. DISCARD SEQUENCES forgets what currval and lastval give, DISCARD TEMP drops
    temporary relations. Plans need none.
    """

    def run(parameters: Parameters) -> Result:
        if statement.what.lower() == "all":
            session.scope.refuse_block("DISCARD ALL")
            session.portals.close_all()
            session.subscription_cursors.close_all()
            session.statements.clear()
            session.sequences.forget()
            session.advisory.unlock_all()
            session.notifications.unlisten(None)  # as its statement ends
            session.temporaries.discard()
            session.settings.reset("all")
            session.settings.reset("session_authorization")  # and with it the role
        if statement.what.lower() == "sequences":
            session.sequences.forget()
        if statement.what.lower() in ("temp", "temporary"):
            session.temporaries.discard()
        return Result(CommandTag(f"DISCARD {statement.what.upper()}"))

    return Command(run)


def bind_no_operation(
    session: StatementContext, parsed: ParsedStatement, statement: NoOperation, parameter_types: Sequence[SqlType]
) -> Command:
    """Answers with the statement's tag and changes nothing."""
    return Command(lambda parameters: Result(CommandTag(statement.tag)))
