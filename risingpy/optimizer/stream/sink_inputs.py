"""Connects the jobs of sinks into tables with the jobs of the tables, and numbers the stages of all jobs again.

    Materialize(Dml)  =>  Materialize(TableInputs(Dml, SinkInput(s), SinkInput(u)))     sinks s and u go into the table

A job is cut after what it reads, so its stages are known then. A sink connects jobs that are there already: the table
runs after the sink, and so does everything that reads the table. Within a stage the order of the jobs stays right,
because a sink's rows are exchanged and so come from an earlier stage.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from graphlib import TopologicalSorter

from risingpy.plan.graph import ExchangeSource, Fragment, Job
from risingpy.plan.operators import (
    Dml,
    Materialize,
    SinkInput,
    StreamPlan,
    TableInputs,
    WatermarkFilter,
)
from risingpy.plan.recursion.loops import STEP, goes_by_levels, read_before
from risingpy.plan.traversal import Border, nodes_of_fragment


def connected(jobs: Mapping[int, Job], sinks: Mapping[int, Sequence[int]]) -> Mapping[int, Job]:
    """`jobs` with each table reading its sinks, and no others. `sinks`: by table, the ids of the sinks' jobs.

    Jobs that stay as they are stay the same objects. The sinks must not form a cycle (graphlib.CycleError).
    """
    changed = dict(jobs)
    for job in jobs.values():
        wanted = tuple(sinks.get(job.job_id, ()))
        if wanted != _sinks_of(job):
            changed[job.job_id] = _reading(job, wanted, jobs)
    return staged(changed) if any(changed[key] is not jobs[key] for key in jobs) else jobs


def _sinks_of(job: Job) -> tuple[int, ...]:
    """The sinks that a job reads: only a table's last fragment does."""
    nodes = nodes_of_fragment(job.fragments[-1].root)
    return tuple(node.sink_id for node in nodes if isinstance(node, SinkInput))


def _reading(job: Job, sinks: Collection[int], jobs: Mapping[int, Job]) -> Job:
    """A table's job with other sinks."""
    *earlier, last = job.fragments
    leaves = [node for node in nodes_of_fragment(last.root) if isinstance(node, Border | SinkInput)]
    own = [each for leaf, each in zip(leaves, last.inputs, strict=True) if not isinstance(leaf, SinkInput)]
    root = _with_inputs(last.root, sinks)
    sources = [ExchangeSource.of(jobs[sink].fragments[-1].fragment_id, root.properties) for sink in sinks]
    fragment = replace(last, root=root, inputs=(*own, *sources))
    return replace(job, fragments=(*earlier, fragment))


def _with_inputs(plan: StreamPlan, sinks: Collection[int]) -> StreamPlan:
    match plan:
        case Materialize() | WatermarkFilter():
            return replace(plan, input=_with_inputs(plan.input, sinks))
        case Dml():
            inputs = tuple(SinkInput(sink, plan.properties) for sink in sinks)
            return TableInputs(plan, None, plan.properties, inputs) if inputs else plan
        case TableInputs():
            inputs = tuple(SinkInput(sink, plan.properties) for sink in sinks)
            return replace(plan, sinks=inputs) if inputs or plan.fed is not None else plan.log
        case _:
            raise AssertionError(f"a table's job begins with its log, and not with {type(plan).__name__}")


def staged(jobs: Mapping[int, Job]) -> Mapping[int, Job]:
    """The jobs with each fragment in the stage that `fragments.cut` describes."""
    fragments = {fragment.fragment_id: fragment for job in jobs.values() for fragment in job.fragments}
    writers = {
        fragment.root.table.table_id: fragment.fragment_id
        for fragment in fragments.values()
        if isinstance(fragment.root, Materialize)
    }
    steps = {key: each.inputs[STEP].fragment_id for key, each in fragments.items() if goes_by_levels(each)}
    before = {key: _before(fragment, writers, steps) for key, fragment in fragments.items()}
    stages: dict[int, int] = {}
    for key in TopologicalSorter(before).static_order():
        stages[key] = max((stages[each] + moves for each, moves in before[key].items()), default=0)
    return {key: _with_stages(job, stages) for key, job in jobs.items()}


def _before(fragment: Fragment, writers: Mapping[int, int], steps: Mapping[int, int]) -> dict[int, int]:
    """The fragments that a fragment reads: 1 for those whose rows move to it, 0 for those on the same shard."""
    tables = {writers[table]: 0 for table in fragment.upstream_tables}
    return tables | read_before(fragment, steps)


def _with_stages(job: Job, stages: Mapping[int, int]) -> Job:
    if all(fragment.stage == stages[fragment.fragment_id] for fragment in job.fragments):
        return job
    fragments = (
        fragment
        if fragment.stage == stages[fragment.fragment_id]
        else replace(fragment, stage=stages[fragment.fragment_id])
        for fragment in job.fragments
    )
    return replace(job, fragments=tuple(fragments))
