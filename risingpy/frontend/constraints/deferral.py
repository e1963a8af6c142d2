"""DEFERRABLE foreign and unique keys: what a transaction has put off to its end, and what SET CONSTRAINTS has said.

A deferrable key is looked at when rows are written, as any other. If that refuses a row, and the key is deferred, the
transaction goes on, and looks again before it commits (`deferred.py`): a row may have come, or gone, by then. If it
accepts the row, only this transaction can take away what the row refers to, or bring another row of its unique key,
and that is looked at in its turn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from risingpy.errors import SqlError
from risingpy.plan.catalog import Deferrable, ForeignKey

_REFUSED = ("23503", "23505")
Looked = TypeVar("Looked")


@dataclass(slots=True)
class Deferral:
    """Of one transaction. `put_off` are the ids of keys to be looked at again; `modes` is what SET CONSTRAINTS says."""

    put_off: set[int] = field(default_factory=set)
    modes: dict[int, bool] = field(default_factory=dict)
    mode_of_all: bool | None = None
    of_statement: set[int] | None = None  # put off to the end of the running statement, which has several parts

    def copy(self) -> Deferral:
        """What it is now, for a savepoint: going back undoes SET CONSTRAINTS, and what it has looked at is put off."""
        return replace(self, put_off=set(self.put_off), modes=dict(self.modes))

    def set_all(self, *, deferred: bool) -> None:
        """SET CONSTRAINTS ALL: what was said of single ones before does not count any more."""
        self.modes.clear()
        self.mode_of_all = deferred

    def is_deferred(self, key: Deferrable) -> bool:
        """Whether a row that the constraint refuses is put off."""
        if not key.deferrable:
            return False
        usual = key.deferred if self.mode_of_all is None else self.mode_of_all
        return self.modes.get(key.constraint_id, usual)

    def look(self, key: Deferrable, look: Callable[[], Looked], otherwise: Looked) -> Looked:
        """What `look` gives; `otherwise` if it refuses a row, and that is put off.

        At the end of a statement PostgreSQL looks at foreign keys, and at unique ones that are deferrable.
        """
        try:
            return look()
        except SqlError as error:
            waits_for_end = self.of_statement is not None and (isinstance(key, ForeignKey) or key.deferrable)
            if error.sqlstate not in _REFUSED or not (waits_for_end or self.is_deferred(key)):
                raise
            self.put_off.add(key.constraint_id)
            if self.of_statement is not None and not self.is_deferred(key):
                self.of_statement.add(key.constraint_id)
            return otherwise
