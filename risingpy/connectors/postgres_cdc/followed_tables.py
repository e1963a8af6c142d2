"""The tables that take the stream's changes, and what the stream's columns are in each of them.

Upstream, a table or a column may be renamed, and columns that nobody copies may come and go: the copy goes on. What
would damage the copy silently stops it instead. There are two ways to notice an alteration. A Relation message comes
before the first row after it, so nothing is read wrongly; but it has no columns' numbers, and does not come at all if
there are no rows. So the catalog is asked, too. It may be ahead of the stream, which is why a message is understood in
two ways: as the table was, and as it is now. Copies that follow added and dropped columns: `followed_columns.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from risingpy.connectors.postgres_cdc.followed_columns import alteration, numbers_sent
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
from risingpy.connectors.pushed import AlteredOriginal, PushedTable


@dataclass(slots=True)
class FollowedTable:
    """A copy. `numbers` are those of its columns upstream; `places`, where they stand in the stream's tuples now.

    `created` is the table when the copy was made, `known` when the stream last told of it. A place of -1 is that of a
    column that the tuples do not have; its values are the text in `missing`. `file` was the table's last file while it
    had these columns; None if the copy does not follow added and dropped ones. `refusal` says why it cannot have them.
    """

    table: PushedTable
    created: TableShape
    known: TableShape
    numbers: tuple[int, ...]
    missing: tuple[str | None, ...]
    file: int | None
    refusal: str | None = None
    places: tuple[int, ...] = ()
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Altered:
    """By id, why copies cannot follow their tables, and what others have to become."""

    stopped: dict[int, str] = field(default_factory=dict)
    changed: dict[int, AlteredOriginal] = field(default_factory=dict)

    def add(self, table_id: int, found: AlteredOriginal | str | None) -> None:
        """Adds what was found of a copy."""
        if isinstance(found, str):
            self.stopped[table_id] = found
        elif found is not None:
            self.changed[table_id] = found


class FollowedTables:
    """For the connector's thread. It asks on a connection that does nothing else."""

    def __init__(
        self, connection: Connection, publication: str, tables: Iterable[PushedTable], *, follows_columns: bool
    ) -> None:
        """With `follows_columns`, copies of all columns become what their tables are."""
        self._follows_columns = follows_columns
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

    def refresh(self) -> Altered:
        """What copies are to their tables as these are now. Columns that are not followed become notes."""
        now = {each.shape.oid: each for each in self._current(oids=list(self._by_oid))}
        found = Altered(dict(self._unknown))
        for oid, copies in self._by_oid.items():
            for copy in copies:
                if copy.file is not None:
                    found.add(copy.table.table_id, _alteration(copy, now.get(oid)))
                    continue
                reason = difference(copy.table, copy.numbers, copy.created, now.get(oid))
                reason = reason or newly_nullable(copy.table, copy.numbers, copy.created, now[oid].shape)
                found.add(copy.table.table_id, reason)
                if reason is None and copy.table.all_columns:
                    copy.note = _note(added_columns(copy.created, now[oid].shape))
        return found

    def notes(self) -> Mapping[int, str]:
        """By id, what copies that go on lack."""
        copies = (copy for of_table in self._by_oid.values() for copy in of_table)
        return {copy.table.table_id: copy.note for copy in copies if copy.note is not None}

    def take(self, relation: Relation, copies: Sequence[FollowedTable]) -> Altered:
        """The stream's tuples are of this `relation` from now on. Says which of its `copies` cannot take them yet."""
        now = next(iter(self._current(oids=[relation.oid])), None)
        found = Altered()
        for copy in copies:
            taken = _taken(copy, relation, now) if copy.file is None else _followed(copy, relation, now)
            found.add(copy.table.table_id, taken)
        return found

    def refuse(self, reasons: Mapping[int, str]) -> None:
        """Copies of these ids cannot become what they have to. They take tuples of before."""
        for copy in (copy for copies in self._by_oid.values() for copy in copies):
            copy.refusal = reasons.get(copy.table.table_id, copy.refusal)

    def _current(self, *, oids: Sequence[int] = (), names: Sequence[str] = ()) -> Iterable[CurrentTable]:
        return current_tables(self._connection, self._publication, oids=oids, names=names)

    def _follow(self, table: PushedTable, shape: TableShape | None) -> None:
        if shape is None:
            self._unknown[table.table_id] = f'table "{table.upstream}" does not exist upstream'
            return
        by_name = {column.name: column.number for column in shape.columns}
        lost = [column.name for column in table.columns if column.name not in by_name]
        if lost:
            self._unknown[table.table_id] = f'column "{lost[0]}" does not exist upstream'
            return
        numbers = tuple(by_name[column.name] for column in table.columns)
        added = {column.number: column.missing for column in shape.columns if column.is_added}
        missing = tuple(added.get(number) for number in numbers)
        file = shape.file if self._follows_columns and table.all_columns else None
        self._by_oid.setdefault(shape.oid, []).append(FollowedTable(table, shape, shape, numbers, missing, file))


