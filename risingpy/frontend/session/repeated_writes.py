"""Statements that a client executes many times in one series, and that write all their rows at once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from risingpy.errors import SqlError
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import Insert
from risingpy.frontend.results import CommandTag, Prepared
from risingpy.frontend.session.commands import Commands
from risingpy.frontend.session.statement_clock import StatementClock

if TYPE_CHECKING:
    from risingpy.frontend.session.context import SessionContext

_LOGGED = ("mod", "all")


class RepeatedWrites:
    """Of one session."""

    def __init__(self, context: SessionContext, commands: Commands, clock: StatementClock) -> None:
        self._context = context
        self._commands = commands
        self._clock = clock

    def most(self, prepared: Prepared) -> int:
        """See `Session.most_repeated`."""
        command, settings = self._command(prepared), self._context.settings
        if command is None or command.repeated is None or settings.get("log_statement") in _LOGGED:
            return 0
        return 0 if int(settings.get("log_min_duration_statement")) >= 0 else command.repeated.most

    def execute(self, prepared: Prepared, executions: Sequence[Parameters]) -> CommandTag | None:
        """See `Session.execute_repeated`."""
        began, context = time.perf_counter(), self._context
        command = self._command(prepared)
        if command is None or command.repeated is None:
            return None
        try:
            with context.phase():
                context.scope.begin_statement(context.database, commits_so_far=False, changes_schema=False)
                context.demands.begin(command.demands)
                tag = command.repeated.run(executions)
        except SqlError:  # whose it is, and whether it is one for a single execution, `execute` finds out
            return None
        finally:
            context.end_statement()
        if tag is not None:
            self._clock.ran(Insert.__name__, time.perf_counter() - began, len(executions))
        return tag

    def _command(self, prepared: Prepared) -> Command | None:
        statement = prepared.statement
        command = None if statement is None else self._commands.known(statement, prepared.declared)
        return command if command is not None and command.parameter_types == prepared.parameter_types else None
