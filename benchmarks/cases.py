"""What can be measured, by name, and how large: in full, or quickly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from benchmarks import (
    alter,
    deliveries,
    expressions,
    join,
    latency,
    postgres_cdc,
    recovery,
    retract,
    start_up,
    subscriptions,
    throughput,
    vectors,
)  # fmt: skip
from benchmarks.measurement import Measurement
from benchmarks.messages import avro, kafka
from benchmarks.serving import pgbench, trigger
from benchmarks.tpch import views
from benchmarks.views import month, recursion


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured. The mappings give epochs by rows per epoch; q_retract's count its loads.

    `copies`: the rows of each COPY, and how many. `spark`: beside every case, or beside q_agg only, since its start
    takes longer than the measurement.
    """

    epochs: Mapping[int, int]
    retract_loads: Mapping[int, int]
    samples: int
    copy_rows: int
    copies: tuple[int, int]
    idle_seconds: float
    serving_seconds: int
    recovered_rows: tuple[int, ...]
    altered_rows: tuple[int, ...]
    messages: int
    tpch: float
    vectors: int
    edges: int
    rows_of_day: int
    spark: bool


FULL = Scale(
    epochs={50_000: 40, 200_000: 25, 1_000_000: 15},
    retract_loads={50_000: 12, 200_000: 9, 1_000_000: 6},
    samples=300,
    copy_rows=1_000_000,
    copies=(50_000, 40),
    idle_seconds=20.0,
    serving_seconds=8,
    recovered_rows=(1_000_000, 5_000_000),
    altered_rows=(5, 5_000_000),
    messages=400_000,
    tpch=1.0,
    vectors=1_000_000,
    edges=1_000_000,
    rows_of_day=20_000,
    spark=True,
)
QUICK = Scale(
    epochs={50_000: 10},
    retract_loads={50_000: 3},
    samples=30,
    copy_rows=100_000,
    copies=(50_000, 6),
    idle_seconds=4.0,
    serving_seconds=2,
    recovered_rows=(100_000,),
    altered_rows=(5, 100_000),
    messages=200_000,
    tpch=0.01,
    vectors=20_000,
    edges=20_000,
    rows_of_day=400,
    spark=False,
)


def _in_process(query: str, scale: Scale) -> Iterator[Measurement]:
    """At one size, on the engine that runs in the server: what the operators themselves can do."""
    sizes = {rows: epochs for rows, epochs in scale.epochs.items() if rows <= 200_000}
    largest = max(sizes)
    return throughput.measure(query, {largest: sizes[largest]}, spark=False, engine=throughput.IN_PROCESS)


CASES: Mapping[str, Callable[[Scale], Iterator[Measurement]]] = {
    "q_agg": lambda scale: throughput.measure("q_agg", scale.epochs, spark=True),
    "q_count_distinct": lambda scale: throughput.measure("q_count_distinct", scale.epochs, spark=False),
    "q_stateless": lambda scale: throughput.measure("q_stateless", scale.epochs, spark=scale.spark),
    "q_topn": lambda scale: _in_process("q_topn", scale),
    "q_dedup": lambda scale: _in_process("q_dedup", scale),
    "q_expressions": lambda scale: expressions.measure(scale.epochs),
    "q_retract": lambda scale: retract.measure(scale.retract_loads),
    "q_join": lambda scale: join.measure(scale.epochs),
    "tpch": lambda scale: views.measure(scale.tpch),
    "freshness": lambda scale: latency.measure_freshness(scale.samples, scale.idle_seconds, spark=scale.spark),
    "statements": lambda scale: latency.measure_statements(scale.samples, scale.copy_rows),
    "trigger": lambda scale: trigger.measure(*scale.copies),
    "serving": lambda scale: pgbench.measure(scale.serving_seconds),
    "idle": lambda scale: start_up.measure_idle(scale.idle_seconds),
    "start": lambda _scale: start_up.measure_start(),
    "alter": lambda scale: alter.measure(scale.altered_rows),
    "recovery": lambda scale: recovery.measure(scale.recovered_rows, spark=scale.spark),
    "kafka": lambda scale: kafka.measure(scale.messages, scale.samples, scale.idle_seconds),
    "postgres-cdc": lambda scale: postgres_cdc.measure(scale.messages, scale.samples),
    "avro": lambda scale: avro.measure(scale.messages),
    "sinks": lambda scale: deliveries.measure(scale.messages),
    "vectors": lambda scale: vectors.measure(scale.vectors, scale.serving_seconds),
    "vectors-bent": lambda scale: vectors.measure(scale.vectors, scale.serving_seconds, vectors.Kind.BENT),
    "vectors-clustered": lambda scale: vectors.measure(scale.vectors, scale.serving_seconds, vectors.Kind.CLUSTERED),
    "recursion": lambda scale: recursion.measure(scale.edges, scale.samples),
    "month": lambda scale: month.measure(scale.rows_of_day),
    "subscriptions": lambda scale: subscriptions.measure(scale.samples),
}
