"""Loops of a stream graph: the stages that run again for each level of a recursion whose step is in other fragments.

    StreamLevels's fragment (stage 1)  →  fragments of the step (1, 2)  →  StreamLevels's fragment again, ...

A loop is gone through until none of its recursions has changes left. What reads their rows from outside is in a later
stage, and so runs once. Loops that end in the same stage are one: they repeat together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import zip_longest

from risingpy.plan.graph import Fragment, StreamGraph
from risingpy.plan.operators import Exchange
from risingpy.plan.recursion.operators import StreamLevels, StreamLevelScan
from risingpy.plan.set_aside import can_be_set_aside, root_fragment
from risingpy.plan.traversal import Border, nodes_of_fragment

STEP = 1  # of a StreamLevels's fragment, the input that comes from its step


@dataclass(frozen=True, slots=True)
class Loop:
    """The stages from `first` to `last`, in which the fragments `members` run again, and no others.

    `members`: by fragment, its job.
    """

    first: int
    last: int
    members: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Stages:
    """What an engine must know of a graph: it has the stages from 0 to `depth` - 1, and loops, the earlier first.

    `may_be_set_aside`: of the jobs that have loops, those that can go on by themselves.
    """

    depth: int
    loops: tuple[Loop, ...] = ()
    may_be_set_aside: frozenset[int] = frozenset()

    @classmethod
    def of(cls, graph: StreamGraph) -> Stages:
        """Those of a graph."""
        loops = loops_among(running_fragments(graph))
        in_loops = {job_id for loop in loops for job_id in loop.members.values()}
        can_be = (job.job_id for job in graph.jobs if job.job_id in in_loops and can_be_set_aside(job))
        return cls(graph.depth, loops, frozenset(can_be))

    @property
    def exchanges_of_repetition(self) -> int:
        """How many exchanges a repetition costs on Spark, at most, with one for the job that it is; 0 without loops."""
        return max((loop.last - loop.first + 2 for loop in self.loops), default=0)

    def ending_at(self, stage: int) -> Loop | None:
        """The loop whose last stage this is."""
        return next((loop for loop in self.loops if loop.last == stage), None)


def running_fragments(graph: StreamGraph) -> list[Fragment]:
    """All fragments that epochs of the graph run: of jobs that are set aside the last one, which takes results over."""
    return [
        fragment
        for job in graph.jobs
        for fragment in ((root_fragment(job),) if job.job_id in graph.set_aside else job.fragments)
    ]


def goes_by_levels(fragment: Fragment) -> bool:
    """Whether the fragment is that of a StreamLevels, and runs for each level."""
    return isinstance(fragment.root, StreamLevels)


def loops_among(fragments: Iterable[Fragment]) -> tuple[Loop, ...]:
    """The loops, by their last stage. Fragments come after those that they read, but for the steps of recursions."""
    known = {fragment.fragment_id: fragment for fragment in fragments}
    found: dict[int, Loop] = {}
    for fragment in known.values():
        if goes_by_levels(fragment):
            last = known[fragment.inputs[STEP].fragment_id]
            loop = Loop(fragment.stage, last.stage, _members(fragment, last, known))
            other = found.get(loop.last, loop)
            found[loop.last] = Loop(min(loop.first, other.first), loop.last, {**loop.members, **other.members})
    return tuple(found[last] for last in sorted(found))


def reads_level(leaf: Border) -> bool:
    """Whether a leaf is in the step of a recursion, and reads its rows level by level."""
    return isinstance(leaf.input if isinstance(leaf, Exchange) else leaf, StreamLevelScan)


def read_before(fragment: Fragment, steps: Mapping[int, int]) -> dict[int, int]:
    """What a fragment must follow through its inputs: by fragment, how many stages later it runs at least.

    `steps`: by the fragment of a StreamLevels, the last one of its step. Who is not in the step reads all levels, and
    so follows that one.
    """
    found: dict[int, int] = {}
    for index, (source, leaf) in enumerate(zip_longest(fragment.inputs, _leaves(fragment))):
        if goes_by_levels(fragment) and index == STEP:
            continue
        found[source.fragment_id] = max(int(source.moves), found.get(source.fragment_id, 0))
        if source.fragment_id in steps and not (leaf is not None and reads_level(leaf)):
            found[steps[source.fragment_id]] = 1
    return found


def _leaves(fragment: Fragment) -> list[Border]:
    """What reads the first inputs of a fragment; rows of sinks come after those."""
    return [node for node in nodes_of_fragment(fragment.root) if isinstance(node, Border)]


def _members(first: Fragment, last: Fragment, known: Mapping[int, Fragment]) -> Mapping[int, int]:
    """The fragment of a recursion and those of its step that read its rows, themselves or through others."""
    found: dict[int, bool] = {first.fragment_id: True}

    def reads(fragment: Fragment) -> bool:
        if fragment.fragment_id not in found:
            inputs = fragment.inputs[:STEP] if goes_by_levels(fragment) else fragment.inputs
            found[fragment.fragment_id] = any([reads(known[source.fragment_id]) for source in inputs])
        return found[fragment.fragment_id]

    reads(last)
    return {fragment_id: known[fragment_id].job_id for fragment_id, is_member in found.items() if is_member}