def _alteration(copy: FollowedTable, now: CurrentTable | None) -> AlteredOriginal | str | None:
    """What a copy that follows columns has to become, or why it cannot; None if it fits."""
    current = set(copy.created.key) if now is None else {column.number for column in now.shape.columns}
    pairs = zip(copy.table.columns, copy.numbers, strict=True)
    kept = [pair for pair in pairs if pair[1] in current or pair[1] in copy.created.key]
    table, numbers = replace(copy.table, columns=tuple(column for column, _ in kept)), [number for _, number in kept]
    reason = difference(table, numbers, copy.created, now)
    if reason is not None or now is None:
        return reason
    reason = newly_nullable(table, numbers, copy.created, now.shape)
    if reason is not None:
        return reason
    found = alteration(copy.table, copy.numbers, copy.created, now.shape, copy.file or 0)
    if found is None:
        copy.file = now.shape.file
    return found if found is None or copy.refusal is None else copy.refusal


def _followed(copy: FollowedTable, relation: Relation, now: CurrentTable | None) -> AlteredOriginal | str | None:
    """As `_taken`, of a copy that follows columns. It is as the table is now, though the tuples may not be.

    A copy that cannot become what the table is now still takes the tuples that are surely from before.
    """
    found = _alteration(copy, now)
    if isinstance(found, AlteredOriginal):
        return found
    numbers = numbers_sent(copy.created, copy.known, copy.known if now is None else now.shape, relation.sent)
    if numbers is None:
        return found or f'table "{relation.name}" was altered upstream more than once meanwhile'
    columns = tuple(ShapeColumn(number, *sent, False, "") for number, sent in zip(numbers, relation.sent, strict=True))
    if found is not None:
        sent = CurrentTable(TableShape(relation.oid, relation.name, columns, copy.known.key), True, relation.identity)
        is_new = not {*numbers} <= {column.number for column in copy.created.columns}
        if is_new or difference(copy.table, copy.numbers, copy.created, sent) is not None:
            return found
    return _placed(copy, relation, columns, _places(copy, columns))


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
    reason = difference(copy.table, copy.numbers, copy.created, CurrentTable(shape, True, relation.identity))
    return reason or _placed(copy, relation, columns, places)


def _placed(
    copy: FollowedTable, relation: Relation, columns: tuple[ShapeColumn, ...], places: tuple[int, ...]
) -> str | None:
    """The tuples have these columns from now on, and the copy's at these places; or why the key is not theirs."""
    key = {number for number, place in zip(copy.numbers, places, strict=True) if place in relation.key}
    if relation.identity != "f" and (key != set(copy.created.key) or len(key) < len(relation.key)):
        return f'the primary key or the replica identity of table "{relation.name}" was changed upstream'
    copy.known = TableShape(relation.oid, relation.name, columns, copy.known.key)
    copy.places = places
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
