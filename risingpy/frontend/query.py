"""Runs a logical plan as a batch query: DuckDB over Arrow scans of the relations, at one committed epoch.

Constants and rows looked up by their whole key are answered without DuckDB: it alone would take most of their time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from risingpy.batch.parameters import bound, with_parameters
from risingpy.batch.sql import to_duckdb_sql
from risingpy.errors import FeatureNotSupported, OutOfMemory, SqlError, StalePlan, UndefinedTable
from risingpy.frontend.command import Parameters
from risingpy.frontend.direct_rows import direct_lookup
from risingpy.frontend.index_selection import find_index_lookups, use_indexes
from risingpy.frontend.key_lookup import KeyLookup, find_key_lookups
from risingpy.frontend.literal_rows import literal_rows
from risingpy.frontend.rows_behind_index import rows_behind
from risingpy.frontend.transaction import Transaction, overlaid
from risingpy.functions.evaluation.duckdb_connection import translate_error
from risingpy.functions.evaluation.duckdb_failures import (
    INTERRUPT_AGAIN_SECONDS,
    QUERY_FAILURES,
    as_duckdb_error,
    ended_by_limits,
)
from risingpy.functions.evaluation.duckdb_sql import Selected
from risingpy.functions.evaluation.query_engines import Lease, QueryEngines
from risingpy.functions.evaluation.sql_text import intervals_apart
from risingpy.meta.database import Snapshot
from risingpy.optimizer.rewrite import plan_inputs
from risingpy.plan.catalog import Relation, RelationKind
from risingpy.plan.expressions import Expr
from risingpy.plan.logical import LogicalPlan, Scan, Schema
from risingpy.statement_limits import StatementLimits, working_for
from risingpy.storage.engine.storage_table import StorageTable

ROWS_PER_BATCH = 65_536
ROWS_PER_TEXT_BATCH = 8_192


@dataclass(frozen=True, slots=True, eq=False)
class _Work:
    """DuckDB runs a query or makes its next rows, for a cursor whose rows are not just waiting."""

    cursor: duckdb.DuckDBPyConnection


class BatchRunner:
    """A session's way to run plans. Used by the session's thread; `interrupt` may come from any."""

    def __init__(self, transaction: Transaction, engines: QueryEngines, limits: Callable[[], StatementLimits]) -> None:
        """`limits` are those of the statement that begins."""
        self._transaction = transaction
        self._engines = engines
        self._limits = limits
        self._working: list[_Work] = []
        self._guard = threading.Lock()  # no cursor is closed while another thread interrupts it

    def interrupt(self) -> None:
        """Ends what runs; it raises QueryCanceled if the session's `cancelled` is set. Open cursors can go on."""
        with self._guard:
            working = tuple(self._working)
        self._interrupt(working)

    def _interrupt(self, working: Sequence[_Work]) -> None:
        """Once more while they work: DuckDB forgets an interrupt that comes before it has begun to run."""
        with self._guard:
            left = tuple(work for work in working if work in self._working)
            for work in left:
                work.cursor.interrupt()
        if left:
            again = threading.Timer(INTERRUPT_AGAIN_SECONDS, self._interrupt, (left,))
            again.daemon = True
            again.start()

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
        """All the batches of a plan with this schema. Raises OutOfMemory if they are too large."""
        limits, kept, size = self._limits(), [], 0
        for batch in batches:
            size += batch.nbytes
            limits.check(size, "the statement's rows")
            kept.append(batch)
        return pa.Table.from_batches(kept, _arrow_schema(schema))

    def evaluate(self, expressions: Sequence[Expr], schema: Schema, rows: pa.Table, parameters: Parameters) -> pa.Table:
        """Expressions over rows (c0…); `schema` has their types."""
        selected = Selected(lambda index: f"t.c{index}")
        columns = ", ".join(
            f"{selected.sql(bound(expr, parameters))} AS c{position}" for position, expr in enumerate(expressions)
        )
        with self._lease({"given_rows": rows}) as (lease, limits):
            sql = f"SELECT {columns} FROM {selected.source('given_rows AS t')}"
            batches = self._batches(lease, limits, sql, schema)
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
        with self._lease(scans) as (lease, limits):
            yield from self._batches(lease, limits, sql, plan.schema)

    def _batches(self, lease: Lease, limits: StatementLimits, sql: str, schema: Schema) -> Iterator[pa.RecordBatch]:
        sql, rows = intervals_apart(sql), _rows_per_batch(schema)
        lease.make_known(sql)
        with self._work(lease.cursor, limits):
            reader = lease.cursor.sql(sql).to_arrow_reader(rows)
        while True:
            with self._work(lease.cursor, limits):
                batch = next(reader, None)
            limits.look()
            if batch is None:
                return
            if batch.num_rows:
                yield conformed(batch, schema)

    @contextmanager
    def _work(self, cursor: duckdb.DuckDBPyConnection, limits: StatementLimits) -> Iterator[None]:
        work = _Work(cursor)
        with self._guard:
            self._working.append(work)
        try:
            limits.look()  # a cancel that came earlier has found nothing to interrupt
            with working_for(limits):
                yield
        finally:
            with self._guard:
                self._working.remove(work)

    @contextmanager
    def _lease(self, relations: dict[str, pa.Table | pa.RecordBatchReader]) -> Iterator[tuple[Lease, StatementLimits]]:
        """A cursor that sees `relations`, and the statement's limits; a suspended portal keeps its own."""
        limits = self._limits()
        with self._translated(limits), self._engines.lease(limits.memory) as lease:
            for name, relation in relations.items():
                lease.cursor.register(name, relation)
            yield lease, limits
            for name in relations:
                lease.cursor.unregister(name)

    @contextmanager
    def _translated(self, limits: StatementLimits) -> Iterator[None]:
        try:
            yield
        except QUERY_FAILURES as error:
            ended = ended_by_limits(error, limits)
            if ended is not None:
                raise ended from error
            translated = translate_error(as_duckdb_error(error))
            if isinstance(translated, OutOfMemory):
                translated.hint = limits.hint
            raise translated from error

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


def _rows_per_batch(schema: Schema) -> int:
    """Fewer where a row may be large: a batch is in memory whole, and DuckDB does not count it."""
    return ROWS_PER_BATCH if all(_has_fixed_width(field.type.arrow) for field in schema) else ROWS_PER_TEXT_BATCH


def _has_fixed_width(type_: pa.DataType) -> bool:
    varies = pa.types.is_string(type_) or pa.types.is_binary(type_) or pa.types.is_nested(type_)
    return not varies


def _scan_schema(relation: Relation, columns: Sequence[int]) -> pa.Schema:
    return pa.schema(
        [pa.field(f"c{position}", relation.columns[index].type.arrow) for position, index in enumerate(columns)]
    )


def _arrow_schema(schema: Schema) -> pa.Schema:
    return pa.schema([pa.field(f"c{index}", field.type.arrow) for index, field in enumerate(schema)])


def conformed(batch: pa.RecordBatch, schema: Schema) -> pa.RecordBatch:
    """The batch with exactly the Arrow types of the plan's schema."""
    if not schema:  # SELECT FROM t: DuckDB gives a column, as it has no rows without any
        return pa.RecordBatch.from_struct_array(pa.StructArray.from_buffers(pa.struct([]), batch.num_rows, [None]))
    columns = [
        column if column.type.equals(field.type.arrow) else column.cast(field.type.arrow)
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=[f"c{index}" for index in range(len(columns))])
