"""TPC-DS at a scale: each query by SELECT, by a view made before the data and by one made after it, beside PostgreSQL.

    python -m tests.tpcds.campaign DIRECTORY [--group N] [--steps N] [--report FILE] [q01 q02 …]

DIRECTORY has the tables as CSV files (`tests.tpcds.data` makes it). Each query is answered again after each step of the
history of changes. Of each query it prints seconds of the server's CPU: to plan the view (EXPLAIN), to make it without
rows, to make it over the loaded tables, of SELECT; and all that differs. Of the group: to follow the load and a step.
PostgreSQL's answers are kept in DIRECTORY, for they take most of the time.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import pickle
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.process_tree import cpu_seconds, pss_bytes
from risingpy.server_process import ServerProcess
from tests.postgres_oracle import postgres_server
from tests.query_histories import comparable
from tests.tpcds.queries import HERE, QUERIES, SCHEMA, history, tables

Connection = psycopg.Connection[Any]
Rows = list[tuple[str, ...]]
SEED = 99
LONGEST_SECONDS = 300  # of one statement, here and there
_PIECE = 1 << 20
_TEXTS = b"".join((HERE / name).read_bytes() for name in ("schema.sql", "queries.sql", "queries.py"))
_ASKED = hashlib.sha256(_TEXTS).hexdigest()[:12]  # other queries and other changes have other answers


@dataclass(slots=True)
class Outcome:
    """What a query showed: seconds of CPU by name, and texts of what was wrong."""

    cpu: dict[str, float] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)


def load(connection: Connection, directory: Path, names: Sequence[str]) -> None:
    """COPY of the CSV files, which begin with a line of names."""
    for name in names:
        with connection.cursor() as cursor, (directory / f"{name}.csv").open("rb") as file:
            file.readline()
            with cursor.copy(f"COPY {name} FROM STDIN (FORMAT csv)".encode()) as copy:
                while piece := file.read(_PIECE):
                    copy.write(piece)


def answer(connection: Connection, sql: str) -> tuple[Rows, int]:
    """The rows in an order, and how many columns they have."""
    with connection.cursor() as cursor:
        cursor.execute(sql.encode())
        rows = cursor.fetchall()
        return comparable(rows), len(cursor.description or ())


def steps(count: int) -> list[tuple[str, list[str]]]:
    return [("loaded", []), *history(SEED)][:count]


# PostgreSQL's answers


def expected_answers(directory: Path, names: Sequence[str], count: int) -> dict[str, list[tuple[Rows, int] | str]]:
    """By query, PostgreSQL's answer after each step, or why it has none."""
    kept_in = directory / f"expected-{_ASKED}.pickle"
    known: dict[str, list[tuple[Rows, int] | str]] = {}
    if kept_in.exists():
        known = pickle.loads(kept_in.read_bytes())
    missing = [name for name in names if len(known.get(name, [])) < count]
    if missing:
        with postgres_server("work_mem='64MB'\nshared_buffers='256MB'\n") as server, server.connect() as connection:
            _ask_postgres(connection, directory, missing, count, known)
        kept_in.write_bytes(pickle.dumps(known))
    return known


def _ask_postgres(connection: Connection, directory: Path, names: Sequence[str], count: int, known: Any) -> None:
    connection.execute(SCHEMA.encode())
    load(connection, directory, tables())
    connection.execute(f"SET statement_timeout = '{LONGEST_SECONDS}s'".encode())
    for name in names:
        known[name] = []
    for _, changes in steps(count):
        for sql in changes:
            connection.execute(sql.encode())
        connection.execute(b"ANALYZE")
        for name in names:
            began = time.monotonic()
            try:
                known[name].append(answer(connection, QUERIES[name]))
            except psycopg.Error as error:
                known[name].append(str(error).splitlines()[0])
            if time.monotonic() - began > 10:
                print(f"PostgreSQL: {name} took {time.monotonic() - began:.0f} s", flush=True)


# Ours


@dataclass(slots=True)
class _Server:
    process: ServerProcess
    connection: Connection

    def cpu(self) -> float:
        return cpu_seconds(self.process.process.pid)

    @contextmanager
    def measured(self, figures: dict[str, float], name: str) -> Iterator[None]:
        before = self.cpu()
        yield
        figures[name] = figures.get(name, 0.0) + self.cpu() - before


@contextmanager
def our_server(flags: Sequence[str] = ()) -> Iterator[_Server]:
    with tempfile.TemporaryDirectory(prefix="risingpy-tpcds-") as directory:
        process = ServerProcess(Path(directory) / "data", engine="inprocess", flags=flags)
        try:
            with process.connect() as connection:
                connection.execute(f"SET statement_timeout = '{LONGEST_SECONDS}s'".encode())
                yield _Server(process, connection)
        finally:
            process.kill()


