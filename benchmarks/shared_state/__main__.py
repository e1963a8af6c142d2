"""What `--state` costs. Each part of it prints its figures; docs/scale.md has them.

python -m benchmarks.shared_state one-machine   INSERT, COPY, q_agg and q_join: without --state, and with it
python -m benchmarks.shared_state cold          a server on an empty disk, over 10 million rows of state
python -m benchmarks.shared_state rescale       a million rows of state moved from two shards to three, and to two
python -m benchmarks.shared_state epochs        epochs of a cluster of two executors, and the model fitted to them
"""

from __future__ import annotations

import os
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks import join, throughput
from benchmarks.epoch_files import ARROW, write_epochs
from benchmarks.latency import FEW, copy_rows, create_views, freshness
from benchmarks.measurement import latency_figures, timed_calls
from benchmarks.nexmark import Generator
from risingpy.connectors.file_roots import ENVIRONMENT_NAME as FILE_ROOTS
from risingpy.server_process import ServerProcess

EPOCHS_MEASURED = 7
EXECUTORS = 2
PIECE = 250_000  # rows of an INSERT that fills a table
VIEWS = {  # by the number of exchanges
    0: "SELECT id, v + 1 AS w FROM t0",
    1: "SELECT g, count(*) AS n, sum(v) AS s FROM t1 GROUP BY g",
    2: "SELECT n, count(*) AS groups FROM (SELECT g, count(*) AS n FROM t2 GROUP BY g) AS counted GROUP BY n",
}


@dataclass(frozen=True, slots=True)
class Point:
    """The median of several epochs of one kind. `delta_bytes`: what the state has grown by in one of them."""

    shards: int
    stages: int
    rows: int
    seconds: float
    delta_bytes: float

    def terms(self) -> tuple[float, ...]:
        """What the model multiplies with its constants: stages, shards on an executor, rows on an executor."""
        return self.stages, self.shards / EXECUTORS, self.rows / EXECUTORS


@click.group()
def main() -> None:
    """Measures what --state costs."""
    os.environ.setdefault(FILE_ROOTS, tempfile.gettempdir())  # whose files the servers read


@main.command("one-machine")
@click.option("--samples", default=60)
@click.option("--rows", default=100_000, help="Rows of an epoch of q_agg and q_join.")
@click.option("--epochs", default=6)
def one_machine(samples: int, rows: int, epochs: int) -> None:
    """Without --state and with it, in turn."""
    with tempfile.TemporaryDirectory(prefix="risingpy-bids-") as name:
        agg, joined = Path(name) / "agg", Path(name) / "join"
        total = throughput.WARM_EPOCHS + epochs
        for directory, make in ((agg, Generator().bids), (joined, join.bids)):
            directory.mkdir()
            write_epochs((make(number, rows) for number in range(total)), directory)
        for shared in (False, True):
            told = "with --state" if shared else "without --state"
            with state_flags(shared) as flags, throughput.running_server(flags=flags) as server:
                for what, figure in _statements(server, samples):
                    print(f"{told:16} {what:32} {figure}", flush=True)
            with state_flags(shared) as flags:
                figures = throughput.run_server("q_agg", agg, rows, total, ARROW, flags=flags)
                print(f"{told:16} q_agg, rows/s {figures['rows_per_second']:,.0f}", flush=True)
            with state_flags(shared) as flags:
                figures = join.run_server(joined, rows, total, flags=flags)
                print(f"{told:16} q_join, rows/s {figures['rows_per_second']:,.0f}", flush=True)


