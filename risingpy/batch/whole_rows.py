"""All columns of one row of a table by its primary key, as datums: committed, or in a chunk of the log. Without Arrow.

WholeRows(t)   =>   key (7,) → key bytes → one lookup in LMDB → [b"\\7\\0\\0\\0", b"text", None]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa

from risingpy.batch.point_reads import Datums, PointRead, read_of_columns
from risingpy.plan.catalog import Table
from risingpy.storage.codec.datum_columns import datum_of, has_datums
from risingpy.storage.codec.single_rows import key_datum
from risingpy.storage.engine.read_views import ReadView
from risingpy.types import SqlType, TypeKind

_MOMENTS = {TypeKind.TIMESTAMP: datetime(1970, 1, 1), TypeKind.TIMESTAMPTZ: datetime(1970, 1, 1, tzinfo=UTC)}
_SECONDS_OF_DAY = 86_400
_MICROSECONDS = 1_000_000
_Writer = Callable[[object], bytes | None]
_INTEGERS = (TypeKind.SMALLINT, TypeKind.INTEGER, TypeKind.BIGINT)


@dataclass(frozen=True, slots=True)
class WholeRows:
    """Finds rows of a table. Keys are in the order of its primary key."""

    _read: PointRead
    _places: tuple[int, ...]  # in the primary key, of the columns of the storage key

    def committed(self, view: ReadView, key: Sequence[object]) -> Datums | None:
        """The committed row; None if there is none. Raises as `PointRead.row` does."""
        return self._read.row(view, [key[place] for place in self._places])

    def logged(self, chunk: pa.Table, place: int) -> Datums:
        """A row of a change chunk of the table."""
        return self._read.logged_row(chunk, place)


def whole_rows(table: Table) -> WholeRows | None:
    """Those of a table; None if its key or its columns are not of ordinary types, or were altered."""
    stored = [part.index for part in table.table.key]
    if sorted(stored) != sorted(table.primary_key) or not all(has_datums(each.type.arrow) for each in table.columns):
        return None
    read = read_of_columns(table, range(len(table.columns)))
    return None if read is None else WholeRows(read, tuple(table.primary_key.index(index) for index in stored))


def plain_value(type_: SqlType) -> Callable[[bytes], object] | None:
    """A function that gives a datum's value, for the types whose values `plain_rewrite` computes."""
    if type_.system:
        return None
    if type_.kind in _INTEGERS:
        return lambda datum: int.from_bytes(datum, "little", signed=True)
    if type_.kind is TypeKind.BOOLEAN:
        return lambda datum: datum != b"\0"
    return bytes.decode if type_.kind is TypeKind.VARCHAR else None


def datum_writer(type_: SqlType) -> Callable[[object], bytes | None] | None:
    """A function that makes a datum of a value, as Arrow takes it; None for nested types.

    What it raises, Arrow's errors and OverflowError, a column of the type cannot have.
    """
    if plain_value(type_) is not None:
        return lambda value: plain_datum(value, type_)
    if not has_datums(type_.arrow):
        return None

    def by_arrow(value: object) -> bytes | None:
        return None if value is None else datum_of(pa.array([value], type_.arrow), 0)

    return _moment_writer(type_, by_arrow) if type_.kind in _MOMENTS and not type_.system else by_arrow


def _moment_writer(type_: SqlType, otherwise: _Writer) -> _Writer:
    """For timestamps: the microseconds since 1970. Values with a zone where the type has none are left to Arrow."""
    begin = _MOMENTS[type_.kind]

    def moment(value: object) -> bytes | None:
        if type(value) is not datetime or value.tzinfo is not begin.tzinfo:
            return otherwise(value)
        passed = value - begin
        seconds = passed.days * _SECONDS_OF_DAY + passed.seconds
        return (seconds * _MICROSECONDS + passed.microseconds).to_bytes(8, "little", signed=True)

    return moment


def plain_datum(value: object, type_: SqlType) -> bytes | None:
    """The datum of such a value. OverflowError for a number that the type has not."""
    return None if value is None else key_datum(value, type_)
