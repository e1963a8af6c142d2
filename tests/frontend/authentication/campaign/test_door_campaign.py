"""Attackers at the door of a real server: `make door-test` sends them all, `make test` a few of each.

Nobody gets in, a good client is served meanwhile, and afterwards the server is as large as before.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from tests.frontend.authentication.campaign.attacks import Share, guesses, mangled_handshakes, mangled_scram
from tests.frontend.authentication.campaign.besieged import Besieged, Seconds, Size, besieged, good_work
from tests.frontend.authentication.campaign.slow_clients import METRICS, WEBHOOK, WIRE, drip, half_open

WHOLE = bool(os.environ.get("RISINGPY_DOOR_CAMPAIGN"))
TRIES = 20_000 if WHOLE else 200
PASSWORDS = 10_000 if WHOLE else 40
HALF_OPEN = 1_000 if WHOLE else 100
SLOW = 200 if WHOLE else 140  # more than a listener of HTTP serves at once
ATTACKERS = 2 if WHOLE else 1
MOST_GROWTH = 100 << 20
LEAST_P99 = 0.05  # seconds: what a quiet machine does faster, a busy one cannot do in thrice the time
_SLOW_SECONDS = 10.0 if WHOLE else 1.0
_GOOD_ROUNDS = 5
Attack = Callable[[Share], Counter[str]]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, certificates: Path) -> Iterator[Besieged]:
    with besieged(tmp_path_factory.mktemp("besieged"), certificates) as started:
        yield started


@pytest.fixture(scope="module")
def attackers(place: Besieged) -> Iterator[ProcessPoolExecutor]:
    """Processes of their own: the good client's is not to wait for them."""
    with ProcessPoolExecutor(ATTACKERS, mp_context=get_context("spawn")) as pool:
        for attack in (mangled_scram, mangled_handshakes, guesses):  # what is made at the first use is made
            pool.submit(attack, Share(place.server.port, 1, 20)).result()
        yield pool


@pytest.fixture(scope="module")
def alone(place: Besieged, attackers: ProcessPoolExecutor) -> Iterator[tuple[Seconds, Size]]:
    """The good client's seconds without attackers, and the server's size then, which it has again in the end.

    The server's threads end when they had no work for ten seconds, so only the whole campaign waits after each attack.
    """
    good_work(place, rounds(_GOOD_ROUNDS))
    seconds = good_work(place, until(_SLOW_SECONDS) if WHOLE else rounds(_GOOD_ROUNDS))
    usual = Size.of(place.pid)
    yield seconds, usual
    require_size(place, usual)


@pytest.mark.parametrize(
    ("attack", "tries", "one_address"),
    [
        (mangled_scram, TRIES, False),
        (mangled_handshakes, TRIES, False),
        (guesses, PASSWORDS // 2, False),
        (guesses, PASSWORDS // 2, True),
    ],
)
@pytest.mark.timeout(1800 if WHOLE else 300)
def test_nobody_gets_in(
    place: Besieged,
    attackers: ProcessPoolExecutor,
    alone: tuple[Seconds, Size],
    attack: Attack,
    tries: int,
    one_address: bool,
) -> None:
    share = tries // ATTACKERS
    seeds = [0 if one_address else 29 + number for number in range(ATTACKERS)]
    began = time.monotonic()
    parts = [attackers.submit(attack, Share(place.server.port, seed, share)) for seed in seeds]
    meanwhile = good_work(place, until_ended(parts))
    ends = sum((part.result() for part in parts), Counter[str]())
    print(f"\n{attack.__name__}, one address: {one_address}: {dict(ends)} in {time.monotonic() - began:.0f} s")
    assert ends.total() == share * ATTACKERS and ends["in"] == 0, ends
    assert not any(state.startswith("XX") for state in ends), ends
    judge(place, alone, meanwhile)


@pytest.mark.timeout(300)
def test_half_open_clients_hold_nobody_up(place: Besieged, alone: tuple[Seconds, Size]) -> None:
    with half_open(place.server.port, HALF_OPEN):
        meanwhile = good_work(place, until(_SLOW_SECONDS) if WHOLE else rounds(_GOOD_ROUNDS))
    print(f"\n{HALF_OPEN} half-open clients")
    judge(place, alone, meanwhile)


@pytest.mark.parametrize("listener", ["wire", "metrics", "webhooks"])
@pytest.mark.timeout(300)
def test_slow_clients_hold_nobody_up(
    place: Besieged, attackers: ProcessPoolExecutor, alone: tuple[Seconds, Size], listener: str
) -> None:
    port, text = {
        "wire": (place.server.port, WIRE),
        "metrics": (place.http_port, METRICS),
        "webhooks": (place.webhook_port, WEBHOOK),
    }[listener]
    dripping = attackers.submit(drip, port, text, SLOW, _SLOW_SECONDS)
    meanwhile = good_work(place, until_ended([dripping]))
    assert dripping.result() >= SLOW
    print(f"\n{SLOW} slow clients, {listener}: came {dripping.result()} times")
    judge(place, alone, meanwhile)


def judge(place: Besieged, alone: tuple[Seconds, Size], meanwhile: Seconds) -> None:
    """The server lives; in the whole campaign it has not grown, and has served the good client in time."""
    assert place.server.process.poll() is None, "".join(place.server.output[-20:])
    quiet, usual = alone
    p99s = {what: (p99(quiet[what]), p99(meanwhile[what])) for what in quiet}
    shown = ", ".join(f"{what} {before * 1000:.1f} -> {now * 1000:.1f}" for what, (before, now) in p99s.items())
    print(f"p99 in ms, alone -> meanwhile: {shown}")
    if WHOLE:
        require_size(place, usual)
        assert {what: both for what, both in p99s.items() if both[1] > 3 * max(both[0], LEAST_P99)} == {}


def require_size(place: Besieged, usual: Size) -> None:
    """No thread and no connection is left, and little memory."""
    size = Size.settled(place.pid, usual)
    print(f"{usual} -> {size}")
    assert size.threads <= usual.threads and size.descriptors <= usual.descriptors
    assert size.memory - usual.memory < MOST_GROWTH


def p99(seconds: list[float]) -> float:
    return sorted(seconds)[int(len(seconds) * 0.99)]


def rounds(count: int) -> Callable[[int], bool]:
    return lambda done: done >= count


def until(seconds: float) -> Callable[[int], bool]:
    end = time.monotonic() + seconds
    return lambda done: time.monotonic() > end


def until_ended(parts: Sequence[Future[Any]]) -> Callable[[int], bool]:
    """Until the attack has ended, and a few rounds at least."""
    return lambda done: done >= _GOOD_ROUNDS and all(part.done() for part in parts)
