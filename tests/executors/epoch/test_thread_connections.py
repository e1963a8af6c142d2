"""A process that forks while its threads have DuckDB connections."""

from __future__ import annotations

import subprocess
import threading

import pyarrow as pa

from risingpy.functions.evaluation.chunk_query import run


def test_a_forked_child_lives_though_other_threads_have_connections() -> None:
    chunk = pa.table({"op": pa.array([1], pa.int8())})
    has_connection, may_end = threading.Event(), threading.Event()

    def work() -> None:
        run("SELECT sum(i) AS e0 FROM range(1000) AS r (i)", chunk)
        has_connection.set()
        may_end.wait()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
        assert has_connection.wait(30)
        has_connection.clear()
    try:
        # As PySpark starts Java: a function to run in the child makes Python fork, and clean up after the threads.
        ended = subprocess.run(["true"], preexec_fn=lambda: None, check=False)
        assert ended.returncode == 0
    finally:
        may_end.set()
        for thread in threads:
            thread.join()
    assert run("SELECT 1 AS e0", chunk)[0].to_pylist() == [1]