@main.command()
@click.option("--rows", default=10_000_000, help="Rows of state.")
def cold(rows: int) -> None:
    """Fills a database, kills its server, and starts another one on an empty disk."""
    with state_flags(True) as flags, tempfile.TemporaryDirectory(prefix="risingpy-cold-") as name:
        server = ServerProcess(Path(name) / "a", flags=flags, engine="inprocess")
        try:
            with server.connect() as connection:
                fill(connection, rows)
                wanted = connection.execute("SELECT count(*), sum(v) FROM joined").fetchone()
        finally:
            server.kill()
        server = ServerProcess(Path(name) / "b", flags=flags, engine="inprocess")
        try:
            with server.connect() as connection:
                connection.execute("SELECT v FROM joined WHERE id = 7").fetchall()
                first = time.monotonic() - server.started
                connection.execute("INSERT INTO big VALUES (-1, 1)")
                connection.execute("FLUSH")
                advanced = time.monotonic() - server.started
                found = connection.execute("SELECT count(*) - 1, sum(v) - 1 FROM joined").fetchone()
                assert found == wanted, (found, wanted)
        finally:
            server.kill()
        print(f"cold server, {rows:,} rows of state: first query {first:.1f} s, views advance {advanced:.1f} s")


@main.command()
@click.option("--rows", default=1_000_000, help="Rows of state.")
def rescale(rows: int) -> None:
    """ALTER SYSTEM SET parallelism in a running server, without --state and with it, and a reader beside it."""
    for shared in (False, True):
        told = "with --state" if shared else "without --state"
        with state_flags(shared) as flags, tempfile.TemporaryDirectory(prefix="risingpy-rescale-") as name:
            server = ServerProcess(Path(name) / "a", flags=flags, engine="inprocess")
            try:
                with server.connect() as connection:
                    fill(connection, rows)
                    for shards in (3, 2):
                        seconds, longest = _moved(server, connection, shards)
                        rate = f"{rows / seconds:,.0f} rows/s, the longest read beside it {longest * 1e3:.0f} ms"
                        print(f"{told:16} to {shards} shards: {seconds:.1f} s, {rate}", flush=True)
            finally:
                server.kill()


@main.command()
@click.option("--shards", multiple=True, type=int, default=(2, 4))
@click.option("--rows", multiple=True, type=int, default=(10, 20_000, 200_000))
def epochs(shards: tuple[int, ...], rows: tuple[int, ...]) -> None:
    """Spark's own cluster of two executors with a core each, on this machine."""
    points = [point for number in shards for point in _points(number, rows)]
    matrix, seconds = np.array([point.terms() for point in points]), np.array([point.seconds for point in points])
    weights = 1 / seconds  # so that the error of each point counts by its ratio
    constants = np.linalg.lstsq(matrix * weights[:, None], seconds * weights, rcond=None)[0]
    stage, shard, row = constants
    print(f"a stage {stage * 1e3:.0f} ms, a shard {shard * 1e3:.0f} ms, a row {row * 1e6:.2f} us")
    print("| shards | exchanges | rows | predicted, ms | measured, ms | bytes a row |\n|--:|--:|--:|--:|--:|--:|")
    for point, predicted in zip(points, matrix @ constants, strict=True):
        print(f"| {point.shards} | {point.stages - 1} | {point.rows:,} | {predicted * 1e3:,.0f} ", end="")
        print(f"| {point.seconds * 1e3:,.0f} | {point.delta_bytes / point.rows:,.0f} |")


@contextmanager
def state_flags(shared: bool) -> Iterator[tuple[str, ...]]:
    """The options of a server whose state is in a directory of its own, which is deleted at the end."""
    with tempfile.TemporaryDirectory(prefix="risingpy-state-") as name:
        directory = Path(name)
        key = str(directory / "key")
        yield ("--state", (directory / "state").as_uri(), "--secret-key-file", key) if shared else ()


