"""Whole graphs: tables, views and views of views, on several shards, some created late."""

from __future__ import annotations

import shutil
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from functools import partial
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.executors.epoch.loaded_graph import LoadedGraph
from risingpy.executors.epoch.shard_threads import ShardThreads, one_by_one
from risingpy.executors.epoch.stage_runner import FragmentFailed, StageReport, run_epoch_in_process, run_stage
from risingpy.executors.epoch.time import COUNTER_BITS
from risingpy.executors.epoch.turn import Repetitions
from risingpy.executors.relation import backfill as table_scan
from risingpy.plan import logical
from risingpy.plan.catalog import IndexedRelation
from risingpy.plan.expressions import Call, Expr, InputRef, Literal
from risingpy.plan.graph import StreamGraph
from risingpy.plan.logical import AggCall, Field
from risingpy.storage.engine.shard_store import ShardStore
from risingpy.types import BIGINT, BOOLEAN, VARCHAR, SqlType, numeric
from tests.examples import examples
from tests.executors.bench import Input, Row, chunk
from tests.optimizer.conftest import PlannerBench

COLUMNS = {"k": BIGINT, "g": BIGINT, "s": VARCHAR}
TYPES = [BIGINT, BIGINT, VARCHAR]
SUM = numeric(38, 0)

Log = Sequence[tuple[int, Row]]


def aggregate(input: logical.LogicalPlan, group: int | None) -> logical.Aggregate:
    """count(*), sum(k), max(k) of each g, or of everything."""
    calls = (AggCall("count", (), BIGINT), AggCall("sum", (0,), SUM), AggCall("max", (0,), BIGINT))
    fields = (Field("count", BIGINT), Field("sum", SUM), Field("max", BIGINT))
    key = () if group is None else (group,)
    return logical.Aggregate(input, key, calls, (*(input.schema[k] for k in key), *fields))


def counts(input: logical.LogicalPlan) -> logical.Aggregate:
    """count(*) of each g: the only call is one of two phases."""
    return logical.Aggregate(input, (1,), (AggCall("count", (), BIGINT),), (input.schema[1], Field("n", BIGINT)))


def greater(column: int, value: int) -> Expr:
    return Call("gt", (InputRef(column, BIGINT), Literal(value, BIGINT)), BOOLEAN)


def summed(rows: Sequence[Row]) -> Row:
    keys = [int(str(row[0])) for row in rows]
    return (len(keys), sum(keys) if keys else None, max(keys, default=None))


def grouped(rows: Sequence[Row], column: int) -> list[Row]:
    groups: dict[object, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row[column]].append(row)
    return [(key, *summed(members)) for key, members in groups.items()]


class Way(Enum):
    """How an epoch runs."""

    IN_TURN = "shard after shard"
    AT_ONCE = "a thread per shard"
    BY_STAGE = "by stage, each tried twice"


