"""DuckDB instances for statements. Each statement has its own, so that each has its own memory limit.

Within its limit DuckDB spills sorts, joins and groups to a directory of the data directory. Beyond it, only its own
statement fails. All running statements share QUERIES_SHARE of the server's memory. A statement gets what it asks for,
but no more than half of the rest, so that something is left for the next.

An instance takes 12 ms and 5 MB to make, so idle ones are kept. If more statements run than _MOST_INSTANCES, suspended
cursors included, they share instances, and the limits of these.

They join in the order of the SQL, which the rule `join_reorder` has chosen (decision 179).
"""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import duckdb

from risingpy.functions.evaluation.admission import Admission
from risingpy.functions.evaluation.duckdb_connection import connect
from risingpy.functions.evaluation.duckdb_functions import OwnFunctions
from risingpy.memory import QUERIES_SHARE, share_of_memory
from risingpy.sql_quoting import quoted_text

SPILL_DIRECTORY = "spill"
LEAST_MEMORY = 32 << 20  # enough for a scan, a small sort and a small join
MOST_QUERIES = 8  # that compute at a time, unless the server says so
_MOST_INSTANCES = 16
_MOST_SUSPENDED = 8  # open queries, from which on one that is suspended is computed to its end
_MEMORY = "SELECT sum(memory_usage_bytes)::BIGINT, sum(temporary_storage_bytes)::BIGINT FROM duckdb_memory()"
# DuckDB cannot know how many rows a reader has, and takes them for one. So all orders of joins cost it the same, and
# it begins with those of `a.x <> b.x` as readily as with those of a key.
_ORDER_OF_THE_SQL = "SET disabled_optimizers = 'join_order'"
_SPILL_SHARE = 0.5  # of the disk's free space, so that the log and the state have room


@dataclass(slots=True)
class _Instance:
    root: duckdb.DuckDBPyConnection
    functions: OwnFunctions
    guard: threading.Lock = field(default_factory=threading.Lock)  # of `functions`
    idle: list[duckdb.DuckDBPyConnection] = field(default_factory=list)
    users: int = 0
    limit: int = 0


@dataclass(slots=True)
class Lease:
    """A cursor for one statement."""

    cursor: duckdb.DuckDBPyConnection
    _instance: _Instance

    def make_known(self, sql: str) -> None:
        """Registers the functions of ours that this SQL calls."""
        with self._instance.guard:
            self._instance.functions.make_known(sql)


class QueryEngines:
    """The instances of a server, for all threads."""

    def __init__(self, data_dir: Path, memory: int | None = None, *, most: int = MOST_QUERIES) -> None:
        """`memory` is for all statements together. Clears the spill directory of an earlier run.

        Those that read relations compute under `admission`, `most` of them at a time.
        """
        self.admission = Admission(most)
        self._directory = data_dir / SPILL_DIRECTORY
        shutil.rmtree(self._directory, ignore_errors=True)
        self._memory = share_of_memory(QUERIES_SHARE) if memory is None else memory
        self._instances: list[_Instance] = []
        self._making = 0  # how many instances threads are making now
        self._guard = threading.Lock()

    @contextlib.contextmanager
    def lease(self, wanted: int) -> Iterator[Lease]:
        """A context manager with a cursor of up to `wanted` bytes. If its block raises, it closes the cursor."""
        instance = self._take(wanted)
        with self._guard:
            cursor = instance.idle.pop() if instance.idle else instance.root.cursor()
        kept = False
        try:
            yield Lease(cursor, instance)
            kept = True
        finally:
            if not kept:
                cursor.close()  # it may hold an unfinished answer
            with self._guard:
                instance.users -= 1
                if kept:
                    instance.idle.append(cursor)

    def file_if_crowded(self) -> IO[bytes] | None:
        """A file without a name for the rows of a query that is suspended, if many others are open; else None."""
        with self._guard:
            open_queries = sum(instance.users for instance in self._instances)
        if open_queries <= _MOST_SUSPENDED:
            return None
        self._directory.mkdir(parents=True, exist_ok=True)
        return TemporaryFile(dir=self._directory)

    def memory(self) -> tuple[int, int]:
        """Bytes that all statements have in memory, and that they have spilled to disk."""
        with self._guard:
            cursors = [instance.root.cursor() for instance in self._instances]
        held = spilled = 0
        for cursor in cursors:
            row = cursor.execute(_MEMORY).fetchone()
            assert row is not None
            held, spilled = held + row[0], spilled + row[1]
            cursor.close()
        return held, spilled

    def close(self) -> None:
        """Ends everything, and clears the spill directory."""
        with self._guard:
            for instance in self._instances:
                instance.root.close()
            self._instances.clear()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _take(self, wanted: int) -> _Instance:
        with self._guard:
            if not self._instances:
                self._instances.append(self._connect())
            found = self._least_used()
            makes_one = bool(found and found.users and len(self._instances) + self._making < _MOST_INSTANCES)
            self._making += makes_one
        if makes_one:
            self._make()
        with self._guard:
            left = self._memory - sum(instance.limit for instance in self._instances if instance.users)
            limit = max(LEAST_MEMORY, min(wanted, left // 2))
            instance = self._least_used()
            assert instance is not None
            if not instance.users and instance.limit != limit:
                instance.root.execute(f"SET memory_limit = '{limit}B'")
                instance.limit = limit
            instance.users += 1
            return instance

    def _make(self) -> None:
        """Adds an instance. Releases the guard meanwhile, so that no other thread waits for it."""
        made: list[_Instance] = []
        try:
            made.append(self._connect())
        finally:
            with self._guard:
                self._making -= 1
                self._instances += made

    def _least_used(self) -> _Instance | None:
        """The oldest of the idle instances, so that the others stay idle."""
        return min(self._instances, key=lambda each: each.users, default=None)

    def _connect(self) -> _Instance:
        connection = connect()
        connection.execute(_ORDER_OF_THE_SQL)
        connection.execute(f"SET temp_directory = {quoted_text(str(self._directory))}")
        room = int(shutil.disk_usage(self._directory.parent).free * _SPILL_SHARE)
        connection.execute(f"SET max_temp_directory_size = '{room}B'")
        return _Instance(connection, OwnFunctions(connection))
