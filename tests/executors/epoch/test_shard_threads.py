"""Steps on several shards at once: order of results, threads, failures."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from risingpy.executors.epoch.shard_threads import ShardThreads


@pytest.fixture
def threads() -> Iterator[ShardThreads]:
    pool = ShardThreads()
    yield pool
    pool.close()


def test_results_come_in_the_order_of_the_shards(threads: ShardThreads) -> None:
    def step(shard: int) -> int:
        time.sleep(0.01 * (3 - shard))
        return shard * 10

    assert threads(step, range(4)) == [0, 10, 20, 30]


def test_shards_run_at_once(threads: ShardThreads) -> None:
    met = threading.Barrier(3, timeout=10)
    assert len(threads(lambda shard: met.wait(), range(3))) == 3


def test_a_shard_stays_in_its_thread(threads: ShardThreads) -> None:
    first = threads(lambda shard: threading.get_ident(), range(3))
    assert first == threads(lambda shard: threading.get_ident(), range(3))
    assert first[0] == threading.get_ident()
    assert len(set(first)) == 3


def test_a_failure_is_raised_when_all_have_ended(threads: ShardThreads) -> None:
    ended: list[int] = []

    def step(shard: int) -> None:
        if shard < 2:
            raise ValueError(f"shard {shard}")
        time.sleep(0.05)
        ended.append(shard)

    with pytest.raises(ValueError, match="shard 0"):
        threads(step, range(3))
    assert ended == [2]


AT_THE_END = """
import atexit
from risingpy.executors.epoch.shard_threads import ShardThreads
threads = ShardThreads()
atexit.register(threads.close)
atexit.register(lambda: print(threads(lambda shard: shard * 10, [1, 2, 3])))
"""


def test_shards_run_until_they_are_closed_also_while_the_interpreter_ends() -> None:
    done = subprocess.run([sys.executable, "-c", AT_THE_END], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[10, 20, 30]\n", "")
