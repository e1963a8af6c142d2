"""Makes a data directory of an export."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
from psycopg.conninfo import make_conninfo

from risingpy.client.server_database import ServerDatabase
from risingpy.client.transfer.exported import SCHEMA, ExportedDatabase, ExportedStatement, TableRows, masked_steps
from risingpy.errors import SqlError
from risingpy.server_process import STOP_SECONDS, ServerProcess
from risingpy.sql_quoting import double_quoted

_BUILDING = ".importing"
_KEPT = ("RISINGPY_FILE_ROOTS", "RISINGPY_MEMORY", "RISINGPY_ENGINE")
_BATCH_ROWS = 1 << 17
_LOOK_SECONDS = 0.1
# The server ends when this process is killed (Linux: PR_SET_PDEATHSIG outlives exec).
_END_WITH_ME = (
    "import ctypes, os, signal, sys; ctypes.CDLL(None).prctl(1, signal.SIGTERM); os.execvp(sys.argv[1], sys.argv[1:])"
)
Say = Callable[[str], None]


def import_into(
    export: ExportedDatabase, target: Path, *, parallelism: int, engine: str, flags: Sequence[str], say: Say
) -> None:
    """Makes the new data directory `target`, with a server of its own beside it, and moves it there at the end.

    `flags` are that server's. Raises SqlError, and leaves nothing, for what it cannot do; an import that was killed
    leaves a directory that the next one removes.
    """
    masked = masked_steps(export.steps)
    if masked:
        places = "\n".join(f"  line {each.line}: {each.kind} {each.name}" for each in masked)
        raise SqlError(f"write the secrets into {export.directory / SCHEMA}, in place of ***:\n{places}")
    key = target.with_name(f"{target.name}.key")
    for each in (target, key):
        if each.exists() and (not each.is_dir() or any(each.iterdir())):
            raise SqlError(f"{each} exists: an import makes a new data directory")
    with _building(target) as building:
        server = _started(building, parallelism, engine, flags)
        try:
            _fill(export, server.port, building, say)
            if server.stop():
                raise SqlError("the server did not stop cleanly:\n" + "".join(server.output[-20:]))
        finally:
            server.kill()
        if (building / "data.key").exists():
            (building / "data.key").rename(key)
        if target.exists():
            target.rmdir()
        (building / "data").rename(target)
    say(f"{target} is ready: risingpy serve --data-dir {target}")


@contextmanager
def _building(target: Path) -> Iterator[Path]:
    """A directory beside the target, for as long as the block runs."""
    building, note = target.with_name(f"{target.name}{_BUILDING}"), "pid"
    if building.exists():
        _check_abandoned(building, building / note)
        shutil.rmtree(building)
    building.mkdir(parents=True, mode=0o700)
    (building / note).write_text(str(os.getpid()))
    try:
        yield building
    finally:
        shutil.rmtree(building)


def _check_abandoned(building: Path, note: Path) -> None:
    """Raises SqlError unless an import made the directory that runs no more. Its server ends with it."""
    try:
        process = int(note.read_text())
    except (OSError, ValueError):
        raise SqlError(f"{building} is in the way, and no import has left it") from None
    if _runs(process):
        raise SqlError(f"another import (process {process}) makes this directory")
    lock, deadline = building / "data" / "lock", time.monotonic() + STOP_SECONDS
    while lock.exists() and (text := lock.read_text().strip()).isdigit() and _runs(int(text)):
        if time.monotonic() > deadline:
            raise SqlError(f"the server of an import that was killed still runs: process {text}")
        time.sleep(_LOOK_SECONDS)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def _started(building: Path, parallelism: int, engine: str, flags: Sequence[str]) -> ServerProcess:
    environ = {key: value for key, value in os.environ.items() if not key.startswith("RISINGPY_") or key in _KEPT}
    nothing = building / "risingpy.toml"
    nothing.write_text("")
    # The socket is in a directory that nobody else enters: roles may have passwords from the first statement on.
    own = ("--config", str(nothing), "--unix-socket-directory", str(building), *flags)
    try:
        return ServerProcess(
            building / "data",
            engine=engine,
            parallelism=parallelism,
            flags=own,
            environ=environ,
            prefix=(sys.executable, "-c", _END_WITH_ME),
        )
    except RuntimeError as error:
        raise SqlError(str(error)) from None


def _fill(export: ExportedDatabase, port: int, socket_directory: Path, say: Say) -> None:
    databases: dict[str, ServerDatabase] = {}

    def database(name: str) -> ServerDatabase:
        if name not in databases:
            url = make_conninfo("", host=str(socket_directory), port=port, user="root", dbname=name)
            databases[name] = ServerDatabase(url)
        return databases[name]

    try:
        before = [each for each in export.steps if each.part in ("server", "tables")]
        for step in before:
            _run(database(step.database), step)
        for table in export.tables:
            _load(database(table.database), export.directory, table)
            say(f"{table.database}: {table.relation}, {table.rows:,} rows")
        for step in export.steps[len(before) :]:
            _run(database(step.database), step)
            if step.kind in ("materialized view", "index", "sink"):
                say(f"{step.database}: {step.kind} {step.name}")
        database(export.steps[0].database).sql("FLUSH")
    finally:
        for each in databases.values():
            each.close()


def _run(database: ServerDatabase, step: ExportedStatement) -> None:
    path = ", ".join(map(double_quoted, step.search_path or ("public",)))
    try:
        database.sql(f"SET search_path TO {path}")
        database.sql(step.text)
    except SqlError as error:
        where = f"{SCHEMA}, line {step.line}: {step.kind} {step.name}".rstrip()
        raise SqlError(f"{where}: {error}", sqlstate=error.sqlstate, hint=error.hint) from None


def _load(database: ServerDatabase, directory: Path, table: TableRows) -> None:
    try:
        with pq.ParquetFile(directory / table.file) as file:
            found = 0
            for batch in file.iter_batches(_BATCH_ROWS):
                found += database.insert(table.relation, batch)
    except SqlError as error:
        raise SqlError(f"{table.file}: {table.relation}: {error}", sqlstate=error.sqlstate, hint=error.hint) from None
    if found != table.rows:
        raise SqlError(f"{table.file}: {found:,} of the {table.rows:,} rows of {table.relation} were taken")
