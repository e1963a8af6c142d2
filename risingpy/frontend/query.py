"""Runs a logical plan as a batch query: DuckDB over Arrow scans of the relations, at one committed epoch.

Constants and rows looked up by their whole key are answered without DuckDB: it alone would take most of their time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import duckdb
import pyarrow as pa

from risingpy.errors import FeatureNotSupported, QueryCanceled, SqlError, StalePlan, UndefinedTable
from risingpy.executors.expression.duckdb_connection import connect, translate_error
from risingpy.executors.expression.duckdb_functions import register_further
from risingpy.executors.expression.duckdb_sql import compile_expression
from risingpy.executors.expression.functions.waiting import sleeps_end_with
from risingpy.executors.expression.nodes import Expr
from risingpy.executors.expression.sql_text import intervals_apart
from risingpy.frontend.bound_parameters import bound, with_parameters
from risingpy.frontend.direct_rows import direct_lookup
from risingpy.frontend.index_selection import find_index_lookups, use_indexes
from risingpy.frontend.key_lookup import KeyLookup, find_key_lookups
from risingpy.frontend.literal_rows import literal_rows
from risingpy.frontend.prepared import Parameters
from risingpy.frontend.rows_behind_index import rows_behind
from risingpy.frontend.transaction import Transaction, overlaid
from risingpy.meta.database import Snapshot
from risingpy.optimizer.batch import to_duckdb_sql
from risingpy.optimizer.catalog import Relation, RelationKind
from risingpy.optimizer.logical import LogicalPlan, Scan, Schema
from risingpy.optimizer.rewrite import plan_inputs
from risingpy.storage.storage_table import StorageTable

ROWS_PER_BATCH = 65_536
_ERRORS: dict[str, type[duckdb.Error]] = {
    "Conversion Error": duckdb.ConversionException,
    "Out of Range Error": duckdb.OutOfRangeException,
    "Invalid Input Error": duckdb.InvalidInputException,
}

_shared: list[duckdb.DuckDBPyConnection] = []
_shared_guard = threading.Lock()
_further = 0


def _new_cursor() -> duckdb.DuckDBPyConnection:
    """A cursor of the process's one DuckDB instance: making an instance for each session would cost 20 ms."""
    with _shared_guard:
        if not _shared:
            _shared.append(connect())
        return _shared[0].cursor()


def _complete() -> None:
    """Makes functions known that SQL written since then needs."""
    global _further
    with _shared_guard:
        _further = register_further(_shared[0], _further)


