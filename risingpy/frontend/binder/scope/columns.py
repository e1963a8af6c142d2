"""Names in scope: which columns a FROM clause offers, and what a name means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from risingpy.errors import AmbiguousColumn, FeatureNotSupported, SqlError, UndefinedColumn, UndefinedTable
from risingpy.frontend.binder.scope.uses import RelationUse
from risingpy.plan.expressions import Call, Case, Expr, InputRef, Literal
from risingpy.plan.logical import Field
from risingpy.types import BOOLEAN, struct_of

ROW_TIME = "_rw_timestamp"  # RisingWave's hidden column
_ROW_TIME_HINT = "SELECT can read it of tables WITH (row_timestamp = true)."
UNNAMED = ""  # the alias of a subquery without one: no name in SQL is empty


@dataclass(frozen=True, slots=True)
class ScopeColumn:
    """A column by name, and the expression over the plan's output that gives it. A whole row reads its `parts`."""

    name: str
    expr: Expr
    hidden: bool = False
    use: RelationUse | None = None  # of the relation whose column it is, with the column's id
    column_id: int = 0
    parts: tuple[ScopeColumn, ...] = ()

    def note(self) -> None:
        """Notes that the statement reads the column."""
        for part in self.parts:
            part.note()
        if self.use is not None:
            self.use.read_column(self.column_id)


