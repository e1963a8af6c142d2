"""A stream graph as a process runs it: the receivers of each fragment's rows, and each fragment's operators."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from risingpy.executors.builders.operators import fragment_tree
from risingpy.executors.epoch.exchange import input_port, table_port
from risingpy.executors.epoch.operator_tree import FragmentTree
from risingpy.executors.epoch.shared_outputs import Use, uses_in, wanted_by_several
from risingpy.executors.epoch.turn import Turn
from risingpy.executors.few_rows.chunk import FewRows
from risingpy.executors.few_rows.shards import RowShards, can_tell
from risingpy.plan.graph import ExchangeSource, Fragment, Job, StreamGraph
from risingpy.plan.operators import Materialize
from risingpy.plan.recursion.loops import STEP, Stages, goes_by_levels, loops_among, running_fragments
from risingpy.plan.set_aside import can_be_set_aside

_Uses: TypeAlias = "Mapping[int, tuple[Fragment, frozenset[Use]]]"  # by fragment, with the fragment that has them
_SetAside: TypeAlias = "Mapping[int, tuple[Job, bool]]"  # by job, with the job of which that is known


class LoadedGraph:
    """Answers what every epoch asks of a graph; computed once per graph. Several threads use it, one per shard.

    `fragments`: by stage, with upstreams first. `stage_of`: by fragment. `ports`: by fragment, the ports of all its
    inputs. `consumers`: by sending fragment, the port of each receiver, and how to distribute the rows.
    `later_readers`: by table, the ports of the fragments of later stages that scan it. `limited`: the jobs that may
    take only a part of an epoch. `shared_outputs`: see `wanted_by_several`. `set_aside`: the jobs of which only the
    last fragment is here, to take over results: nothing comes to it. `levels`: by the port of
    what comes back to it from its step, the fragment of a recursion.
    """

    def __init__(self, graph: StreamGraph, before: LoadedGraph | None = None) -> None:
        """`before` is the graph that this one replaces. Fragments that are in both keep their operators.

        Fragments are compared by identity: `GraphReader` gives the same objects for jobs that have not changed, and
        comparing whole plans would cost more than making their operators.
        """
        self.set_aside = frozenset(graph.set_aside)
        every = [
            fragment if fragment.job_id not in self.set_aside else replace(fragment, inputs=(), upstream_tables=())
            for fragment in running_fragments(graph)
        ]
        self.stages = Stages(graph.depth, loops_among(every))
        self.levels = {input_port(each.fragment_id, STEP): each.fragment_id for each in every if goes_by_levels(each)}
        self.shards = graph.shards
        self.fragments = tuple(tuple(f for f in every if f.stage == stage) for stage in range(graph.depth))
        self._in_loops = {
            loop.last: [[each for each in stage if each.fragment_id in loop.members] for stage in self.fragments]
            for loop in self.stages.loops
        }
        self.stage_of: Mapping[int, int] = {fragment.fragment_id: fragment.stage for fragment in every}
        self.ports: Mapping[int, tuple[int, ...]] = {fragment.fragment_id: _ports_of(fragment) for fragment in every}
        self.consumers = _consumers(every)
        self.later_readers = _later_readers(every)
        self._can_be_set_aside: _SetAside = _set_aside(graph, {} if before is None else before._can_be_set_aside)  # noqa: SLF001
        self.limited = frozenset(job_id for job_id, (_, can_be) in self._can_be_set_aside.items() if can_be)
        known = {} if before is None else before._trees  # noqa: SLF001 - a graph takes over from its own kind
        # A copy: a thread that runs the graph before may still add to its own.
        self._trees: dict[int, tuple[Fragment, FragmentTree]] = {
            fragment.fragment_id: known[fragment.fragment_id]
            for fragment in every
            if fragment.fragment_id in known and known[fragment.fragment_id][0] is fragment
        }

        self._row_shards: dict[int, RowShards | None] = {}
        self._uses: _Uses = _uses(every, {} if before is None else before._uses)  # noqa: SLF001
        self.shared_outputs = wanted_by_several(uses for _, uses in self._uses.values())

    def fragments_of(self, turn: Turn) -> Sequence[Fragment]:
        """The fragments that run in a turn."""
        return self._in_loops[turn.loop][turn.stage] if turn.repetition else self.fragments[turn.stage]

    def runs_in(self, turn: Turn, fragment_id: int) -> bool:
        """Whether a fragment runs in a turn: rows for it are taken then."""
        if self.stage_of[fragment_id] != turn.stage:
            return False
        loop = self.stages.ending_at(turn.loop) if turn.repetition else None
        return loop is None or fragment_id in loop.members

    def tree(self, fragment: Fragment) -> FragmentTree:
        """A fragment's operators. They are made when it first runs, and errors of making them are raised then."""
        known = self._trees.get(fragment.fragment_id)
        if known is None:  # two threads may both make them; those of one are kept
            known = self._trees[fragment.fragment_id] = (fragment, fragment_tree(fragment))
        return known[1]

    def row_shards(self, port: int, rows: FewRows, columns: Sequence[int]) -> RowShards | None:
        """What tells the shards of rows that go to an exchange input by these columns; None if it takes columns.

        All rows that go there have the same types, so it is made once.
        """
        if port not in self._row_shards:
            known = can_tell(rows.types, columns)
            self._row_shards[port] = RowShards(rows.types, columns, self.shards) if known else None
        return self._row_shards[port]

    def waits_for_rows(self, fragment: Fragment) -> bool:
        """Whether a fragment has nothing to do when no rows come to it and its job reads no snapshot.

        False for a fragment that has not run yet: its first run makes the operators, which may fail.
        """
        known = self._trees.get(fragment.fragment_id)
        return known is not None and known[1].waits_for_rows


