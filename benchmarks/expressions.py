"""q_expressions: what expressions cost in views over a file source, an epoch being a file, on the engine in the server.

A view of twenty mixed expressions; sums of bigint beside sums of numeric; a Python function of Arrow batches beside one
of rows. The source's rows come as Arrow files, so that little is measured besides.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.epoch_files import ARROW, release_epoch
from benchmarks.measurement import RISINGPY, Measurement, Meter, epoch_figures
from benchmarks.nexmark import BID_COLUMNS
from benchmarks.throughput import IN_PROCESS, WARM_EPOCHS, epochs_on_disk, running_server

CASE = "q_expressions"
TWENTY, BIGINT_SUM, NUMERIC_SUM = "twenty expressions", "sum of bigint", "sum of numeric"
PYTHON_BATCHES, PYTHON_ROWS = "a Python function of batches", "a Python function of rows"

_EXPRESSIONS = (
    *("price * 908 / 1000", "auction % 1000", "price + bidder", "price > 10000 AND auction % 2 = 0"),
    *("price::numeric(14, 2) * 1.19", "round(price::numeric(14, 2), 1)", "price::double precision / 7"),
    *("sqrt(price)", "greatest(price, bidder)", "coalesce(nullif(auction % 10, 0), -1)", "upper(channel)"),
    *("length(channel)", "channel || '-' || auction::varchar", "substr(channel, 1, 3)", "channel LIKE '%oog%'"),
    "CASE WHEN price < 1000 THEN 'low' WHEN price < 100000 THEN 'middle' ELSE 'high' END",
    *("date_trunc('hour', date_time)", "extract(hour FROM date_time)", "date_time + INTERVAL '1 day'"),
    "to_char(date_time, 'YYYY-MM-DD HH24:MI')",
)
_FUNCTIONS = (
    "CREATE FUNCTION fee_of_batch(price BIGINT, auction BIGINT) RETURNS BIGINT LANGUAGE python IMMUTABLE "
    "WITH (batch = true) AS $$\nimport pyarrow.compute as pc\n"
    "def fee_of_batch(price, auction):\n    return pc.add(pc.multiply(price, 3), auction)\n$$",
    "CREATE FUNCTION fee(price BIGINT, auction BIGINT) RETURNS BIGINT LANGUAGE python IMMUTABLE AS "
    "$$\ndef fee(price, auction):\n    return price * 3 + auction if price > 100 else auction\n$$",
)
_QUERIES: Mapping[str, str] = {
    TWENTY: f"SELECT {', '.join(f'{text} AS e{k}' for k, text in enumerate(_EXPRESSIONS))} FROM bid",
    BIGINT_SUM: "SELECT auction % 1000 AS g, sum(price) AS total FROM bid GROUP BY auction % 1000",
    NUMERIC_SUM: "SELECT auction % 1000 AS g, sum(price::numeric(14, 2)) AS total FROM bid GROUP BY auction % 1000",
    PYTHON_BATCHES: "SELECT sum(fee_of_batch(price, auction)) AS total FROM bid",
    PYTHON_ROWS: "SELECT sum(fee(price, auction)) AS total FROM bid",
}


def variant(name: str, rows: int) -> str:
    return f"{name}, {rows:,} rows per epoch"


def measure(epochs_by_rows: Mapping[int, int]) -> Iterator[Measurement]:
    """Every view on the same files, at the largest size."""
    rows = max(epochs_by_rows)
    total = WARM_EPOCHS + min(epochs_by_rows[rows], 6)
    with epochs_on_disk(rows, total - WARM_EPOCHS) as directory:
        for name, query in _QUERIES.items():
            figures = _run(query, directory, rows, total)
            yield Measurement(CASE, variant(name, rows), RISINGPY, figures, note=f"{ARROW}, engine in process")


def _run(query: str, directory: Path, rows: int, total: int) -> dict[str, float]:
    inboxes = tempfile.TemporaryDirectory(dir=directory, prefix="inbox-")
    with running_server(engine=IN_PROCESS) as server, inboxes as name, server.connect() as connection:
        connection.execute(
            f"CREATE SOURCE bid ({BID_COLUMNS}) "
            f"WITH (connector = 'file', path = '{name}/*.{ARROW}', format = '{ARROW}')".encode()
        )
        for function in _FUNCTIONS:
            connection.execute(function.encode())
        connection.execute(f"CREATE MATERIALIZED VIEW answer AS {query}".encode())

        def epoch(number: int) -> float:
            began = time.perf_counter()
            release_epoch(directory, number, ARROW, Path(name))
            connection.execute("FLUSH")
            return time.perf_counter() - began

        for number in range(WARM_EPOCHS):
            epoch(number)
        with Meter(server.process.pid) as meter:
            seconds = [epoch(number) for number in range(WARM_EPOCHS, total)]
        return epoch_figures(rows, seconds, meter.usage)
