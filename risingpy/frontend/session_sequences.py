"""What a session does with sequences: takes numbers, remembers the last ones, and puts sequences elsewhere."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from risingpy.errors import InsufficientPrivilege, SqlError, UndefinedColumn, UndefinedTable, WrongObjectType
from risingpy.frontend.session_identity import SessionIdentity
from risingpy.frontend.system_catalog.names import ObjectNames
from risingpy.functions.topics.object_names import quote_name
from risingpy.meta.writing.sequence_counters import SequenceCounters, SequencePosition
from risingpy.plan.catalog import Catalog, NumberSequence
from risingpy.plan.catalog.acl import Privilege
from risingpy.plan.catalog.rights import privileges_of, securable

_READS = Privilege.USAGE | Privilege.SELECT


class SessionSequences:
    """A session's `Sequences`: see `statement_limits.py`. `check_writes` raises 25006 in a READ ONLY transaction."""

    def __init__(
        self,
        counters: SequenceCounters,
        catalog: Callable[[], Catalog],
        names: Callable[[], ObjectNames],
        identity: SessionIdentity,
        check_writes: Callable[[str], None],
    ) -> None:
        self._counters = counters
        self._catalog = catalog
        self._names = names
        self._identity = identity
        self._check_writes = check_writes
        self._given: dict[int, int] = {}  # by sequence, the last number that this session got
        self._newest: int | None = None  # the sequence of which it got the last one

    def next(self, oid: int, count: int, checked: bool) -> NDArray[np.int64]:
        """Raises SqlError: 2200H at the end of the sequence, 42501 if it is `checked` and the role may not."""
        sequence = self._found(oid)
        if checked:
            self._check(sequence, Privilege.USAGE | Privilege.UPDATE)
            self._check_writes("nextval()")
        numbers = self._counters.next(sequence, count)
        self._given[oid], self._newest = int(numbers[-1]), oid
        return numbers

    def can_give(self, oid: int, count: int) -> bool:
        """Whether `next` need not wait for the disk."""
        sequence = self._catalog().relations.get(oid)
        return isinstance(sequence, NumberSequence) and self._counters.can_give(sequence.counter_id, count)

    def current(self, oid: int) -> int:
        """Raises SqlError (55000) if this session has not taken a number yet."""
        sequence = self._found(oid)
        self._check(sequence, _READS)
        if oid not in self._given:
            message = f'currval of sequence "{sequence.name}" is not yet defined in this session'
            raise SqlError(message, sqlstate="55000")
        return self._given[oid]

    def last(self) -> int:
        """Likewise, of whichever sequence it took the last number."""
        newest = None if self._newest is None else self._catalog().relations.get(self._newest)
        if not isinstance(newest, NumberSequence):
            raise SqlError("lastval is not yet defined in this session", sqlstate="55000")
        self._check(newest, _READS)
        return self._given[newest.relation_id]

    def put(self, oid: int, value: int, called: bool) -> int:
        """setval. Raises SqlError (22003) for a number out of the sequence's bounds."""
        sequence = self._found(oid)
        self._check(sequence, Privilege.UPDATE)
        self._check_writes("setval()")
        least, greatest = sequence.counting.minimum, sequence.counting.maximum
        if not least <= value <= greatest:
            message = f'setval: value {value} is out of bounds for sequence "{sequence.name}" ({least}..{greatest})'
            raise SqlError(message, sqlstate="22003")
        self._counters.put(sequence, SequencePosition(value, called))
        if called:
            self._given[oid] = value
        return value

    def position(self, oid: int) -> tuple[int, bool]:
        """The sequence's last number, and whether it was given already."""
        position = self._counters.position(self._found(oid))
        return position.last, position.called

    def of_column(self, table: str, column: str) -> str | None:
        """pg_get_serial_sequence. Raises UndefinedTable, or UndefinedColumn."""
        catalog = self._catalog()
        relation = catalog.relations.get(self._names().oid("regclass", table))
        if relation is None:
            return None  # it is one of the system's
        found = next((each for each in relation.columns if each.name == column and not each.hidden), None)
        if found is None:
            raise UndefinedColumn(f'column "{column}" of relation "{relation.name}" does not exist')
        for each in catalog.sequences_of(relation.relation_id):
            if each.owned_by is not None and each.owned_by.column_id == found.column_id:
                return f"{quote_name(each.schema_name)}.{quote_name(each.name)}"
        return None

    def forget(self) -> None:
        """DISCARD SEQUENCES: this session has taken no number."""
        self._given.clear()
        self._newest = None

    def _found(self, oid: int) -> NumberSequence:
        relation = self._catalog().relations.get(oid)
        if isinstance(relation, NumberSequence):
            return relation
        if relation is None:
            raise UndefinedTable(f"could not open relation with OID {oid}", sqlstate="XX000")
        raise WrongObjectType(f'"{relation.name}" is not a sequence')

    def _check(self, sequence: NumberSequence, wanted: Privilege) -> None:
        catalog = self._catalog()
        if not privileges_of(catalog, self._identity.current_id, securable(catalog, sequence)) & wanted:
            raise InsufficientPrivilege(f"permission denied for sequence {sequence.name}")
