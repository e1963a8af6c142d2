"""Searches of vectors by an index: searches a second, the server's CPU time of each, and which part is found.

The vectors have 128 dimensions and far fewer that are independent, as those of models have. What is found is compared
with exact search in NumPy. Three kinds of data, since the dimensions that are independent decide how far a graph leads:

linear      24 of them, mixed linearly: harder than what models give
bent        16 of them through tanh, as the last layers of networks do; SIFT's have some 15 by the usual estimate
clustered   1,000 clusters, each with 8 dimensions of its own, as texts of so many topics
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import Enum
from pathlib import Path

import numpy as np
import numpy.typing as npt
import psycopg
from psycopg.pq import Format

from benchmarks.measurement import RISINGPY, Measurement
from benchmarks.process_tree import cpu_seconds, pss_bytes
from risingpy.server_process import ServerProcess

VECTORS = "vectors"
DIMENSIONS, NOISE = 128, 0.1
CLUSTERS = 1_000
ASKED, QUERIES = 10, 500
CANDIDATES = (40, 100, 200)  # hnsw.ef_search
CLIENTS = (1, 4)
_COPIED = 50_000  # rows in each COPY
_BINARY_HEAD = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_BINARY_END = b"\xff\xff"

Vectors = npt.NDArray[np.float32]


class Kind(Enum):
    """How the vectors are made; the value is how many dimensions are independent."""

    LINEAR = 24
    BENT = 16
    CLUSTERED = 8


def measure(rows: int, seconds: int, kind: Kind = Kind.LINEAR) -> Iterator[Measurement]:
    """The build, and then searches with each number of candidates and of clients, so many seconds."""
    stored, asked = vectors_of(kind, rows)
    case = VECTORS if kind is Kind.LINEAR else f"{VECTORS}-{kind.name.lower()}"
    for measurement in _measured(stored, asked, seconds):
        yield replace(measurement, case=case)


def _measured(stored: Vectors, asked: Vectors, seconds: int) -> Iterator[Measurement]:
    rows = len(stored)
    nearest = _nearest(stored, asked)
    with tempfile.TemporaryDirectory(prefix="risingpy-vectors-") as directory:
        server = ServerProcess(Path(directory) / "data", engine="inprocess")
        try:
            with server.connect() as connection:
                connection.autocommit = True
                connection.execute(f"CREATE TABLE items (id int PRIMARY KEY, v vector({DIMENSIONS}))")
                _load(connection, stored)
                yield _built(server, connection, rows)
            for candidates in CANDIDATES:
                for clients in CLIENTS:
                    yield _searched(server, asked, nearest, rows, candidates, clients, seconds)
        finally:
            server.stop()


def vectors_of(kind: Kind, rows: int) -> tuple[Vectors, Vectors]:
    """Vectors to store and `QUERIES` to ask for, of one distribution; the same in each run."""
    random = np.random.default_rng(7)
    mixed = random.standard_normal((kind.value, DIMENSIONS), np.float32)
    middles = random.standard_normal((CLUSTERS, DIMENSIONS), np.float32)
    spreads = random.standard_normal((CLUSTERS, kind.value, DIMENSIONS), np.float32) / 4

    def some(count: int) -> Vectors:
        hidden = random.standard_normal((count, kind.value), np.float32)
        found: Vectors
        match kind:
            case Kind.LINEAR:
                found = hidden @ mixed
            case Kind.BENT:
                found = np.tanh(hidden @ mixed / np.float32(kind.value**0.5))
            case Kind.CLUSTERED:
                cluster = random.integers(CLUSTERS, size=count)
                found = middles[cluster]
                for k in range(kind.value):
                    found += hidden[:, k : k + 1] * spreads[cluster, k]
        noise = NOISE if kind is Kind.LINEAR else NOISE / 4
        found += np.float32(noise) * random.standard_normal((count, DIMENSIONS), np.float32)
        return found

    return some(rows), some(QUERIES)


def _nearest(stored: Vectors, asked: Vectors) -> list[set[int]]:
    """The numbers of the rows that are nearest to each query, by exact search."""
    squares = np.einsum("ij,ij->i", stored, stored)
    found = []
    for start in range(0, len(asked), 50):
        distances = squares - 2 * (asked[start : start + 50] @ stored.T)
        found += [set(row.tolist()) for row in np.argpartition(distances, ASKED, axis=1)[:, :ASKED]]
    return found


def _load(connection: psycopg.Connection[tuple[object, ...]], stored: Vectors) -> None:
    """By binary COPY, whose rows are of one length."""
    row = np.dtype([("fields", ">i2"), ("id_bytes", ">i4"), ("id", ">i4"), ("v_bytes", ">i4"), ("dimensions", ">i4")])
    row = np.dtype([*row.descr, ("v", ">f4", (DIMENSIONS,))])
    for start in range(0, len(stored), _COPIED):
        part = stored[start : start + _COPIED]
        rows = np.empty(len(part), row)
        rows["fields"], rows["id_bytes"], rows["id"] = 2, 4, np.arange(start, start + len(part))
        rows["v_bytes"], rows["dimensions"], rows["v"] = 4 + 4 * DIMENSIONS, DIMENSIONS << 16, part
        with connection.cursor().copy("COPY items FROM STDIN (FORMAT binary)") as copy:
            copy.write(_BINARY_HEAD + rows.tobytes() + _BINARY_END)


def _built(server: ServerProcess, connection: psycopg.Connection[tuple[object, ...]], rows: int) -> Measurement:
    before, began = cpu_seconds(server.process.pid), time.perf_counter()
    connection.execute("CREATE INDEX near ON items USING hnsw (v vector_l2_ops)")
    figures = {
        "build_seconds": time.perf_counter() - began,
        "build_cpu_seconds": cpu_seconds(server.process.pid) - before,
        "pss_mb": pss_bytes(server.process.pid) / 2**20,
    }
    return Measurement(VECTORS, f"build, {rows} rows", RISINGPY, figures)


def _searched(
    server: ServerProcess,
    asked: Vectors,
    nearest: Sequence[set[int]],
    rows: int,
    candidates: int,
    clients: int,
    seconds: int,
) -> Measurement:
    searches = [_Searches(server, asked, candidates) for _ in range(clients)]
    recall = searches[0].recall(nearest)
    before, began = cpu_seconds(server.process.pid), time.perf_counter()
    threads = [threading.Thread(target=each.run, args=(began + seconds,)) for each in searches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wall, count = time.perf_counter() - began, sum(each.count for each in searches)
    figures = {
        "searches_per_second": count / wall,
        "cpu_ms": 1000 * (cpu_seconds(server.process.pid) - before) / count,
        "recall": recall,
    }
    return Measurement(VECTORS, f"ef_search {candidates}, {clients} clients, {rows} rows", RISINGPY, figures)


class _Searches:
    """Those of one client, prepared and binary: libpq sends each and waits for its rows without the interpreter."""

    def __init__(self, server: ServerProcess, asked: Vectors, candidates: int) -> None:
        self._connection = server.connect()
        self._connection.autocommit = True
        self._connection.execute(f"SET hnsw.ef_search = {candidates}")
        text = f"SELECT id, v <-> $1 FROM items ORDER BY v <-> $1 LIMIT {ASKED}"
        self._connection.pgconn.prepare(b"near", text.encode())
        head = (DIMENSIONS << 16).to_bytes(4)
        self._parameters = [head + each.astype(">f4").tobytes() for each in asked]
        self.count = 0

    def recall(self, nearest: Sequence[set[int]]) -> float:
        """Which part of the nearest rows is found."""
        found = sum(len(self._search(i) & each) for i, each in enumerate(nearest))
        return found / (ASKED * len(nearest))

    def run(self, end: float) -> None:
        """Searches until that time, of `time.perf_counter`."""
        while time.perf_counter() < end:
            self._search(self.count % len(self._parameters))
            self.count += 1
        self._connection.close()

    def _search(self, number: int) -> set[int]:
        formats = [Format.BINARY]
        result = self._connection.pgconn.exec_prepared(b"near", [self._parameters[number]], formats, Format.BINARY)
        values = (result.get_value(row, 0) for row in range(result.ntuples))
        return {int.from_bytes(value) for value in values if value is not None}