class Database:
    """Tables and views over a few shards; epochs run in one process, or stage by stage with payloads as under Spark."""

    def __init__(self, shards: int, way: Way = Way.IN_TURN, types: Sequence[SqlType] = TYPES) -> None:
        self.planner = PlannerBench()
        self._types = types
        self._way = way
        self._threads = ShardThreads()
        self._directory = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").exists() else None))
        self._stores = [
            ShardStore(self._directory / str(shard), shard=shard, shards=shards, map_size=64 << 20)
            for shard in range(shards)
        ]
        self._epoch = 0
        self._committed = 0
        self._seen: set[int] = set()
        self._backfilling: set[int] = set()
        self._graph = StreamGraph(0, shards, ())
        self._loaded = LoadedGraph(self._graph)
        self.reports: list[StageReport] = []

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *error: object) -> None:
        self._threads.close()
        for store in self._stores:
            store.close()
        shutil.rmtree(self._directory)

    def run(self, logs: Mapping[int, Log], *, milliseconds: int = 0) -> bool:
        """One epoch, begun at a time since 1970; True if no view is backfilling after it."""
        self._committed, self._epoch = self._epoch, max(self._epoch + 1, milliseconds << COUNTER_BITS)
        if len(self._graph.jobs) != len(self.planner.jobs):
            self._graph = replace(self._graph, version=self._epoch, jobs=tuple(self.planner.jobs))
            self._loaded = LoadedGraph(self._graph, self._loaded)
        fresh = {job.job_id for job in self._graph.jobs} - self._seen
        self._seen |= fresh
        logged = {table: chunk(log, self._types) for table, log in logs.items() if log}
        self._backfilling |= fresh
        jobs = (fresh, self._backfilling)
        inputs = [JobInput(self._epoch, self._committed, *jobs, logged) for _ in self._stores]
        self.reports = self._run_stages(inputs) if self._way is Way.BY_STAGE else self._run_together(inputs)
        self._backfilling = {
            job for report in self.reports for job, (_, finished) in report.backfill.items() if not finished
        }
        return not self._backfilling

    def _run_together(self, inputs: Sequence[JobInput]) -> list[StageReport]:
        return run_epoch_in_process(
            self._loaded,
            self._stores,
            self._epoch,
            inputs,
            committed=self._committed,
            on_shards=self._threads if self._way is Way.AT_ONCE else one_by_one,
        )

    def _run_stages(self, inputs: Sequence[JobInput]) -> list[StageReport]:
        reports = []
        arrived: list[list[tuple[int, bytes]]] = [[] for _ in self._stores]
        repetitions = Repetitions()
        for turn in chain.from_iterable(repetitions.chains(self._loaded.stages)):
            leaving: list[list[tuple[int, bytes]]] = [[] for _ in self._stores]
            for shard, store in enumerate(self._stores):
                for attempt in ("fails after its commit", "succeeds"):
                    with store.begin(self._epoch, turn.number, committed=self._committed) as transaction:
                        output = run_stage(self._loaded, turn, shard, transaction, inputs[shard], arrived[shard])
                        transaction.commit()
                    assert attempt
                reports.append(output.report)
                repetitions.note(output.report.pending)
                for target, port, payload in output.payloads:
                    leaving[target].append((port, payload))
            arrived = leaving
        assert not any(arrived)
        return reports

    def rows(self, relation: IndexedRelation) -> list[Row]:
        """The stored rows' visible columns, sorted."""
        visible = [k for k, column in enumerate(relation.columns) if not column.hidden]
        found: list[Row] = []
        for store in self._stores:
            with store.begin(self._epoch + 1, 0, committed=self._epoch) as transaction:
                stored = transaction.state_table(relation.table).scan_rows()
                found += [tuple(row[k] for k in visible) for row in stored]
        return sorted(found, key=repr)


class JobInput(Input):
    """Knows which jobs run for the first time, and which still read snapshots."""

    def __init__(
        self, epoch: int, committed: int, fresh: set[int], backfilling: set[int], logged: Mapping[int, pa.Table]
    ) -> None:
        super().__init__(epoch, logged=logged, committed=committed)
        self._fresh = fresh
        self._backfilling = backfilling

    def watermark(self, watermark_id: int) -> int | None:
        return None

    def is_backfilling(self, job_id: int) -> bool:
        return job_id in self._backfilling

    def first_epoch_of(self, job_id: int) -> bool:
        return job_id in self._fresh


Query = Callable[[Sequence[Row], Sequence[Row]], list[Row]]


