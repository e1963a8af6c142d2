"""Plans the job of an index, which stores the rows of a table or view again, in another order.

    CREATE INDEX i ON t (a DESC, lower(b))
        =>  Materialize(Exchange by a (Project(a, lower(b), …, key of t; TableScan(t))))
    CREATE INDEX i ON t (a) WHERE b > 0
        =>  Materialize(Exchange by a (Project(a, …, key of t; Filter(b > 0; TableScan(t)))))
    CREATE INDEX i ON t USING hnsw (v …)
        =>  Materialize(Exchange by key of t (Project(key of t, v; TableScan(t))))

A column has the same id and history in the index as in the relation, so ALTER TABLE changes an index as it changes the
table: no stored row is rewritten.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from risingpy.optimizer.stream.distribution import hash_by
from risingpy.optimizer.stream.jobs import StreamJobPlan
from risingpy.optimizer.stream.planner import plan_query
from risingpy.optimizer.stream.properties import derived, underived
from risingpy.plan.catalog import Catalog, ColumnDesc, IndexDefinition, IndexedRelation
from risingpy.plan.expression_trees import columns_read, remapped
from risingpy.plan.expressions import Expr, InputRef
from risingpy.plan.logical import Field, Filter, LogicalPlan, Project, Scan
from risingpy.plan.operators import ConflictBehavior, Exchange, Materialize
from risingpy.plan.state_tables import relation_table
from risingpy.storage.codec.table_schema import KeyColumn

# Ids of key columns that are expressions. They are stored in the key only, so a large id costs nothing.
FIRST_EXPRESSION_ID = 1 << 31


def plan_index(
    relation: IndexedRelation, definition: IndexDefinition, *, table_id: int, name: str, allocate: Callable[[], int]
) -> StreamJobPlan:
    """The index's job. It takes one id from `allocate`, that of the backfill's progress."""
    places = {column.column_id: i for i, column in enumerate(relation.columns)}
    outputs: dict[Expr, ColumnDesc] = {}
    key: list[KeyColumn] = []
    if definition.nearest is not None:
        for i in relation.stream_key:
            outputs[InputRef(i, relation.columns[i].type)] = relation.columns[i]
            key.append(KeyColumn(len(outputs) - 1))
    for number, item in enumerate(definition.keys):
        expression = remapped(item.expression, places)
        if expression in outputs:
            continue
        outputs[expression] = _key_column(relation, expression, item.text, number)
        if definition.nearest is None:
            key.append(KeyColumn(len(outputs) - 1, item.descending, item.nulls_first))
    for i in (*_included(relation, definition, places), *relation.stream_key):
        column = relation.columns[i]
        outputs.setdefault(InputRef(i, column.type), column)
    columns = tuple(outputs.values())
    catalog = Catalog(relations={relation.relation_id: relation})
    predicate = None if definition.predicate is None else remapped(definition.predicate.expression, places)
    streamed = plan_query(_query(relation, outputs, predicate), catalog, allocate, name)
    spread = tuple(range(min(definition.distributed_by, len(key))))
    moved = Exchange(streamed, replace(streamed.properties, distribution=hash_by(spread)))
    ordered = {part.index for part in key}
    stream_key = [list(outputs).index(InputRef(i, relation.columns[i].type)) for i in relation.stream_key]
    key += [KeyColumn(i) for i in stream_key if i not in ordered]
    table = relation_table(table_id, name, columns, tuple(key), spread)
    schema = tuple(Field(column.name, column.type, column.hidden) for column in columns)
    root = derived(Materialize(moved, table, ConflictBehavior.NO_CHECK, underived(schema)))
    return StreamJobPlan(root, table, columns, tuple(stream_key), root.properties.append_only)


def key_column_ids(definition: IndexDefinition) -> frozenset[int]:
    """The ids of the relation's columns that the index is ordered by, and of those that its predicate reads."""
    read = [columns_read(key.expression) for key in definition.keys]
    if definition.predicate is not None:
        read.append(columns_read(definition.predicate.expression))
    return frozenset().union(*read)


def _key_column(relation: IndexedRelation, expression: Expr, text: str, number: int) -> ColumnDesc:
    if isinstance(expression, InputRef):
        return relation.columns[expression.index]
    return ColumnDesc(FIRST_EXPRESSION_ID + number, text, expression.type)


def _included(relation: IndexedRelation, definition: IndexDefinition, places: dict[int, int]) -> list[int]:
    if definition.include is None:
        return [i for i, column in enumerate(relation.columns) if not column.hidden]
    return [places[column_id] for column_id in definition.include]


def _query(relation: IndexedRelation, outputs: dict[Expr, ColumnDesc], predicate: Expr | None) -> LogicalPlan:
    """The outputs of the rows that satisfy the predicate, over a scan of just the columns that are read."""
    asked = (*outputs, *(() if predicate is None else (predicate,)))
    read = sorted(set().union(*(columns_read(expression) for expression in asked)))
    fields = tuple(Field(relation.columns[i].name, relation.columns[i].type, relation.columns[i].hidden) for i in read)
    rows: LogicalPlan = Scan(relation.relation_id, relation.qualified_name, tuple(read), fields, relation.version)
    moved = {i: place for place, i in enumerate(read)}
    if predicate is not None:
        rows = Filter(rows, remapped(predicate, moved))
    expressions = tuple(remapped(expression, moved) for expression in outputs)
    schema = tuple(Field(column.name, column.type, column.hidden) for column in outputs.values())
    return Project(rows, expressions, schema)
