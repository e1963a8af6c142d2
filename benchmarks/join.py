"""q_join: bids joined with ten thousand auctions, both sides changing.

An epoch is one file of bids on the auctions of the moment, and statements: a hundred auctions are inserted, and the
reserve of the hundred before them is raised, which changes the joined rows of their bids. Auctions that are over stay,
so the state grows with every epoch while the work of an epoch stays the same.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.epoch_files import ARROW, release_epoch, write_epochs
from benchmarks.measurement import DUCKDB, RISINGPY, Measurement, Meter, epoch_figures
from benchmarks.nexmark import AUCTIONS, BID_COLUMNS, Generator
from benchmarks.queries import JOIN_CHECK, JOIN_QUERY
from benchmarks.throughput import WARM_EPOCHS, running_server
from benchmarks.yardstick_process import run_job

CASE = "q_join"
NEW_AUCTIONS = 100
AUCTION_COLUMNS = "id BIGINT PRIMARY KEY, seller BIGINT, category BIGINT, reserve BIGINT"


def bids(number: int, rows: int) -> pa.Table:
    """One epoch's bids: the auctions that are bid on move on with the epochs."""
    block = Generator().bids(number, rows)
    return block.set_column(0, "auction", pc.add(block["auction"], number * NEW_AUCTIONS))


def first_auctions() -> str:
    """The auctions that are there before the first epoch."""
    return _insert(0, AUCTIONS)


def changes(number: int) -> list[str]:
    """An epoch's statements."""
    first = AUCTIONS + number * NEW_AUCTIONS
    raised = f"UPDATE auction SET reserve = reserve + 1 WHERE id >= {first - NEW_AUCTIONS} AND id < {first}"
    return [_insert(first, NEW_AUCTIONS), raised]


def _insert(first: int, count: int) -> str:
    rows = ", ".join(f"({i}, {i % 97}, {i % 20}, {i % 1000})" for i in range(first, first + count))
    return f"INSERT INTO auction VALUES {rows}"


def measure(epochs_by_rows: Mapping[int, int]) -> Iterator[Measurement]:
    """Our server and DuckDB on the same files and statements, for each number of rows per epoch."""
    for rows, epochs in epochs_by_rows.items():
        variant, total = f"{rows:,} rows per epoch", WARM_EPOCHS + epochs
        with tempfile.TemporaryDirectory(prefix="risingpy-bids-") as name:
            directory = Path(name)
            write_epochs((bids(number, rows) for number in range(total)), directory)
            theirs = run_job("duckdb_yardstick", "join", directory=name, epochs=total, warm=WARM_EPOCHS)
            ours = run_server(directory, rows, total)
        correct = _checks(ours) == _checks(theirs)
        yield Measurement(CASE, variant, RISINGPY, ours, correct)
        yield Measurement(CASE, variant, DUCKDB, theirs, note="recomputed in full")


def run_server(directory: Path, rows: int, total: int, flags: Sequence[str] = ()) -> dict[str, float]:
    """Our server's figures, and the check sums of its view."""
    with running_server(flags=flags) as server, tempfile.TemporaryDirectory(dir=directory, prefix="inbox-") as name:
        inbox = Path(name)
        with server.connect() as connection:
            connection.execute(
                f"CREATE SOURCE bid ({BID_COLUMNS}) "
                f"WITH (connector = 'file', path = '{inbox}/*.{ARROW}', format = '{ARROW}')"
            )
            connection.execute(f"CREATE TABLE auction ({AUCTION_COLUMNS})")
            connection.execute(first_auctions())
            connection.execute(f"CREATE MATERIALIZED VIEW answer AS {JOIN_QUERY}")

            def epoch(number: int) -> float:
                began = time.perf_counter()
                for statement in changes(number):
                    connection.execute(statement)
                release_epoch(directory, number, ARROW, inbox)
                connection.execute("FLUSH")
                return time.perf_counter() - began

            for number in range(WARM_EPOCHS):
                epoch(number)
            with Meter(server.process.pid) as meter:
                seconds = [epoch(number) for number in range(WARM_EPOCHS, total)]
            figures = epoch_figures(rows, seconds, meter.usage)
            row = connection.execute(f"{JOIN_CHECK} answer").fetchone()
            assert row is not None
            return figures | {f"check{position}": int(value) for position, value in enumerate(row)}


def _checks(figures: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in figures.items() if name.startswith("check")}
