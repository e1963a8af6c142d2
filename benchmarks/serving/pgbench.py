"""Short statements of many clients at once, by pgbench: statements a second, and the CPU time of each.

With the path of another source tree in the environment variable RISINGPY_BESIDE, that is measured in the same minutes,
in turns: before and after a change. Then point reads alone, and beside scans and COPY.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measurement import RISINGPY, Measurement
from benchmarks.process_tree import cpu_seconds
from benchmarks.serving.neighbours import KINDS, SETUP, neighbour
from risingpy.server_process import HOST, ServerProcess

SERVING = "serving"
BESIDE = "RISINGPY_BESIDE"
UNIQUE, NOT_UNIQUE = "INSERT, primary key and one unique index", "INSERT, primary key alone"
ROWS = 10_000
_PACKAGED = Path("/usr/lib/postgresql")  # where Debian has pgbench
_MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True)
class Load:
    """A script of pgbench, with the name of what it does; None: TPC-B, which it has itself."""

    name: str
    script: str | None
    protocol: str
    clients: Sequence[int]


_UPDATE = f"\\set id random(1, {ROWS})\nUPDATE kv SET n = n + 1 WHERE id = :id;\n"
_INSERT = "\\set id random(1, 1000000000000000)\nINSERT INTO {} VALUES (:id, 'x', :id);\n"
_READ = f"\\set id random(1, {ROWS})\nSELECT v FROM kv WHERE id = :id;\n"
LOADS = (
    Load("point SELECT, prepared", _READ, "prepared", (1, 16, 64)),
    Load("point SELECT, simple", _READ, "simple", (1, 16)),
    Load("INSERT", "\\set id random(1, 1000000000)\nINSERT INTO kv VALUES (:id, 'x', 1);\n", "prepared", (1, 32)),
    Load(UNIQUE, _INSERT.format("kept_unique"), "prepared", (1, 16, 32)),
    Load(NOT_UNIQUE, _INSERT.format("not_unique"), "prepared", (1, 16, 32)),
    Load("INSERT, serial key", "INSERT INTO numbered (v) VALUES ('x');\n", "prepared", (1, 32)),
    Load(
        "UPDATE by key", f"\\set id random(1, {ROWS})\nUPDATE kv SET n = n + 1 WHERE id = :id;\n", "prepared", (1, 32)
    ),
    Load("TPC-B, simple", None, "simple", (1, 16)),
    Load("TPC-B, prepared", None, "prepared", (16,)),
    Load("TPC-B, extended", None, "extended", (16,)),
)


READERS = Load("point SELECT, prepared", _READ, "prepared", (16,))
ALONE = "point SELECT, prepared, 16 clients, alone"  # of the server with the neighbours' tables


def beside_name(kind: str) -> str:
    """The variant of the readers beside a neighbour."""
    return f"point SELECT, prepared, 16 clients, beside {KINDS[kind]}"


def measure(seconds: int) -> Iterator[Measurement]:
    """Each load with each number of clients, so many seconds; then readers alone and beside what runs long."""
    yield from _measure_loads(seconds)
    yield from _measure_beside(seconds)


def _measure_beside(seconds: int) -> Iterator[Measurement]:
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="risingpy-beside-")))
        server = _server(stack, directory / "data", os.environ.get(BESIDE))
        _fill(server)
        with server.connect() as connection:
            for text in SETUP:
                connection.execute(text)
        yield Measurement(SERVING, ALONE, RISINGPY, _run(server, READERS, 16, seconds, directory))
        for kind in KINDS:
            with neighbour(server.port, kind) as outcome:
                figures = dict(_run(server, READERS, 16, seconds, directory))
            figures["neighbours_per_second"] = outcome.done / seconds
            yield Measurement(SERVING, beside_name(kind), RISINGPY, figures, correct=outcome.errors == 0)


def _measure_loads(seconds: int) -> Iterator[Measurement]:
    beside = os.environ.get(BESIDE)
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="risingpy-serving-")))
        servers = {"": _server(stack, directory / "own", None)}
        if beside is not None:
            servers["before"] = _server(stack, directory / "beside", beside)
        for server in servers.values():
            _fill(server)
        for load in LOADS:
            for clients in load.clients:
                for note, server in servers.items():
                    figures = _run(server, load, clients, seconds, directory)
                    variant = f"{load.name}, {clients} client{'s' if clients > 1 else ''}"
                    yield Measurement(SERVING, variant, RISINGPY, figures, note=note)


def _server(stack: ExitStack, data_dir: Path, tree: str | None) -> ServerProcess:
    environ = None if tree is None else {**os.environ, "PYTHONPATH": tree, "PYTHONSAFEPATH": "1"}
    server = ServerProcess(data_dir, engine="inprocess", environ=environ)
    stack.callback(server.stop)
    return server


def _fill(server: ServerProcess) -> None:
    with server.connect() as connection:
        connection.execute("CREATE TABLE kv (id int PRIMARY KEY, v varchar, n int)")
        connection.execute("CREATE TABLE not_unique (id bigint PRIMARY KEY, v varchar, n bigint)")
        connection.execute("CREATE TABLE kept_unique (id bigint PRIMARY KEY, v varchar, n bigint UNIQUE)")
        connection.execute("CREATE TABLE numbered (id serial PRIMARY KEY, v varchar)")
        connection.execute(f"INSERT INTO kv SELECT i, 'value ' || i, i FROM generate_series(1, {ROWS}) AS t(i)")
        connection.execute("FLUSH")
    subprocess.run([*_to(server), "-i", "-q", "dev"], check=True, capture_output=True)


def _to(server: ServerProcess) -> list[str]:
    return [_pgbench(), "-h", HOST, "-p", str(server.port), "-U", "root"]


def _run(server: ServerProcess, load: Load, clients: int, seconds: int, directory: Path) -> Mapping[str, float]:
    script, logs = directory / "script.sql", directory / "logs"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir()
    command = [*_to(server), "-n", "-M", load.protocol, "-c", str(clients), "-j", "1", "-T", str(seconds), "--log"]
    if load.script is not None:
        script.write_text(load.script)
        command += ["-f", str(script)]
    command.append("dev")
    before = cpu_seconds(server.process.pid)
    subprocess.run(command, cwd=logs, check=True, capture_output=True)
    used = cpu_seconds(server.process.pid) - before
    lines = [line.split() for path in logs.iterdir() for line in path.read_text().splitlines()]
    milliseconds = sorted(int(line[2]) / 1000 for line in lines)
    return {
        "statements_per_second": len(milliseconds) / seconds,
        "cpu_us": used / len(milliseconds) * _MICROSECONDS,
        "p50_ms": statistics.median(milliseconds),
        "p99_ms": milliseconds[int(0.99 * len(milliseconds))],
        "samples": len(milliseconds),
    }


def _pgbench() -> str:
    found = shutil.which("pgbench") or next(iter(sorted(map(str, _PACKAGED.glob("*/bin/pgbench")), reverse=True)), None)
    if found is None:
        raise RuntimeError("pgbench is missing: it comes with PostgreSQL's server")
    return found
