"""ALTER TABLE … ADD PRIMARY KEY: which columns, and what the rows must not have. NOT NULL of a key's columns."""

from __future__ import annotations

from dataclasses import dataclass, replace

from risingpy.errors import DuplicateColumn, FeatureNotSupported, InvalidTableDefinition, UndefinedColumn
from risingpy.frontend.binder.ddl.create import visible_columns
from risingpy.frontend.binder.plans import project
from risingpy.frontend.binder.query.relations import scan
from risingpy.frontend.parser.ast import AddPrimaryKey
from risingpy.frontend.parser.ast_alter import SetNotNull
from risingpy.plan.catalog import Catalog, ColumnDesc, Table
from risingpy.plan.expressions import Call, InputRef, Literal
from risingpy.plan.key_types import refuse_no_key
from risingpy.plan.logical import AggCall, Aggregate, Field, Filter, LogicalPlan
from risingpy.types import BIGINT, BOOLEAN


@dataclass(frozen=True, slots=True)
class BoundPrimaryKey:
    """`key` are the positions of the columns. `nulls` gives, for each, the rows that have NULL there.

    `duplicates` gives the keys that several rows have, and `rows` all rows with the columns that the user knows.
    """

    key: tuple[int, ...]
    nulls: tuple[LogicalPlan, ...]
    duplicates: LogicalPlan
    rows: LogicalPlan


def bind_primary_key(catalog: Catalog, table: Table, statement: AddPrimaryKey) -> BoundPrimaryKey:
    """Raises 42P16 for a second key, 42703 and 42701 for wrong columns, 0A000 for a table that can have none."""
    if table.primary_key or catalog.deferrable_key_of(table.relation_id) is not None:
        message = f'multiple primary keys for table "{table.name}" are not allowed'
        raise InvalidTableDefinition(message, position=statement.position)
    refuse_copy(table, f'add a primary key to table "{table.name}"', statement.position)
    visible = visible_columns(table)
    places = {table.columns[i].name: i for i in visible}
    key: list[int] = []
    for column in statement.columns:
        if column.name not in places:
            message = f'column "{column.name}" of relation "{table.name}" does not exist'
            raise UndefinedColumn(message, position=column.position)
        if places[column.name] in key:
            message = f'column "{column.name}" appears twice in primary key constraint'
            raise DuplicateColumn(message, position=column.position)
        key.append(places[column.name])
    refuse_no_key((table.columns[i].type for i in key), "a primary key")
    everything = scan(table)
    columns = [InputRef(i, table.columns[i].type) for i in key]
    nulls = tuple(Filter(everything, Call("is_null", (column,), BOOLEAN)) for column in columns)
    keys = project(everything, columns, [table.columns[i].name for i in key])
    count = AggCall("count", (), BIGINT)
    grouped = Aggregate(keys, tuple(range(len(key))), (count,), (*keys.schema, Field("count", BIGINT)))
    several = Call("gt", (InputRef(len(key), BIGINT), Literal(1, BIGINT)), BOOLEAN)
    rows = project(everything, [InputRef(i, table.columns[i].type) for i in visible], [str(i) for i in visible])
    return BoundPrimaryKey(tuple(key), nulls, Filter(grouped, several), rows)


def with_primary_key(table: Table, key: tuple[int, ...]) -> Table:
    """The table as its CREATE TABLE would have it with the key."""
    columns = (
        replace(column, not_null=column.refuses_null(in_key=i in key))
        for i, column in enumerate(table.columns)
        if not column.hidden
    )
    return replace(table, columns=tuple(columns), primary_key=key)


def with_not_null(table: Table, place: int, action: SetNotNull, *, is_in_deferrable_key: bool) -> ColumnDesc:
    """The table's column at this position after SET or DROP NOT NULL.

    Raises 42P16 for DROP NOT NULL of a column whose key refuses NULLs.
    """
    column, position = table.columns[place], action.column.position
    if not action.not_null:
        if is_in_deferrable_key or (place in table.primary_key and not column.null_in_key):
            raise InvalidTableDefinition(f'column "{column.name}" is in a primary key', position=position)
        return replace(column, not_null=False)
    if column.null_in_key and table.source is not None:
        # The rows of an epoch that is under way are not looked at, and queries rely on what a key promises.
        what = f'SET NOT NULL of column "{column.name}", which may be NULL in the primary key'
        raise FeatureNotSupported(f"{what}, is not supported: a source feeds the table", position=position)
    return replace(column, not_null=True, null_in_key=False)


def refuse_copy(table: Table, what: str, position: int, hint: str = "Create a new table with the key.") -> None:
    """Raises FeatureNotSupported if the table's rows cannot be written again, as a change of its key would need."""
    reasons = (
        (table.upstream is not None, "it copies another table"),
        (table.source is not None, "a source feeds it"),
        (table.webhook is not None, "a webhook feeds it"),
        (table.watermark is not None, "it has a watermark"),
        (table.retention is not None, "its rows end by the clock"),
        (table.times_of_rows is not None, "it keeps when its rows were written"),
        (table.append_only, "it is append-only"),
        (bool(table.version_columns), "it has a version column"),
    )
    for holds, reason in reasons:
        if holds:
            raise FeatureNotSupported(f"cannot {what}: {reason}", position=position, hint=hint)