def fill(connection: Any, rows: int) -> None:
    """A table and its join with itself: each row is four rows of state, the table's, the join's two, the result's."""
    connection.execute("CREATE TABLE big (id BIGINT PRIMARY KEY, v INT)")
    connection.execute("CREATE MATERIALIZED VIEW joined AS SELECT a.id, b.v FROM big a JOIN big b ON a.id = b.id")
    for start in range(0, rows // 4, PIECE):
        end = min(start + PIECE, rows // 4) - 1
        connection.execute(f"INSERT INTO big SELECT i, i % 1000 FROM generate_series({start}, {end}) AS s(i)")
    connection.execute("FLUSH")


def _statements(server: ServerProcess, samples: int) -> Iterator[tuple[str, str]]:
    with server.connect() as connection:
        create_views(connection, FEW)
        yield "INSERT visible, p50", _told(freshness(connection, samples))
        insert = "INSERT INTO acks VALUES ({}, 1)"
        connection.execute("CREATE TABLE acks (k BIGINT PRIMARY KEY, v BIGINT)")
        times = timed_calls(lambda number: connection.execute(insert.format(number)), samples)
        yield "INSERT acknowledged, p50", _told(latency_figures(times))
        connection.execute("CREATE TABLE copied (k BIGINT PRIMARY KEY, v BIGINT)")
        connection.execute("FLUSH")
        seconds = copy_rows(connection, "copied", 1_000_000)
        yield "COPY, rows/s", f"{1_000_000 / seconds:,.0f}"


def _moved(server: ServerProcess, connection: Any, shards: int) -> tuple[float, float]:
    """Seconds of the move, and of the longest of the reads that another client sends one after the other meanwhile."""
    over, times = threading.Event(), [0.0]

    def read() -> None:
        with server.connect() as other:
            while not over.is_set():
                began = time.monotonic()
                other.execute("SELECT v FROM joined WHERE id = 7").fetchall()
                times.append(time.monotonic() - began)

    reader = threading.Thread(target=read)
    reader.start()
    began = time.monotonic()
    connection.execute(f"ALTER SYSTEM SET parallelism = {shards}")
    seconds = time.monotonic() - began
    over.set()
    reader.join()
    return seconds, max(times)


def _told(figures: dict[str, float]) -> str:
    return f"{figures['p50_ms']:.1f} ms (p99 {figures['p99_ms']:.1f})"


def _points(shards: int, row_counts: tuple[int, ...]) -> Iterator[Point]:
    with state_flags(True) as flags, tempfile.TemporaryDirectory(prefix="risingpy-points-") as name:
        master = ("--master", f"local-cluster[{EXECUTORS},1,900]")
        server = ServerProcess(Path(name), flags=(*flags, *master), parallelism=shards)
        state = Path(flags[1].removeprefix("file://"))
        try:
            server.wait_for_spark()
            with server.connect() as connection:
                for exchanges, query in VIEWS.items():  # an epoch has the stages of the deepest view that there is
                    connection.execute(f"CREATE TABLE t{exchanges} (id BIGINT PRIMARY KEY, g INT, v INT)")
                    connection.execute(f"CREATE MATERIALIZED VIEW v{exchanges} AS {query}")
                    for rows in row_counts:
                        yield _point(connection, state, shards, exchanges, rows)
        finally:
            server.kill()


def _point(connection: Any, state: Path, shards: int, exchanges: int, rows: int) -> Point:
    """One epoch that does not count, then those that do: each inserts as many rows, with keys of their own."""
    first, seconds, grown, stages = connection.execute(f"SELECT count(*) FROM t{exchanges}").fetchone()[0], [], [], 0
    for number in range(1 + EPOCHS_MEASURED):
        low, before = first + number * rows, _bytes(state)
        connection.execute(
            f"INSERT INTO t{exchanges} SELECT i, i % 5000, i % 97 FROM generate_series({low}, {low + rows - 1}) AS s(i)"
        )
        connection.execute("FLUSH")
        taken = connection.execute("SELECT stages, total_ms FROM rw_epochs WHERE rows > 0 ORDER BY epoch DESC LIMIT 1")
        stages, milliseconds = taken.fetchone()
        if number:
            seconds.append(milliseconds / 1e3)
            grown.append(_bytes(state) - before)
    point = Point(shards, stages, rows, statistics.median(seconds), statistics.median(grown))
    print(point, flush=True)
    return point


def _bytes(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


if __name__ == "__main__":
    main()
