"""The DuckDB connections of threads: made late, interrupted by others, and there while the process forks."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable

import duckdb
import pyarrow as pa

from risingpy.functions.evaluation.chunk_query import _connections, run, thread_interrupt

CHUNK = pa.table({"op": pa.array([1], pa.int8())})


def test_a_forked_child_lives_though_other_threads_have_connections() -> None:
    has_connection, may_end = threading.Event(), threading.Event()

    def work() -> None:
        run("SELECT sum(i) AS e0 FROM range(1000) AS r (i)", CHUNK)
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
    assert run("SELECT 1 AS e0", CHUNK)[0].to_pylist() == [1]


def test_a_thread_that_may_be_interrupted_has_no_connection_before_its_first_query() -> None:
    """Each shard of each server has such a thread, and most epochs compute nothing in DuckDB."""
    interrupts: list[Callable[[], None]] = []
    failures: list[Exception] = []
    before = set(_connections._owned)
    counted, may_query = threading.Event(), threading.Event()

    def work() -> None:
        interrupts.append(thread_interrupt())
        counted.set()
        may_query.wait(30)
        try:
            run("SELECT sum(a.i % b.i) AS e0 FROM range(1, 1000000) a (i), range(1, 1000000) b (i)", CHUNK)
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    assert counted.wait(30)
    assert set(_connections._owned) <= before
    [interrupt] = interrupts
    interrupt()  # for nothing
    may_query.set()
    while thread.is_alive():  # an interrupt may come before the query
        interrupt()
        thread.join(0.01)
    assert [type(each) for each in failures] == [duckdb.InterruptException]
    interrupts.clear()
    del interrupt
    assert set(_connections._owned) <= before, "it is closed with its thread"
