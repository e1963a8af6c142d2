"""The query that reads a table's rows for an export."""

from __future__ import annotations

from risingpy.frontend.definitions.dependencies import Described
from risingpy.frontend.definitions.relation_texts import full_name
from risingpy.frontend.table_definition import quoted
from risingpy.plan.catalog import Catalog, ColumnDesc, Sink, Table
from risingpy.types import SqlType, TypeKind

_AS_THEY_ARE = frozenset(
    {
        *(TypeKind.BOOLEAN, TypeKind.SMALLINT, TypeKind.INTEGER, TypeKind.BIGINT, TypeKind.REAL, TypeKind.DOUBLE),
        *(TypeKind.VARCHAR, TypeKind.BYTEA, TypeKind.DATE, TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ),
        TypeKind.TIMESTAMP_NS,
    }
)
"""Types whose values a column of Parquet has exactly. Values of others are exported as their texts."""


def rows_of(catalog: Catalog, found: Described) -> str | None:
    """None where rows come from elsewhere: a source feeds the table, or a sink, whose rows would be there twice.

    None, too, for a table with a map, since COPY takes no maps.

    Rows of a table with a watermark come in its order: in another one some of them would be late when they are loaded.
    """
    if not isinstance(found, Table) or found.upstream is not None or found.source is not None:
        return None
    if not found.primary_key and any(
        isinstance(r, Sink) and r.into == found.relation_id for r in catalog.relations.values()
    ):
        return None
    columns = [_read(column) for column in found.columns if not column.hidden and column.generated is None]
    if not columns or any(_has_map(column.type) for column in found.columns):
        return None
    mark = None if found.watermark is None else found.watermark.column_id
    order = "".join(f" ORDER BY {quoted(each.name)}" for each in found.columns if each.column_id == mark)
    database = quoted(catalog.databases[found.database_id].name)
    return f"SELECT {', '.join(columns)} FROM {database}.{full_name(found)}{order}"


def _read(column: ColumnDesc) -> str:
    name = quoted(column.name)
    return name if column.type.kind in _AS_THEY_ARE else f"{name}::varchar AS {name}"


def _has_map(type_: SqlType) -> bool:
    return type_.leaf.kind is TypeKind.MAP or any(map(_has_map, type_.leaf.items))
