"""RisingPy in the peers' harness: copy this file into its `peers/` folder, and add three peers to its `peers.json`.

`risingpy_copy`, `risingpy_arrow` and `risingpy_parquet`, each with the Python of our .venv as `exe`,
`peer_risingpy.py` as `prog`, and `["--variant", "copy"]` (or arrow, or parquet) as `args`.

An epoch is one chunk: `copy` sends it over the wire as CSV (durable when COPY answers), `arrow` and `parquet` make its
file appear before a file source. Then FLUSH, which answers when the view shows it.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from common import FRESH_PRICE, Epochs, args, batches, files, fresh_stats, ready, result  # type: ignore[import-not-found]  # the harness has it

from risingpy.server_process import ServerProcess

COLUMNS = "auction BIGINT, bidder BIGINT, price BIGINT, channel VARCHAR, date_time TIMESTAMP"
VIEWS = {
    "q_agg": "SELECT auction, count(*) AS n, sum(price) AS s, max(price) AS m FROM bid GROUP BY auction",
    "q_stateless": "SELECT auction, bidder, price * 908 / 1000 AS eur, channel, date_time FROM bid "
    "WHERE auction % 3 <> 0",
}
CHECKS = {"q_agg": "SELECT count(*), sum(n), sum(s), sum(m) FROM v", "q_stateless": "SELECT count(*), sum(eur) FROM v"}

Feed = Callable[[int], None]  # gives the chunk of this number to the server


def main() -> None:
    options = args()
    variant = options.variant or "copy"
    work = Path(tempfile.mkdtemp(dir=options.work))
    server = ServerProcess(work / "data", parallelism=options.par)
    try:
        with server.connect() as connection:
            feed = prepare(connection, options, variant, work)
            connection.execute(f"CREATE MATERIALIZED VIEW v AS {VIEWS[options.query]}")
            server.wait_for_spark()  # its start is not in the figures
            ready()
            epochs = Epochs(options)
            for number in range(options.n_epochs):
                feed(number)
                connection.execute("FLUSH")
                epochs.done()
            check = connection.execute(CHECKS[options.query]).fetchone()
            fresh = freshness(connection, options, variant, work)
        # The harness reads the process tree's CPU time after this line, so the server must still be there.
        result(options, f"risingpy_{variant}", epochs.stats(), check, **fresh_stats(fresh))
    finally:
        server.stop()


def prepare(connection: Any, options: Any, variant: str, work: Path) -> Feed:
    """Creates `bid`, and returns what feeds it. Arrow files are written before the clock runs."""
    if variant == "copy":
        connection.execute(f"CREATE TABLE bid ({COLUMNS}) APPEND ONLY")
        chunks = files(options, "bid", "csv")
        return lambda number: copy_file(connection, Path(chunks[number]))
    inbox, waiting = work / "inbox", work / "waiting"
    inbox.mkdir()
    waiting.mkdir()
    connection.execute(
        f"CREATE SOURCE bid ({COLUMNS}) WITH (connector = 'file', path = '{inbox}/*', format = '{variant}')"
    )
    for number, chunk in enumerate(batches(options)):
        write_file(pa.Table.from_batches([chunk]), waiting / f"{number:06}", variant)
    return lambda number: os.rename(waiting / f"{number:06}", inbox / f"{number:06}")


def copy_file(connection: Any, path: Path) -> None:
    """One CSV file over the wire."""
    with connection.cursor().copy("COPY bid FROM STDIN (FORMAT csv)") as copy:
        copy.write(path.read_bytes())


def write_file(table: pa.Table, path: Path, variant: str) -> None:
    if variant == "parquet":
        import pyarrow.parquet as pq

        pq.write_table(table, path)
        return
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def freshness(connection: Any, options: Any, variant: str, work: Path) -> list[float]:
    """Milliseconds from handing in one row until its new maximum is read back."""
    if options.query != "q_agg":
        return []
    row = pa.Table.from_batches([batches(options)[0].slice(0, 1)])
    auction = row.column("auction")[0].as_py()
    times = []
    for number in range(options.fresh):
        price = FRESH_PRICE + number
        began = time.perf_counter()
        if variant == "copy":
            connection.execute(f"INSERT INTO bid VALUES ({auction}, 1, {price}, 'x', NULL)")
        else:
            write_file(row.set_column(2, "price", pa.array([price])), work / "probe", variant)
            os.rename(work / "probe", work / "inbox" / f"probe{number:06}")
            connection.execute("FLUSH")
        found = connection.execute(f"SELECT m FROM v WHERE auction = {auction}").fetchone()
        assert found == (price,), (found, price)
        times.append((time.perf_counter() - began) * 1000)
    return times


if __name__ == "__main__":
    main()
