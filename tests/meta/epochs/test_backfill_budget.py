"""How many rows of snapshots an epoch reads: by turns, in little time when others are busy, and as limits say."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from risingpy.executors.relation.backfill import ROWS_PER_EPOCH
from risingpy.meta.epochs.backfill_budget import (
    LEAST_BUSY_SECONDS,
    MOST_GROWTH,
    QUIET_SECONDS,
    TOO_LONG_SECONDS,
    TRIED_ROWS,
    TRIED_TOGETHER,
    BackfillBudget,
)

SHARDS = 2
ROW_SECONDS = 1e-6
FIXED_SECONDS = 0.004


class Clock:
    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


class Run:
    """Runs epochs that take as long as their rows say."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.budget = BackfillBudget(self.clock)
        self.read: dict[int, int] = {}

    def epoch(
        self, jobs: list[int], limits: Mapping[int, int] | None = None, *, has_rows: bool = False
    ) -> tuple[Mapping[int, int], float]:
        granted = self.budget.rows(jobs, limits or {}, shards=SHARDS, has_rows=has_rows)
        seconds = FIXED_SECONDS + sum(FIXED_SECONDS + rows * SHARDS * ROW_SECONDS for rows in granted.values())
        self.budget.measured(granted, seconds)
        self.clock.seconds += seconds
        for job, rows in granted.items():
            self.read[job] = self.read.get(job, 0) + rows * SHARDS
        return granted, seconds


def test_an_epoch_is_long_when_nobody_waits_and_short_when_somebody_does() -> None:
    run = Run()
    quiet = [run.epoch([1])[1] for _ in range(30)][-1]
    assert quiet > QUIET_SECONDS
    for _ in range(30):
        run.epoch([1], has_rows=True)
    busy = max(run.epoch([1], has_rows=True)[1] for _ in range(10))
    assert LEAST_BUSY_SECONDS / 2 < busy <= LEAST_BUSY_SECONDS * 1.5


def test_every_second_epoch_with_rows_reads_no_snapshot() -> None:
    run = Run()
    granted = [bool(run.epoch([1, 2], has_rows=True)[0]) for _ in range(6)]
    assert granted == [True, False] * 3


def test_jobs_take_turns() -> None:
    run = Run()
    jobs = list(range(20))
    for _ in range(400):
        run.epoch(jobs, has_rows=True)
    assert run.read.keys() == set(jobs)
    assert max(run.read.values()) < 2 * min(run.read.values())


def test_no_job_reads_more_than_the_most() -> None:
    run = Run()
    assert max(max(run.epoch([1])[0].values()) for _ in range(50)) <= ROWS_PER_EPOCH


def test_a_limit_holds_and_others_go_on() -> None:
    run = Run()
    begin = run.clock.seconds
    for _ in range(200):
        run.epoch([1, 2], {1: 5000})
    seconds = run.clock.seconds - begin
    assert 0.7 * 5000 * seconds <= run.read[1] <= 5000 * (seconds + 1)
    assert run.read[2] > 10 * run.read[1]


def test_a_job_alone_waits_until_its_limit_lets_it_read() -> None:
    run = Run()
    assert run.budget.may_read([1], {1: 2})
    assert run.epoch([1], {1: 2})[0] == {1: 1}
    assert not run.budget.may_read([1], {1: 2})
    left = run.budget.seconds_left([1], {1: 2})
    assert left is not None and 0.4 < left <= 0.5
    run.clock.seconds += left
    assert run.budget.may_read([1], {1: 2})


def test_a_limit_of_zero_pauses() -> None:
    run = Run()
    assert not run.budget.may_read([1], {1: 0})
    assert run.epoch([1], {1: 0})[0] == {}
    assert run.budget.seconds_left([1], {1: 0}) is None
    assert run.epoch([1], {})[0]