class BatchRunner:
    """A session's way to run plans. Used by the session's thread; `interrupt` may come from any."""

    def __init__(self, transaction: Transaction, cancelled: threading.Event) -> None:
        self._transaction = transaction
        self._cancelled = cancelled
        self._idle: list[duckdb.DuckDBPyConnection] = []
        self._busy: list[duckdb.DuckDBPyConnection] = []
        self._working: list[duckdb.DuckDBPyConnection] = []  # those of the busy ones whose rows are not just waiting
        self._guard = threading.Lock()  # no cursor is closed while another thread interrupts it

    def interrupt(self) -> None:
        """Ends what runs; it raises QueryCanceled if the session's `cancelled` is set. Open cursors can go on."""
        with self._guard:
            for cursor in self._working:
                cursor.interrupt()

    def close(self) -> None:
        with self._guard:
            for cursor in (*self._idle, *self._busy):
                cursor.close()
            self._idle, self._busy = [], []

    def run(
        self, plan: LogicalPlan, parameters: Parameters, take_snapshot: Callable[[], Snapshot]
    ) -> Iterator[pa.RecordBatch]:
        """The plan's rows, columns in the schema's Arrow types.

        The snapshot is taken when the first row is asked for, and released with the last one or by `close`.
        """
        plan = with_parameters(plan, parameters)
        constant = literal_rows(plan)
        if constant is not None:
            yield from constant.to_batches()
            return
        snapshot = take_snapshot()
        try:
            _check_versions(plan, snapshot)
            changed = self._transaction.changed_tables
            plan = use_indexes(plan, snapshot.catalog, but_of=changed)  # own changes lie over the table alone
            direct = None if changed else direct_lookup(plan, snapshot.catalog)
            if direct is not None:
                yield direct.row(snapshot.view)
            else:
                yield from self._run_in_duckdb(plan, snapshot)
        except SqlError as error:
            raise (snapshot.view.ended or error) from error.__cause__  # DuckDB has its own words for what a scan raises
        finally:
            snapshot.view.release()

    def as_table(self, schema: Schema, batches: Iterator[pa.RecordBatch]) -> pa.Table:
        """All the batches of a plan with this schema."""
        return pa.Table.from_batches(batches, _arrow_schema(schema))

    def evaluate(self, expressions: Sequence[Expr], schema: Schema, rows: pa.Table, parameters: Parameters) -> pa.Table:
        """Expressions over rows (c0…); `schema` has their types."""
        columns = ", ".join(
            f"{compile_expression(bound(expr, parameters), lambda index: f'c{index}', strict=True)} AS c{position}"
            for position, expr in enumerate(expressions)
        )
        with self._cursor({"given_rows": rows}) as cursor:
            batches = self._batches(cursor, f"SELECT {columns} FROM given_rows", schema)
            return self.as_table(schema, batches)

    def _run_in_duckdb(self, plan: LogicalPlan, snapshot: Snapshot) -> Iterator[pa.RecordBatch]:
        scans: dict[str, pa.Table | pa.RecordBatchReader] = {}
        lookups = find_key_lookups(plan, snapshot.catalog)
        changed = self._transaction.changed_tables
        if changed:
            lookups |= find_index_lookups(plan, snapshot.catalog, changed)

        def scan_name(scan: Scan) -> str:
            name = f"scan_{len(scans)}"
            relation = snapshot.catalog.get(scan.relation_id)
            if relation is None:
                raise UndefinedTable(f'relation "{scan.name}" was dropped meanwhile')
            scans[name] = self._scan(scan, relation, snapshot, lookups.get(id(scan)))
            return name

        sql = to_duckdb_sql(plan, scan_name)
        with self._cursor(scans) as cursor:
            yield from self._batches(cursor, sql, plan.schema)

    def _batches(self, cursor: duckdb.DuckDBPyConnection, sql: str, schema: Schema) -> Iterator[pa.RecordBatch]:
        _complete()
        sleeps_end_with(self._cancelled)
        with self._work(cursor):
            reader = cursor.sql(intervals_apart(sql)).to_arrow_reader(ROWS_PER_BATCH)
        while True:
            with self._work(cursor):
                batch = next(reader, None)
            if self._cancelled.is_set():
                raise _canceled()
            if batch is None:
                return
            if batch.num_rows:
                yield conformed(batch, schema)

    @contextmanager
    def _work(self, cursor: duckdb.DuckDBPyConnection) -> Iterator[None]:
        with self._guard:
            self._working.append(cursor)
        try:
            yield
        finally:
            with self._guard:
                self._working.remove(cursor)

    @contextmanager
    def _cursor(self, relations: dict[str, pa.Table | pa.RecordBatchReader]) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor that sees `relations`; a suspended portal keeps its own, so there may be several."""
        cursor = self._idle.pop() if self._idle else _new_cursor()
        with self._guard:
            self._busy.append(cursor)
        finished = False
        try:
            with self._translated():
                for name, relation in relations.items():
                    cursor.register(name, relation)
                yield cursor
                for name in relations:
                    cursor.unregister(name)
            finished = True
        finally:
            with self._guard:
                if cursor in self._busy:
                    self._busy.remove(cursor)
                if finished:
                    self._idle.append(cursor)
                else:
                    cursor.close()  # it may hold an unfinished answer

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (duckdb.Error, OSError, pa.ArrowException) as error:
            if self._cancelled.is_set() or "INTERRUPT" in str(error):
                raise _canceled() from error
            raise translate_error(_as_duckdb_error(error)) from error

    def _scan(
        self, scan: Scan, relation: Relation, snapshot: Snapshot, lookup: KeyLookup | None
    ) -> pa.Table | pa.RecordBatchReader:
        if relation.table is None:
            raise FeatureNotSupported(
                f'source "{relation.name}" cannot be queried: it keeps no rows',
                hint="Create a materialized view over it and query that.",
            )
        table = StorageTable(relation.table, snapshot.view)
        changes = self._transaction.changes_of(relation)
        if changes:
            everything = range(len(relation.columns))
            if lookup is None:
                rows = pa.Table.from_batches(table.scan(everything), _scan_schema(relation, everything))
            elif lookup.relation.kind is RelationKind.INDEX:
                rows = rows_behind(relation, lookup, changes, snapshot.view)
            else:  # what is written to other keys may come out wrong: the filter that made the lookup drops it
                rows = lookup.rows(table, everything)
            merged = overlaid(relation, rows, changes).select([f"c{index}" for index in scan.columns])
            return merged.rename_columns([f"c{index}" for index in range(len(scan.columns))])
        if lookup is not None:
            return lookup.rows(table, scan.columns)
        return pa.RecordBatchReader.from_batches(_scan_schema(relation, scan.columns), table.scan(scan.columns))


def _check_versions(plan: LogicalPlan, snapshot: Snapshot) -> None:
    """Raises StalePlan if a relation's columns are not those that the plan counts."""
    if isinstance(plan, Scan):
        relation = snapshot.catalog.relations.get(plan.relation_id)
        if relation is not None and relation.version != plan.version:
            raise StalePlan(f'relation "{relation.name}" was altered meanwhile', hint="Run the statement again.")
    for each in plan_inputs(plan):
        _check_versions(each, snapshot)


def _as_duckdb_error(error: Exception) -> duckdb.Error:
    """DuckDB's error, which comes as one of Arrow's where it happens behind the first batch."""
    if isinstance(error, duckdb.Error):
        return error
    text = str(error)
    found = next((kind for name, kind in _ERRORS.items() if text.startswith(name)), duckdb.Error)
    return found(text)


def _canceled() -> SqlError:
    return QueryCanceled("canceling statement due to user request")


def _scan_schema(relation: Relation, columns: Sequence[int]) -> pa.Schema:
    return pa.schema(
        [pa.field(f"c{position}", relation.columns[index].type.arrow) for position, index in enumerate(columns)]
    )


def _arrow_schema(schema: Schema) -> pa.Schema:
    return pa.schema([pa.field(f"c{index}", field.type.arrow) for index, field in enumerate(schema)])


def conformed(batch: pa.RecordBatch, schema: Schema) -> pa.RecordBatch:
    """The batch with exactly the Arrow types of the plan's schema."""
    columns = [
        column if column.type.equals(field.type.arrow) else column.cast(field.type.arrow)
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=[f"c{index}" for index in range(len(columns))])
