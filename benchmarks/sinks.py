"""Rows per second that targets of sinks take: `python -m benchmarks.sinks [rows]`, each beside its raw client.

Both write the same rows in the same run, in turn, to a real system on this machine. The raw client gets them as it
wants them: encoded messages, a Parquet file's table. So the difference is what the target's encoding and its protocol
cost. The other side's work is in both. Medians of five epochs.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq

from risingpy.connectors.targets.choice import target_of
from risingpy.connectors.targets.encoders.choice import encoder_of
from risingpy.connectors.targets.lake_columns import inserted_rows
from risingpy.connectors.targets.target import SinkSchema, SinkType
from risingpy.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, TIMESTAMPTZ, VARCHAR
from tests.connectors.systems.kafka import broker
from tests.postgres_oracle import PostgresOracle, postgres_server

ROWS = 100_000
RUNS = 5
COLUMNS = (
    ("id", BIGINT),
    ("name", VARCHAR),
    ("n", INTEGER),
    ("price", DOUBLE),
    ("at", TIMESTAMPTZ),
    ("ok", BOOLEAN),
    ("note", VARCHAR),
)
TABLE_COLUMNS = "id bigint PRIMARY KEY, name text, n int, price float8, at timestamptz, ok boolean, note text"

Writer = Callable[[pa.Table], Callable[[], None]]  # makes the rows ready, and gives what writes them
Connection = psycopg.Connection[tuple[object, ...]]


def rows_of(epoch: int, rows: int) -> pa.Table:
    """Inserts with new keys."""
    keys = np.arange(rows) + epoch * rows
    columns = [
        pa.array(np.ones(rows, np.int8)),
        pa.array(keys),
        pa.array(np.char.add("customer number ", keys.astype(str))),
        pa.array((keys % 1000).astype(np.int32)),
        pa.array(keys / 7),
        pa.array(keys + 1_700_000_000_000_000).cast(pa.timestamp("us", "UTC")),
        pa.array(keys % 2 == 0),
        pa.array(["a note of some length that says nothing"] * rows),
    ]
    return pa.table(columns, names=["op", *(f"c{n}" for n in range(len(COLUMNS)))])


def schema_of(type_: SinkType) -> SinkSchema:
    return SinkSchema("bench", COLUMNS, (0,) if type_ is SinkType.UPSERT else (), type_)


def compare(name: str, options: dict[str, str], type_: SinkType, raw: Writer, rows: int) -> None:
    """Prints the rates of the target and of the raw client, which gets what it writes ready."""
    target = target_of({"connector": name, **options}, schema_of(type_))
    target.open()
    ours, theirs = [], []
    for run in range(RUNS):
        changes = rows_of(run + 1, rows)
        started = time.perf_counter()
        target.deliver(run + 1, [changes])
        ours.append(rows / (time.perf_counter() - started))
        write = raw(rows_of(run + 1 + RUNS, rows))
        started = time.perf_counter()
        write()
        theirs.append(rows / (time.perf_counter() - started))
    target.close()
    mine, client = statistics.median(ours), statistics.median(theirs)
    print(
        f"{name:10} {type_.value:12} {mine:12,.0f} rows/s   raw {client:12,.0f}   ratio {mine / client:.2f}", flush=True
    )


@contextmanager
def producing(address: str, topic: str) -> Iterator[Writer]:
    """The raw client of Kafka: it produces encoded messages in a transaction."""
    import confluent_kafka

    config = {"bootstrap.servers": address, "log_level": 0, "queue.buffering.max.messages": 1_000_000}
    producer = confluent_kafka.Producer({**config, "transactional.id": f"raw-{topic}"})
    producer.init_transactions()
    encoder = encoder_of(None, schema_of(SinkType.UPSERT))

    def raw(changes: pa.Table) -> Callable[[], None]:
        messages = encoder.encode(changes)
        keys, values = messages.keys.to_pylist(), messages.values.to_pylist()

        def write() -> None:
            producer.begin_transaction()
            for key, value in zip(keys, values, strict=True):
                producer.produce(topic, value, key)
            producer.commit_transaction()

        return write

    yield raw


def with_kafka(rows: int) -> None:
    """The broker is started for it; the topic has four partitions."""
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    with broker() as started:
        admin = AdminClient({"bootstrap.servers": started.address, "log_level": 0})
        admin.create_topics([NewTopic("bench", 4, 1)])["bench"].result()
        options = {"properties.bootstrap.server": started.address, "topic": "bench"}
        with producing(started.address, "bench") as raw:
            compare("kafka", options, SinkType.UPSERT, raw, rows)


def with_postgres(rows: int) -> None:
    """The raw client copies text into a table of its own. fsync is on."""
    with postgres_server() as server, server.connect() as connection:
        durable(connection)
        connection.execute(f"CREATE TABLE t ({TABLE_COLUMNS}); CREATE TABLE raw ({TABLE_COLUMNS})")
        for type_ in (SinkType.APPEND_ONLY, SinkType.UPSERT):
            connection.execute("TRUNCATE t, raw; DROP TABLE IF EXISTS risingpy_sink_epochs")
            compare("postgres", _postgres_options(server), type_, copying(connection), rows)


def _postgres_options(server: PostgresOracle) -> dict[str, str]:
    where = {"host": str(server.directory), "port": str(server.port)}
    return {**where, "user": "postgres", "database": "postgres", "table": "t"}


def durable(connection: Connection) -> None:
    """Lets the tests' server wait for the disk, as one that holds data does."""
    for setting in ("fsync", "synchronous_commit"):
        connection.execute(f"ALTER SYSTEM SET {setting} = on")
    connection.execute("SELECT pg_reload_conf()")


