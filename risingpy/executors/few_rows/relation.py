"""Materialize of a few rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from risingpy.executors.change_chunk import DELETE, INSERT
from risingpy.executors.epoch.operator_tree import FragmentEpoch, NotFew
from risingpy.executors.few_rows.chunk import FewRows, OpRow
from risingpy.storage.codec.python_rows import LongRow, PythonRows
from risingpy.storage.codec.python_values import PythonRow
from risingpy.storage.engine.few_writes import NOT_KNOWN
from risingpy.storage.engine.state_table import StateTable

_Stored = tuple[int, PythonRow, bytes, bytes]  # op, row, key, value


@dataclass(frozen=True, slots=True)
class FewMaterialize:
    """Stores a consolidated delta, as `MaterializeExecutor` does."""

    codec: PythonRows

    def __call__(self, epoch: FragmentEpoch, inputs: Sequence[FewRows]) -> FewRows:
        (delta,) = inputs
        _store_changes(self.codec, epoch.transaction.state_table(self.codec.schema), delta.rows)
        return delta


@dataclass(frozen=True, slots=True)
class FewOverwrite:
    """Stores a table's log, as `OverwriteMaterializeExecutor` does."""

    codec: PythonRows
    number: int | None
    """The position of the rows' hidden number, if that is the key."""

    def __call__(self, epoch: FragmentEpoch, inputs: Sequence[FewRows]) -> FewRows:
        (logged,) = inputs
        codec, table = self.codec, epoch.transaction.state_table(self.codec.schema)
        if self.number is not None and _are_new(logged.rows, self.number):
            _store_changes(codec, table, logged.rows)
            return logged
        last = {each[2]: each for each in _encoded(codec, logged.rows)}  # the last write of a key wins
        gone: list[OpRow] = []
        came: list[OpRow] = []
        for (op, row, key, value), before in zip(last.values(), table.get_stored(list(last)), strict=True):
            old = None if before is None else codec.row(row, before)
            if op == INSERT and old != row:
                came.append((INSERT, row))
                table.put_stored(key, value, before)
            elif op == DELETE and old is not None:
                table.put_stored(key, None, before)
            else:
                continue
            if old is not None:
                gone.append((DELETE, old))
        return FewRows(logged.types, gone + came)


def _are_new(rows: list[OpRow], number: int) -> bool:
    """See `materialize._are_new`."""
    numbers = {row[number] for op, row in rows if op == INSERT}
    return len(numbers) == len(rows) and all(isinstance(each, int) and each >= 0 for each in numbers)


def _encoded(codec: PythonRows, rows: list[OpRow]) -> list[_Stored]:
    try:
        keys = codec.keys([row for _, row in rows])
        encode = codec.value
        return [(op, row, key, encode(row) if op == INSERT else b"") for (op, row), key in zip(rows, keys, strict=True)]
    except LongRow as error:
        raise NotFew from error


def _store_changes(codec: PythonRows, table: StateTable, rows: list[OpRow]) -> None:
    """Writes a change of what the table holds: a row that comes has a new key, or follows the one that goes."""
    stored = _encoded(codec, rows)
    for op, _, key, _ in stored:
        if op == DELETE:
            table.put_stored(key, None, NOT_KNOWN)
    for op, _, key, value in stored:
        if op == INSERT:
            table.put_stored(key, value, None)