def create_views(
    planner: PlannerBench, a: IndexedRelation, b: IndexedRelation
) -> Iterator[tuple[IndexedRelation, Query]]:
    """Views over two tables and over each other, and what each should hold."""
    scan_a, scan_b = planner.scan(a), planner.scan(b)
    by_group = planner.view("by_group", aggregate(scan_a, 1))
    yield by_group, lambda a, b: grouped(a, 1)
    yield planner.view("total", aggregate(scan_b, None)), lambda a, b: [summed(b)]
    filtered = logical.Project(logical.Filter(scan_a, greater(0, 3)), (InputRef(2, VARCHAR),), (Field("s", VARCHAR),))
    for name in ("filtered", "filtered_alike"):
        yield planner.view(name, filtered), lambda a, b: [(row[2],) for row in a if int(str(row[0])) > 3]
    for name in ("counted", "counted_alike"):
        yield planner.view(name, counts(scan_a)), lambda a, b: [row[:2] for row in grouped(a, 1)]
    both = logical.Union((scan_a, scan_b), scan_a.schema)
    yield planner.view("both", both), lambda a, b: [*a, *b]
    yield planner.view("grouped_union", aggregate(both, 2)), lambda a, b: grouped([*a, *b], 2)
    counted = planner.scan(by_group, "count", "max")
    key = AggCall("sum", (0,), SUM)
    upper = logical.Aggregate(counted, (1,), (key,), (Field("max", BIGINT), Field("sum", SUM)))
    yield planner.view("view_of_view", upper), lambda a, b: _counts_by_max(a)
    groups = aggregate(scan_a, 1)
    yield planner.view("twice", logical.Union((groups, groups), groups.schema)), lambda a, b: grouped(a, 1) * 2
    largest = logical.Aggregate(groups, (), (AggCall("max", (1,), BIGINT),), (Field("most", BIGINT),))
    is_largest = Call("eq", (InputRef(1, BIGINT), InputRef(4, BIGINT)), BOOLEAN)
    joined = logical.Join(groups, largest, logical.JoinKind.INNER, is_largest, (*groups.schema, *largest.schema))
    yield planner.view("largest", joined), lambda a, b: _largest(a)
    for distinct in (True, False):
        reached = _recursion(scan_a, scan_b, distinct=distinct)
        yield planner.view(f"reached_{distinct}", reached), partial(_reached, distinct=distinct)


def _recursion(edges: logical.Scan, start: logical.Scan, *, distinct: bool) -> logical.LogicalPlan:
    """From each row of `start`, its k, the rows of `edges` lead on from k to g; with duplicates, upwards only."""
    number = (Field("n", BIGINT),)
    scan = logical.RecursiveScan("r", number)
    leads = Call("eq", (InputRef(0, BIGINT), InputRef(1, BIGINT)), BOOLEAN)
    if not distinct:
        upwards = Call("gt", (InputRef(2, BIGINT), InputRef(0, BIGINT)), BOOLEAN)
        leads = Call("and", (leads, upwards), BOOLEAN)
    met = logical.Join(scan, edges, logical.JoinKind.INNER, leads, (*number, *edges.schema))
    step = logical.Project(met, (InputRef(2, BIGINT),), number)
    return logical.Recursion(logical.Project(start, (InputRef(0, BIGINT),), number), step, "r", distinct, number)


def _reached(a: Sequence[Row], b: Sequence[Row], *, distinct: bool) -> list[Row]:
    found, new = [], [row[0] for row in b]
    while new:
        found += new
        came = [row[1] for n in new for row in a if row[0] == n and (distinct or int(str(row[1] or -1)) > int(str(n)))]
        new = [n for n in dict.fromkeys(came) if n not in found] if distinct else came
    return [(n,) for n in found]


def _counts_by_max(rows: Sequence[Row]) -> list[Row]:
    sums: dict[object, int] = defaultdict(int)
    for _, count, _, largest in grouped(rows, 1):
        sums[largest] += int(str(count))
    return list(sums.items())


def _largest(rows: Sequence[Row]) -> list[Row]:
    """The groups that have the most rows, and how many."""
    groups = grouped(rows, 1)
    most = max((int(str(row[1])) for row in groups), default=0)
    return [(*row, most) for row in groups if row[1] == most]


writes = st.lists(
    st.tuples(
        st.sampled_from([1, 1, -1]),
        st.tuples(st.integers(0, 9), st.sampled_from([None, 0, 1]), st.sampled_from([None, "x", "y"])),
    ),
    max_size=8,
)