def _set_aside(graph: StreamGraph, known: _SetAside) -> _SetAside:
    """Whether each job can be set aside. Of jobs that stay this is known: it is a look at all nodes of a plan."""
    return {
        job.job_id: known[job.job_id]
        if job.job_id in known and known[job.job_id][0] is job
        else (job, can_be_set_aside(job))
        for job in graph.jobs
    }


def _uses(every: list[Fragment], known: _Uses) -> _Uses:
    """What fragments use of the changes of tables that others scan, too."""
    scans = Counter(table_id for fragment in every for table_id in fragment.upstream_tables)
    found = {}
    for fragment in every:
        if any(scans[table_id] > 1 for table_id in fragment.upstream_tables):
            before = known.get(fragment.fragment_id)
            is_known = before is not None and before[0] is fragment
            found[fragment.fragment_id] = known[fragment.fragment_id] if is_known else (fragment, uses_in(fragment))
    return found


def _ports_of(fragment: Fragment) -> tuple[int, ...]:
    inputs = [input_port(fragment.fragment_id, index) for index in range(len(fragment.inputs))]
    tables = [table_port(fragment.fragment_id, index) for index in range(len(fragment.upstream_tables))]
    return (*inputs, *tables)


def _consumers(every: list[Fragment]) -> Mapping[int, tuple[tuple[int, ExchangeSource], ...]]:
    consumers: dict[int, list[tuple[int, ExchangeSource]]] = defaultdict(list)
    for fragment in every:
        for index, source in enumerate(fragment.inputs):
            consumers[source.fragment_id].append((input_port(fragment.fragment_id, index), source))
    return {fragment_id: tuple(ports) for fragment_id, ports in consumers.items()}


def _later_readers(every: list[Fragment]) -> Mapping[int, tuple[int, ...]]:
    writer_stage = {f.root.table.table_id: f.stage for f in every if isinstance(f.root, Materialize)}
    readers: dict[int, list[int]] = defaultdict(list)
    for fragment in every:
        for index, table_id in enumerate(fragment.upstream_tables):
            # A job in epochs of its own is alone in its graph: the changes that it reads come from changelogs.
            if fragment.stage > writer_stage.get(table_id, fragment.stage):
                readers[table_id].append(table_port(fragment.fragment_id, index))
    return {table: tuple(ports) for table, ports in readers.items()}
