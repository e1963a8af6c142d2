"""ALTER TABLE: each action checked, and applied to the table's catalog entry as it will be.

What only the rows can tell is left to the caller, as `RowCheck`s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from risingpy.connectors.registry import is_pushed
from risingpy.errors import (
    DatatypeMismatch,
    DuplicateColumn,
    FeatureNotSupported,
    InvalidTableDefinition,
    SqlError,
    SyntaxError_,
    UndefinedColumn,
)
from risingpy.frontend.binder.ddl.added_column import (
    Evaluate,
    after_filling,
    bind_added_column,
    key_of_column,
    refuse_default,
)
from risingpy.frontend.binder.ddl.alter_constraints import ConstraintChanges, RowCheck, nulls_among_rows
from risingpy.frontend.binder.ddl.alter_identity import altered_identity, refuse_identity_column
from risingpy.frontend.binder.ddl.changed_keys import PrintedText
from risingpy.frontend.binder.ddl.changed_type import (
    cast_to_type,
    column_domain,
    domain_checks,
    is_shown_as_text,
    refuse_generated,
    special_role,
)
from risingpy.frontend.binder.ddl.create import bind_default, bound_default, check_column_name, visible_columns
from risingpy.frontend.binder.ddl.generated import generated_from, with_renamed_column
from risingpy.frontend.binder.ddl.identity import checked_type
from risingpy.frontend.binder.ddl.named_sequences import default_context, stored_default
from risingpy.frontend.binder.ddl.primary_key import refuse_copy, with_not_null
from risingpy.frontend.binder.ddl.table_options import with_option
from risingpy.frontend.binder.ddl.watermark import altered_watermark, renamed_in_watermark
from risingpy.frontend.binder.ddl.webhook import HEADERS, with_renamed_payload
from risingpy.frontend.binder.plans import project
from risingpy.frontend.binder.query.relations import scan
from risingpy.frontend.binder.scope.context import BindContext, SessionValues, depth_limited
from risingpy.frontend.binder.typing.type_names import KnownTypes, resolve_type
from risingpy.frontend.parser.ast_alter import (
    AddColumn,
    AddConstraint,
    AddIdentity,
    AddPrimaryKey,
    AlterAction,
    AlterWatermark,
    DropColumn,
    DropConstraint,
    DropIdentity,
    RenameColumn,
    RenameConstraint,
    ResetTtl,
    SetDefault,
    SetEndOfRows,
    SetIdentity,
    SetNotNull,
    SetRowTimestamp,
    SetType,
    ValidateConstraint,
)
from risingpy.frontend.parser.ast_parts import ColumnName, TypeName
from risingpy.optimizer.stream.index import key_column_ids
from risingpy.optimizer.table_change import is_wider, with_changed, with_column, with_type, without_column
from risingpy.plan.catalog import Catalog, ColumnDesc, Table
from risingpy.plan.expression_trees import columns_read, remapped
from risingpy.plan.expressions import Call, InputRef
from risingpy.plan.logical import Filter
from risingpy.types import BOOLEAN, SqlType

_NO_IDENTITY = "Use ALTER TABLE ... ALTER COLUMN ... DROP IDENTITY instead."


@dataclass(frozen=True, slots=True)
class BoundAlterTable:
    """The table as it will be, what its rows must satisfy first, and notices.

    `cascade`: what reads a dropped column is dropped too. `generated`: generated columns that go with another one, and
    that one; without `cascade` they forbid it. `changes` are those of constraints that the table does not keep itself.
    `filled` are the ids of new columns whose values each row gets for itself; `later` are the actions to be taken when
    it has them, and after these the new columns' PRIMARY KEY, `key`.
    """

    relation: Table
    checks: tuple[RowCheck, ...]
    notices: tuple[str, ...]
    cascade: bool
    generated: tuple[tuple[str, str], ...] = ()
    changes: ConstraintChanges | None = None
    filled: tuple[int, ...] = ()
    later: tuple[AlterAction, ...] = ()
    key: AddPrimaryKey | None = None


@depth_limited
def bind_alter_table(
    relation: Table,
    actions: Sequence[AlterAction],
    evaluate: Evaluate,
    *,
    catalog: Catalog,
    search_path: tuple[str, ...],
    session: SessionValues | None = None,
    printed: PrintedText = lambda text, wanted: None,
) -> BoundAlterTable:
    """The actions, one after the other. `evaluate` computes a DEFAULT, once, for the rows that are there.

    `printed` shows what expressions of the table mean as it is.
    """
    if relation.upstream is not None or (relation.source is not None and is_pushed(dict(relation.source.options))):
        hint = "Drop it, and create it again with the other columns."
        what = "which copies another table" if relation.upstream else "which takes in messages as they come"
        raise FeatureNotSupported(f'ALTER TABLE of "{relation.name}", {what}', hint=hint)
    context = default_context(catalog, search_path, session)
    changes = ConstraintChanges(context, catalog, search_path, relation, printed=printed)
    binder = _Binder(relation, relation, evaluate, context, session, changes)
    for action in actions:
        binder.apply(action)
    binder.relation = changes.over_changed_types(binder.relation)
    cascade = any(isinstance(action, DropColumn) and action.cascade for action in actions)
    said, checks = (*binder.notices, *changes.notices), (*binder.checks, *changes.checks)
    return BoundAlterTable(
        *(binder.relation, checks, said, cascade, tuple(binder.generated), changes),
        *(tuple(binder.filled), tuple(binder.later), binder.key),
    )


class _Binder:
    """`stored` is the table as its rows are; `relation` what the actions so far have made of it."""

    def __init__(
        self,
        stored: Table,
        relation: Table,
        evaluate: Evaluate,
        context: BindContext,
        session: SessionValues | None,
        changes: ConstraintChanges,
    ) -> None:
        self.stored = stored
        self.relation = relation
        self.checks: list[RowCheck] = []
        self.notices: list[str] = []
        self.generated: list[tuple[str, str]] = []
        self.filled: list[int] = []
        self.later: list[AlterAction] = []
        self.key: AddPrimaryKey | None = None
        self._evaluate = evaluate
        self._context = context
        self._session = session
        self._changes = changes

    def apply(self, action: AlterAction) -> None:
        match action:
            case AddColumn():
                self._add(action)
            case AddPrimaryKey():
                self._add_key(action)
            case DropColumn():
                self._drop(action)
            case RenameColumn():
                self._rename(action)
            case SetDefault():
                self._set_default(action)
            case SetNotNull():
                self._set_not_null(action)
            case SetType():
                self._set_type(action)
            case AddIdentity() | SetIdentity() | DropIdentity():
                index = self._existing(action.column)
                column, notice = altered_identity(self.relation, self.relation.columns[index], action)
                self.notices += [] if notice is None else [notice]
                self._change(index, column)
            case AlterWatermark():
                self.relation = altered_watermark(self._context, self.relation, action)
            case SetEndOfRows() | ResetTtl() | SetRowTimestamp():
                self.relation = with_option(self._changes.catalog, self.relation, action)
            case AddConstraint() if self.filled:  # it may read the column
                self.later.append(action)
            case AddConstraint() | DropConstraint() | RenameConstraint() | ValidateConstraint():
                self.relation = self._changes.apply(self.relation, action)
            case _:
                assert_never(action)

    def _add(self, action: AddColumn) -> None:
        column = action.column
        if self._find(column.name) is not None:
            if not action.if_not_exists:
                message = f'column "{column.name}" of relation "{self.relation.name}" already exists'
                raise DuplicateColumn(message, position=column.position)
            self.notices.append(f'column "{column.name}" of relation "{self.relation.name}" already exists, skipping')
            return
        if column.primary_key:
            self._add_key(key_of_column(self.stored, column))
        stored, catalog = self.stored, self._changes.catalog
        added = bind_added_column(self._context, catalog, stored, self.relation, column, self._evaluate)
        self.checks += added.checks
        self.relation = with_column(self.relation, added.column, added.missing)
        if added.is_filled:
            self.filled.append(next(each.column_id for each in self.relation.columns if each.name == column.name))
            self.later += after_filling(action, added)
        else:
            self.relation = self._changes.with_those_of_column(self.relation, action)

    def _add_key(self, key: AddPrimaryKey) -> None:
        has_key = self.stored.primary_key or self._changes.catalog.deferrable_key_of(self.stored.relation_id)
        if has_key or self.key is not None:
            raise InvalidTableDefinition(f'multiple primary keys for table "{self.relation.name}" are not allowed')
        self.key = key

    def _drop(self, action: DropColumn) -> None:
        index = self._find(action.column.name)
        if index is None:
            if not action.if_exists:
                raise self._undefined(action.column)
            name, table = action.column.name, self.relation.name
            self.notices.append(f'column "{name}" of relation "{table}" does not exist, skipping')
            return
        self._refuse_special(index, "drop column", action.column)
        self._drop_generated_from(index)
        index = self._existing(action.column)
        if len(visible_columns(self.relation)) == 1:
            message = "dropping the only column of a table is not supported"
            raise FeatureNotSupported(message, position=action.column.position)
        column_id = self.relation.columns[index].column_id
        self.relation = self._changes.without_column(self.relation, column_id, cascade=action.cascade)
        self.relation = without_column(self.relation, index)

    def _drop_generated_from(self, index: int) -> None:
        """Takes the generated columns that read a column along."""
        column = self.relation.columns[index]
        for user in generated_from(self.relation, column.column_id):
            self.relation = without_column(self.relation, self.relation.columns.index(user))
            self.generated.append((user.name, column.name))

    def _refuse_special(self, index: int, what: str, column: ColumnName) -> None:
        """Raises FeatureNotSupported for a column that the table's key, its versions or its watermark stand on."""
        reason, hint = special_role(self.relation, index)
        if reason is not None:
            message = f'cannot {what} "{column.name}": {reason}'
            raise FeatureNotSupported(message, position=column.position, hint=hint)

    def _rename(self, action: RenameColumn) -> None:
        index = self._existing(action.column)
        if self.relation.source is not None:
            message = f'cannot rename column "{action.column.name}": messages that feed the table have it by this name'
            raise FeatureNotSupported(message, position=action.column.position)
        if self._find(action.name.name) is not None:
            message = f'column "{action.name.name}" of relation "{self.relation.name}" already exists'
            raise DuplicateColumn(message, position=action.name.position)
        check_column_name(action.name)
        old = self.relation.columns[index]
        self._change(index, replace(old, name=action.name.name))
        for i, column in enumerate(self.relation.columns):
            if column.generated is not None and old.column_id in columns_read(column.generated.expression):
                text = with_renamed_column(column.generated, old.name, action.name.name)
                self._change(i, replace(column, generated=text))
        self.relation = self._changes.with_renamed_column(self.relation, old.column_id, old.name, action.name.name)
        self.relation = renamed_in_watermark(self.relation, old.column_id, old.name, action.name.name)
        webhook = self.relation.webhook
        if webhook is not None and webhook.payload == old.column_id:
            if action.name.name == HEADERS:
                message = f'the column of a webhook cannot have the name "{HEADERS}"'
                raise FeatureNotSupported(message, position=action.name.position)
            self.relation = replace(self.relation, webhook=with_renamed_payload(webhook, old.name, action.name.name))

    def _set_default(self, action: SetDefault) -> None:
        index = self._existing(action.column)
        column = self.relation.columns[index]
        if column.generated is not None:
            message = f'column "{column.name}" of relation "{self.relation.name}" is a generated column'
            raise SyntaxError_(message, position=action.column.position)
        hint = _NO_IDENTITY if action.value is None else None
        refuse_identity_column(self.relation, column, action.column.position, hint=hint)
        text, sequences = None, tuple[int, ...]()
        if action.value is not None:
            refuse_default(self.relation, action.column)
            bound = bound_default(self._context, action.value, column.name, column.type)
            text, sequences = stored_default(self._context, action.value, bound)
        self._change(index, replace(column, default=text, sequences=sequences))

    def _set_not_null(self, action: SetNotNull) -> None:
        index = self._existing(action.column)
        column = self.relation.columns[index]
        changed = with_not_null(self.relation, index, action, is_in_deferrable_key=self._is_in_deferrable_key(column))
        if not action.not_null:
            refuse_identity_column(self.relation, column, action.column.position)
        elif not column.not_null:
            self._check_no_nulls(column)
        self._change(index, changed)

    def _is_in_deferrable_key(self, column: ColumnDesc) -> bool:
        key = self._changes.catalog.deferrable_key_of(self.relation.relation_id)
        is_kept = key is not None and key.relation_id not in self._changes.dropped
        return is_kept and key is not None and column.column_id in key_column_ids(key.index)

    def _check_no_nulls(self, column: ColumnDesc) -> None:
        error = nulls_among_rows(self.relation, column.name)
        stored = self._stored_index(column)
        if stored is None:
            raise FeatureNotSupported("SET NOT NULL together with a change of the same column is not supported")
        is_null = Call("is_null", (InputRef(stored, column.type),), BOOLEAN)
        self.checks.append(RowCheck(Filter(scan(self.stored), is_null), error))

    def _stored_type(self, name: TypeName) -> SqlType:
        return resolve_type(name.text, name.position, KnownTypes(self._changes.catalog, self._context.search_path))

    def _set_type(self, action: SetType) -> None:
        index, name = self._existing(action.column), action.type
        sql_type = self._stored_type(name)
        domain = column_domain(self._context, self.relation, self._changes.catalog, name)
        as_text, before = is_shown_as_text(self._context, name.text, domain), self.relation.columns[index]
        self._change(index, column := replace(before, as_text=as_text, domain=domain))
        is_same = sql_type == column.type or is_wider(column.type, sql_type)
        if is_same and action.using is None and domain is not None and domain != before.domain:
            self._check_values(replace(column, type=sql_type))
        if sql_type == column.type and action.using is None:
            return
        if action.using is None and is_wider(column.type, sql_type):
            self._change(index, replace(column, type=sql_type))
            return
        is_key = index in self.relation.primary_key
        if is_key:
            refuse_copy(self.relation, f'alter type of column "{column.name}"', action.column.position)
        else:
            self._refuse_special(index, "alter type of column", action.column)
        refuse_generated(self.relation, column)
        if column.identity is not None:
            checked_type(sql_type)
        cast = cast_to_type(self._context, self.relation, action, index, sql_type)
        stored = self._stored_index(column)
        if stored is None:
            raise FeatureNotSupported("two changes of a column's type at once are not supported")
        plan = scan(self.stored)
        checked = remapped(cast, {0: stored})
        converted = project(plan, [checked], [column.name])
        if self.relation.refuses_null(index):
            error = nulls_among_rows(self.relation, column.name)
            is_null = Call("is_null", (InputRef(0, sql_type),), BOOLEAN)
            self.checks.append(RowCheck(Filter(converted, is_null), error))
        self.checks.append(RowCheck(converted, None))
        if domain is not None:
            changed = replace(column, type=sql_type)
            self.checks += domain_checks(self._context, changed, InputRef(0, sql_type), converted)
        self.relation = with_type(self.relation, index, sql_type, cast)
        self._changes.changed.ids[column.column_id] = self.relation.columns[index].column_id
        self._changes.rekeys = self._changes.rekeys or is_key
        self._check_default(self.relation.columns[index])

    def _check_values(self, column: ColumnDesc) -> None:
        """The values that the column has must satisfy the rules of the domain that it gets."""
        stored = self._stored_index(column)
        if stored is not None:  # else it was added in this statement, which has looked at it
            value = InputRef(stored, self.stored.columns[stored].type)
            self.checks += domain_checks(self._context, column, value, scan(self.stored))

    def _check_default(self, column: ColumnDesc) -> None:
        try:
            bind_default(column, self._context.catalog, session=self._session)
        except SqlError as error:
            message = f'default for column "{column.name}" cannot be cast automatically to type {column.type}'
            raise DatatypeMismatch(message) from error

    # -- columns by name ------------------------------------------------------------------------------------------

    def _find(self, name: str) -> int | None:
        found = (i for i in visible_columns(self.relation) if self.relation.columns[i].name == name)
        return next(found, None)

    def _existing(self, column: ColumnName) -> int:
        index = self._find(column.name)
        if index is None:
            raise self._undefined(column)
        return index

    def _undefined(self, column: ColumnName) -> SqlError:
        message = f'column "{column.name}" of relation "{self.relation.name}" does not exist'
        return UndefinedColumn(message, position=column.position)

    def _stored_index(self, column: ColumnDesc) -> int | None:
        """Where the column stands in the rows as they are; None if this statement made it what it is."""
        ids = [each.column_id for each in self.stored.columns]
        return ids.index(column.column_id) if column.column_id in ids else None

    def _change(self, index: int, column: ColumnDesc) -> None:
        self.relation = with_changed(self.relation, index, column)
