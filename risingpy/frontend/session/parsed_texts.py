"""The statements of texts that a client has sent in Parse before: many drivers send Parse again each time.

To read and bind a text takes ten times as long as to run a short statement. A statement is the same as before while the
session has its command for the catalog and the settings of now (`Commands.known`).
"""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.frontend.results import Prepared
from risingpy.frontend.session.commands import Commands

LONGEST_TEXT = 2_000  # characters
MOST_TEXTS = 256  # the oldest is forgotten first


class ParsedTexts:
    """Of one session, for the thread that serves it."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands
        self._known: dict[tuple[str, tuple[int, ...]], Prepared] = {}

    def find(self, text: str, oids: Sequence[int]) -> Prepared | None:
        """What the text means with parameters of these types, if it means what it did."""
        prepared = self._known.get((text, tuple(oids)))
        if prepared is None or prepared.statement is None:
            return None
        command = self._commands.known(prepared.statement, prepared.declared)
        is_same = command is not None and (command.parameter_types, command.fields) == (
            prepared.parameter_types,
            prepared.fields,
        )
        return prepared if is_same else None

    def keep(self, text: str, oids: Sequence[int], prepared: Prepared) -> None:
        """The text has been read and bound."""
        if len(text) > LONGEST_TEXT:
            return
        key = text, tuple(oids)
        self._known.pop(key, None)
        if len(self._known) >= MOST_TEXTS:
            del self._known[next(iter(self._known))]
        self._known[key] = prepared
