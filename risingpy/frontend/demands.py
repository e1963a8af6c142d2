"""What a statement must be allowed to do, asked twice: before it begins, and of the state that its change changes.

Between the two another session may REVOKE, ALTER … OWNER TO, or put another object in a name's place.
"""

from __future__ import annotations

from collections.abc import Callable

from risingpy.meta.schema.demands import Demand
from risingpy.meta.state import MetaState


class Demands:
    """Those of the statement that a session runs now. For the session's own thread."""

    def __init__(self, newest: Callable[[], MetaState]) -> None:
        self._newest = newest
        self._asked: tuple[Demand, ...] = ()

    @property
    def asked(self) -> tuple[Demand, ...]:
        """What has been asked since `begin`; a change of the schema asks it again."""
        return self._asked

    def begin(self, asked: tuple[Demand, ...] = ()) -> None:
        """Another statement is bound or run; `asked` was asked when it was bound."""
        self._asked = asked

    def ask(self, demand: Demand) -> None:
        """Asks of the newest state. Raises what `demand` raises."""
        demand(self._newest())
        self._asked = (*self._asked, demand)
