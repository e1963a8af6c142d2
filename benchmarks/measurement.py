"""What a measurement is, and how the machine's share in it is known.

The machine is shared, so a figure per wall second means little alone: every measurement also has the CPU seconds of
the engine's own processes, and how many cores everybody else used meanwhile.
"""

from __future__ import annotations

import os
import statistics
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType

from benchmarks.process_tree import cpu_seconds, machine_cpu_seconds, pss_bytes

PSS_SAMPLE_SECONDS = 1.0  # reading it costs some 10 ms of CPU for a large process
MEBIBYTE = 2**20
WARM_CALLS = 10

RISINGPY = "RisingPy"
DUCKDB = "DuckDB"
SPARK = "Spark"
POSTGRESQL = "PostgreSQL"


@dataclass(frozen=True, slots=True)
class Measurement:
    """One engine's figures in one variant of a case.

    A figure's name ends in its unit: `…_ms`, `…_mb`, `…_seconds`, `…_cores`, `…_per_second`. `correct` tells whether
    the result was that of DuckDB; None: not looked at.
    """

    case: str
    variant: str
    engine: str
    figures: Mapping[str, float]
    correct: bool | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """What an engine used. `others_cores`: the mean number of cores that neither it nor the benchmark used."""

    wall_seconds: float
    cpu_seconds: float
    pss_mb: float
    others_cores: float

    def figures(self) -> dict[str, float]:
        return {"cpu_seconds": self.cpu_seconds, "pss_mb": self.pss_mb, "others_cores": self.others_cores}


class Meter:
    """Measures a process tree while a `with` block runs; `usage` is there after it.

    Memory is the peak of the samples, one a second and one at the end.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._ended = threading.Event()
        self._sampler = threading.Thread(target=self._sample, daemon=True)
        self._peak = 0
        self.usage: Usage

    def __enter__(self) -> Meter:
        self._sampler.start()
        self._before = self._readings()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        wall, engine, client, machine = (
            after - before for after, before in zip(self._readings(), self._before, strict=True)
        )
        self._ended.set()
        self._sampler.join()
        others = max(0.0, machine - engine - client) / wall
        self.usage = Usage(wall, engine, max(self._peak, pss_bytes(self._pid)) / MEBIBYTE, others)

    def _readings(self) -> tuple[float, float, float, float]:
        client = 0.0 if self._pid == os.getpid() else time.process_time()
        return time.perf_counter(), cpu_seconds(self._pid), client, machine_cpu_seconds()

    def _sample(self) -> None:
        while not self._ended.wait(PSS_SAMPLE_SECONDS):
            self._peak = max(self._peak, pss_bytes(self._pid))


def slowdown(seconds: Sequence[float]) -> float:
    """Mean time of the last fifth of the epochs over that of the first fifth: 1 if history costs nothing."""
    fifth = max(1, len(seconds) // 5)
    return statistics.mean(seconds[-fifth:]) / statistics.mean(seconds[:fifth])


def epoch_figures(rows_per_epoch: int, seconds: Sequence[float], usage: Usage) -> dict[str, float]:
    """The figures of a run of equally large epochs that took `seconds` each."""
    rows = rows_per_epoch * len(seconds)
    return {
        "rows_per_second": rows / sum(seconds),
        "rows_per_cpu_second": rows / usage.cpu_seconds if usage.cpu_seconds else 0.0,
        "epochs": len(seconds),
        "epoch_p50_ms": statistics.median(seconds) * 1000,
        "epoch_max_ms": max(seconds) * 1000,
        "slowdown": slowdown(seconds),
        **usage.figures(),
    }


def latency_figures(seconds: Sequence[float]) -> dict[str, float]:
    """p50 and p99 of single operations; there must be at least two."""
    return {
        "p50_ms": statistics.median(seconds) * 1000,
        "p99_ms": statistics.quantiles(seconds, n=100, method="inclusive")[98] * 1000,
        "samples": len(seconds),
    }


def timed_calls(operation: Callable[[int], object], samples: int, warm: int = WARM_CALLS) -> list[float]:
    """Seconds of `samples` calls, one after the other, after `warm` more; each gets its number."""
    seconds = []
    for number in range(warm + samples):
        began = time.perf_counter()
        operation(number)
        seconds.append(time.perf_counter() - began)
    return seconds[warm:]
