"""What a table is upstream, apart from its rows, and what of it was altered.

PostgreSQL never uses a column's number twice, so a renamed column is found again by it, and a column that was dropped
and made anew is another one. The same holds for the oid of a table.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from risingpy.connectors.postgres_cdc.table_names import parts_of, whole_name
from risingpy.connectors.postgres_cdc.upstream_connection import Connection
from risingpy.connectors.pushed import PushedTable


@dataclass(frozen=True, slots=True)
class ShapeColumn:
    """A column by its number in pg_attribute. `type_oid` and `modifier` are what the stream calls its type.

    `missing` is the text of its value in rows from before the column, NULL without one. `is_added`: the copy got the
    column after it was made. `type_names` are the names of its type, and of an array's items; only of a current table.
    """

    number: int
    name: str
    type_oid: int
    modifier: int
    not_null: bool
    shown_type: str
    missing: str | None = None
    is_added: bool = False
    type_names: tuple[str, str | None] = ("", None)

    @property
    def sent(self) -> tuple[str, int, int]:
        """What the stream says of it."""
        return self.name, self.type_oid, self.modifier


@dataclass(frozen=True, slots=True)
class TableShape:
    """A table: its oid, its whole name, its columns in order without generated ones, the numbers of the key's.

    `file` is the number of its file, another one after all rows were written anew; `highest`, the highest number that a
    column has had. They are 0 where an earlier version wrote the shape down.
    """

    oid: int
    name: str
    columns: tuple[ShapeColumn, ...]
    key: tuple[int, ...]
    file: int = 0
    highest: int = 0

    def column(self, number: int) -> ShapeColumn | None:
        """The column of this number; None if there is none."""
        return next((column for column in self.columns if column.number == number), None)


@dataclass(frozen=True, slots=True)
class CurrentTable:
    """A table as it is at a moment: also whether all its rows are published, and how rows are named.

    `place` are its schema and its own name.
    """

    shape: TableShape
    is_published: bool
    replica_identity: str
    place: tuple[str, str] = ("", "")


def shape_text(shape: TableShape) -> str:
    """The shape as the catalog keeps it."""
    columns = [
        [c.number, c.name, c.type_oid, c.modifier, c.not_null, c.shown_type, *((c.missing, True) if c.is_added else ())]
        for c in shape.columns
    ]
    parts = [shape.oid, shape.name, columns, shape.key, shape.file, shape.highest]
    return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))


def shape_of_text(text: str) -> TableShape:
    """What `shape_text` was given."""
    oid, name, columns, key, *numbers = json.loads(text)
    return TableShape(oid, name, tuple(ShapeColumn(*column) for column in columns), tuple(key), *numbers)


def current_tables(
    connection: Connection, publication: str, *, oids: Sequence[int] = (), names: Sequence[str] = ()
) -> Iterator[CurrentTable]:
    """The tables of these oids and whole names that are there, as the connection's snapshot shows them."""
    part = "rowfilter IS NOT NULL" if connection.info.server_version >= 150000 else "false"
    missing = _MISSING if connection.info.server_version >= 110000 else "NULL::text"
    query = _CURRENT.format(part=part, missing=missing)
    places = [parts_of(name, "public") for name in names]
    schemas, tables = [schema for schema, _ in places], [table for _, table in places]
    for found in connection.execute(query, (publication, list(oids), schemas, tables)).fetchall():
        yield _current(found)


def difference(table: PushedTable, numbers: Sequence[int], known: TableShape, now: CurrentTable | None) -> str | None:
    """Why a copy whose columns have these `numbers` cannot follow the table as it is `now`; None if it can."""
    if now is None:
        return f'table "{known.name}" was dropped upstream'
    shape = now.shape
    for column, number in zip(table.columns, numbers, strict=True):
        before, after = known.column(number), shape.column(number)
        if after is None or before is None:
            return f'column "{column.name}" was dropped upstream'
        if before.sent[1:] != after.sent[1:]:
            return (
                f'the type of column "{column.name}" was changed upstream'
                f" from {before.shown_type} to {after.shown_type}"
            )
    if set(shape.key) != set(known.key):
        return f'the primary key of table "{shape.name}" was changed upstream'
    if not now.is_published:
        return f'the publication has no longer all rows of table "{shape.name}"'
    if now.replica_identity == "n":
        return f'table "{shape.name}" has no replica identity any more'
    return None


def newly_nullable(table: PushedTable, numbers: Sequence[int], known: TableShape, now: TableShape) -> str | None:
    """Why a copy would have to leave out rows that upstream takes now; None if it need not."""
    for column, number in zip(table.columns, numbers, strict=True):
        before, after = known.column(number), now.column(number)
        if column.not_null and before is not None and before.not_null and after is not None and not after.not_null:
            return f'column "{column.name}" may be NULL upstream since it was altered'
    return None


def added_columns(known: TableShape, now: TableShape) -> list[str]:
    """The names of the columns that are newer than the copy."""
    numbers = {column.number for column in known.columns}
    return [column.name for column in now.columns if column.number not in numbers]


def _current(found: tuple[Any, ...]) -> CurrentTable:
    oid, schema, name, identity, file, highest, is_published, key, listed = found
    columns = tuple(replace(ShapeColumn(*column[:7]), type_names=(column[7], column[8])) for column in listed)
    shape = TableShape(oid, whole_name(schema, name), columns, tuple(key), file, highest)
    return CurrentTable(shape, is_published, identity, (schema, name))


_MISSING = "CASE WHEN a.atthasmissing THEN (a.attmissingval::text::text[])[1] END"


_CURRENT = """
    SELECT c.oid::int8, n.nspname, c.relname, c.relreplident, c.relfilenode::int8, c.relnatts,
           EXISTS (SELECT 1 FROM pg_publication_tables p WHERE p.pubname = %s AND p.schemaname = n.nspname
                   AND p.tablename = c.relname AND NOT ({part})),
           coalesce(i.indkey::int2[], '{{}}'),
           (SELECT coalesce(json_agg(json_build_array(a.attnum, a.attname, a.atttypid::int8, a.atttypmod, a.attnotnull,
                                                      format_type(a.atttypid, a.atttypmod), {missing}, t.typname,
                                                      e.typname) ORDER BY a.attnum), '[]')
            FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
            LEFT JOIN pg_type e ON e.oid = t.typelem AND t.typcategory = 'A'
            WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '')
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
    WHERE c.relkind = 'r' AND (c.oid = ANY (%s::oid[])
          OR (n.nspname, c.relname) IN (SELECT * FROM unnest(%s::text[], %s::text[])))
"""
