"""The tables that take the stream's changes, and what the stream's columns are in each of them.

Upstream, a table or a column may be renamed, and columns that nobody copies may come and go: the copy goes on. What
would damage the copy silently stops it instead. There are two ways to notice an alteration. A Relation message comes
before the first row after it, so nothing is read wrongly; but it has no columns' numbers, and does not come at all if
there are no rows. So the catalog is asked, too. It may be ahead of the stream, which is why a message is understood in
two ways: as the table was, and as it is now.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from risingpy.connectors.postgres_cdc.pgoutput import Relation
from risingpy.connectors.postgres_cdc.table_shapes import (
    CurrentTable,
    ShapeColumn,
    TableShape,
    added_columns,
    current_tables,
    difference,
    newly_nullable,
    shape_of_text,
)
from risingpy.connectors.postgres_cdc.upstream_connection import Connection
from risingpy.connectors.pushed import PushedTable


@dataclass(slots=True)
class FollowedTable:
    """A copy. `numbers` are those of its columns upstream; `places`, where they stand in the stream's tuples now.

    `created` is the table when the copy was made, `known` when the stream last told of it.
    """

    table: PushedTable
    created: TableShape
    known: TableShape
    numbers: tuple[int, ...]
    places: tuple[int, ...] = ()
    note: str | None = None


class FollowedTables:
    """For the connector's thread. It asks on a connection that does nothing else."""

    def __init__(self, connection: Connection, publication: str, tables: Iterable[PushedTable]) -> None:
        self._connection = connection
        self._publication = publication
        self._by_oid: dict[int, list[FollowedTable]] = {}
        self._unknown: dict[int, str] = {}
        tables = list(tables)
        names = [table.upstream for table in tables if not table.shape]
        named = {each.shape.name: each.shape for each in self._current(names=names)} if names else {}
        for table in tables:
            self._follow(table, shape_of_text(table.shape) if table.shape else named.get(table.upstream))

    def of(self, oid: int) -> Sequence[FollowedTable]:
        """The copies of a table."""
        return self._by_oid.get(oid, ())

    def refresh(self) -> dict[int, str]:
        """By id, why copies cannot follow their tables as these are now. Columns that were added become notes."""
        now = {each.shape.oid: each for each in self._current(oids=list(self._by_oid))}
        found = dict(self._unknown)
        for oid, copies in self._by_oid.items():
            for copy in copies:
                reason = difference(copy.table, copy.numbers, copy.created, now.get(oid))
                reason = reason or newly_nullable(copy.table, copy.numbers, copy.created, now[oid].shape)
                if reason is not None:
                    found[copy.table.table_id] = reason
                elif copy.table.all_columns:
                    copy.note = _note(added_columns(copy.created, now[oid].shape))
        return found

    def notes(self) -> Mapping[int, str]:
        """By id, what copies that go on lack."""
        copies = (copy for of_table in self._by_oid.values() for copy in of_table)
        return {copy.table.table_id: copy.note for copy in copies if copy.note is not None}

    def take(self, relation: Relation, copies: Sequence[FollowedTable]) -> dict[int, str]:
        """The stream's tuples are of this `relation` from now on: by id, why some of its `copies` cannot take them."""
        now = next(iter(self._current(oids=[relation.oid])), None)
        found = {}
        for copy in copies:
            reason = _taken(copy, relation, now)
            if reason is not None:
                found[copy.table.table_id] = reason
        return found

    def _current(self, *, oids: Sequence[int] = (), names: Sequence[str] = ()) -> Iterable[CurrentTable]:
        return current_tables(self._connection, self._publication, oids=oids, names=names)

    def _follow(self, table: PushedTable, shape: TableShape | None) -> None:
        if shape is None:
            self._unknown[table.table_id] = f'table "{table.upstream}" does not exist upstream'
            return
        by_name = {column.name: column.number for column in shape.columns}
        missing = [column.name for column in table.columns if column.name not in by_name]
        if missing:
            self._unknown[table.table_id] = f'column "{missing[0]}" does not exist upstream'
            return
        numbers = tuple(by_name[column.name] for column in table.columns)
        self._by_oid.setdefault(shape.oid, []).append(FollowedTable(table, shape, shape, numbers))


def _taken(copy: FollowedTable, relation: Relation, now: CurrentTable | None) -> str | None:
    """Finds the places of the copy's columns in the relation's tuples; or why there is no certain answer."""
    sent = relation.sent
    ways = {
        _places(copy, columns): columns
        for columns in (_as_before(copy.known, sent), _as_now(now, sent))
        if columns is not None
    }
    if len(ways) != 1:
        reason = None if now is None else difference(copy.table, copy.numbers, copy.created, now)
        return reason or f'table "{relation.name}" was altered upstream more than once meanwhile'
    [(places, columns)] = ways.items()
    shape = TableShape(relation.oid, relation.name, columns, copy.known.key)
    reason = difference(copy.table, copy.numbers, copy.created, CurrentTable(shape, True, relation.identity, 0))
    if reason is not None:
        return reason
    key = {number for number, place in zip(copy.numbers, places, strict=True) if place in relation.key}
    if relation.identity != "f" and (key != set(copy.created.key) or len(key) < len(relation.key)):
        return f'the primary key or the replica identity of table "{relation.name}" was changed upstream'
    copy.known, copy.places = shape, places
    return None


def _places(copy: FollowedTable, columns: Sequence[ShapeColumn]) -> tuple[int, ...]:
    """Where the copy's columns stand among these; -1 for one that is not there."""
    order = [column.number for column in columns]
    return tuple(order.index(number) if number in order else -1 for number in copy.numbers)


def _as_before(known: TableShape, sent: Sequence[tuple[str, int, int]]) -> tuple[ShapeColumn, ...] | None:
    """The relation's columns if they are those that were known, and maybe some that were added after them."""
    if tuple(column.sent for column in known.columns) != tuple(sent[: len(known.columns)]):
        return None
    added = sent[len(known.columns) :]
    # Numbers below zero: nobody copies them, and no two shapes agree in them.
    return (*known.columns, *(ShapeColumn(-place, *column, False, "") for place, column in enumerate(added, 1)))


def _as_now(now: CurrentTable | None, sent: Sequence[tuple[str, int, int]]) -> tuple[ShapeColumn, ...] | None:
    """The relation's columns if they are the table's columns now, or the first of them."""
    if now is None or tuple(column.sent for column in now.shape.columns[: len(sent)]) != tuple(sent):
        return None
    return now.shape.columns[: len(sent)]


def _note(added: Sequence[str]) -> str | None:
    if not added:
        return None
    names = ", ".join(f'"{name}"' for name in added)
    return f"the copy goes on without what was added upstream: column {names}"
