"""The meta store: atomic, durable, for one server at a time."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from risingpy.storage.engine.meta_store import DataDirectoryInUse, MetaStore


def test_a_transaction_sees_its_writes_and_the_next_one_does_too(tmp_path: Path) -> None:
    store = MetaStore(tmp_path)
    with store.transaction() as txn:
        txn.put("relation/2", b"two")
        txn.put("relation/1", b"one")
        txn.put("relations", b"x")
        assert txn.get("relation/2") == b"two"
        assert txn.scan("relation/") == [("relation/1", b"one"), ("relation/2", b"two")]
    with store.transaction() as txn:
        txn.delete("relation/1")
        txn.put("relation/3", b"")
        assert txn.get("relation/1") is None
        assert txn.scan("relation/") == [("relation/2", b"two"), ("relation/3", b"")]
    store.close()
    with MetaStore(tmp_path).transaction() as txn:
        assert [key for key, _ in txn.scan()] == ["relation/2", "relation/3", "relations"]


def test_a_failed_transaction_writes_nothing(tmp_path: Path) -> None:
    store = MetaStore(tmp_path)
    with pytest.raises(RuntimeError), store.transaction() as txn:
        txn.put("a", b"1")
        raise RuntimeError
    with store.transaction() as txn:
        assert txn.get("a") is None


def test_it_grows_when_its_map_is_full(tmp_path: Path) -> None:
    store = MetaStore(tmp_path, map_size=1 << 17)
    for i in range(20):
        with store.transaction() as txn:
            txn.put(f"key/{i:02}", bytes(50_000))
    with store.transaction() as txn:
        assert len(txn.scan("key/")) == 20


def test_callers_take_turns(tmp_path: Path) -> None:
    store = MetaStore(tmp_path)

    def count() -> None:
        for _ in range(25):
            with store.transaction() as txn:
                txn.put("n", str(int(txn.get("n") or b"0") + 1).encode())

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with store.transaction() as txn:
        assert txn.get("n") == b"100"


def test_a_second_open_is_refused_here_and_in_another_process(tmp_path: Path) -> None:
    store = MetaStore(tmp_path)
    with pytest.raises(DataDirectoryInUse, match="in use by another server"):
        MetaStore(tmp_path)
    code = (
        "import sys; from pathlib import Path\n"
        "from risingpy.storage.engine.meta_store import DataDirectoryInUse, MetaStore\n"
        "try: MetaStore(Path(sys.argv[1]))\n"
        "except DataDirectoryInUse as error: print(error)"
    )
    run = [sys.executable, "-c", code, str(tmp_path)]
    assert "in use" in subprocess.run(run, capture_output=True, text=True, check=True).stdout
    store.close()
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout == ""
    MetaStore(tmp_path).close()
