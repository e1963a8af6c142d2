"""Runs a logical plan as a batch query: DuckDB over Arrow scans of the relations, at one committed epoch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import duckdb
import pyarrow as pa

from risingpy.errors import QueryCanceled
from risingpy.executors.expression.duckdb_connection import translate_error
from risingpy.executors.expression.duckdb_sql import compile_expression
from risingpy.executors.expression.nodes import Expr
from risingpy.frontend.bound_parameters import bound, with_parameters
from risingpy.frontend.key_lookup import KeyLookup, find_key_lookups
from risingpy.frontend.prepared import Parameters
from risingpy.frontend.transaction import Transaction, overlaid
from risingpy.meta.database import Snapshot
from risingpy.optimizer.batch import to_duckdb_sql
from risingpy.optimizer.catalog import Relation
from risingpy.optimizer.logical import LogicalPlan, Scan, Schema
from risingpy.storage.storage_table import StorageTable

ROWS_PER_BATCH = 65_536


class BatchRunner:
    """A session's way to run plans. One query at a time; `interrupt` may come from any thread."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, transaction: Transaction) -> None:
        self._connection = connection
        self._transaction = transaction

    def interrupt(self) -> None:
        self._connection.interrupt()

    def run(
        self,
        plan: LogicalPlan,
        parameters: Parameters,
        snapshot: Snapshot,
        cancelled: Callable[[], bool],
    ) -> Iterator[pa.RecordBatch]:
        """The plan's rows, columns in the schema's Arrow types. Releases the snapshot's view when done or closed."""
        registered: list[str] = []
        try:
            plan = with_parameters(plan, parameters)
            lookups = find_key_lookups(plan, snapshot.catalog)

            def scan_name(scan: Scan) -> str:
                name = f"scan_{len(registered)}"
                relation = snapshot.catalog.relations[scan.relation_id]
                self._connection.register(name, self._scan(scan, relation, snapshot, lookups.get(id(scan))))
                registered.append(name)
                return name

            with _translated(cancelled):
                sql = to_duckdb_sql(plan, scan_name)
                for batch in self._connection.sql(sql).to_arrow_reader(ROWS_PER_BATCH):
                    if cancelled():
                        raise QueryCanceled("canceling statement due to user request")
                    if batch.num_rows:
                        yield conformed(batch, plan.schema)
        finally:
            for name in registered:
                self._connection.unregister(name)
            snapshot.view.release()

    @staticmethod
    def as_table(schema: Schema, batches: Iterator[pa.RecordBatch]) -> pa.Table:
        """All the batches of a plan with this schema."""
        fields = [pa.field(f"c{index}", field.type.arrow) for index, field in enumerate(schema)]
        return pa.Table.from_batches(batches, pa.schema(fields))

    def evaluate(self, expressions: Sequence[Expr], schema: Schema, rows: pa.Table, parameters: Parameters) -> pa.Table:
        """Expressions over rows (c0…); `schema` has their types."""
        columns = ", ".join(
            f"{compile_expression(bound(expr, parameters), lambda index: f'c{index}', strict=True)} AS c{position}"
            for position, expr in enumerate(expressions)
        )
        self._connection.register("given_rows", rows)
        try:
            with _translated(lambda: False):
                reader = self._connection.sql(f"SELECT {columns} FROM given_rows").to_arrow_reader(ROWS_PER_BATCH)
                return self.as_table(schema, (conformed(batch, schema) for batch in reader))
        finally:
            self._connection.unregister("given_rows")

    def _scan(
        self, scan: Scan, relation: Relation, snapshot: Snapshot, lookup: KeyLookup | None
    ) -> pa.Table | pa.RecordBatchReader:
        assert relation.table is not None
        table = StorageTable(relation.table, snapshot.view)
        changes = self._transaction.changes_of(relation.relation_id)
        if changes:
            everything = range(len(relation.columns))
            rows = pa.Table.from_batches(table.scan(everything), _schema(relation, everything))
            merged = overlaid(relation, rows, changes).select([f"c{index}" for index in scan.columns])
            return merged.rename_columns([f"c{index}" for index in range(len(scan.columns))])
        if lookup is not None:
            return lookup.rows(table, scan.columns)
        return pa.RecordBatchReader.from_batches(_schema(relation, scan.columns), table.scan(scan.columns))


def _schema(relation: Relation, columns: Sequence[int]) -> pa.Schema:
    return pa.schema(
        [pa.field(f"c{position}", relation.columns[index].type.arrow) for position, index in enumerate(columns)]
    )


def conformed(batch: pa.RecordBatch, schema: Schema) -> pa.RecordBatch:
    """The batch with exactly the Arrow types of the plan's schema."""
    columns = [
        column if column.type.equals(field.type.arrow) else column.cast(field.type.arrow)
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=[f"c{index}" for index in range(len(columns))])


@contextmanager
def _translated(cancelled: Callable[[], bool]) -> Iterator[None]:
    try:
        yield
    except duckdb.Error as error:
        if cancelled():
            raise QueryCanceled("canceling statement due to user request") from error
        raise translate_error(error) from error