def run_group(
    directory: Path, names: Sequence[str], expected: dict[str, list[tuple[Rows, int] | str]], count: int
) -> tuple[dict[str, Outcome], dict[str, float]]:
    """The queries of a group live in one database; its figures are those of all of them together."""
    outcomes = {name: Outcome() for name in names}
    together: dict[str, float] = {}
    with our_server() as server:
        server.connection.execute(SCHEMA.encode())
        for name in names:
            _make_view(server, outcomes[name], "early", name, expected[name][0])
        with server.measured(together, "load"):
            load(server.connection, directory, tables())
            server.connection.execute(b"FLUSH")
        for step, (title, changes) in enumerate(steps(count)):
            with server.measured(together, title):
                for sql in changes:
                    server.connection.execute(sql.encode())
                server.connection.execute(b"FLUSH")
            if step == 0:
                for name in names:
                    _make_view(server, outcomes[name], "late", name, expected[name][0])
            for name in names:
                _compare(server, outcomes[name], name, title, expected[name][step])
        together["PSS MB"] = pss_bytes(server.process.process.pid) / 1e6
    return outcomes, together


def _make_view(server: _Server, outcome: Outcome, kind: str, name: str, expected: tuple[Rows, int] | str) -> None:
    width = expected[1] if isinstance(expected, tuple) else 0
    listed = f" ({', '.join(f'c{i}' for i in range(width))})" if width else ""
    view = f"CREATE MATERIALIZED VIEW {kind}_{name}{listed} AS {QUERIES[name]}"
    try:
        if kind == "early":
            with server.measured(outcome.cpu, "plan"):
                server.connection.execute(f"EXPLAIN {view}".encode())
        with server.measured(outcome.cpu, kind):
            server.connection.execute(view.encode())
    except psycopg.Error as error:
        outcome.wrong.append(f"{kind} view: {error.sqlstate} {error}")


def _compare(server: _Server, outcome: Outcome, name: str, title: str, expected: tuple[Rows, int] | str) -> None:
    questions = [("SELECT", QUERIES[name])]
    questions += [(kind, f"SELECT * FROM {kind}_{name}") for kind in ("early", "late")]
    for who, sql in questions:
        if any(text.startswith(f"{who} view:") for text in outcome.wrong):
            continue
        try:
            with server.measured(outcome.cpu, "select" if who == "SELECT" else "read"):
                rows, _ = answer(server.connection, sql)
        except psycopg.Error as error:
            if who == "SELECT" and str(error).splitlines()[0] == expected:
                continue  # PostgreSQL fails in the same way; views have a NULL there
            outcome.wrong.append(f"{title}: {who} fails: {error.sqlstate} {error}")
            continue
        if isinstance(expected, str):
            if who == "SELECT":
                outcome.wrong.append(f"{title}: PostgreSQL has no answer: {expected}")
                expected = (rows, 0)
            continue
        if who == "SELECT":
            outcome.rows.append(len(rows))
        if rows != expected[0]:
            missing = [row for row in expected[0] if row not in rows][:2]
            extra = [row for row in rows if row not in expected[0]][:2]
            text = f"{len(rows)} rows, not {len(expected[0])}; missing {missing}, extra {extra}"
            outcome.wrong.append(f"{title}: {who} differs: {text}")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--group", type=int, default=10, help="queries in one database")
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--report", type=Path, help="a file for the figures, as JSON")
    parser.add_argument("names", nargs="*", metavar="qNN", help="all if none is named; before the options")
    given = parser.parse_args(arguments)
    names = given.names or list(QUERIES)
    expected = expected_answers(given.directory, names, given.steps)
    bad = 0
    report: dict[str, Any] = {}
    for first in range(0, len(names), given.group):
        group = names[first : first + given.group]
        outcomes, together = run_group(given.directory, group, expected, given.steps)
        print(f"{group[0]}–{group[-1]}: {_figures(together)}", flush=True)
        for name, outcome in outcomes.items():
            bad += bool(outcome.wrong)
            report[name] = {"cpu": outcome.cpu, "rows": outcome.rows, "wrong": outcome.wrong}
            print(f"  {name} rows {outcome.rows} {_figures(outcome.cpu)}", flush=True)
            for text in outcome.wrong:
                print("    " + " ".join(text.split())[:600], flush=True)
        if given.report:
            given.report.write_text(json.dumps(report, indent=1))
    print(f"{len(names)} queries, {bad} with something wrong", flush=True)
    return 1 if bad else 0


def _figures(figures: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in figures.items())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
