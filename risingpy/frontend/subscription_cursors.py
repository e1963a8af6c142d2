"""Subscription cursors: a client's places in subscriptions. A session keeps them until it closes them, or ends."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import takewhile

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.executors.epoch.time import COUNTER_BITS
from risingpy.frontend.results import ResultField
from risingpy.meta.cancellation import CancelFlag
from risingpy.meta.subscriptions.reader import FollowedSnapshot, SubscriptionReader
from risingpy.plan.catalog import FollowedForm
from risingpy.types import BIGINT, VARCHAR


def visible_fields(form: FollowedForm) -> tuple[ResultField, ...]:
    """The relation's columns that a client gets."""
    return tuple(ResultField(column.name, column.type) for column in form.columns if not column.hidden)


class SubscriptionCursor:
    """Rows that come are kept until the client has them: `next_rows` shows the next ones, and `advance` passes them."""

    def __init__(
        self,
        reader: SubscriptionReader,
        subscription_id: int,
        form: FollowedForm,
        after: int,
        snapshot: FollowedSnapshot | None = None,
    ) -> None:
        """Begins after the epoch `after`, with the rows of `snapshot` before that, if there is one."""
        self.subscription_id = subscription_id
        self.form = form
        self._reader = reader
        self.after = after  # the epoch up to which it has read
        self._snapshot = snapshot
        self._read: list[tuple[FollowedForm, pa.Table]] = []  # not passed yet, in order

    @property
    def fields(self) -> tuple[ResultField, ...]:
        """The columns of the next rows, as far as the client can know."""
        return (*visible_fields(self.form), ResultField("op", VARCHAR), ResultField("rw_timestamp", BIGINT))

    def next_rows(self, count: int, wait: float, cancelled: CancelFlag) -> pa.Table:
        """Up to `count` next rows, in the types of `fields`. If there are none, it waits for some up to `wait` seconds.

        If the next rows have other columns, none come, and `fields` are the new ones from then on.
        Raises what `SubscriptionReader.read` does.
        """
        end = time.monotonic() + wait
        while not self._read:
            left = max(end - time.monotonic(), 0.0)
            if not self._read_more(left, cancelled) and not left:
                return self._shown([])
        form = self._read[0][0]
        if visible_fields(form) != visible_fields(self.form):
            empty = self._shown([])
            self.form = form
            return empty
        while self._rows_read(form) < count and self._read_more(0.0, cancelled):
            pass
        same = takewhile(lambda part: part[0] == form, self._read)
        return self._shown([rows for _, rows in same]).slice(0, count)

    def advance(self, count: int) -> None:
        """The client has the next `count` rows."""
        while count:
            form, rows = self._read[0]
            passed = min(count, rows.num_rows)
            count -= passed
            self._read[:1] = [] if passed == rows.num_rows else [(form, rows.slice(passed))]

    def close(self) -> None:
        """The rows are no longer needed."""
        self._read.clear()
        snapshot, self._snapshot = self._snapshot, None
        if snapshot is not None:
            snapshot.batches.close()

    def _read_more(self, wait: float, cancelled: CancelFlag) -> bool:
        """Reads the next part; False if there is none."""
        if self._snapshot is not None:
            batch = next(self._snapshot.batches, None)
            if batch is not None:
                self._read.append((self._snapshot.form, batch))
                return True
            self._snapshot = None
        parts, self.after = self._reader.read(self.subscription_id, self.after, wait=wait, cancelled=cancelled)
        self._read += [(part.form, part.rows) for part in parts]
        return bool(parts)

    def _rows_read(self, form: FollowedForm) -> int:
        return sum(rows.num_rows for _, rows in takewhile(lambda part: part[0] == form, self._read))

    def _shown(self, parts: Sequence[pa.Table]) -> pa.Table:
        """The rows in the types of `fields`."""
        types = [field.type.arrow for field in self.fields]
        if not parts:
            return pa.table([pa.array([], type_) for type_ in types], names=[f"c{i}" for i in range(len(types))])
        rows = pa.concat_tables(parts)
        times = pc.shift_right(rows.column("epoch"), COUNTER_BITS)
        columns = [*rows.columns[2:], rows.column("word"), times]
        return pa.table(columns, names=[f"c{i}" for i in range(len(types))])


class SubscriptionCursors:
    """A session's subscription cursors, by name."""

    def __init__(self) -> None:
        self._cursors: dict[str, SubscriptionCursor] = {}

    def get(self, name: str) -> SubscriptionCursor | None:
        return self._cursors.get(name)

    def named(self) -> Mapping[str, SubscriptionCursor]:
        """All of them."""
        return self._cursors

    def add(self, name: str, cursor: SubscriptionCursor) -> None:
        """Adds a cursor under a name that none has."""
        self._cursors[name] = cursor

    def close(self, name: str) -> bool:
        """Closes a cursor; False if there is none of that name."""
        cursor = self._cursors.pop(name, None)
        if cursor is not None:
            cursor.close()
        return cursor is not None

    def close_all(self) -> None:
        """Closes all of them."""
        for name in list(self._cursors):
            self.close(name)
