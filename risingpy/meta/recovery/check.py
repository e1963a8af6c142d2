"""`risingpy check`: reads everything in a stopped server's data directory, and reports what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from risingpy.errors import SqlError
from risingpy.functions.evaluation.stored_casts import cast_stored
from risingpy.meta.durable_state import DurableState
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import JobRelation
from risingpy.storage.codec.table_schema import TableSchema, vnodes_of_shard
from risingpy.storage.engine.meta_store import MetaStore, meta_directory
from risingpy.storage.engine.shard_store import ShardStore, shard_directory
from risingpy.storage.engine.store_check import find_problems
from risingpy.storage.engine.table_statistics import read_statistics
from risingpy.storage.format_note import read_note
from risingpy.storage.log.reader import LogReader
from risingpy.storage.log.spill import spill_paths
from risingpy.storage.log.write_ahead_log import WriteAheadLog, log_directory


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The amounts of data, and a sentence for each defect."""

    tables: int
    rows: int
    log_records: int
    problems: tuple[str, ...]


def check(data_dir: Path) -> CheckReport:
    """Reads every row of every table, and the log's pending records. It only changes a torn tail of the log, which it
    cuts.

    Raises DataDirectoryInUse while a server uses the directory, IoError if it is no data directory or cannot be opened.
    """
    require_data_directory(data_dir)
    store = MetaStore(data_dir)
    try:
        return check_opened(data_dir, DurableState(store).load(1))
    finally:
        store.close()


def check_opened(data_dir: Path, state: MetaState) -> CheckReport:
    """`check` for a caller that has the directory open and knows its state; nothing may write meanwhile."""
    tables = _tables(state)
    rows = 0
    problems: list[str] = []
    for shard in range(state.shards):
        shard_rows, found = _check_shard(data_dir, state, shard, tables)
        rows += shard_rows
        problems += [f"shard {shard}: {problem}" for problem in found]
    records, found = _check_log(data_dir, state)
    return CheckReport(len(tables), rows, records, (*problems, *found))


def require_data_directory(data_dir: Path) -> None:
    """Raises IoError for a directory that no server has used: opening it would make it a data directory.

    Raises IncompatibleStore for one of a version whose formats this one does not read.
    """
    if not meta_directory(data_dir).is_dir():
        raise SqlError(f"{data_dir} is no data directory of RisingPy", sqlstate="58P01")
    read_note(data_dir)


def _tables(state: MetaState) -> dict[int, TableSchema]:
    """All tables in the catalog: relations, also of stopped jobs, and the state tables of running jobs."""
    tables = {r.table.table_id: r.table for r in state.catalog.relations.values() if isinstance(r, JobRelation)}
    for job in state.jobs.values():
        tables.update((table.table_id, table) for table in (job.table, *job.state_tables))
    return tables


def _check_shard(data_dir: Path, state: MetaState, shard: int, tables: dict[int, TableSchema]) -> tuple[int, list[str]]:
    store = ShardStore(shard_directory(data_dir, shard, state.shards), shard=shard, shards=state.shards)
    try:
        if state.committed.epoch:
            store.require()
        snapshot = store.newest()
        try:
            owned = vnodes_of_shard(shard, state.shards)
            problems = list(find_problems(snapshot, tables, state.purge, owned, cast_stored))
            with snapshot.use() as transaction:
                noted = read_statistics(transaction)
            return sum(table.rows for table in noted.values()), problems
        finally:
            snapshot.close()
    except SqlError as error:
        return 0, [error.message]
    finally:
        store.close()


def _check_log(data_dir: Path, state: MetaState) -> tuple[int, list[str]]:
    """Reads the records that no committed epoch has yet, which the next start will replay."""
    directory = log_directory(data_dir)
    try:
        # A file that the log does not name may be that of a change of the schema, whose rows the next start appends.
        log = WriteAheadLog(directory, kept_spills=[path.stem for path in spill_paths(directory)])
        try:
            pending = _records(LogReader(directory), state.committed.lsn, log.last_lsn)
            return sum(1 for _ in pending), []
        finally:
            log.close()
    except SqlError as error:
        return 0, [f"log: {error.message}"]


def _records(reader: LogReader, after: int, up_to: int) -> Iterator[int]:
    for record in reader.read(after, up_to):
        yield record.table().num_rows
