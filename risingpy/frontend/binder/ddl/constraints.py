"""UNIQUE, CHECK and FOREIGN KEY of CREATE TABLE and ALTER TABLE, bound to the columns of their tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from risingpy.errors import (
    DuplicateColumn,
    DuplicateRelation,
    FeatureNotSupported,
    InvalidTableDefinition,
    SqlError,
    UndefinedColumn,
    UndefinedTable,
)
from risingpy.errors import WrongObjectType as WrongKind
from risingpy.frontend.binder.ddl.end_of_rows import refuse_reference
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.scope.columns import relation_scope
from risingpy.frontend.binder.scope.context import BindContext, refuse_system
from risingpy.frontend.binder.scope.uses import check_references, check_schema
from risingpy.frontend.binder.typing.names_of_types import text_with_schemas
from risingpy.frontend.parser.ast_constraints import (
    CheckDefinition,
    ForeignKeyDefinition,
    KeyDefinition,
    UniqueDefinition,
)
from risingpy.frontend.parser.ast_parts import ColumnName, Expression
from risingpy.plan.catalog import (
    Catalog,
    CheckConstraint,
    ColumnDesc,
    ForeignKey,
    IndexDefinition,
    IndexKey,
    Table,
    TableConstraint,
    UniqueRule,
    is_of_session,
    is_temporary_schema,
)
from risingpy.plan.catalog.constraints import ReferentialAction
from risingpy.plan.catalog.free_names import free_name
from risingpy.plan.expression_trees import columns_read, remapped
from risingpy.plan.expressions import Expr, InputRef
from risingpy.plan.logical import Field
from risingpy.plan.operators import ConflictBehavior
from risingpy.types import SqlType, TypeKind

OWN_TABLE = 0
"""The id of a table that has none yet: its foreign keys to itself name it so until it has one."""
_INTEGERS = (TypeKind.SMALLINT, TypeKind.INTEGER, TypeKind.BIGINT)


@dataclass(frozen=True, slots=True)
class BoundUnique:
    """UNIQUE: the index that the table is to have, under the constraint's name. Its relation's id is left open.

    `text` is that of CREATE UNIQUE INDEX; empty for a constraint.
    """

    name: str
    definition: IndexDefinition
    text: str = ""


@dataclass(slots=True)
class ConstraintBinder:
    """Binds the constraints of one table, one after the other.

    `columns` are the table's; `constraints` and `uniques` what has been bound so far. `existing` are the table's unique
    indexes, `table` is the table itself, None if it is only made.
    """

    context: BindContext
    catalog: Catalog
    search_path: tuple[str, ...]
    schema_name: str
    name: str
    columns: tuple[ColumnDesc, ...]
    primary_key: tuple[int, ...]
    table: Table | None = None
    key_name: str | None = None
    constraints: list[TableConstraint] = field(default_factory=list)
    uniques: list[BoundUnique] = field(default_factory=list)

    def add(self, definition: KeyDefinition | UniqueDefinition | CheckDefinition | ForeignKeyDefinition) -> None:
        """Binds one more; PRIMARY KEY is not for here."""
        match definition:
            case UniqueDefinition():
                self.uniques.append(self._unique(definition))
            case CheckDefinition():
                self.constraints.append(self._check(definition))
            case ForeignKeyDefinition():
                self.constraints.append(self._foreign_key(definition))
            case KeyDefinition():
                raise FeatureNotSupported("PRIMARY KEY here is not supported", position=definition.position)
            case _:
                assert_never(definition)

    def has(self, name: str) -> bool:
        """Whether the table has a constraint of that name."""
        return name in self._names_of_keys() or any(each.name == name for each in self.constraints)

    def _names_of_keys(self) -> set[str]:
        names = {each.name for each in self.uniques}
        if self.primary_key:
            names.add(self.key_name or f"{self.name}_pkey")
        if self.table is not None:
            names |= {index.name for index in self.catalog.unique_indexes_of(self.table.relation_id)}
        return names

    def _unique(self, definition: UniqueDefinition) -> BoundUnique:
        is_primary = definition.is_primary
        if is_primary and (self.primary_key or self._has_deferrable_key(self.table)):
            message = f'multiple primary keys for table "{self.name}" are not allowed'
            raise InvalidTableDefinition(message, position=definition.position)
        columns = self._named(definition.columns, "primary key" if is_primary else "unique")
        ids = tuple(column.column_id for column in columns)
        deferral = {"deferrable": definition.deferrable, "deferred": definition.deferred, "is_primary": is_primary}
        rule = UniqueRule(definition.nulls_distinct, is_constraint=True, **deferral)
        keys = tuple(IndexKey(c.name, InputRef(c.column_id, c.type)) for c in columns)
        parts, label = ([], "pkey") if is_primary else ([column.name for column in columns], "key")
        name = self._given_or_free(definition.name, parts, label)
        # The rows of a table are looked up by its primary key: that index has all columns.
        return BoundUnique(name, IndexDefinition(OWN_TABLE, keys, include=None if is_primary else ids, unique=rule))

    def _has_deferrable_key(self, table: Table | None) -> bool:
        """Whether a table has a DEFERRABLE PRIMARY KEY. None: the one that is only made."""
        if table is not None and self.catalog.deferrable_key_of(table.relation_id) is not None:
            return True
        rules = [each.definition.unique for each in self.uniques] if table is self.table else []
        return any(rule is not None and rule.is_primary for rule in rules)

    def _check(self, definition: CheckDefinition) -> CheckConstraint:
        by_id = check_expression(self.context, self.name, self.columns, definition.expression)
        read = sorted(columns_read(by_id))
        names = {column.column_id: column.name for column in self.columns}
        parts = [names[read[0]]] if len(read) == 1 else []
        name = self._given_or_free(definition.name, parts, "check")
        return CheckConstraint(
            0, name, text_with_schemas(definition.expression, self.context.types), by_id, not definition.not_valid
        )

    def _foreign_key(self, definition: ForeignKeyDefinition) -> ForeignKey:
        columns = self._existing(definition.columns)
        target = self._target(definition)
        referenced, index_id = self._referenced(definition, target)
        if target is not None:
            refuse_reference(target, definition.position)
            check_references(self.catalog, self.context.session.role_id, target, [c.column_id for c in referenced])
        if len(columns) != len(referenced):
            message = "number of referencing and referenced columns for foreign key disagree"
            raise SqlError(message, sqlstate="42830", position=definition.position)
        name = self._given_or_free(definition.name, [column.name for column in columns], "fkey")
        error = incompatible_types(name, list(zip(columns, referenced, strict=True)), definition.position)
        if error is not None:
            raise error
        return ForeignKey(
            constraint_id=0,
            name=name,
            columns=tuple(column.column_id for column in columns),
            table_id=OWN_TABLE if target is None else target.relation_id,
            referenced=tuple(column.column_id for column in referenced),
            on_delete=definition.on_delete,
            on_update=definition.on_update,
            set_columns=self._set_columns(definition, columns),
            matches_full=definition.matches_full,
            index_id=index_id,
            validated=definition.enforced and not definition.not_valid,
            enforced=definition.enforced,
            deferrable=definition.deferrable,
            deferred=definition.deferred,
        )

    def _set_columns(self, definition: ForeignKeyDefinition, columns: Sequence[ColumnDesc]) -> tuple[int, ...]:
        found = self._existing(definition.set_columns)
        for column in found:
            if column not in columns:
                message = f'column "{column.name}" referenced in ON DELETE SET action must be part of foreign key'
                raise SqlError(message, sqlstate="42P10", position=definition.position)
        changes = (ReferentialAction.SET_NULL, ReferentialAction.SET_DEFAULT, ReferentialAction.CASCADE)
        for column in columns:
            if column.generated is not None and (
                definition.on_update in changes or definition.on_delete in changes[:2]
            ):
                message = "invalid action for foreign key constraint containing generated column"
                raise SqlError(message, sqlstate="42601", position=definition.position)
        return tuple(column.column_id for column in found)

    def _target(self, definition: ForeignKeyDefinition) -> Table | None:
        """The table that is referred to; None if it is the one that is only made."""
        named = definition.table
        schemas = (self.schema_name, None) if named.schema is None else (named.schema,)
        if named.schema != self.context.session.temporary_schema:
            check_schema(self.catalog, self.context.session.role_id, named.schema, named.position)
        found = self.catalog.find(named.name, named.schema, self.search_path)
        if found is None or found.is_being_created:
            if self.table is None and named.name == self.name and self.schema_name in schemas:
                return None
            raise UndefinedTable(f'relation "{named}" does not exist', position=named.position)
        if not isinstance(found, Table):
            raise WrongKind(f'referenced relation "{found.name}" is not a table', position=named.position)
        if is_of_session(found) != is_temporary_schema(self.schema_name):
            kind = "temporary" if is_temporary_schema(self.schema_name) else "permanent"
            message = f"constraints on {kind} tables may reference only {kind} tables"
            raise InvalidTableDefinition(message, position=named.position)
        if self.table is None or found.relation_id != self.table.relation_id:
            refuse_special(found, self.catalog, f'refer to table "{found.name}"', named.position)
        return found

    def _referenced(
        self, definition: ForeignKeyDefinition, target: Table | None
    ) -> tuple[Sequence[ColumnDesc], int | None]:
        """(The columns that are referred to, the unique index that has them; None: the primary key has)."""
        is_own = target is None or (self.table is not None and target.relation_id == self.table.relation_id)
        columns = self.columns if target is None or is_own else target.columns
        key = self.primary_key if target is None or is_own else target.primary_key
        table_name = self.name if target is None else target.name
        if not definition.referenced:
            if not key and self._has_deferrable_key(self.table if is_own else target):
                message = f'cannot use a deferrable primary key for referenced table "{table_name}"'
                raise SqlError(message, sqlstate="55000", position=definition.position)
            if not key:
                message = f'there is no primary key for referenced table "{table_name}"'
                raise SqlError(message, sqlstate="42704", position=definition.position)
            return [columns[place] for place in key], None
        found = _columns_named(definition.referenced, columns)
        ids = {column.column_id for column in found}
        if len(ids) == len(found):
            if key and ids == {columns[place].column_id for place in key}:
                return found, None
            indexes = () if target is None else self.catalog.unique_indexes_of(target.relation_id)
            known = [(index.relation_id, index.index) for index in indexes]
            known += [(OWN_TABLE, unique.definition) for unique in self.uniques] if is_own else []
            fitting = [(index_id, each.unique) for index_id, each in known if ids == _plain_keys(each)]
            for index_id, rule in fitting:
                if rule is not None and not rule.deferrable:
                    return found, index_id
            if fitting:
                message = f'cannot use a deferrable unique constraint for referenced table "{table_name}"'
                raise SqlError(message, sqlstate="55000", position=definition.position)
        message = f'there is no unique constraint matching given keys for referenced table "{table_name}"'
        raise SqlError(message, sqlstate="42830", position=definition.position)

    def _named(self, names: Sequence[ColumnName], kind: str) -> list[ColumnDesc]:
        found: list[ColumnDesc] = []
        for name in names:
            column = next((c for c in self.columns if c.name == name.name and not c.hidden), None)
            if column is None:
                raise UndefinedColumn(f'column "{name.name}" named in key does not exist', position=name.position)
            if column in found:
                message = f'column "{name.name}" appears twice in {kind} constraint'
                raise DuplicateColumn(message, position=name.position)
            found.append(column)
        return found

    def _existing(self, names: Sequence[ColumnName]) -> list[ColumnDesc]:
        return _columns_named(names, self.columns)

    def _given_or_free(self, given: ColumnName | None, parts: Sequence[str], label: str) -> str:
        is_index = label in ("key", "pkey")

        def is_relation(name: str) -> bool:
            return name in self._names_of_keys() or self.catalog.find(name, self.schema_name, ()) is not None

        if given is None:
            return free_name(
                self.name, "_".join(parts), label, lambda name: self.has(name) or (is_index and is_relation(name))
            )
        if is_index and is_relation(given.name):  # PostgreSQL makes the index first
            raise DuplicateRelation(f'relation "{given.name}" already exists', position=given.position)
        if self.has(given.name):
            message = f'constraint "{given.name}" for relation "{self.name}" already exists'
            raise SqlError(message, sqlstate="42710", position=given.position)
        return given.name


def check_expression(context: BindContext, table: str, columns: Sequence[ColumnDesc], expression: Expression) -> Expr:
    """The condition of a CHECK; its `InputRef`s count by column id."""
    visible = [column for column in columns if not column.hidden]
    scope = relation_scope(table, None, [Field(c.name, c.type) for c in visible], relation=table)
    context = replace(context, subqueries=None)
    bound = ExpressionBinder(context, scope, "check constraints").condition(expression.tree, "CHECK")
    refuse_system(context.system_uses, "a check constraint")
    return remapped(bound, {i: column.column_id for i, column in enumerate(visible)})


def incompatible_types(
    name: str, pairs: Sequence[tuple[ColumnDesc, ColumnDesc]], position: int | None = None
) -> SqlError | None:
    """Why a foreign key cannot refer from the one columns to the others (42804); None if it can."""
    for own, other in pairs:
        if not _comparable(own.type, other.type):
            return SqlError(
                f'foreign key constraint "{name}" cannot be implemented',
                sqlstate="42804",
                detail=f'Key columns "{own.name}" and "{other.name}" are of incompatible types: '
                f"{own.type} and {other.type}.",
                position=position,
            )
    return None


def refuse_special(table: Table, catalog: Catalog, what: str, position: int | None = None) -> None:
    """Raises FeatureNotSupported if rows of the table come from elsewhere, or follow rules of their own."""
    reason = None
    if catalog.sinks_into(table.relation_id):
        reason = "a sink goes into it"
    elif table.source is not None:
        reason = "a source feeds it"
    elif table.upstream is not None:
        reason = "it copies a table of a source"
    elif table.webhook is not None:
        reason = "a webhook feeds it"
    elif table.watermark is not None:
        reason = "it has a watermark"
    elif table.append_only:
        reason = "it is APPEND ONLY"
    elif table.on_conflict is not ConflictBehavior.OVERWRITE or table.version_columns:
        reason = "it has a rule of its own for conflicts (ON CONFLICT)"
    if reason is not None:
        hint = "Constraints can stand on tables whose rows only INSERT, UPDATE, DELETE, MERGE and COPY write."
        raise FeatureNotSupported(f"cannot {what}: {reason}", position=position, hint=hint)


def _columns_named(names: Sequence[ColumnName], columns: Sequence[ColumnDesc]) -> list[ColumnDesc]:
    found = []
    for name in names:
        column = next((c for c in columns if c.name == name.name and not c.hidden), None)
        if column is None:
            message = f'column "{name.name}" referenced in foreign key constraint does not exist'
            raise UndefinedColumn(message, position=name.position)
        found.append(column)
    return found


def _plain_keys(definition: IndexDefinition) -> set[int] | None:
    """The ids of the columns that are the index's keys; None if it has an expression, is partial or not unique."""
    if definition.unique is None or definition.predicate is not None:
        return None
    ids = [key.expression.index for key in definition.keys if isinstance(key.expression, InputRef)]
    return set(ids) if len(ids) == len(definition.keys) else None


def _comparable(one: SqlType, other: SqlType) -> bool:
    if one.kind in _INTEGERS and other.kind in _INTEGERS:
        return True
    return one.kind is other.kind or (one.is_text and other.is_text)
