"""ALTER TABLE ADD, DROP, RENAME and VALIDATE CONSTRAINT, and what becomes of constraints when a column goes.

What only the rows can tell is left to the caller, as `RowCheck`s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never, cast

from risingpy.errors import DependentObjectsStillExist, FeatureNotSupported, NotNullViolation, SqlError, UndefinedObject
from risingpy.frontend.binder.ddl.changed_keys import ChangedKeys, PrintedText, RemadeIndex
from risingpy.frontend.binder.ddl.constraint_plans import (
    duplicated_keys,
    partly_null,
    places_of,
    refused_by_check,
    without_referenced,
)
from risingpy.frontend.binder.ddl.constraints import BoundUnique, ConstraintBinder, refuse_special
from risingpy.frontend.binder.ddl.create import visible_columns
from risingpy.frontend.binder.ddl.generated import renamed_text
from risingpy.frontend.binder.plans import project
from risingpy.frontend.binder.query.relations import scan
from risingpy.frontend.binder.scope.context import BindContext
from risingpy.frontend.parser.ast_alter import (
    AddColumn,
    AddConstraint,
    ConstraintAction,
    DropConstraint,
    RenameConstraint,
    ValidateConstraint,
)
from risingpy.frontend.parser.ast_constraints import KeyDefinition
from risingpy.frontend.parser.ast_parts import ColumnName
from risingpy.optimizer.stream.index import key_column_ids
from risingpy.plan.catalog import (
    Catalog,
    CheckConstraint,
    ForeignKey,
    Index,
    IndexDefinition,
    IndexKey,
    Table,
    TableConstraint,
    UniqueRule,
)
from risingpy.plan.expression_trees import remapped
from risingpy.plan.expressions import Expr, InputRef, Literal
from risingpy.plan.key_types import refuse_no_key
from risingpy.plan.logical import Field, LogicalPlan, Project
from risingpy.types import SqlType


def nulls_among_rows(table: Table, column: str, position: int | None = None, hint: str | None = None) -> SqlError:
    """For a column that is to have no NULL, while rows that are there have one."""
    message = f'column "{column}" of relation "{table.name}" contains null values'
    error = NotNullViolation(message, position=position, hint=hint)
    error.about = (("s", table.schema_name), ("t", table.name), ("c", column))
    return error


@dataclass(frozen=True, slots=True)
class RowCheck:
    """A query over the table's rows. If it gives any row, and `error` is set, that is the error; it may fail itself.

    With a `key`, the names and types of the query's first columns, the error's detail is `Key (…)=(…)` and `told`.
    """

    plan: LogicalPlan
    error: SqlError | None
    key: tuple[tuple[str, SqlType], ...] = ()
    told: str = ""


@dataclass(slots=True)
class ConstraintChanges:
    """What the actions of a statement make of a table's constraints. CHECK and FOREIGN KEY stand in the table itself.

    `added` are its new unique indexes; `dropped` are the ids of indexes that go, `renamed` those with other names.
    `lost` are foreign keys of other tables that go with a key (their tables' ids and their own). `remade` are indexes
    over columns that get other types, `refitted` the foreign keys of other tables (by their ids) to such columns.
    `rekeys`: a column of the primary key is among them, so that the rows must be stored anew.
    """

    context: BindContext
    catalog: Catalog
    search_path: tuple[str, ...]
    stored: Table
    added: list[BoundUnique] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)
    renamed: dict[int, str] = field(default_factory=dict)
    lost: list[tuple[int, int]] = field(default_factory=list)
    remade: list[RemadeIndex] = field(default_factory=list)
    refitted: list[tuple[int, ForeignKey]] = field(default_factory=list)
    checks: list[RowCheck] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    rekeys: bool = False
    printed: PrintedText = lambda text, wanted: None
    changed: ChangedKeys = field(init=False)

    def __post_init__(self) -> None:
        self.changed = ChangedKeys(self.context, self.catalog, self.search_path, self.printed)

    def apply(self, table: Table, action: ConstraintAction) -> Table:
        """The table after the action."""
        match action:
            case AddConstraint():
                return self._add(table, action)
            case DropConstraint():
                return self._drop(table, action)
            case RenameConstraint():
                return self._rename(table, action)
            case ValidateConstraint():
                return self._validate(table, action)
            case _:
                assert_never(action)

    def _add(self, table: Table, action: AddConstraint) -> Table:
        definition = action.definition
        refuse_special(table, self.catalog, f'add a constraint to table "{table.name}"', definition.position)
        binder = ConstraintBinder(
            *(self.context, self.catalog, self.search_path, table.schema_name, table.name, table.columns),
            *(table.primary_key, table, table.key_name, list(table.constraints), list(self.added)),
        )
        binder.add(definition)
        if len(binder.uniques) > len(self.added):
            self.add_unique(table, binder.uniques[-1])
            return table
        constraint = binder.constraints[-1]
        if isinstance(constraint, ForeignKey) and constraint.index_id == 0:
            message = "a foreign key to a unique key that the same statement adds is not supported"
            raise FeatureNotSupported(message, position=definition.position, hint="Add the unique key before.")
        if constraint.validated:
            self._check(table, constraint)
        return replace(table, constraints=(*table.constraints, constraint))

    def _drop(self, table: Table, action: DropConstraint) -> Table:
        name = action.name.name
        kept = tuple(each for each in table.constraints if each.name != name)
        if len(kept) < len(table.constraints):
            return replace(table, constraints=kept)
        index = self._index(name)
        if index is not None:
            return self._drop_index(table, index, f"constraint {name} on table {table.name}", cascade=action.cascade)
        if table.primary_key and name == table.key_constraint:
            message = f'dropping the primary key of table "{table.name}" is not supported'
            hint = "Create a new table without it, and INSERT … SELECT the rows."
            raise FeatureNotSupported(message, position=action.name.position, hint=hint)
        if not action.if_exists:
            raise self._undefined(table, action.name)
        self.notices.append(f'constraint "{name}" of relation "{table.name}" does not exist, skipping')
        return table

    def _drop_index(self, table: Table, index: Index, what: str, *, cascade: bool) -> Table:
        all_readers = self.catalog.foreign_keys_to(self.stored.relation_id)
        readers = [(child, key) for child, key in all_readers if key.index_id == index.relation_id]
        if readers and not cascade:
            lines = [
                f"constraint {key.name} on table {child.name} depends on index {index.name}" for child, key in readers
            ]
            raise DependentObjectsStillExist(
                f"cannot drop {what} because other objects depend on it",
                detail="\n".join(lines),
                hint="Use DROP ... CASCADE to drop the dependent objects too.",
            )
        for child, key in readers:
            self.lost.append((child.relation_id, key.constraint_id))
            self.notices.append(f"drop cascades to constraint {key.name} on table {child.name}")
        self.dropped.append(index.relation_id)
        gone = {key.constraint_id for child, key in readers if child.relation_id == table.relation_id}
        kept = tuple(each for each in table.constraints if not gone or each.constraint_id not in gone)
        return replace(table, constraints=kept)

    def _rename(self, table: Table, action: RenameConstraint) -> Table:
        old, new = action.name.name, action.new_name.name
        names = {each.name for each in table.constraints}
        taken = (
            new in names or self._index(new) is not None or (bool(table.primary_key) and new == table.key_constraint)
        )
        if taken:
            message = f'constraint "{new}" for relation "{table.name}" already exists'
            raise SqlError(message, sqlstate="42710", position=action.new_name.position)
        if old in names:
            renamed = tuple(replace(c, name=new) if c.name == old else c for c in table.constraints)
            return replace(table, constraints=renamed)
        index = self._index(old)
        if index is not None:
            self.renamed[index.relation_id] = new
            return table
        if table.primary_key and old == table.key_constraint:
            return replace(table, key_name=new)
        raise self._undefined(table, action.name)

    def _validate(self, table: Table, action: ValidateConstraint) -> Table:
        name = action.name.name
        found = next((each for each in table.constraints if each.name == name), None)
        if found is None:
            if self._index(name) is not None or (table.primary_key and name == table.key_constraint):
                message = f'constraint "{name}" of relation "{table.name}" is not a foreign key or check constraint'
                raise SqlError(message, sqlstate="42809", position=action.name.position)
            raise self._undefined(table, action.name)
        if isinstance(found, ForeignKey) and not found.enforced:
            message = f'cannot validate NOT ENFORCED constraint "{name}"'
            raise SqlError(message, sqlstate="42809", position=action.name.position)
        if found.validated:
            return table
        self._check(table, found)
        valid = tuple(replace(c, validated=True) if c is found else c for c in table.constraints)
        return replace(table, constraints=valid)

    # Columns

    def with_those_of_column(self, table: Table, action: AddColumn) -> Table:
        """The table with the constraints of a column that it has got. With IF NOT EXISTS it may have been there."""
        if all(column.name != action.column.name for column in self.stored.columns):
            for definition in action.constraints:
                assert not isinstance(definition, KeyDefinition)
                table = self._add(table, AddConstraint(definition))
        return table

    def without_column(self, table: Table, column_id: int, *, cascade: bool) -> Table:
        """The table without the constraints that read a column which goes, as in PostgreSQL."""
        for index in self.catalog.unique_indexes_of(table.relation_id):
            if column_id in key_column_ids(index.index) and index.relation_id not in self.dropped:
                name = next(c.name for c in table.columns if c.column_id == column_id)
                table = self._drop_index(table, index, f"column {name} of table {table.name}", cascade=cascade)
        self.added = [each for each in self.added if column_id not in key_column_ids(each.definition)]
        kept = tuple(each for each in table.constraints if column_id not in each.column_ids)
        own = tuple(k for k in kept if not (isinstance(k, ForeignKey) and column_id in self._own_referenced(table, k)))
        return replace(table, constraints=own)

    def over_changed_types(self, table: Table) -> Table:
        """The table with its constraints over its columns as they are now, once all types have changed.

        Indexes that read the columns are made anew, and foreign keys that refer to them follow. Rows are looked at
        for each that holds: with other types, other values are equal.
        """
        if not self.changed.ids:
            return table
        if any(self.changed.reads(key_column_ids(each.definition)) for each in self.added):
            message = "a key on a column whose type the same statement changes afterwards is not supported"
            raise FeatureNotSupported(message, hint="Change the type first.")
        if self.rekeys:
            self._check_primary_key(table)
        table = self.changed.with_constraints(table, self._check)
        for each in self.changed.indexes(table, self.dropped):
            self.remade.append(each)
            if each.definition.unique is not None:
                self._check_unique(table, BoundUnique(each.index.name, each.definition, each.text))
        for child, key in self.changed.references(table):
            self.refitted.append((child.relation_id, key))
            if key.validated:
                self._check_reference(child, key, scan(child), table)
        return table

    @staticmethod
    def with_renamed_column(table: Table, column_id: int, old: str, new: str) -> Table:
        """The table whose checks name a column as it is called now."""
        return replace(
            table,
            constraints=tuple(
                replace(each, text=renamed_text(each.text, old, new))
                if isinstance(each, CheckConstraint) and column_id in each.column_ids
                else each
                for each in table.constraints
            ),
        )

    @staticmethod
    def _own_referenced(table: Table, key: ForeignKey) -> Sequence[int]:
        return key.referenced if key.table_id == table.relation_id else ()

    # Rows that are there

    def _rows(self, table: Table) -> LogicalPlan:
        """The stored rows with the columns of the table as it will be."""
        plan, stored = scan(self.stored), places_of(self.stored)
        values: list[Expr] = []
        for column in table.columns:
            place, history = stored.get(column.column_id), column.history
            if place is not None:
                values.append(InputRef(place, column.type))
            elif history is None or history.earlier is None:
                values.append(Literal(None if history is None else history.missing, column.type))
            else:  # a type changes once in a statement: the earlier column is a stored one
                values.append(remapped(cast("Expr", history.cast), {0: stored[history.earlier.column_id]}))
        return Project(plan, tuple(values), tuple(Field(c.name, c.type, c.hidden) for c in table.columns))

    def add_unique(self, table: Table, added: BoundUnique) -> None:
        """Adds a unique index, once the rows have passed."""
        self.added.append(added)
        self._check_unique(table, added)

    def _check_unique(self, table: Table, added: BoundUnique) -> None:
        plan = duplicated_keys(self._rows(table), added.definition, table)
        error = SqlError(f'could not create unique index "{added.name}"', sqlstate="23505")
        error.about = (("s", table.schema_name), ("t", table.name), ("n", added.name))
        named = tuple((key.text, key.expression.type) for key in added.definition.keys)
        self.checks.append(RowCheck(plan, error, named, "is duplicated."))

    def _check_primary_key(self, table: Table) -> None:
        columns = [table.columns[place] for place in table.primary_key]
        refuse_no_key((column.type for column in columns), "a primary key")
        if len(table.columns) < len(self.stored.columns):
            message = "DROP COLUMN together with a change of the type of a key's column is not supported"
            raise FeatureNotSupported(message, hint="Drop the column in a statement of its own.")
        keys = tuple(IndexKey(column.name, InputRef(column.column_id, column.type)) for column in columns)
        definition = IndexDefinition(table.relation_id, keys, unique=UniqueRule(nulls_distinct=False))
        self._check_unique(table, BoundUnique(table.key_constraint, definition))

    def rows_anew(self, table: Table) -> LogicalPlan:
        """The visible columns of the stored rows, as they are to be."""
        visible = visible_columns(table)
        columns = [InputRef(i, table.columns[i].type) for i in visible]
        return project(self._rows(table), columns, [str(i) for i in visible])

    def _check(self, table: Table, constraint: TableConstraint) -> None:
        rows, places = self._rows(table), places_of(table)
        about = (("s", table.schema_name), ("t", table.name), ("n", constraint.name))
        if isinstance(constraint, CheckConstraint):
            message = f'check constraint "{constraint.name}" of relation "{table.name}" is violated by some row'
            error = SqlError(message, sqlstate="23514")
            error.about = about
            self.checks.append(RowCheck(refused_by_check(constraint, rows, places), error))
            return
        target = self.catalog.relations[constraint.table_id] if constraint.table_id else table
        assert isinstance(target, Table)
        self._check_reference(table, constraint, rows, table if target.relation_id == table.relation_id else target)

    def _check_reference(self, table: Table, key: ForeignKey, rows: LogicalPlan, target: Table) -> None:
        """`rows` are those of the table, all columns. The target may be the table that the statement alters."""
        about = (("s", table.schema_name), ("t", table.name), ("n", key.name))
        message = f'insert or update on table "{table.name}" violates foreign key constraint "{key.name}"'
        places = places_of(table)
        if key.matches_full:
            detail = "MATCH FULL does not allow mixing of null and nonnull key values."
            mixed = SqlError(message, sqlstate="23503", detail=detail)
            mixed.about = about
            self.checks.append(RowCheck(partly_null(rows, key, places), mixed))
        error = SqlError(message, sqlstate="23503")
        error.about = about
        columns = [table.columns[places[column_id]] for column_id in key.columns]
        named = tuple((column.name, column.type) for column in columns)
        altered = target.relation_id == self.stored.relation_id
        plan = without_referenced(rows, key, places, target, self._rows(target) if altered else scan(target))
        self.checks.append(RowCheck(plan, error, named, f'is not present in table "{target.name}".'))

    # Names

    def _index(self, name: str) -> Index | None:
        for index in self.catalog.unique_indexes_of(self.stored.relation_id):
            rule = index.index.unique
            if index.name == name and rule is not None and rule.is_constraint and index.relation_id not in self.dropped:
                return index
        return None

    @staticmethod
    def _undefined(table: Table, name: ColumnName) -> SqlError:
        message = f'constraint "{name.name}" of relation "{table.name}" does not exist'
        return UndefinedObject(message, position=name.position)
