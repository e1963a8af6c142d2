"""Cuts a stream plan at its exchanges into fragments, and numbers their stages.

A fragment runs after its inputs. So its stage is 0, or one more than the highest stage that feeds it through an
exchange; and it is no lower than the stage of a fragment that materializes a table which it scans. `Exchange` nodes
stay in the fragment's plan as leaves; what is below one belongs to the fragment that it reads. `Share` nodes are leaves
as well, but do not raise the stage: their rows stay on their shard.
A recursion whose step is in other fragments (`StreamLevels`) reads the last of them, which in its turn reads it. All
other readers have a later stage than that last one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from risingpy.errors import InternalError
from risingpy.optimizer.stream.jobs import StreamJobPlan
from risingpy.plan.graph import ExchangeSource, Fragment, Job, StreamGraph
from risingpy.plan.joins import TemporalJoin
from risingpy.plan.operators import (
    Exchange,
    Materialize,
    Share,
    StreamPlan,
    TableScan,
    WatermarkFilter,
)
from risingpy.plan.recursion.loops import reads_level
from risingpy.plan.recursion.operators import StreamLevels, StreamLevelScan
from risingpy.plan.traversal import Border, all_state_tables, nodes_of_fragment
from risingpy.plan.watermark_use import awaited


def cut(job_id: int, planned: StreamJobPlan, graph: StreamGraph, allocate: Callable[[], int]) -> Job:
    """The job that runs `planned` beside `graph`'s jobs, upstream fragments first. `allocate` gives fragment ids."""
    cutter = _Cutter(job_id, _materializing_stages(graph), allocate)
    cutter.cut(planned.root)
    every = [node for fragment in cutter.fragments for node in nodes_of_fragment(fragment.root)]
    return Job(
        job_id=job_id,
        name=planned.table.name,
        fragments=tuple(cutter.fragments),
        table=planned.table,
        state_tables=tuple(table for table in all_state_tables(planned.root) if table != planned.table),
        watermarks=tuple(node.watermark_id for node in every if isinstance(node, WatermarkFilter)),
        awaits=tuple(sorted({each for node in every for each in awaited(node)})),
    )


def _materializing_stages(graph: StreamGraph) -> dict[int, int]:
    """For each stored relation, the stage of the fragment that writes it."""
    return {
        fragment.root.table.table_id: fragment.stage
        for job in graph.jobs
        for fragment in job.fragments
        if isinstance(fragment.root, Materialize)
    }


@dataclass(slots=True)
class _Cutter:
    job_id: int
    table_stages: dict[int, int]
    allocate: Callable[[], int]
    fragments: list[Fragment] = field(default_factory=list)
    shared: dict[int, Fragment] = field(default_factory=dict)  # by the Share's number
    levels: dict[int, Fragment] = field(default_factory=dict)  # by the StreamLevels's number
    ends: dict[int, int] = field(default_factory=dict)  # by the fragment of a StreamLevels, its step's last stage

    def cut(self, root: StreamPlan) -> Fragment:
        """Cuts what feeds `root` first, then makes its own fragment."""
        if isinstance(root, StreamLevels):
            return self._cut_recursion(root)
        nodes = list(nodes_of_fragment(root))
        exchanges = [node for node in nodes if isinstance(node, Border)]
        feeding = [self._feeding(each) for each in exchanges]
        read = [node for node in nodes if isinstance(node, TableScan | TemporalJoin)]
        upstream = tuple(dict.fromkeys(node.upstream.table_id for node in read))
        stages = [self.table_stages[table] for table in upstream]
        for fragment, each in zip(feeding, exchanges, strict=True):
            stages.append(self._earliest(each, fragment))
        fragment = Fragment(
            fragment_id=self.allocate(),
            job_id=self.job_id,
            root=root,
            inputs=tuple(
                ExchangeSource.of(source.fragment_id, each.properties, moves=isinstance(each, Exchange))
                for source, each in zip(feeding, exchanges, strict=True)
            ),
            upstream_tables=upstream,
            stage=max(stages, default=0),
        )
        self.fragments.append(fragment)
        return fragment

    def _cut_recursion(self, root: StreamLevels) -> Fragment:
        """The fragment comes before those of its step, which read it. What the start reads comes before it."""
        start = self._feeding(_exchange(root.start))
        inputs = [ExchangeSource.of(start.fragment_id, root.start.properties)]
        fragment = Fragment(
            self.allocate(), self.job_id, root, tuple(inputs), (), self._earliest(_exchange(root.start), start)
        )
        position = len(self.fragments)
        self.levels[root.number] = fragment
        step = self._feeding(_exchange(root.step))
        self.ends[fragment.fragment_id] = step.stage
        inputs.append(ExchangeSource.of(step.fragment_id, root.step.properties))
        fragment = replace(fragment, inputs=tuple(inputs))
        self.fragments.insert(position, fragment)
        return fragment

    def _earliest(self, leaf: Border, read: Fragment) -> int:
        """The first stage in which the rows of a fragment are there for a leaf that reads them."""
        if read.fragment_id in self.ends and not reads_level(leaf):
            return self.ends[read.fragment_id] + 1
        return read.stage + int(isinstance(leaf, Exchange))

    def _feeding(self, leaf: Border) -> Fragment:
        """The fragment that a leaf reads; all readers of a shared part, or of a recursion, have the same one."""
        share = leaf.input if isinstance(leaf, Exchange) else leaf
        if isinstance(share, StreamLevelScan):
            return self.levels[share.number]
        if not isinstance(share, Share):
            return self.cut(share)
        if share.number not in self.shared:
            self.shared[share.number] = self.cut(share.input)
        return self.shared[share.number]


def _exchange(plan: StreamPlan) -> Exchange:
    if not isinstance(plan, Exchange):
        raise InternalError("an input of a recursion is no exchange")
    return plan
