"""What a session knows of statements that come again, so that they need no thread, or no parser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from risingpy.frontend.session.commands import Commands
from risingpy.frontend.session.long_inserts import LongInserts
from risingpy.frontend.session.parsed_texts import ParsedTexts
from risingpy.frontend.session.repeated_writes import RepeatedWrites
from risingpy.frontend.session.short_control import ShortControls
from risingpy.frontend.session.short_reads import ShortReads
from risingpy.frontend.session.short_writes import ShortWrites
from risingpy.frontend.session.statement_clock import StatementClock

if TYPE_CHECKING:
    from risingpy.frontend.session.context import SessionContext


class ShortStatements:
    """All of one session."""

    def __init__(self, context: SessionContext, commands: Commands, clock: StatementClock) -> None:
        self.reads = ShortReads(context, commands, clock)
        self.writes = ShortWrites(context, commands, clock)
        self.controls = ShortControls(context, clock)
        self.parsed = ParsedTexts(commands)
        self.repeated = RepeatedWrites(context, commands, clock)
        self.long_inserts = LongInserts(context, commands, clock)