def test_a_job_that_is_not_plain_begins_with_few_rows() -> None:
    budget = BackfillBudget(Clock())

    def granted(seconds_for_row: float) -> int:
        rows = budget.rows([1], {}, shards=SHARDS, has_rows=False, plain=lambda job: False)[1]
        budget.measured({1: rows}, FIXED_SECONDS + rows * seconds_for_row)
        return rows

    assert granted(0.1) == TRIED_ROWS
    assert granted(ROW_SECONDS) == 2 * TRIED_ROWS  # is it the rows? it was slow only once
    rows = [granted(ROW_SECONDS) for _ in range(10)]
    assert rows == sorted(rows)
    assert rows[-1] == ROWS_PER_EPOCH
    assert granted(0.01) == ROWS_PER_EPOCH
    costly = [granted(0.01) for _ in range(20)]  # from here on each row takes long
    assert max(costly[5:]) * 0.01 <= 2 * TOO_LONG_SECONDS  # now and then it tries more
    assert min(costly) >= TRIED_ROWS


def test_a_job_whose_epochs_are_long_without_rows_reads_many() -> None:
    for seed in range(20):
        random, budget = Random(seed), BackfillBudget(Clock())
        turns = []
        for number in range(60):
            rows = budget.rows([1], {}, shards=SHARDS, has_rows=False, plain=lambda job: False)[1]
            fixed = 0.03 if number < 2 else random.choice((0.1, 0.4, 0.7, 1.0, 1.9))  # many operators, a busy machine
            budget.measured({1: rows}, fixed + rows * SHARDS * ROW_SECONDS)
            turns.append(rows)
        assert turns[0] == TRIED_ROWS
        assert sum(turns) > 3 * ROWS_PER_EPOCH, turns


def test_more_rows_that_take_very_long_are_seldom_tried() -> None:
    budget = BackfillBudget(Clock())
    turns = []
    for _ in range(60):
        turns.append(budget.rows([1], {}, shards=SHARDS, has_rows=False, plain=lambda job: False)[1])
        budget.measured({1: turns[-1]}, FIXED_SECONDS + turns[-1] * 0.3)
    assert turns[:3] == [TRIED_ROWS, 2 * TRIED_ROWS, TRIED_ROWS]
    assert set(turns) == {TRIED_ROWS, 2 * TRIED_ROWS}
    assert turns.count(2 * TRIED_ROWS) < 10


def test_jobs_that_begin_with_few_rows_share_epochs_while_nobody_waits() -> None:
    jobs = list(range(20))

    def epochs(*, has_rows: bool) -> list[int]:
        budget, begun, together = BackfillBudget(Clock()), set[int](), []
        while begun != set(jobs):
            left = [job for job in jobs if job not in begun]
            granted = budget.rows(left, {}, shards=SHARDS, has_rows=has_rows, plain=lambda job: False)
            budget.measured(granted, FIXED_SECONDS * (1 + len(granted)))
            assert set(granted.values()) <= {TRIED_ROWS}
            together.append(len(granted))
            begun |= granted.keys()
        return together

    assert epochs(has_rows=False) == [TRIED_TOGETHER, TRIED_TOGETHER, len(jobs) - 2 * TRIED_TOGETHER]
    assert max(epochs(has_rows=True)) == 1


def test_of_jobs_that_began_together_the_costly_one_is_known() -> None:
    budget = BackfillBudget(Clock())
    jobs = list(range(TRIED_TOGETHER))
    granted = budget.rows(jobs, {}, shards=SHARDS, has_rows=False, plain=lambda job: False)
    budget.measured(granted, 1.0, {job: 900 if job == 3 else 1 for job in jobs})
    rows: dict[int, int] = {}
    while rows.keys() != set(jobs):
        granted = budget.rows(jobs, {}, shards=SHARDS, has_rows=False, plain=lambda job: False)
        budget.measured(granted, 0.1)
        rows = {**granted, **rows}
    assert rows[3] == 2 * TRIED_ROWS  # not fewer: the next turn tells whether it was the rows
    assert min(rows[job] for job in jobs if job != 3) == MOST_GROWTH * TRIED_ROWS
