"""COPY into a table that a view follows, beside PostgreSQL's table whose trigger keeps the same answer. Both durable.

Nexmark's bids come as CSV, a COPY for each block, as a client that loads would send them. PostgreSQL's trigger runs
once for a statement over its transition table, the cheapest way that PostgreSQL has. Its clean-up is part of what it
costs: the measured time ends when a checkpoint has, as ours ends with FLUSH.

The trigger takes only what is inserted: a maximum whose rows may be deleted is in none of PostgreSQL's cheap ways. So
our table is APPEND ONLY like it; what the view costs over a table whose rows may be deleted is measured too.
"""

from __future__ import annotations

import io
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
import pyarrow.csv

from benchmarks.measurement import POSTGRESQL, RISINGPY, Measurement, Meter
from benchmarks.nexmark import BID_COLUMNS, Generator
from benchmarks.process_tree import cpu_seconds
from benchmarks.queries import CHECKS, QUERIES
from benchmarks.throughput import IN_PROCESS, WARM_EPOCHS, running_server
from tests.postgres_oracle import PostgresOracle, missing_reason, postgres_server

CASE = "trigger"
ALONE = "COPY alone"
APPEND_ONLY = "APPEND ONLY"  # the option of our table, and what the measurement is called
_MAY_BE_DELETED = "rows may be deleted"
_IDLE = 0.02  # of a core: a server that has just started still loads its kernels
_DURABLE = "fsync=on\nsynchronous_commit=on\nshared_buffers='1GB'\nmax_wal_size='4GB'\n"
_CSV = pyarrow.csv.WriteOptions(include_header=False, quoting_style="none")


@dataclass(frozen=True, slots=True)
class Kept:
    """How PostgreSQL keeps a query's answer: the table, and what the trigger does with the rows `new`."""

    table: str
    upkeep: str


KEPT = {
    "q_agg": Kept(
        "(auction bigint PRIMARY KEY, bids bigint, total numeric, highest bigint)",
        "INSERT INTO kept AS k SELECT auction, count(*), sum(price), max(price) FROM new GROUP BY auction "
        "ON CONFLICT (auction) DO UPDATE SET bids = k.bids + excluded.bids, total = k.total + excluded.total, "
        "highest = greatest(k.highest, excluded.highest)",
    ),
    "q_stateless": Kept(
        "(auction bigint, bidder bigint, euros bigint, channel varchar, date_time timestamp)",
        f"INSERT INTO kept {QUERIES['q_stateless'].replace('FROM bid', 'FROM new')}",
    ),
}


def measure(rows: int, blocks: int) -> Iterator[Measurement]:
    """Rows per second and per CPU second, for each query and for COPY without any."""
    if (reason := missing_reason()) is not None:
        print(f"  {reason}")
        return
    texts = [_csv(number, rows) for number in range(WARM_EPOCHS + blocks)]
    for query in (ALONE, *KEPT):
        figures = _of_postgresql(query, texts, rows)
        expected = {name: value for name, value in figures.items() if name.startswith("check")}
        yield Measurement(CASE, copies_of(query, rows), POSTGRESQL, figures, note="" if query == ALONE else "a trigger")
        for kind in (APPEND_ONLY, _MAY_BE_DELETED):
            figures = _of_ours(query, texts, rows, APPEND_ONLY if kind == APPEND_ONLY else "")
            correct = all(figures[name] == value for name, value in expected.items())
            yield Measurement(CASE, copies_of(query, rows), RISINGPY, figures, correct, note=kind)


def copies_of(query: str, rows: int) -> str:
    """The variant's name."""
    return f"{query}, {rows:,} rows a COPY"


def _csv(number: int, rows: int) -> bytes:
    text = io.BytesIO()
    pyarrow.csv.write_csv(Generator().bids(number, rows), text, _CSV)
    return text.getvalue()


def _of_ours(query: str, texts: Sequence[bytes], rows: int, options: str) -> dict[str, float]:
    with running_server(engine=IN_PROCESS) as server, server.connect() as connection:
        connection.execute(f"CREATE TABLE bid ({BID_COLUMNS}) {options}")
        if query != ALONE:
            connection.execute(f"CREATE MATERIALIZED VIEW kept AS {QUERIES[query]}")
        return _loaded(connection, server.process.pid, "FLUSH", query, texts, rows)


def _of_postgresql(query: str, texts: Sequence[bytes], rows: int) -> dict[str, float]:
    with postgres_server(_DURABLE) as server, server.connect() as connection:
        connection.execute(f"CREATE TABLE bid ({BID_COLUMNS})")
        if query != ALONE:
            connection.execute(f"CREATE TABLE kept {KEPT[query].table}")
            connection.execute(
                f"CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS "
                f"$$BEGIN {KEPT[query].upkeep}; RETURN NULL; END$$"
            )
            connection.execute(
                "CREATE TRIGGER keep AFTER INSERT ON bid REFERENCING NEW TABLE AS new "
                "FOR EACH STATEMENT EXECUTE FUNCTION keep()"
            )
        return _loaded(connection, _postmaster(server), "CHECKPOINT", query, texts, rows)


def _postmaster(server: PostgresOracle) -> int:
    return int((server.directory / "data" / "postmaster.pid").read_text().split()[0])


def _loaded(
    connection: psycopg.Connection[Any], pid: int, end: str, query: str, texts: Sequence[bytes], rows: int
) -> dict[str, float]:
    for text in texts[:WARM_EPOCHS]:
        _copy(connection, text)
    connection.execute(end)
    _wait_until_idle(pid)
    with Meter(pid) as meter:
        began = time.perf_counter()
        for text in texts[WARM_EPOCHS:]:
            _copy(connection, text)
        connection.execute(end)
        seconds = time.perf_counter() - began
    count = rows * (len(texts) - WARM_EPOCHS)
    used = meter.usage
    figures = {"rows_per_second": count / seconds, "rows_per_cpu_second": count / used.cpu_seconds, **used.figures()}
    if query != ALONE:
        sums = connection.execute(f"{CHECKS[query]} kept").fetchone() or ()
        figures |= {f"check{index}": float(value) for index, value in enumerate(sums)}
    return figures


def _wait_until_idle(pid: int) -> None:
    before = cpu_seconds(pid)
    while True:
        time.sleep(1.0)
        now = cpu_seconds(pid)
        if now - before <= _IDLE:
            return
        before = now


def _copy(connection: psycopg.Connection[Any], text: bytes) -> None:
    with connection.cursor().copy("COPY bid FROM STDIN (FORMAT csv)") as copy:
        copy.write(text)
