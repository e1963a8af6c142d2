"""Adapts jobs and views to an altered table: they read the same columns as before, at their new positions.

    TableScan(t(a, b, c), columns=(0, 2))  =>  TableScan(t(a, c), columns=(0, 1))        after DROP COLUMN b

The scan's output stays the same, so nothing above it changes, and no state does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, cast, get_args

from risingpy.errors import FeatureNotSupported
from risingpy.optimizer.rewrite import plan_inputs, rewrite_plan
from risingpy.plan import logical
from risingpy.plan.catalog import CreatedRelation
from risingpy.plan.graph import Job
from risingpy.plan.joins import TemporalJoin
from risingpy.plan.logical import LogicalPlan
from risingpy.plan.operators import Materialize, Source, StreamPlan, TableScan
from risingpy.storage.codec.table_schema import TableSchema

_OPERATORS = cast("tuple[type[Any], ...]", get_args(StreamPlan))


def repointed_job(job: Job, after: TableSchema) -> Job:
    """The job with scans of the table in its new form. All columns that they read must still exist."""
    if not any(after.table_id in fragment.upstream_tables for fragment in job.fragments):
        return job
    roots = (_rewritten(fragment.root, lambda node: _repointed(node, after)) for fragment in job.fragments)
    return replace(
        job,
        fragments=tuple(replace(fragment, root=root) for fragment, root in zip(job.fragments, roots, strict=True)),
    )


def repointed_source(job: Job, source_id: int, positions: Mapping[int, int]) -> Job:
    """The job with reads of a source in its new form; `positions` maps old column positions to new ones."""

    def change(node: StreamPlan) -> StreamPlan:
        if not isinstance(node, Source) or node.source_id != source_id:
            return node
        return replace(node, columns=tuple(positions[i] for i in node.columns))

    roots = [_rewritten(fragment.root, change) for fragment in job.fragments]
    if all(root is fragment.root for root, fragment in zip(roots, job.fragments, strict=True)):
        return job
    fragments = (replace(fragment, root=root) for fragment, root in zip(job.fragments, roots, strict=True))
    return replace(job, fragments=tuple(fragments))


def repointed_view(plan: LogicalPlan, after: CreatedRelation, positions: Mapping[int, int]) -> LogicalPlan:
    """A view's query over the table in its new form; `positions` maps old column positions to new ones."""

    def change(node: LogicalPlan) -> LogicalPlan:
        if not isinstance(node, logical.Scan) or node.relation_id != after.relation_id:
            return node
        columns = tuple(positions.get(i, 0) if node.counts_only else positions[i] for i in node.columns)
        schema = node.schema
        if node.counts_only:
            schema = tuple(logical.Field(after.columns[i].name, after.columns[i].type) for i in columns)
        return replace(
            node,
            name=after.qualified_name,
            columns=columns,
            schema=schema,
            version=after.version,
            not_null=tuple(sorted(positions[i] for i in node.not_null if i in positions)),
            key=tuple(positions[i] for i in node.key) if set(node.key) <= positions.keys() else (),
        )

    return rewrite_plan(plan, change)


def rescanned_view(plan: LogicalPlan, before: int, after: int) -> LogicalPlan:
    """A view's query that reads another relation where it has read this one; `repointed_view` must follow."""

    def change(node: LogicalPlan) -> LogicalPlan:
        if not isinstance(node, logical.Scan) or node.relation_id != before:
            return node
        return replace(node, relation_id=after)

    return rewrite_plan(plan, change)


def columns_of_job(job: Job, table_id: int) -> frozenset[int]:
    """The ids of the table's columns that a job reads."""
    return frozenset(
        node.upstream.columns[i].column_id
        for fragment in job.fragments
        for node in _nodes(fragment.root)
        if isinstance(node, TableScan | TemporalJoin) and node.upstream.table_id == table_id
        for i in node.columns
    )


def columns_of_view(plan: LogicalPlan, relation: CreatedRelation) -> frozenset[int]:
    """The ids of the relation's columns that a view's query reads."""
    found = {
        relation.columns[i].column_id
        for node in _scans(plan)
        if node.relation_id == relation.relation_id and not node.counts_only
        for i in node.columns
    }
    return frozenset(found)


def _scans(plan: LogicalPlan) -> Iterator[logical.Scan]:
    if isinstance(plan, logical.Scan):
        yield plan
    for each in plan_inputs(plan):
        yield from _scans(each)


def _repointed(node: StreamPlan, after: TableSchema) -> StreamPlan:
    if isinstance(node, TableScan | TemporalJoin) and node.upstream.table_id == after.table_id:
        ids = {column.column_id: i for i, column in enumerate(after.columns)}
        kept = ((i, column.column_id) for i, column in enumerate(node.upstream.columns) if column.column_id in ids)
        places = {i: ids[column_id] for i, column_id in kept}
        columns = tuple(places[i] for i in node.columns)
        if isinstance(node, TableScan) or node.matched is None:
            return replace(node, upstream=after, columns=columns)
        matched = tuple((left, places[right]) for left, right in node.matched)
        return replace(node, upstream=after, columns=columns, matched=matched)
    if not isinstance(node, Materialize) and any(_reads(getattr(node, f.name), after) for f in fields(node)):
        raise FeatureNotSupported(
            f"ALTER TABLE of a table that a view reads through {type(node).__name__} is not supported",
            hint="Drop the view, alter the table, and create the view again.",
        )
    return node


def _reads(value: object, table: TableSchema) -> bool:
    """Whether a parameter of an operator is the table itself, in its old form."""
    return isinstance(value, TableSchema) and value.table_id == table.table_id


def _nodes(root: StreamPlan) -> Iterator[StreamPlan]:
    yield root
    for _, value in _parameters(root):
        for each in value if isinstance(value, tuple) else (value,):
            yield from _nodes(each)


def _parameters(node: StreamPlan) -> Iterator[tuple[str, Any]]:
    """The parameters that are inputs, by name: an operator, or a tuple of them."""
    assert is_dataclass(node)
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, _OPERATORS) or (isinstance(value, tuple) and value and isinstance(value[0], _OPERATORS)):
            yield field.name, value


def _rewritten(node: StreamPlan, change: Callable[[StreamPlan], StreamPlan]) -> StreamPlan:
    """Rewrites any plan bottom-up; a plan in which nothing changes stays the same object."""
    changed: dict[str, Any] = {}
    for name, value in _parameters(node):
        new = tuple(_rewritten(v, change) for v in value) if isinstance(value, tuple) else _rewritten(value, change)
        if new != value:
            changed[name] = new
    return change(replace(node, **changed) if changed else node)
