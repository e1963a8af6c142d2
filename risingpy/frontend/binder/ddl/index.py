"""CREATE INDEX: its keys as expressions over the relation, by column id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count

from risingpy.errors import FeatureNotSupported, InvalidTableDefinition, SqlError, UndefinedColumn, WrongObjectType
from risingpy.frontend.binder.ddl.create import visible_columns
from risingpy.frontend.binder.ddl.nearest import bind_nearest
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.expressions.output_names import NO_NAME, output_name
from risingpy.frontend.binder.query.relations import find_relation, scan
from risingpy.frontend.binder.scope.columns import relation_scope
from risingpy.frontend.binder.scope.context import SessionValues, depth_limited, refuse_system
from risingpy.frontend.binder.statement import make_context
from risingpy.frontend.binder.typing.names_of_types import text_with_schemas
from risingpy.frontend.parser.ast import CreateIndex, IndexElement
from risingpy.frontend.parser.ast_parts import ColumnName, Expression
from risingpy.functions.volatile import NON_DETERMINISTIC
from risingpy.plan.catalog import (
    Catalog,
    Index,
    IndexDefinition,
    IndexedRelation,
    IndexKey,
    IndexPredicate,
    Table,
    UniqueRule,
)
from risingpy.plan.expression_trees import columns_read, remapped, walk
from risingpy.plan.expressions import Call, Expr, InputRef

_VOLATILE = NON_DETERMINISTIC | {"now"}


@dataclass(frozen=True, slots=True)
class BoundIndex:
    """The index, what it indexes, and its name."""

    relation: IndexedRelation
    definition: IndexDefinition
    name: str


@dataclass(frozen=True, slots=True)
class _IndexBinder:
    relation: IndexedRelation
    binder: ExpressionBinder

    def key(self, element: IndexElement) -> IndexKey:
        expression = self.binder.settled(element.expression.tree)
        self._check(expression, "expression", element.expression.position)
        if not columns_read(expression):
            raise FeatureNotSupported("an index on a constant is not supported", position=element.expression.position)
        nulls_first = element.descending if element.nulls_first is None else element.nulls_first
        text = text_with_schemas(element.expression, self.binder.context.types)
        return IndexKey(text, remapped(expression, self._ids), element.descending, nulls_first)

    def predicate(self, where: Expression) -> IndexPredicate:
        """WHERE of a partial index."""
        condition = self.binder.condition(where.tree, "WHERE")
        self._check(condition, "predicate", where.position)
        text = text_with_schemas(where, self.binder.context.types)
        return IndexPredicate(text, remapped(condition, self._ids))

    @property
    def _ids(self) -> dict[int, int]:
        return {i: column.column_id for i, column in enumerate(self.relation.columns)}

    def _check(self, expression: Expr, what: str, position: int) -> None:
        refuse_system(self.binder.context.system_uses, "an index")
        if any(isinstance(part, Call) and part.function in _VOLATILE for part in walk(expression)):
            message = f"functions in index {what} must be marked IMMUTABLE"
            raise InvalidTableDefinition(message, sqlstate="42P17", position=position)

    def column(self, name: ColumnName) -> int:
        for i in visible_columns(self.relation):
            if self.relation.columns[i].name == name.name:
                return self.relation.columns[i].column_id
        raise UndefinedColumn(f'column "{name.name}" does not exist', position=name.position)


@depth_limited
def bind_index(
    statement: CreateIndex, catalog: Catalog, search_path: Sequence[str], *, session: SessionValues
) -> BoundIndex:
    """Checks what is indexed, and by what."""
    context = make_context(catalog, search_path, (), session)
    table = statement.table
    relation = find_relation(context, table.name, table.schema, table.position)
    if not isinstance(relation, IndexedRelation):
        message = f'cannot create index on relation "{relation.name}"'
        kinds = "indexes" if isinstance(relation, Index) else f"{relation.noun}s"
        detail = f"This operation is not supported for {kinds}."
        raise WrongObjectType(message, detail=detail, position=table.position)
    if isinstance(relation, Table) and relation.ends_rows:
        hint = "An index is told of no row that ends. A materialized view over the table can have one."
        what = "WITH TTL" if relation.retention is None else "with retention_seconds"
        raise FeatureNotSupported(f"an index on a table {what} is not supported", position=table.position, hint=hint)
    scope = relation_scope(relation.name, None, scan(relation).schema, relation=relation.name)
    context = replace(context, subqueries=None)
    binder = _IndexBinder(relation, ExpressionBinder(context, scope, "index expressions"))
    keys = tuple(binder.key(element) for element in statement.keys)
    if statement.options is not None:
        definition = bind_nearest(statement, relation, keys)
        name = _free_name(catalog, relation, statement, keys) if statement.name is None else statement.name.name
        return BoundIndex(relation, definition, name)
    include = None
    if statement.include is not None:
        include = tuple(dict.fromkeys(binder.column(name) for name in statement.include))
    spread = [binder.key(IndexElement(expression)).expression for expression in statement.distributed_by]
    if spread != [key.expression for key in keys[: len(spread)]]:
        raise SqlError(
            "DISTRIBUTED BY must name the first columns of the index",
            sqlstate="42601",
            position=statement.distributed_by[0].position,
        )
    name = _free_name(catalog, relation, statement, keys) if statement.name is None else statement.name.name
    rule = UniqueRule(statement.nulls_distinct) if statement.unique else None
    predicate = None
    if statement.where is not None:
        on_rows = ExpressionBinder(context, scope, "index predicates")
        predicate = _IndexBinder(relation, on_rows).predicate(statement.where)
    definition = IndexDefinition(relation.relation_id, keys, include, max(len(spread), 1), rule, predicate=predicate)
    return BoundIndex(relation, definition, name)


def _free_name(catalog: Catalog, relation: IndexedRelation, statement: CreateIndex, keys: Sequence[IndexKey]) -> str:
    """As PostgreSQL names it: t_a_lower_idx, then t_a_lower_idx1 …"""
    names = {column.column_id: column.name for column in relation.columns}
    parts: list[str] = []
    for key, element in zip(keys, statement.keys, strict=True):
        column = key.expression
        part = names[column.index] if isinstance(column, InputRef) else output_name(element.expression.tree)
        part = "expr" if part == NO_NAME else part
        numbers = (number for number in count() if f"{part}{number or ''}" not in parts)
        parts.append(f"{part}{next(numbers) or ''}")
    base = "_".join((relation.name, *parts, "idx"))
    number = 0
    while catalog.find(f"{base}{number or ''}", relation.schema_name, ()) is not None:
        number += 1
    return f"{base}{number or ''}"