@pytest.mark.parametrize("way", Way, ids=lambda way: way.value)
@given(
    shards=st.integers(1, 3),
    logs=st.lists(st.tuples(writes, writes), min_size=1, max_size=5),
    created=st.integers(0, 4),
    chunk_rows=st.sampled_from([1, 2, 100]),
)
@examples(20)
def test_views_equal_their_queries(
    way: Way, shards: int, logs: list[tuple[Log, Log]], created: int, chunk_rows: int
) -> None:
    with pytest.MonkeyPatch.context() as patch, Database(shards, way) as database:
        patch.setattr(table_scan, "ROWS_PER_EPOCH", chunk_rows)
        a, b = (database.planner.table(name, COLUMNS, ["k"]) for name in ("a", "b"))
        models: tuple[dict[object, Row], dict[object, Row]] = ({}, {})
        views: list[tuple[IndexedRelation, Query]] = []
        for epoch, (log_a, log_b) in enumerate(logs):
            if epoch == created:
                views = list(create_views(database.planner, a, b))
            finished = database.run({a.relation_id: log_a, b.relation_id: log_b})
            for model, log in zip(models, (log_a, log_b), strict=True):
                _apply(model, log)
            _check(database, (a, b), models, views if finished else [])
        for _ in range(40):
            if database.run({}):
                break
        _check(database, (a, b), models, views)


def _apply(model: dict[object, Row], log: Log) -> None:
    for op, row in log:
        model.pop(row[0], None)
        if op > 0:
            model[row[0]] = row


def _check(
    database: Database,
    tables: Sequence[IndexedRelation],
    models: Sequence[Mapping[object, Row]],
    views: Sequence[tuple[IndexedRelation, Query]],
) -> None:
    contents = [list(model.values()) for model in models]
    for table, rows in zip(tables, contents, strict=True):
        assert database.rows(table) == sorted(rows, key=repr)
    for view, query in views:
        shown = [
            tuple(int(str(v)) if view.columns[k].type == SUM and v is not None else v for k, v in enumerate(row))
            for row in database.rows(view)
        ]
        assert sorted(shown, key=repr) == sorted(query(*contents), key=repr), view.name


def test_a_large_delta_travels_in_several_payloads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("risingpy.executors.epoch.exchange.MAX_PAYLOAD_BYTES", 1000)
    with Database(2, Way.BY_STAGE) as database:
        a = database.planner.table("a", COLUMNS, ["k"])
        view = database.planner.view("by_group", aggregate(database.planner.scan(a), 1))
        rows: list[Row] = [(k, k % 3, None) for k in range(1000)]
        database.run({a.relation_id: [(1, row) for row in rows]})
        assert [row[:2] for row in database.rows(view)] == [(0, 334), (1, 333), (2, 333)]


def test_failed_expressions_are_reported_per_job() -> None:
    with Database(2) as database:
        a = database.planner.table("a", COLUMNS, ["k"])
        ratio = Call("divide", (Literal(1, BIGINT), InputRef(1, BIGINT)), BIGINT)
        plan = logical.Project(database.planner.scan(a), (ratio,), (Field("r", BIGINT),))
        view = database.planner.view("ratio", plan)
        database.run({a.relation_id: [(1, (k, k % 2, None)) for k in range(10)]})
        assert sum(report.errors.get(view.relation_id, 0) for report in database.reports) == 5


def test_a_failing_fragment_names_its_job(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object) -> None:
        raise ValueError("broken")

    monkeypatch.setattr("risingpy.executors.aggregate.hash_agg.HashAggExecutor.execute", broken)
    with Database(1) as database:
        a = database.planner.table("a", COLUMNS, ["k"])
        view = database.planner.view("by_group", aggregate(database.planner.scan(a), 1))
        with pytest.raises(FragmentFailed, match="broken") as failure:
            database.run({a.relation_id: [(1, (1, 2, None))]})
        assert failure.value.job_id == view.relation_id


def test_nothing_is_done_without_input() -> None:
    with Database(1) as database:
        a = database.planner.table("a", COLUMNS, ["k"])
        database.planner.view("by_group", aggregate(database.planner.scan(a), 1))
        database.run({})
        database.run({})
        assert not any(report.work for report in database.reports)
