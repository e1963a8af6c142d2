"""How soon a waiting FETCH has a change: after the INSERT, and after its epoch's commit, which FLUSH answers."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from queue import SimpleQueue

from benchmarks.measurement import RISINGPY, Measurement, latency_figures
from benchmarks.throughput import IN_PROCESS, running_server
from risingpy.server_process import ServerProcess

CASE = "subscriptions"
AFTER_COMMIT, AFTER_INSERT = "commit to waiting FETCH", "INSERT to waiting FETCH"
_SETTLE_SECONDS = 0.02  # until the FETCH waits again
_PATIENCE_SECONDS = 30


def measure(samples: int) -> Iterator[Measurement]:
    """Each change alone, with pauses. A FETCH that is answered before FLUSH is took no time after the commit."""
    with running_server(engine=IN_PROCESS) as server, server.connect() as connection:
        connection.execute("CREATE TABLE t (id BIGINT PRIMARY KEY)")
        connection.execute("CREATE MATERIALIZED VIEW m AS SELECT id FROM t")
        connection.execute("CREATE SUBSCRIPTION s FROM m WITH (retention = '1h')")
        fetched: SimpleQueue[tuple[int, float]] = SimpleQueue()
        waiting = threading.Event()
        thread = threading.Thread(target=_fetch, args=(server, samples, waiting, fetched), daemon=True)
        thread.start()
        waiting.wait(_PATIENCE_SECONDS)
        inserted, committed, answered = [], [], []
        right = True
        for number in range(samples):
            time.sleep(_SETTLE_SECONDS)
            inserted.append(time.perf_counter())
            connection.execute("INSERT INTO t VALUES (%s)", (number,))
            connection.execute("FLUSH")
            committed.append(time.perf_counter())
            found, at = fetched.get(timeout=_PATIENCE_SECONDS)
            right &= found == number
            answered.append(at)
        thread.join()
    after_insert = [end - start for start, end in zip(inserted, answered, strict=True)]
    after_commit = [max(0.0, end - start) for start, end in zip(committed, answered, strict=True)]
    flushed = [end - start for start, end in zip(inserted, committed, strict=True)]
    yield Measurement(CASE, AFTER_COMMIT, RISINGPY, latency_figures(after_commit), right)
    yield Measurement(CASE, AFTER_INSERT, RISINGPY, latency_figures(after_insert), right)
    yield Measurement(CASE, "INSERT to the answer of FLUSH", RISINGPY, latency_figures(flushed))


def _fetch(
    server: ServerProcess, samples: int, waiting: threading.Event, fetched: SimpleQueue[tuple[int, float]]
) -> None:
    with server.connect() as connection:
        connection.execute("DECLARE c SUBSCRIPTION CURSOR FOR s SINCE now()")
        waiting.set()
        for _ in range(samples):
            row = connection.execute("FETCH NEXT FROM c WITH (timeout = '30s')").fetchone()
            fetched.put((-1 if row is None else row[0], time.perf_counter()))
