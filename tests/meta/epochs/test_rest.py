"""The loop's rest between small epochs: when it is taken, how long it lasts, and what ends it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from risingpy.meta.epochs.next_epoch import NextEpoch
from risingpy.meta.epochs.rest import FEW_ROWS, LONGEST_SECONDS, MANY_ROWS, Rest
from risingpy.meta.epochs.waiters import Waiters


class Case:
    """A rest with a clock, and with waiters that are asked for."""

    def __init__(self) -> None:
        self.time, self.are_waiting, self.rows = 100.0, False, 0
        case = self

        class Asked:
            @property
            def are_waiting(self) -> bool:
                return case.are_waiting

        self.rest = Rest(cast(Waiters, Asked()), lambda: self.time)

    def ran(self, rows: int, seconds: float) -> None:
        self.rest.ran(cast(NextEpoch, cast(Any, SimpleNamespace(rows=rows))), seconds)

    def left(self) -> float:
        return self.rest.seconds_left(lambda: self.rows)


def test_after_many_rows_it_lasts_twice_as_long_as_the_epoch() -> None:
    case = Case()
    assert case.left() == 0
    case.ran(MANY_ROWS, 0.005)
    assert case.left() == pytest.approx(0.01)
    case.time += 0.009
    assert case.left() == pytest.approx(0.001)
    case.time += 0.002
    assert case.left() == 0
    case.ran(MANY_ROWS, 5.0)
    assert case.left() == pytest.approx(LONGEST_SECONDS)


def test_who_waits_ends_it_and_so_do_many_rows() -> None:
    case = Case()
    case.ran(MANY_ROWS, 0.005)
    case.are_waiting = True
    assert case.left() == 0
    case.are_waiting = False
    assert case.left() > 0
    case.rows = FEW_ROWS + 1
    assert case.left() == 0


def test_one_client_alone_has_none_and_large_epochs_have_none() -> None:
    case = Case()
    case.ran(MANY_ROWS - 1, 0.005)
    assert case.left() == 0
    case.ran(FEW_ROWS + 1, 0.005)
    assert case.left() == 0
