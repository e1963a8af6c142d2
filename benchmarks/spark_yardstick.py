"""Plain Spark Structured Streaming: `python -m benchmarks.spark_yardstick JOB …`.

Its own aggregation, update mode, state in RocksDB with changelog checkpoints, one file per micro-batch, and two cores
as the server has. Nothing of ours runs in it. See `yardstick_process` for how a job is called.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.epoch_files import PARQUET, release_epoch
from benchmarks.measurement import Meter, epoch_figures, latency_figures, timed_calls
from benchmarks.process_tree import cpu_seconds
from benchmarks.queries import PER_KEY, QUERIES, SMALL_VIEW, for_spark
from benchmarks.yardstick_process import answer, seconds_since_start
from risingpy.java_home import use_java

CORES = 2
BID = "auction long, bidder long, price long, channel string, date_time timestamp_ntz"
EVENTS = "k long, v long"
UPDATE = "update"
APPEND = "append"
GROUPS = 100  # of SMALL_VIEW
SEEN_SECONDS = 30.0
_STATE = "spark.sql.streaming.stateStore"


def start_session(scratch: Path) -> SparkSession:
    """Spark as its manual sets it up for large state: RocksDB with changelog checkpointing."""
    use_java(os.environ)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "4g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.sql.shuffle.partitions": str(CORES),
        "spark.sql.streaming.numRecentProgressUpdates": "1000",
        f"{_STATE}.providerClass": provider,
        f"{_STATE}.rocksdb.changelogCheckpointing.enabled": "true",
    }
    builder = SparkSession.builder.appName("yardstick").master(f"local[{CORES}]")
    for key, value in options.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def streamed(session: SparkSession, inbox: Path, schema: str, name: str, query: str) -> DataFrame:
    """`query` over the Parquet files of a directory, one file per micro-batch."""
    reader = session.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    reader.parquet(str(inbox)).createOrReplaceTempView(name)
    return session.sql(for_spark(query))


def run_available(view: DataFrame, checkpoint: Path, mode: str) -> StreamingQuery:
    """Runs micro-batches until every file that is there is done."""
    writer = view.writeStream.format("noop").outputMode(mode).option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return query


def throughput(query: str, directory: str, epochs: int, warm: int, rows: int) -> dict[str, float]:
    """All files one after the other, after a first query over the first `warm` of them has warmed the JVM."""
    mode = UPDATE if query == "q_agg" else APPEND
    with tempfile.TemporaryDirectory(prefix="spark-yardstick-") as name:
        scratch = Path(name)
        session = start_session(scratch)
        first = _inbox(scratch / "warm", Path(directory), range(warm))
        run_available(streamed(session, first, BID, "bid", QUERIES[query]), scratch / "first", mode)
        inbox = _inbox(scratch / "bid", Path(directory), range(warm, epochs))
        view = streamed(session, inbox, BID, "bid", QUERIES[query])
        with Meter(os.getpid()) as meter:
            done = run_available(view, scratch / "checkpoint", mode)
        seconds = [p["durationMs"]["triggerExecution"] / 1000 for p in done.recentProgress if p["numInputRows"]]
        session.stop()
    return epoch_figures(rows, seconds, meter.usage)


def freshness(rows: int, samples: int, idle_seconds: float) -> dict[str, float]:
    """From writing a one-row file until `foreachBatch` has seen its group; then what an idle query costs."""
    with tempfile.TemporaryDirectory(prefix="spark-yardstick-") as name:
        scratch = Path(name)
        session = start_session(scratch)
        inbox = scratch / "t0"
        inbox.mkdir()
        watch = _Watch()
        view = streamed(session, inbox, EVENTS, "t0", SMALL_VIEW.format(table="t0"))
        writer = view.writeStream.outputMode(UPDATE).option("checkpointLocation", str(scratch / "checkpoint"))
        query = writer.foreachBatch(watch.batch).start()
        _drop_file(scratch, inbox, 0, pa.table({"k": range(rows), "v": [1] * rows}))
        watch.wait_for(rows // GROUPS)
        first_epoch = seconds_since_start()

        def insert_and_see(number: int) -> None:
            table = pa.table({"k": [0], "v": [1]})
            _drop_file(scratch, inbox, number + 1, table)
            watch.wait_for(rows // GROUPS + number + 1)

        seconds = timed_calls(insert_and_see, samples)
        time.sleep(2.0)
        before = cpu_seconds(os.getpid())
        time.sleep(idle_seconds)
        idle = (cpu_seconds(os.getpid()) - before) / idle_seconds
        query.stop()
        session.stop()
    return latency_figures(seconds) | {"idle_cores": idle, "first_epoch_seconds": first_epoch}


class _Watch:
    """Sees each micro-batch's changed groups, and remembers the count of group 0."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._count = 0

    def batch(self, changes: DataFrame, _number: int) -> None:
        for row in changes.where("g = 0").select("n").collect():
            with self._changed:
                self._count = row.n
                self._changed.notify_all()

    def wait_for(self, count: int) -> None:
        with self._changed:
            if not self._changed.wait_for(lambda: self._count == count, SEEN_SECONDS):
                raise TimeoutError(f"group 0 has not got {count} rows in {SEEN_SECONDS} s")


def save_events(state: str, directory: str, files: int) -> dict[str, float]:
    """Aggregates all but the last file per key, state and checkpoint under `state`."""
    scratch = Path(state)
    session = start_session(scratch / "local")
    inbox = _inbox(scratch / "events", Path(directory), range(files))
    run_available(streamed(session, inbox, EVENTS, "events", PER_KEY), scratch / "checkpoint", UPDATE)
    return {}


def recover(state: str, directory: str, files: int) -> dict[str, float]:
    """Starts again from the checkpoint, with one more file: until its micro-batch is done."""
    scratch = Path(state)
    release_epoch(Path(directory), files, PARQUET, scratch / "events")
    session = start_session(scratch / "local2")
    run_available(streamed(session, scratch / "events", EVENTS, "events", PER_KEY), scratch / "checkpoint", UPDATE)
    return {"first_epoch_seconds": seconds_since_start()}


def _inbox(inbox: Path, directory: Path, numbers: range) -> Path:
    """A directory with links to these epochs' files."""
    inbox.mkdir(parents=True)
    for number in numbers:
        release_epoch(directory, number, PARQUET, inbox)
    return inbox


def _drop_file(scratch: Path, inbox: Path, number: int, table: pa.Table) -> None:
    path = scratch / f"{number:06}.parquet"
    pq.write_table(table, path)
    path.rename(inbox / path.name)


JOBS = {job.__name__: job for job in (throughput, freshness, save_events, recover)}

if __name__ == "__main__":
    answer(JOBS)
