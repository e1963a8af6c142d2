"""One task or a shuffle: by measured cost."""

from __future__ import annotations

from risingpy.meta.epochs.shape import LEAST_WIDE_ROWS, EpochShape
from risingpy.plan.recursion.loops import Loop, Stages

MILLION = 1 << 20
ONE_EXCHANGE = Stages(2)
REPEATING = Stages(2, (Loop(1, 2, {}),))  # with three exchanges each time, that of the job counted


def test_a_first_epoch_is_guessed_by_its_rows() -> None:
    shape = EpochShape(cores=8)
    assert shape.is_one_task(1, shards=8, stages=ONE_EXCHANGE)
    assert shape.is_one_task(100_000, shards=8, stages=ONE_EXCHANGE)
    assert not shape.is_one_task(MILLION, shards=8, stages=ONE_EXCHANGE)


def test_light_work_is_one_task_however_many_rows() -> None:
    shape = EpochShape(cores=8)
    shape.measured(MILLION, 0.062)
    assert shape.is_one_task(MILLION, shards=8, stages=ONE_EXCHANGE)


def test_heavy_work_is_shuffled_unless_so_few_rows_blame_one_job() -> None:
    shape = EpochShape(cores=8)
    shape.measured(LEAST_WIDE_ROWS, 2.0)
    assert not shape.is_one_task(LEAST_WIDE_ROWS, shards=8, stages=ONE_EXCHANGE)
    assert not shape.is_one_task(100_000, shards=8, stages=ONE_EXCHANGE)
    assert shape.is_one_task(LEAST_WIDE_ROWS - 1, shards=8, stages=ONE_EXCHANGE)


def test_fewer_cores_and_more_exchanges_make_a_shuffle_dearer() -> None:
    shape = EpochShape(cores=8)
    shape.measured(MILLION, 0.6)
    assert not shape.is_one_task(MILLION, shards=8, stages=ONE_EXCHANGE)
    assert shape.is_one_task(MILLION, shards=8, stages=Stages(5))
    assert shape.is_one_task(MILLION, shards=2, stages=ONE_EXCHANGE)
    assert shape.is_one_task(MILLION, shards=1, stages=ONE_EXCHANGE)
    few = EpochShape(cores=1)
    few.measured(MILLION, 60.0)
    assert few.is_one_task(MILLION, shards=8, stages=ONE_EXCHANGE)


def test_a_small_epoch_says_little_about_a_large_one_and_a_large_one_bounds_the_smaller() -> None:
    shape = EpochShape(cores=2)
    shape.measured(1, 0.012)
    assert 0.5 < shape.predicted_seconds(MILLION) < 1.5
    shape.measured(2 * MILLION, 0.1)
    assert shape.predicted_seconds(MILLION) == 0.1


def test_what_the_graph_costs_now_counts_most() -> None:
    shape = EpochShape(cores=2)
    for _ in range(10):
        shape.measured(1000, 0.01)
    for _ in range(4):
        shape.measured(1000, 1.0)
    assert shape.predicted_seconds(1000) > 0.9


def test_an_epoch_is_one_task_while_nobody_can_shuffle_it() -> None:
    there = True
    shape = EpochShape(cores=8, may_shuffle=lambda: there)
    shape.measured(MILLION, 60.0)
    assert not shape.is_one_task(MILLION, shards=8, stages=ONE_EXCHANGE)
    there = False
    assert shape.is_one_task(MILLION, shards=8, stages=ONE_EXCHANGE)


def test_repetitions_count_as_often_as_they_came() -> None:
    shape = EpochShape(cores=8)
    shape.measured(1, 4.0, 0)
    assert shape.is_one_task(MILLION, shards=8, stages=REPEATING)  # before any is known of so many rows
    shape.measured(MILLION, 4.0, 3)
    assert not shape.is_one_task(MILLION, shards=8, stages=REPEATING)
    shape.measured(MILLION, 4.0, 90)
    assert shape.is_one_task(MILLION, shards=8, stages=REPEATING)
    assert not shape.is_one_task(MILLION, shards=8, stages=ONE_EXCHANGE)


def test_an_epoch_that_was_given_up_for_its_exchanges_is_one_task_then_measured() -> None:
    shape = EpochShape(cores=8)
    shape.measured(MILLION, 9.0)
    shape.repeated_too_often(MILLION)
    assert shape.is_one_task(MILLION, shards=8, stages=REPEATING)
    always = EpochShape(cores=8, always_shuffles=True)
    assert not always.is_one_task(1, shards=8, stages=REPEATING)
    always.repeated_too_often(1)
    assert always.is_one_task(1, shards=8, stages=REPEATING)
    shape.measured(MILLION, 9.0, 2)
    assert not shape.is_one_task(MILLION, shards=8, stages=REPEATING)
