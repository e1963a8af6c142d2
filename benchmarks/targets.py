"""The targets for the figures on a quiet two-core machine, and whether they are met."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.alter import CASE as ALTER
from benchmarks.epoch_files import ARROW, PARQUET
from benchmarks.expressions import BIGINT_SUM, NUMERIC_SUM, PYTHON_BATCHES, PYTHON_ROWS, TWENTY, variant
from benchmarks.expressions import CASE as EXPRESSIONS
from benchmarks.latency import ACKNOWLEDGED, COPY, FEW, FRESHNESS, MANY, POINT_SELECT
from benchmarks.measurement import POSTGRESQL, RISINGPY, SPARK, Measurement
from benchmarks.messages.kafka import CASE as KAFKA
from benchmarks.messages.kafka import IDLE as IDLE_SOURCE
from benchmarks.postgres_cdc import CASE as POSTGRES_CDC
from benchmarks.postgres_cdc import STREAM
from benchmarks.recovery import RECOVERY
from benchmarks.serving.neighbours import KINDS
from benchmarks.serving.pgbench import NOT_UNIQUE, SERVING, UNIQUE, beside_name
from benchmarks.serving.trigger import ALONE, APPEND_ONLY, KEPT, copies_of
from benchmarks.serving.trigger import CASE as TRIGGER
from benchmarks.start_up import EMBEDDED, IDLE, START
from benchmarks.subscriptions import AFTER_COMMIT
from benchmarks.subscriptions import CASE as SUBSCRIPTIONS
from benchmarks.vectors import VECTORS
from benchmarks.views.month import CASE as MONTH
from benchmarks.views.recursion import CASE as RECURSION
from benchmarks.views.recursion import DELETED, INSERTED, TREE
from benchmarks.views.recursion import variant as recursion_of

Results = Sequence[Measurement]


@dataclass(frozen=True, slots=True)
class Target:
    """A bound for one number out of the results; `at_least` says on which side of it the number must be.

    `limit`: what the number is bounded by, for when it is not met.
    """

    name: str
    bound: float
    value: Callable[[Results], float | None]
    at_least: bool
    unit: str = ""
    limit: str = ""

    def met(self, value: float) -> bool:
        return value >= self.bound if self.at_least else value <= self.bound


def figure(
    results: Results, case: str, variant: str, name: str, engine: str = RISINGPY, note: str = ""
) -> float | None:
    """One figure, None if it was not measured."""
    for one in results:
        if (one.case, one.variant, one.engine) == (case, variant, engine) and one.note.startswith(note):
            return one.figures.get(name)
    return None


def _figure(case: str, variant: str, name: str, note: str = "") -> Callable[[Results], float | None]:
    return lambda results: figure(results, case, variant, name, note=note)


def _ratio(
    above: Callable[[Results], float | None], below: Callable[[Results], float | None]
) -> Callable[..., float | None]:
    def value(results: Results) -> float | None:
        numerator, denominator = above(results), below(results)
        return None if numerator is None or not denominator else numerator / denominator

    return value


def _rate(rows: int, floor: float, case: str = "q_agg", limit: str = "") -> Target:
    variant = f"{rows:,} rows per epoch"
    return Target(f"{case}, {variant}", floor, _figure(case, variant, "rows_per_second", ARROW), True, "rows/s", limit)


def _growth(case: str, note: str = ARROW) -> Target:
    """How much longer the last fifth of the epochs takes than the first, while 5,000,000 rows of state gather."""
    variant = "200,000 rows per epoch"
    name = f"{case}, {variant}: an epoch's time at 5,000,000 rows, over that of the first ones"
    return Target(name, 1.5, _figure(case, variant, "slowdown", note), False, "×")


def _of_expressions(name: str, floor: float, limit: str = "") -> Target:
    shown = variant(name, 1_000_000)
    value = _figure(EXPRESSIONS, shown, "rows_per_second")
    return Target(f"{EXPRESSIONS}, {shown}", floor, value, True, "rows/s", limit)


def _of_unique(clients: str) -> Target:
    name = f"INSERT with a unique index besides the primary key, {clients}: CPU over that without"
    with_index, without = (_figure(SERVING, f"{load}, {clients}", "cpu_us") for load in (UNIQUE, NOT_UNIQUE))
    return Target(name, 1.5, _ratio(with_index, without), False, "×")


def _against_spark(rows: int) -> Target:
    variant = f"{rows:,} rows per epoch"
    ours = _figure("q_agg", variant, "rows_per_second", PARQUET)
    return Target(
        f"q_agg, {variant}, over plain Spark on the same Parquet files",
        5.0,
        _ratio(ours, lambda results: figure(results, "q_agg", variant, "rows_per_second", SPARK)),
        True,
        "×",
    )


def _over_trigger(query: str) -> Target:
    shown, name = copies_of(query, 50_000), "rows_per_cpu_second"
    return Target(
        f"{shown}, rows per CPU second over those of PostgreSQL with a trigger",
        1.5,
        _ratio(
            _figure(TRIGGER, shown, name, APPEND_ONLY),
            lambda results: figure(results, TRIGGER, shown, name, engine=POSTGRESQL),
        ),
        True,
        "×",
    )


def _searches(results: Results) -> float | None:
    """The most searches a second in a million vectors that find at least 0.95 of the nearest."""
    found = [one.figures for one in results if one.case == VECTORS and one.variant.endswith(" 1000000 rows")]
    good = [each["searches_per_second"] for each in found if each.get("recall", 0.0) >= 0.95]
    return max(good, default=None)


def _growth_of_month(results: Results) -> float | None:
    """The most that the state of a view grows after its third day."""
    return max((one.figures["growth"] for one in results if one.case == MONTH), default=None)


def _kafka(size: int, floor: float) -> Target:
    variant = f"{size:,} bytes"
    value = _figure(KAFKA, variant, "messages_per_cpu_second")
    return Target(f"Kafka, JSON of {variant}, counted by a view", floor, value, True, "messages/CPU s")


TARGETS = (
    Target(
        "PostgreSQL CDC, a transaction into a table and a view",
        100_000,
        _figure(POSTGRES_CDC, STREAM, "rows_per_cpu_second"),
        True,
        "rows/CPU s",
    ),
    *(_over_trigger(query) for query in KEPT),
    Target(
        "COPY without a view, its epochs included",
        1_200_000,
        _figure(TRIGGER, copies_of(ALONE, 50_000), "rows_per_cpu_second", APPEND_ONLY),
        True,
        "rows/CPU s",
    ),
    _kafka(240, 150_000),
    _kafka(1_000, 80_000),
    Target("a waiting FETCH after the commit, p50", 3.0, _figure(SUBSCRIPTIONS, AFTER_COMMIT, "p50_ms"), False, "ms"),
    Target("Kafka, message to visible view", 30.0, _figure(KAFKA, "message to visible", "p50_ms"), False, "ms"),
    Target("Kafka, CPU of an idle source", 0.02, _figure(KAFKA, IDLE_SOURCE, "cpu_cores"), False, "cores"),
    Target("searches of a million vectors that find 0.95 of the nearest", 1_000, _searches, True, "a second"),
    _rate(1_000_000, 1_500_000),
    _rate(200_000, 700_000),
    _rate(50_000, 200_000),
    _of_expressions(
        TWENTY,
        500_000,
        limit="the expressions, encoding and storing rows of 21 columns take about a third of the time each",
    ),
    _of_expressions(PYTHON_BATCHES, 500_000),
    _of_expressions(PYTHON_ROWS, 100_000),
    Target(
        "sums of numeric: CPU per row over that of sums of bigint",
        3.0,
        _ratio(
            _figure(EXPRESSIONS, variant(BIGINT_SUM, 1_000_000), "rows_per_cpu_second"),
            _figure(EXPRESSIONS, variant(NUMERIC_SUM, 1_000_000), "rows_per_cpu_second"),
        ),
        False,
        "×",
    ),
    _rate(200_000, 350_000, "q_topn"),
    _rate(200_000, 300_000, "q_dedup"),
    _growth("q_stateless"),
    _growth("q_join", note=""),
    _growth("q_dedup"),
    _rate(200_000, 300_000, "q_count_distinct"),
    _against_spark(1_000_000),
    _against_spark(200_000),
    _against_spark(50_000),
    Target(
        "q_join, 200,000 rows per epoch",
        500_000,
        _figure("q_join", "200,000 rows per epoch", "rows_per_second"),
        True,
        "rows/s",
        "every bid is stored twice, in the join's state and in the view, and an epoch waits for the disk to have both",
    ),
    Target("one INSERT visible, p50", 150, _figure(FRESHNESS, FEW.variant, "p50_ms"), False, "ms"),
    Target("one INSERT visible, p99", 400, _figure(FRESHNESS, FEW.variant, "p99_ms"), False, "ms"),
    Target(
        f"the same p50 with {MANY.variant}, over that with {FEW.variant}",
        1.5,
        _ratio(_figure(FRESHNESS, MANY.variant, "p50_ms"), _figure(FRESHNESS, FEW.variant, "p50_ms")),
        False,
        "×",
        "the four views of the table each cost an epoch some 1.3 ms, of which one view's epoch has 10 in all",
    ),
    Target("INSERT acknowledged, p50", 10, _figure(ACKNOWLEDGED, "", "p50_ms"), False, "ms"),
    Target("COPY", 100_000, _figure(COPY, "", "rows_per_second"), True, "rows/s"),
    Target("point SELECT, p50", 5, _figure(POINT_SELECT, "", "p50_ms"), False, "ms"),
    *(
        Target(
            f"point SELECT, prepared, {clients}",
            bound,
            _figure(SERVING, f"point SELECT, prepared, {clients}", "statements_per_second"),
            True,
            "a second",
        )
        for clients, bound in (("1 client", 8_000), ("16 clients", 15_000), ("64 clients", 15_000))
    ),
    Target(
        "point SELECT, prepared, 16 clients, p99",
        10,
        _figure(SERVING, "point SELECT, prepared, 16 clients", "p99_ms"),
        False,
        "ms",
    ),
    *(
        Target(f"the same beside {what}", 20, _figure(SERVING, beside_name(kind), "p99_ms"), False, "ms")
        for kind, what in KINDS.items()
    ),
    Target(
        "INSERT, 32 clients",
        6_000,
        _figure(SERVING, "INSERT, 32 clients", "statements_per_second"),
        True,
        "a second",
        "measured before writes of many clients went into the log together (decision 068)",
    ),
    *map(_of_unique, ("1 client", "16 clients", "32 clients")),
    *(
        Target(
            f"recursion, {what} at a leaf of a tree of 1,000,000, visible, p50",
            50.0,
            _figure(RECURSION, recursion_of(TREE, 1_000_000, what), "p50_ms"),
            False,
            "ms",
        )
        for what in (DELETED, INSERTED)
    ),
    Target("state of a month of events, over that of its first three days", 1.1, _growth_of_month, False, "×"),
    Target("idle, of one core", 0.03, _figure(IDLE, FEW.variant, "idle_cores"), False, "cores"),
    Target("accepts connections", 2.0, _figure(START, "", "accepting_seconds"), False, "s"),
    Target("embedded: import, connect, first result", 1.5, _figure(START, EMBEDDED, "first_query_seconds"), False, "s"),
    Target(
        "first SELECT after kill -9 with 5,000,000 rows of state",
        3.0,
        _figure(RECOVERY, "5,000,000 rows of state", "first_query_seconds"),
        False,
        "s",
    ),
    Target(
        "ADD COLUMN on 5,000,000 rows, over that on 5",
        2.0,
        _ratio(_figure(ALTER, "5,000,000 rows", "add_ms"), _figure(ALTER, "5 rows", "add_ms")),
        False,
        "×",
    ),
)


def judged(results: Results) -> Iterator[tuple[Target, float, bool]]:
    """Each target whose figure was measured, that figure, and whether it is met."""
    for target in TARGETS:
        value = target.value(results)
        if value is not None:
            yield target, value, target.met(value)
