"""EXPLAIN ANALYZE of a running job: one line per operator, with its rows, its time and its state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from risingpy.optimizer.explain.stream import operator_node
from risingpy.optimizer.explain.tree import ExplainFormat, ExplainNode, render
from risingpy.plan.graph import Fragment, Job
from risingpy.plan.operator_work import OperatorPosition, OperatorWork
from risingpy.plan.operators import Exchange, Share, StreamFilter, StreamPlan, StreamProject
from risingpy.plan.recursion.loops import reads_level
from risingpy.plan.state_tables import state_tables
from risingpy.plan.traversal import Border, children
from risingpy.storage.engine.table_statistics import TableStatistics


@dataclass(frozen=True, slots=True)
class AnalyzedOperator:
    """One line. None: it has no inputs, no time of its own (a filter that a projection evaluates), or no state.

    `lookups`: keys that it has looked up in its state; `found`: those that had a row.
    """

    identity: str
    fragment_id: int
    stage: int
    rows_in: int | None
    rows_out: int
    milliseconds: float | None
    state_rows: int | None
    state_bytes: int | None
    lookups: int | None
    found: int | None


def explain_analyze(
    job: Job, work: Mapping[OperatorPosition, OperatorWork], tables: Mapping[int, TableStatistics]
) -> list[AnalyzedOperator]:
    """The job's operators, from the one whose output clients read down to the tables."""
    fragments = {fragment.fragment_id: fragment for fragment in job.fragments}
    root = _tree(job.fragments[-1], fragments, work, tables, set())
    identities = render(_shown(root), ExplainFormat.TEXT)
    return [replace(found, identity=text) for found, text in zip(_operators(root), identities, strict=True)]


@dataclass(frozen=True, slots=True)
class _Node:
    plan: StreamPlan
    operator: AnalyzedOperator
    inputs: tuple[_Node, ...]


def _tree(
    fragment: Fragment,
    fragments: Mapping[int, Fragment],
    work: Mapping[OperatorPosition, OperatorWork],
    tables: Mapping[int, TableStatistics],
    shared: set[int],
) -> _Node:
    """A fragment's operators, and below each exchange the fragment that it reads; a shared one at its first reader."""
    numbers, sources = _counted(), iter(fragment.inputs)

    def node(plan: StreamPlan, reader: StreamPlan | None) -> _Node:
        done = work.get((fragment.fragment_id, next(numbers)), OperatorWork())
        operator = _analyzed(plan, reader, fragment, done, tables)
        if isinstance(plan, Border) and reads_level(plan):
            next(sources)  # the fragment of the recursion, which is around it
            scan = (_Node(plan.input, operator, ()),) if isinstance(plan, Exchange) else ()
            return _Node(plan, operator, scan)
        if isinstance(plan, Border):
            share = plan.input if isinstance(plan, Exchange) else plan
            source = fragments[next(sources).fragment_id]
            if isinstance(share, Share) and share.number in shared:
                below: tuple[_Node, ...] = ()
            else:
                below = (_tree(source, fragments, work, tables, shared),)
            if isinstance(share, Share):
                shared.add(share.number)
                below = (_Node(share, operator, below),) if isinstance(plan, Exchange) else below
            return _Node(plan, operator, below)
        return _Node(plan, operator, tuple(node(child, plan) for child in children(plan)))

    return node(fragment.root, None)


def _counted() -> Iterator[int]:
    number = 0
    while True:
        yield number
        number += 1


def _analyzed(
    plan: StreamPlan,
    reader: StreamPlan | None,
    fragment: Fragment,
    done: OperatorWork,
    tables: Mapping[int, TableStatistics],
) -> AnalyzedOperator:
    kept = [tables.get(table.table_id, TableStatistics()) for table in state_tables(plan)]
    rows_in = done.rows_out if isinstance(plan, Border) else done.rows_in
    is_fused = isinstance(plan, StreamFilter) and isinstance(reader, StreamProject)
    return AnalyzedOperator(
        identity="",
        fragment_id=fragment.fragment_id,
        stage=fragment.stage,
        rows_in=rows_in if children(plan) else None,
        rows_out=done.rows_out,
        milliseconds=None if is_fused else round(done.nanoseconds / 1e6, 3),
        state_rows=sum(table.rows for table in kept) if kept else None,
        state_bytes=sum(table.key_bytes + table.value_bytes for table in kept) if kept else None,
        lookups=done.lookups if kept else None,
        found=done.found if kept else None,
    )


def _shown(node: _Node) -> ExplainNode:
    return replace(operator_node(node.plan), children=tuple(_shown(each) for each in node.inputs))


def _operators(node: _Node) -> Iterator[AnalyzedOperator]:
    yield node.operator
    for each in node.inputs:
        yield from _operators(each)
