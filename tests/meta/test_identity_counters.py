"""Identity counters: no number twice, whatever happens to the server."""

from __future__ import annotations

from pathlib import Path

import pytest

from risingpy.errors import SqlError
from risingpy.meta.writing.identity_counters import IdentityCounters
from risingpy.storage.engine.meta_store import MetaStore


def test_numbers_go_on_after_a_stop(tmp_path: Path) -> None:
    store = MetaStore(tmp_path, map_size=1 << 20)
    counters = IdentityCounters(store, tmp_path)
    assert [counters.take(7, count, 10**6) for count in (1, 3, 2)] == [1, 2, 5]
    assert counters.take(8, 1, 10) == 1
    counters.close()
    assert IdentityCounters(store, tmp_path).take(7, 1, 10**6) == 7
    store.close()


def test_no_number_comes_twice_after_a_crash(tmp_path: Path) -> None:
    store = MetaStore(tmp_path, map_size=1 << 20)
    counters = IdentityCounters(store, tmp_path)
    last = counters.take(7, 5000, 10**6) + 4999
    assert IdentityCounters(store, tmp_path).take(7, 1, 10**6) > last
    store.close()


def test_given_numbers_are_passed_by(tmp_path: Path) -> None:
    store = MetaStore(tmp_path, map_size=1 << 20)
    counters = IdentityCounters(store, tmp_path)
    counters.pass_by(7, 100)
    counters.pass_by(7, 50)
    assert counters.take(7, 1, 200) == 101
    with pytest.raises(SqlError) as refused:
        counters.take(7, 100, 200)
    assert refused.value.sqlstate == "2200H"
    store.close()
