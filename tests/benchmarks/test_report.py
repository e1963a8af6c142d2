"""Figures, targets and the document."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks import report
from benchmarks.measurement import (
    DUCKDB,
    RISINGPY,
    SPARK,
    Measurement,
    Meter,
    Usage,
    epoch_figures,
    latency_figures,
    slowdown,
    timed_calls,
)
from benchmarks.targets import judged

SIZE = "1,000,000 rows per epoch"
RESULTS = [
    Measurement("q_agg", SIZE, RISINGPY, {"rows_per_second": 2_000_000, "pss_mb": 900}, True, "arrow"),
    Measurement("q_agg", SIZE, RISINGPY, {"rows_per_second": 1_600_000, "pss_mb": 900}, False, "parquet"),
    Measurement("q_agg", SIZE, SPARK, {"rows_per_second": 400_000}, None, "parquet, its own aggregation"),
    Measurement("INSERT acknowledged", "", RISINGPY, {"p50_ms": 12.34, "p99_ms": 20.0, "samples": 30}),
    Measurement("point SELECT", "", DUCKDB, {"p50_ms": 0.5, "p99_ms": 2.0, "samples": 30}),
]


def test_slowdown_compares_the_fifths() -> None:
    assert slowdown([1.0] * 10) == 1.0
    assert slowdown([1.0, 1.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 2.0, 4.0]) == 3.0
    assert slowdown([2.0, 3.0]) == 1.5


def test_rates_are_per_wall_and_per_cpu_second() -> None:
    figures = epoch_figures(100, [0.5, 0.5, 1.0], Usage(2.5, 4.0, 10.0, 0.1))
    assert figures["rows_per_second"] == 150
    assert figures["rows_per_cpu_second"] == 75
    assert figures["epoch_p50_ms"] == 500
    assert figures["epoch_max_ms"] == 1000
    assert figures["others_cores"] == 0.1


def test_percentiles() -> None:
    figures = latency_figures([number / 1000 for number in range(1, 102)])
    assert figures == {"p50_ms": 51.0, "p99_ms": pytest.approx(100.0), "samples": 101}


def test_warm_calls_are_not_timed() -> None:
    numbers: list[int] = []
    assert len(timed_calls(numbers.append, samples=5, warm=2)) == 5
    assert numbers == list(range(7))


def test_a_meter_sees_this_process() -> None:
    with Meter(os.getpid()) as meter:
        sum(number * number for number in range(2_000_000))
    assert meter.usage.cpu_seconds > 0
    assert meter.usage.pss_mb > 1
    assert meter.usage.others_cores >= 0


def test_targets_are_judged_by_what_was_measured() -> None:
    outcome = {target.name: (value, met) for target, value, met in judged(RESULTS)}
    assert outcome[f"q_agg, {SIZE}"] == (2_000_000, True)
    assert outcome[f"q_agg, {SIZE}, over plain Spark on the same Parquet files"] == (4.0, False)
    assert outcome["INSERT acknowledged, p50"] == (12.34, False)
    assert not any("idle" in name for name in outcome)


def results() -> report.Results:
    kept: report.Results = {"runs": {}}
    for case in ("q_agg", "statements"):
        ours = [one for one in RESULTS if (one.case == "q_agg") == (case == "q_agg")]
        kept = report.with_case(
            kept, case, ours, command="python -m benchmarks", date="2026-11-21 06:00", machine={"cores": "2"}
        )
    return kept


def test_results_survive_the_file(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    assert report.load(path) == {"runs": {}}
    report.save(results(), path)
    assert report.measurements_of(report.load(path)) == RESULTS


def test_a_case_is_replaced_alone() -> None:
    again = report.with_case(results(), "q_agg", RESULTS[:1], command="c", date="d", machine={})
    assert report.measurements_of(again) == [RESULTS[0], *RESULTS[3:]]


def test_the_document() -> None:
    text = report.render(results())
    assert "* q_agg, statements: `python -m benchmarks`, 2026-11-21 06:00, on cores 2" in text
    assert f"| {SIZE} | RisingPy (arrow) | 2,000,000 | 900 | yes |" in text
    assert f"| {SIZE} | RisingPy (parquet) | 1,600,000 | 900 | **no** |" in text
    assert f"| {SIZE} | Spark (parquet, its own aggregation) | 400,000 | – | – |" in text
    assert "| INSERT acknowledged | RisingPy | 12.3 | 20.0 | 30 |" in text
    assert "| INSERT acknowledged, p50 | ≤ 10 ms | 12.3 ms | **no** |" in text
    assert "## Doing nothing" not in text
    assert "nan" not in text
