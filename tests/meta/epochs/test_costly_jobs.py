"""Which jobs made an epoch too long."""

from __future__ import annotations

import math
from collections.abc import Sequence

from risingpy.meta.epochs.costly_jobs import LEAST_SECONDS, allowed_seconds, too_costly
from risingpy.meta.epochs.runner import EpochReport
from risingpy.plan.operator_work import OperatorWork
from risingpy.types import BIGINT
from tests.optimizer.conftest import PlannerBench


def blamed(milliseconds: Sequence[int], *, cpu: float, allowed: float) -> list[int]:
    """The places of the views to blame, where each took so many milliseconds."""
    bench = PlannerBench()
    table = bench.table("t", {"a": BIGINT}, ["a"])
    views = [bench.view(f"v{number}", bench.scan(table)) for number in range(len(milliseconds))]
    jobs = [next(job for job in bench.graph.jobs if job.name == f"v{number}") for number in range(len(views))]
    work = {
        (job.fragments[0].fragment_id, 0): OperatorWork(1, 1, each * 1_000_000)
        for job, each in zip(jobs, milliseconds, strict=True)
    }
    report = EpochReport(cpu_seconds=cpu, work=(work,))
    ids = [job.job_id for job in jobs]
    return [ids.index(job_id) for job_id, _ in too_costly(report, bench.graph, allowed)]


def test_the_costliest_are_left_out_until_the_rest_fits() -> None:
    assert blamed([100, 300, 200, 5], cpu=0.605, allowed=0.2) == [1, 2]


def test_an_epoch_that_fits_blames_nobody() -> None:
    assert blamed([100, 90], cpu=0.19, allowed=0.2) == []


def test_many_cheap_jobs_are_nobodys_fault() -> None:
    assert blamed([20] * 60, cpu=1.2, allowed=0.2) == []


def test_what_storing_took_counts_in_proportion_but_the_start_of_a_process_does_not() -> None:
    assert blamed([80], cpu=0.22, allowed=0.2) == [0]
    assert blamed([10], cpu=2.0, allowed=0.2) == []


def test_the_allowance_falls_as_jobs_spoil_epochs_and_grows_with_the_rows() -> None:
    assert allowed_seconds(1.0, 0, 0.0) == 0.5
    assert allowed_seconds(1.0, 0, 1.0) == 0.25
    assert allowed_seconds(1.0, 0, 5.0) == LEAST_SECONDS
    assert allowed_seconds(0.01, 0, 5.0) == 0.005
    assert allowed_seconds(1.0, 1_000_000, 0.0) > 5
    assert allowed_seconds(0.0, 0, 0.0) == math.inf
