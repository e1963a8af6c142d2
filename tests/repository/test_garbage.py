"""Full collections stop everybody, so they are seldom; and garbage is freed nevertheless."""

from __future__ import annotations

import gc
import json
import subprocess
import sys

import pytest

from risingpy.garbage import GarbageCollector, no_collections

# What a statement of many VALUES does: a tree that grows for some seconds, each node of which points to its parent.
GROWS = """
import gc, json, os, sys, time
from risingpy.garbage import GarbageCollector

class Node:
    def __init__(self, parent):
        self.parent, self.children = parent, []

stops, began = [], [0.0]
def note(phase, info):
    if phase == "start":
        began[0] = time.monotonic()
    elif info["generation"] == 2:
        stops.append(time.monotonic() - began[0])
gc.callbacks.append(note)
if sys.argv[1] == "ours":
    GarbageCollector().start()
    time.sleep(1)
stops.clear()
began_all = time.monotonic()
root = Node(None)
while time.monotonic() < began_all + 2:
    root.children += [Node(root) for _ in range(5000)]
seconds = time.monotonic() - began_all
print(json.dumps([sum(stops), max(stops, default=0.0), seconds]), flush=True)
os._exit(0)
"""
# Rings that live for a while, so that only a full collection frees them.
LEAKS = """
import time
from collections import deque
from risingpy.garbage import GarbageCollector
from risingpy.memory_guard import own_memory

class Loop:
    def __init__(self):
        self.me, self.ballast = self, bytes(2000)

GarbageCollector().start()
time.sleep(1)
kept = deque(maxlen=30_000)
most, before, made = 0, own_memory(), 0
while made < 900_000_000:
    for _ in range(2000):
        kept.append(Loop())
    made += 2000 * 2000
    most = max(most, own_memory() - before)
    time.sleep(0.01)
print(most, made)
"""


def test_a_tree_that_grows_is_hardly_looked_at() -> None:
    stopped, longest, seconds = json.loads(_printed(GROWS, "ours", memory="16GB"))
    usual, _, _ = json.loads(_printed(GROWS, "CPython's"))
    assert stopped < usual / 2
    assert stopped - longest <= 0.1 * seconds  # 2 %, and the one that has just ended


def test_garbage_in_cycles_does_not_fill_the_memory() -> None:
    most, made = map(int, _printed(LEAKS, memory="1GB").split())
    assert most < made / 2  # of which 60 MB are kept


def test_with_memory_at_hand_the_next_collection_waits_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    collector = GarbageCollector()
    monkeypatch.setattr("risingpy.garbage.own_memory", lambda: 0)
    monkeypatch.setattr("risingpy.garbage.gc.get_count", lambda: (0, 0, 10))
    now, cpu = [100.0], [7.0]
    monkeypatch.setattr("risingpy.garbage.time.monotonic", lambda: now[0])
    monkeypatch.setattr("risingpy.garbage.time.thread_time", lambda: cpu[0])

    def collected() -> None:
        now[0] += 20  # other processes have had the processors most of the time
        cpu[0] += 0.5

    monkeypatch.setattr("risingpy.garbage.gc.collect", collected)
    collector.collect()
    now[0] += 24
    assert not collector.is_due()
    monkeypatch.setattr("risingpy.garbage.own_memory", lambda: 1 << 50)
    assert collector.is_due()
    monkeypatch.setattr("risingpy.garbage.own_memory", lambda: 0)
    now[0] += 2
    assert collector.is_due()
    monkeypatch.setattr("risingpy.garbage.gc.get_count", lambda: (0, 0, 9))
    assert not collector.is_due()


def test_the_thread_outlives_a_lack_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """CPython's own full collections are off: if the thread ended, nobody would collect."""

    class Ended(BaseException):
        pass

    looks: list[str] = []

    def no_memory() -> bool:
        looks.append("look")
        if len(looks) > 2:
            raise Ended
        raise MemoryError

    collector = GarbageCollector()
    monkeypatch.setattr("risingpy.garbage.time.sleep", lambda seconds: None)
    monkeypatch.setattr("risingpy.garbage.gc.freeze", lambda: None)
    monkeypatch.setattr(collector, "is_due", no_memory)
    with pytest.raises(Ended):
        collector._run()
    assert len(looks) == 3


def test_imports_leave_collections_as_they_were() -> None:
    assert gc.isenabled()
    with pytest.raises(ImportError), no_collections():
        assert not gc.isenabled()
        raise ImportError
    assert gc.isenabled()
    gc.disable()
    try:
        with no_collections():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def _printed(program: str, *arguments: str, memory: str = "4GB") -> str:
    environment = {"RISINGPY_MEMORY": str(int(memory.removesuffix("GB")) << 30)}
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout
