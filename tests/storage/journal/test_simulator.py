"""Histories of servers, tasks and a store that fail: some hundreds here, thousands with `make state-test`."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from risingpy.storage.journal import leadership
from risingpy.storage.objects import object_store
from tests.storage.journal.simulator import History

HISTORIES = int(os.environ.get("RISINGPY_STATE_HISTORIES", "150"))
FIRST = int(os.environ.get("RISINGPY_STATE_SEED", "1"))


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_store, "FIRST_PAUSE", 0.0)
    monkeypatch.setattr(leadership, "FIRST_PAUSE", 0.0)
    monkeypatch.setattr(object_store, "TRIES", 60)  # a store that fails three times in ten must answer in the end
    monkeypatch.setattr(leadership, "TRIES", 60)


@pytest.mark.timeout(60 + HISTORIES)
def test_nothing_acknowledged_is_lost_and_nothing_is_invented() -> None:
    seen: Counter[str] = Counter()
    for seed in range(FIRST, FIRST + HISTORIES):
        history = History(seed)
        try:
            history.run()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
        seen.update(servers=len(history.servers), events=history.events, answered=len(history.known.answered))
        seen.update(unknown=len(history.known.unknown))
    print(dict(seen))
    assert all(seen[name] > HISTORIES / 4 for name in ("servers", "events", "answered", "unknown")), seen
