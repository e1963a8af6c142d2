"""How much less time jobs get after some have spoilt epochs, by a clock of the test's."""

from __future__ import annotations

from risingpy.meta.epochs.strictness import CALM_SECONDS, MOST_HALVINGS, Strictness


def test_each_spoilt_try_halves_the_time_and_calm_gives_it_back() -> None:
    times = [0.0]
    strictness = Strictness(lambda: times[0])
    assert strictness.halvings == 0.0
    strictness.spoilt()
    strictness.spoilt()
    assert strictness.halvings == 2.0
    times[0] += CALM_SECONDS / 2
    assert strictness.halvings == 1.5
    strictness.spoilt()
    assert strictness.halvings == 2.5
    times[0] += 1000.0
    assert strictness.halvings == 0.0


def test_there_is_always_some_time() -> None:
    strictness = Strictness(lambda: 0.0)
    for _ in range(100):
        strictness.spoilt()
    assert strictness.halvings == MOST_HALVINGS
