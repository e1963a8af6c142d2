"""TPC-H's 22 queries as live views: their first rows from loaded tables, and a change of 1 % of orders and line items.

Each view is made alone, over tables that are there, follows the same kind of change, and is dropped. A change deletes a
quarter of a percent of the line items with their orders, inserts as many, and updates half a percent. It is measured
from COMMIT until the view has it, for its statements search the tables, which costs more than many a view and varies
more. What that costs without any view is measured first, and is left out of a view's CPU time. A view is right if it
equals its query, answered by SELECT, after the change.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.measurement import RISINGPY, Measurement, Meter
from risingpy.server_process import ServerProcess

TPCH = "tpch"
HERE = Path(__file__).parent
TEXT = (HERE / "queries.sql").read_text()
SCHEMA, _, _QUERIES = TEXT.partition("-- q01\n")
QUERIES: dict[str, str] = dict(re.findall(r"-- (q\d\d)\n(.*?);\n", "-- q01\n" + _QUERIES, re.DOTALL))
TABLES = ("region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem")
PROGRAM = Path(sys.executable).parent / "tpcgen-cli"
PARTS = 400  # of a percent's quarter each
_PART = f"(({{0}}_orderkey / 32) * 8 + {{0}}_orderkey % 8) % {PARTS}"  # the generator uses 8 of each 32 keys
_NEW_KEYS, _FAR = 100_000_000, 10_000_000
_COLUMNS = {  # after the key of the order
    "orders": "o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority, "
    "o_comment",
    "lineitem": "l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, "
    "l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment",
}
_PIECE = 1 << 20


def measure(scale: float, names: Sequence[str] = ()) -> Iterator[Measurement]:
    """Every query, or those named."""
    with tempfile.TemporaryDirectory(prefix="risingpy-tpch-") as name:
        generate(Path(name), scale)
        with _server(Path(name) / "data") as server, server.connect() as connection:
            connection.execute(SCHEMA.encode())
            pid = server.process.pid
            with Meter(pid) as meter:
                for table in TABLES:
                    copy_in(connection, table, Path(name) / f"{table}.csv")
                connection.execute(b"FLUSH")
            yield Measurement(TPCH, "tables alone", RISINGPY, _figures("load", meter))
            change(connection, 0)
            with Meter(pid) as meter:
                commit(connection)
            base = meter.usage.cpu_seconds
            yield Measurement(TPCH, "change alone", RISINGPY, _figures("change", meter))
            for number, query in enumerate(names or QUERIES, 1):
                yield _measured(connection, pid, query, number, base)


def _measured(connection: psycopg.Connection[Any], pid: int, name: str, number: int, base: float) -> Measurement:
    sql = QUERIES[name]
    try:
        with Meter(pid) as made:
            connection.execute(f"CREATE MATERIALIZED VIEW {name} AS {sql}".encode())
    except psycopg.Error as error:
        return Measurement(TPCH, name, RISINGPY, {}, False, note=str(error).splitlines()[0])
    change(connection, number)
    with Meter(pid) as changed:
        commit(connection)
    seen = connection.execute(f"SELECT * FROM {name}".encode()).fetchall()
    expected = connection.execute(sql.encode()).fetchall()
    connection.execute(f"DROP MATERIALIZED VIEW {name}".encode())
    figures = _figures("load", made) | _figures("change", changed)
    figures["change_cpu_seconds"] = max(0.0, changed.usage.cpu_seconds - base)
    return Measurement(TPCH, name, RISINGPY, figures, sorted(map(str, seen)) == sorted(map(str, expected)))


def _figures(what: str, meter: Meter) -> dict[str, float]:
    usage = meter.usage
    return {
        f"{what}_cpu_seconds": usage.cpu_seconds,
        f"{what}_seconds": usage.wall_seconds,
        f"{what}_pss_mb": usage.pss_mb,
        "others_cores": usage.others_cores,
    }


def change(connection: psycopg.Connection[Any], number: int) -> None:
    """Change `number`, which `commit` ends: each chooses other orders, as long as there are no more than a hundred."""
    gone, new, *kept = (number * 4 % PARTS + k for k in range(4))
    connection.execute(b"BEGIN")
    for table, columns in _COLUMNS.items():
        part = _PART.format(table[0])
        connection.execute(f"DELETE FROM {table} WHERE {part} = {gone}".encode())
        values = f"{table[0]}_orderkey + {_NEW_KEYS + number * _FAR}, {columns}"
        connection.execute(f"INSERT INTO {table} SELECT {values} FROM {table} WHERE {part} = {new}".encode())
    part = _PART.format("l")
    connection.execute(
        f"UPDATE lineitem SET l_quantity = l_quantity % 50 + 1 WHERE {part} IN ({kept[0]}, {kept[1]})".encode()
    )


def commit(connection: psycopg.Connection[Any]) -> None:
    """Returns when every view has the change."""
    connection.execute(b"COMMIT")
    connection.execute(b"FLUSH")


def copy_in(connection: psycopg.Connection[Any], table: str, path: Path) -> None:
    """COPY of a CSV file with a header."""
    with connection.cursor() as cursor, path.open("rb") as file:
        file.readline()
        with cursor.copy(f"COPY {table} FROM STDIN (FORMAT csv)".encode()) as copy:
            while piece := file.read(_PIECE):
                copy.write(piece)


def generate(directory: Path, scale: float) -> None:
    """The tables as CSV files. Raises FileNotFoundError without the generator, `pip install tpcgen-cli`."""
    command = [str(PROGRAM), "tpch", "csv", "--scale-factor", str(scale), "--output-dir", str(directory), "--quiet"]
    subprocess.run(command, check=True, capture_output=True, timeout=3600)


@contextmanager
def _server(data_dir: Path) -> Iterator[ServerProcess]:
    server = ServerProcess(data_dir, engine="inprocess")
    try:
        yield server
    finally:
        server.kill()
