"""Where sequences stand. A number is given once, even if the server is killed in between."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from risingpy.errors import SqlError
from risingpy.plan.catalog import Catalog, Counting, NumberSequence, Table
from risingpy.storage.engine.meta_store import MetaStore, MetaTransaction

Numbers = NDArray[np.int64]
PREFIX = "sequence/"  # of the keys, which end with the id of the sequence's counter


@dataclass(frozen=True, slots=True)
class SequencePosition:
    """The last number that a sequence gave; one that is not `called` gives `last` itself next."""

    last: int
    called: bool


@dataclass(slots=True)
class _Counter:
    """`reserved`: so many numbers after the position may be given before the store has to know of it."""

    position: SequencePosition
    reserved: int = 0


class SequenceCounters:
    """The positions of all sequences, in memory, and ahead of them in the meta store. For all threads.

    Numbers are reserved in the store in blocks, so that only one in `BLOCK` numbers pays for a commit. If the server
    dies, the rest of a block is never given. What a transaction took stays taken if it rolls back, as in PostgreSQL.
    """

    BLOCK = 1 << 10

    def __init__(self, store: MetaStore) -> None:
        self._store = store
        self._guard = threading.Lock()
        self._counters: dict[int, _Counter] = {}

    def next(self, sequence: NumberSequence, count: int) -> Numbers:
        """The next `count` numbers. Raises SqlError (2200H) if there are fewer, and takes none then."""
        with self._guard:
            counter = self._counter(sequence)
            numbers = following(sequence.counting, counter.position, count)
            if len(numbers) < count:
                raise _at_the_end(sequence)
            self._move(sequence, counter, SequencePosition(int(numbers[-1]), called=True), count)
            return numbers

    def can_give(self, counter_id: int, count: int) -> bool:
        """Whether so many numbers can be given without the disk, unless others take them first."""
        counter = self._counters.get(counter_id)
        return counter is not None and counter.reserved >= count

    def position(self, sequence: NumberSequence) -> SequencePosition:
        """Where the sequence stands."""
        with self._guard:
            return self._counter(sequence).position

    def put(self, sequence: NumberSequence, position: SequencePosition) -> None:
        """Puts the sequence somewhere, for good when this returns."""
        with self._guard:
            counter = self._counter(sequence)
            self._store_position(sequence, position)
            counter.position, counter.reserved = position, 0

    def pass_by(self, sequence: NumberSequence, number: int) -> None:
        """A row was given this number: from now on, the sequence gives only numbers beyond."""
        counting = sequence.counting
        with self._guard:
            counter = self._counter(sequence)
            last, step = counter.position.last, counting.increment
            ahead = (number - last) // step
            if counting.cycles or ahead < 0 or (ahead == 0 and counter.position.called):
                return
            self._move(sequence, counter, SequencePosition(last + ahead * step, called=True), ahead + 1)

    def pass_rows(self, catalog: Catalog, table: Table, columns: Sequence[pa.Array | pa.ChunkedArray]) -> None:
        """New rows (all columns) of a table: moves the sequences of its identities past the numbers in them.

        So no new row replaces one of them.
        """
        for index, column in enumerate(table.columns):
            for sequence_id in column.sequences if column.identity is None else (column.identity.sequence,):
                sequence = catalog.relations.get(sequence_id)
                if isinstance(sequence, NumberSequence) and sequence.owned_by is not None:
                    furthest = (pc.max if sequence.counting.increment > 0 else pc.min)(columns[index]).as_py()
                    if isinstance(furthest, int):
                        self.pass_by(sequence, furthest)

    def keep_only(self, catalog: Catalog) -> None:
        """Forgets sequences that were dropped, and where transactions that were undone had restarted some."""
        counters = {each.counter_id for each in catalog.relations.values() if isinstance(each, NumberSequence)}
        with self._guard, self._store.transaction() as txn:
            for key, _ in txn.scan(PREFIX):
                if int(key.removeprefix(PREFIX)) not in counters:
                    txn.delete(key)

    def close(self) -> None:
        """Gives the rest of the blocks back."""
        with self._guard, self._store.transaction() as txn:
            for counter_id, counter in self._counters.items():
                if counter.reserved:
                    store_position(txn, counter_id, counter.position)

    def _counter(self, sequence: NumberSequence) -> _Counter:
        counter = self._counters.get(sequence.counter_id)
        if counter is None:
            with self._store.transaction() as txn:
                stored = txn.get(f"{PREFIX}{sequence.counter_id}")
            position = SequencePosition(sequence.counting.start, called=False)
            if stored is not None:
                last, called = json.loads(stored)
                position = SequencePosition(last, called)
            counter = self._counters[sequence.counter_id] = _Counter(position)
        return counter

    def _move(self, sequence: NumberSequence, counter: _Counter, position: SequencePosition, count: int) -> None:
        if count > counter.reserved:
            ahead = following(sequence.counting, position, self.BLOCK)
            furthest = SequencePosition(int(ahead[-1]), called=True) if len(ahead) else position
            self._store_position(sequence, furthest)
            counter.reserved = count + len(ahead)
        counter.position, counter.reserved = position, counter.reserved - count

    def _store_position(self, sequence: NumberSequence, position: SequencePosition) -> None:
        with self._store.transaction() as txn:
            store_position(txn, sequence.counter_id, position)


def store_position(txn: MetaTransaction, counter_id: int, position: SequencePosition) -> None:
    """Writes where a sequence stands, or may stand at most."""
    txn.put(f"{PREFIX}{counter_id}", json.dumps([position.last, position.called]).encode())


def following(counting: Counting, position: SequencePosition, count: int) -> Numbers:
    """The next `count` numbers after a position; fewer if the sequence ends before."""
    step = counting.increment
    first = position.last + step if position.called else position.last
    end, begin = (counting.maximum, counting.minimum) if step > 0 else (counting.minimum, counting.maximum)
    left = max((end - first) // step + 1, 0)  # until the sequence ends or begins again
    numbers = _steps(first, step, min(left, count))
    if not counting.cycles or count <= left:
        return numbers
    round_ = _steps(begin, step, (end - begin) // step + 1 if (end - begin) // step < count else count)
    return np.concatenate([numbers, np.resize(round_, count - left)])


def _steps(first: int, step: int, count: int) -> Numbers:
    if not count:
        return np.empty(0, np.int64)
    if abs(step) >= 1 << 63:  # it does not fit twice between the bounds
        return np.array([first + step * place for place in range(count)], np.int64)
    return np.int64(first) + np.int64(step) * np.arange(count, dtype=np.int64)


def _at_the_end(sequence: NumberSequence) -> SqlError:
    counting = sequence.counting
    word, end = ("maximum", counting.maximum) if counting.increment > 0 else ("minimum", counting.minimum)
    return SqlError(f'nextval: reached {word} value of sequence "{sequence.name}" ({end})', sqlstate="2200H")