@dataclass(frozen=True, slots=True)
class ScopeTable:
    """A FROM item: its alias, the schema if it is a relation under its own name, and its columns.

    `nullable`: an outer join puts NULLs where no row of it matches.
    """

    alias: str
    schema: str | None
    columns: tuple[ScopeColumn, ...]
    relation: str | None = None  # the relation's name, where an alias hides it
    whole: Expr | None = None  # what the alias alone means: the value of a function of one column
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class Scope:
    """`columns` are what `*` and bare names see: JOIN … USING merges columns there, not in `tables`."""

    tables: tuple[ScopeTable, ...] = ()
    columns: tuple[ScopeColumn, ...] = ()

    def column(self, name: str, position: int) -> ScopeColumn:
        """The column that a bare name means."""
        found = [column for column in self.columns if column.name == name]
        if len(found) == 1:
            return found[0]
        if found:
            raise AmbiguousColumn(f'column reference "{name}" is ambiguous', position=position)
        if any(table.alias == name for table in self.tables):
            return self.row(None, name, position)
        raise self._undefined(f'column "{name}" does not exist', name, None, position)

    def row(self, schema: str | None, alias: str, position: int) -> ScopeColumn:
        """What the name of a FROM item alone means: its row, or the value of a function of one column."""
        table = self.table(schema, alias, position)
        return _whole_row(table, position) if table.whole is None else ScopeColumn(alias, table.whole)

    def qualified(self, schema: str | None, table: str, name: str, position: int) -> ScopeColumn:
        """The column that `table.name` or `schema.table.name` means."""
        owner = self.table(schema, table, position)
        found = [column for column in owner.columns if column.name == name]
        if len(found) == 1:
            return found[0]
        if found:
            raise AmbiguousColumn(f'column reference "{name}" is ambiguous', position=position)
        raise self._undefined(f"column {table}.{name} does not exist", name, table, position)

    def _undefined(self, message: str, name: str, table: str | None, position: int) -> UndefinedColumn:
        """The error of a name that means nothing here; it may mean something in the query around."""
        hint = _ROW_TIME_HINT if name == ROW_TIME else self._hint(name, table)
        return UndefinedColumn(message, position=position, hint=hint)

    def table(self, schema: str | None, alias: str, position: int) -> ScopeTable:
        """The FROM item called `alias`."""
        found = [t for t in self.tables if t.alias == alias and schema in (None, t.schema)]
        if len(found) == 1:
            return found[0]
        if found:
            raise SqlError(f'table reference "{alias}" is ambiguous', sqlstate="42P09", position=position)
        for table in self.tables:
            if table.relation == alias and table.alias != alias:
                raise UndefinedTable(
                    f'invalid reference to FROM-clause entry for table "{alias}"',
                    position=position,
                    hint=f'Perhaps you meant to reference the table alias "{table.alias}".',
                )
        raise UndefinedTable(f'missing FROM-clause entry for table "{alias}"', position=position)

    def _hint(self, name: str, table: str | None) -> str | None:
        """PostgreSQL's hint: columns whose name is at most half different, the nearest first."""
        tables = [t for t in self.tables if table in (None, t.alias)]
        scored = [(_distance(name, c.name), f'"{t.alias}.{c.name}"') for t in tables for c in t.columns if not c.hidden]
        near = [(d, shown) for d, shown in scored if d <= max(len(name) // 2, 1) and d <= 3]
        if not near:
            return None
        best = min(d for d, _ in near)
        names = [shown for d, shown in near if d == best]
        if len(names) > 2:
            return None
        if len(names) == 2:
            return f"Perhaps you meant to reference the column {names[0]} or the column {names[1]}."
        return f"Perhaps you meant to reference the column {names[0]}."


def _whole_row(table: ScopeTable, position: int) -> ScopeColumn:
    """What a table's name alone means: its row; NULL where an outer join has none.

    A stored row has a key, which the table's hidden columns are if no other is. So where all is NULL there is no row.
    Where the key may be NULL, the join has added a hidden marker to the table's columns.
    """
    shown = tuple(column for column in table.columns if not column.hidden)
    names = set[str]()
    for column in shown:
        name = column.name.lower()
        if name in names:  # DuckDB's and Spark's structs tell no letter's case
            message = f'a row in which two columns are called "{name}" is not supported'
            hint = "The case of letters does not count here: give the columns other names, in a subquery."
            raise FeatureNotSupported(message, position=position, hint=hint)
        names.add(name)
    fields = tuple(column.expr for column in shown)
    type_ = struct_of([column.name for column in shown], [field.type for field in fields])
    row: Expr = Call("row", fields, type_)
    absent: Expr | None = None
    for column in table.columns if table.nullable else ():
        is_null = Call("is_null", (column.expr,), BOOLEAN)
        absent = is_null if absent is None else Call("and", (absent, is_null), BOOLEAN)
    if absent is not None:
        row = Case(((absent, Literal(None, type_)),), row, type_)
    return ScopeColumn(table.alias, row, parts=shown)


def relation_scope(
    alias: str,
    schema: str | None,
    fields: Sequence[Field],
    *,
    relation: str | None = None,
    use: RelationUse | None = None,
) -> Scope:
    """The scope of one FROM item whose output is `fields`; they begin with the columns of what is in `use`."""
    ids = [] if use is None else [column.column_id for column in use.relation.columns]
    columns = tuple(
        ScopeColumn(f.name, InputRef(i, f.type), f.hidden, *((use, ids[i]) if i < len(ids) else ()))
        for i, f in enumerate(fields)
    )
    return Scope((ScopeTable(alias, schema, columns, relation),), columns)


def mapped(scope: Scope, change: Callable[[Expr], Expr]) -> Scope:
    """The scope with every column's expression changed."""

    def columns(given: tuple[ScopeColumn, ...]) -> tuple[ScopeColumn, ...]:
        return tuple(replace(column, expr=change(column.expr)) for column in given)

    tables = tuple(
        replace(table, columns=columns(table.columns), whole=None if table.whole is None else change(table.whole))
        for table in scope.tables
    )
    return Scope(tables, columns(scope.columns))


def check_names(left: Scope, right: Scope) -> None:
    """PostgreSQL's rule: only relations of several schemas, both under their own names, may share a name."""
    for table in right.tables:
        named = table.alias != UNNAMED
        if named and any(t.alias == table.alias and not _in_two_schemas(t, table) for t in left.tables):
            message = f'table name "{table.alias}" specified more than once'
            raise SqlError(message, sqlstate="42712")


def _in_two_schemas(a: ScopeTable, b: ScopeTable) -> bool:
    return a.schema is not None and b.schema is not None and a.schema != b.schema


def common_column(scope: Scope, name: str, side: str) -> ScopeColumn:
    """The column of one side of a join that USING names; `side` is `left` or `right`, for the message.

    Raises UndefinedColumn (42703) if there is none, AmbiguousColumn (42702) if there are several.
    """
    found = [c for c in scope.columns if c.name == name]
    if not found:
        message = f'column "{name}" specified in USING clause does not exist in {side} table'
        raise UndefinedColumn(message)
    if len(found) > 1:
        message = f'common column name "{name}" appears more than once in {side} table'
        raise AmbiguousColumn(message)
    found[0].note()
    return found[0]


def _distance(a: str, b: str) -> int:
    """Levenshtein's distance."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        previous, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (x != y))
    return row[-1]
