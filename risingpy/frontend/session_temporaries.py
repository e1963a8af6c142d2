"""The temporary relations of one session: their schema, what the end of a transaction does to them, and their end.

The schema pg_temp_N is made with the first of them. It is in the catalog as every other, so that all that works on a
table works on a temporary one; other sessions see that it is there, and may not read it. A server that is killed drops
it at its next start, before it serves anybody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

from risingpy.errors import CannotConnectNow, FeatureNotSupported
from risingpy.frontend.parser.ast_parts import OnCommit
from risingpy.frontend.transaction import Transaction
from risingpy.meta.cancellation import Cancelled
from risingpy.meta.database import Database
from risingpy.meta.schema.objects.temporary import (
    with_temporary_schema,
    without_temporary_relations,
    without_temporary_schema,
)
from risingpy.plan.catalog import OWN_TEMPORARY_SCHEMA, is_temporary_schema, temporary_schema


class SessionTemporaries:
    """For the session's own thread. `database` is the one that it is connected to now."""

    def __init__(self, database: Callable[[], Database], transaction: Transaction) -> None:
        self._database = database
        self._transaction = transaction
        self._number: int | None = None
        self._placed: set[int] = set()  # the databases in which this session, and not an earlier one, has the schema
        self._relations: set[int] = set()  # all that the session has made; some of them are gone
        self._made: list[int] = []  # by the open transaction, in their order
        self._on_commit: dict[int, OnCommit] = {}  # by relation; none of those whose rows stay

    @property
    def are_none(self) -> bool:
        """Whether the session has made none that is there."""
        return not self._relations

    @property
    def schema(self) -> str | None:
        """The session's temporary schema, if it has one in its database."""
        if self._number is None or self._database().database_id not in self._placed:
            return None
        name = temporary_schema(self._number)
        return name if name in self._database().reads.catalog.schemas else None

    def place(self, cancelled: Cancelled = None) -> str:
        """The session's temporary schema, which is made if it has none."""
        database = self._database()
        if self._number is None:
            self._number = database.sessions.take_number()
        name = temporary_schema(self._number)
        if self.schema is None:  # what the catalog shows may be an earlier session's, of which the drop is on its way
            database.ddl.change(lambda state: with_temporary_schema(state, name), cancelled)
            self._placed.add(database.database_id)
        return name

    def searched(self, path: Iterable[str]) -> tuple[str, ...]:
        """A search path with this session's temporary schema: first, unless it is named; and with no other one's."""
        own = self.schema
        named = (own if each == OWN_TEMPORARY_SCHEMA else each for each in path)
        found = [each for each in named if each is not None and (each == own or not is_temporary_schema(each))]
        return tuple(found) if own is None or own in found else (own, *found)

    def made(self, relation_id: int, on_commit: OnCommit = OnCommit.PRESERVE_ROWS) -> None:
        """A temporary relation is there. A transaction that is rolled back takes it along."""
        self._relations.add(relation_id)
        self._made.append(relation_id)
        if on_commit is not OnCommit.PRESERVE_ROWS:
            self._on_commit[relation_id] = on_commit

    def mark(self) -> Callable[[], None]:
        """A function that drops, later in this transaction, what was made after this call."""
        before = len(self._made)

        def go_back() -> None:
            gone, self._made = self._made[before:], self._made[:before]
            self._drop(gone)

        return go_back

    def before_commit(self) -> None:
        """The writes of the transaction are about to be logged: those to tables that lose them at once are forgotten.

        So a table ON COMMIT DELETE ROWS never has a committed row, and a table may be dropped by the transaction that
        has filled it. Raises as `check_keys` does.
        """
        if not self._relations:
            return
        self.check_keys()
        dropped = self._relations - self._database().reads.catalog.relations.keys()
        self._transaction.forget_rows_of({*self._on_commit, *dropped})
        self._relations -= dropped

    def check_keys(self) -> None:
        """Raises FeatureNotSupported if a table refers to one ON COMMIT DELETE ROWS, and its own rows stay."""
        catalog = self._database().reads.catalog
        emptied = {key for key, action in self._on_commit.items() if action is OnCommit.DELETE_ROWS}
        for key in emptied & catalog.relations.keys():
            for child, _ in catalog.foreign_keys_to(key):
                if self._on_commit.get(child.relation_id) is not OnCommit.DELETE_ROWS:
                    detail = f'Table "{child.name}" references "{catalog.relations[key].name}", '
                    detail += "but they do not have the same ON COMMIT setting."
                    raise FeatureNotSupported("unsupported ON COMMIT and foreign key combination", detail=detail)

    def end_transaction(self, *, committed: bool) -> None:
        """The transaction, if there was one, has ended."""
        if not self._made and not self._on_commit:
            return
        made, self._made = self._made, []
        gone = [key for key, action in self._on_commit.items() if action is OnCommit.DROP]
        self._drop(gone if committed else dict.fromkeys([*gone, *made]))

    def discard(self) -> None:
        """DISCARD TEMP: drops all of them."""
        self._made, self._on_commit = [], {}
        name = self.schema
        if name is not None:
            self._database().ddl.change(lambda state: without_temporary_schema(state, name))

    def close(self) -> None:
        """The session ends. They are dropped soon; the next session with the same number makes its own after that."""
        if self._number is None:
            return
        name, database = temporary_schema(self._number), self._database()
        with suppress(CannotConnectNow):  # the next start drops them
            database.ddl.change_soon(lambda state: without_temporary_schema(state, name))
        database.sessions.give_back(self._number)
        self._number = None

    def _drop(self, relation_ids: Iterable[int]) -> None:
        gone = tuple(relation_ids)
        if not gone:
            return
        for each in gone:
            self._on_commit.pop(each, None)
        known = self._database().reads.catalog.relations
        left = [each for each in gone if each in known]
        if left:
            self._database().ddl.change(lambda state: without_temporary_relations(state, left))