def copying(connection: Connection) -> Writer:
    """The raw client of PostgreSQL: it copies text into the table `raw`."""

    def raw(changes: pa.Table) -> Callable[[], None]:
        columns: Sequence[list[object]] = [changes[f"c{n}"].cast(pa.string()).to_pylist() for n in range(len(COLUMNS))]
        text = "\n".join("\t".join(map(str, row)) for row in zip(*columns, strict=True)).encode()

        def write() -> None:
            with connection.cursor() as cursor, cursor.copy("COPY raw FROM STDIN") as copy:
                copy.write(text)

        return write

    return raw


def with_files(directory: Path, rows: int) -> None:
    """The raw clients write the same table with their own call."""
    schema = schema_of(SinkType.APPEND_ONLY)

    def parquet(changes: pa.Table) -> Callable[[], None]:
        table = inserted_rows(schema, [changes])
        return lambda: pq.write_table(table, directory / "raw.parquet", compression="zstd")

    compare("fs", {"fs.path": str(directory / "files")}, SinkType.APPEND_ONLY, parquet, rows)

    import deltalake
    from pyiceberg.catalog import load_catalog

    def delta(changes: pa.Table) -> Callable[[], None]:
        table = inserted_rows(schema, [changes])
        return lambda: deltalake.write_deltalake(str(directory / "raw"), table, mode="append")

    location = {"location": str(directory / "delta"), "create_table_if_not_exists": "true"}
    compare("deltalake", location, SinkType.APPEND_ONLY, delta, rows)
    catalog = load_catalog(
        "raw", type="sql", uri=f"sqlite:///{directory}/raw.db", warehouse=f"file://{directory}/raw-w"
    )
    catalog.create_namespace("db")
    made = catalog.create_table("db.t", inserted_rows(schema, [rows_of(0, 1)]).schema)

    def iceberg(changes: pa.Table) -> Callable[[], None]:
        table = inserted_rows(schema, [changes])
        return lambda: made.append(table)

    options = {
        "catalog.type": "sql",
        "catalog.uri": f"sqlite:///{directory}/ours.db",
        "warehouse.path": f"file://{directory}/w",
        "database.name": "db",
        "table.name": "t",
        "create_table_if_not_exists": "true",
    }
    compare("iceberg", options, SinkType.APPEND_ONLY, iceberg, rows)


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    with_kafka(rows)
    with_postgres(rows)
    with tempfile.TemporaryDirectory() as directory:
        with_files(Path(directory), rows)


if __name__ == "__main__":
    main()
