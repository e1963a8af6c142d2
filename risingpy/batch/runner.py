"""Runs planned queries at one committed epoch: DuckDB over Arrow scans of the relations.

Constants, rows found by their whole key, and columns of a relation as they are, come without DuckDB, which would take
most of the time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from risingpy.batch.copied_rows import copied_rows
from risingpy.batch.lookups.looked_up_rows import rows_of_inputs
from risingpy.batch.mutual_recursion import rows_after_rounds
from risingpy.batch.own_changes import OwnChanges
from risingpy.batch.parameters import Parameters, bound
from risingpy.batch.plan import CopiedRows, Direct, NotedCount
from risingpy.batch.prepared_query import PreparedQuery
from risingpy.batch.reads import FindsNearest, PlanRun, Rows, find_none
from risingpy.batch.sql import GIVEN_ROWS, ROUNDS, QuerySql
from risingpy.batch.statement_reads import StatementReads, TakeSnapshot, rows_of
from risingpy.batch.system_relations import SystemRelations
from risingpy.errors import OutOfMemory, SqlError
from risingpy.functions.evaluation.admission import QueryTurn
from risingpy.functions.evaluation.duckdb_connection import joins_by_bounds, query_over, translate_error
from risingpy.functions.evaluation.duckdb_failures import (
    INTERRUPT_AGAIN_SECONDS,
    QUERY_FAILURES,
    as_duckdb_error,
    ended_by_limits,
)
from risingpy.functions.evaluation.duckdb_sql import Selected
from risingpy.functions.evaluation.query_engines import Lease, QueryEngines
from risingpy.functions.evaluation.sql.catalog import names_in
from risingpy.functions.evaluation.sql.text import at_time, intervals_apart
from risingpy.meta.cancellation import WaitEvent, waiting
from risingpy.meta.reads import CommittedSnapshot
from risingpy.plan.catalog import Index, Table
from risingpy.plan.expressions import Expr
from risingpy.plan.logical import Schema
from risingpy.statement_limits import StatementLimits, working_for

ROWS_PER_BATCH = 65_536
ROWS_PER_TEXT_BATCH = 8_192


@dataclass(frozen=True, slots=True, eq=False)
class _Work:
    """A cursor for which DuckDB is working now: it runs the query, or computes the next rows."""

    cursor: duckdb.DuckDBPyConnection


@dataclass(frozen=True, slots=True)
class _SessionNumbers:
    """Those of the session's sequences; its limits are asked for only if a statement takes a number."""

    limits: Callable[[], StatementLimits]

    def next(self, oid: int, count: int, checked: bool) -> NDArray[np.int64]:
        return self.limits().sequences.next(oid, count, checked)


class BatchRunner:
    """Runs a session's queries, in the session's thread; any thread may call `interrupt` and `is_in_engine`."""

    def __init__(
        self,
        own: OwnChanges,
        engines: QueryEngines,
        limits: Callable[[], StatementLimits],
        system: Callable[[CommittedSnapshot], SystemRelations],
        nearest: FindsNearest = find_none,
    ) -> None:
        """`own` is the session's transaction; `limits` are those of the statement that begins."""
        self._own = own
        self._system = system
        self._nearest = nearest
        self._engines = engines
        self._limits = limits
        self._numbers = _SessionNumbers(limits)
        self._working: list[_Work] = []
        self._guard = threading.Lock()  # no cursor is closed while another thread interrupts it

    def _now(self) -> datetime:
        return self._limits().now or datetime.now(UTC)

    def interrupt(self) -> None:
        """Ends the running work, which raises QueryCanceled if `cancelled` is set. Open cursors stay usable."""
        with self._guard:
            working = tuple(self._working)
        self._interrupt(working)

    @property
    def is_in_engine(self) -> bool:
        """Whether DuckDB works for this session now, which it does without the interpreter's lock. From any thread."""
        return bool(self._working)

    def _interrupt(self, working: Sequence[_Work]) -> None:
        """Interrupts again as long as they work: DuckDB forgets an interrupt that comes before it has begun to run."""
        with self._guard:
            left = tuple(work for work in working if work in self._working)
            for work in left:
                work.cursor.interrupt()
        if left:
            again = threading.Timer(INTERRUPT_AGAIN_SECONDS, self._interrupt, (left,))
            again.daemon = True
            again.start()

    def run(
        self,
        query: PreparedQuery,
        parameters: Parameters,
        take_snapshot: TakeSnapshot,
        given: pa.Table | None = None,
        parts: StatementReads | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """The query's rows, columns in the schema's Arrow types, over committed rows and the transaction's own.

        The snapshot is taken at the first row, and released after the last one or by `close`. `given` are the rows
        (c0…) that a query with GivenRows reads there. A query with `given` rows looks at what its statement does;
        without them, a query of a statement of several `parts` reads what was there before that.
        """
        constant = query.constants(parameters, self._numbers, self._now)
        if constant is not None:
            yield from constant.to_batches()
            return
        with self._turn(query) as turn:
            yield from self._run_admitted(query, parameters, take_snapshot, given, parts, turn)

    def _run_admitted(
        self,
        query: PreparedQuery,
        parameters: Parameters,
        take_snapshot: TakeSnapshot,
        given: pa.Table | None,
        parts: StatementReads | None,
        turn: QueryTurn | None,
    ) -> Iterator[pa.RecordBatch]:
        own: OwnChanges = self._own
        if parts is not None and given is None:
            take_snapshot, own = parts.take_snapshot, parts.own
        snapshot = take_snapshot(query.relations)
        try:
            changed = own.changed_tables
            plan = query.plan_for(snapshot.catalog, changed, parameters)
            reads = PlanRun(snapshot.view, parameters, own, self._system(snapshot), self._nearest)
            direct = reads.direct(plan.answer) if isinstance(plan.answer, Direct) else None
            if isinstance(plan.answer, NotedCount):
                direct = reads.count(plan.inputs[0])
            copied = None
            if isinstance(plan.answer, CopiedRows):
                copied = copied_rows(plan.answer, plan.inputs[0], reads, _rows_per_batch(query.schema))
            if direct is not None:
                yield direct
            elif copied is not None:
                yield from self._passed_on(copied, query.schema, turn)
            else:
                sql = query.sql(plan, changed, parameters)
                inputs = {f"scan_{i}": rows for i, rows in rows_of_inputs(plan, reads).items()}
                inputs |= {f"scan_{i}": self._kept(inputs[f"scan_{i}"]) for i in plan.read_again}
                inputs |= reads.system.lookups(names_in(" ".join(sql.texts)))
                inputs |= sql.values
                inputs |= {**rows_of(parts), **({} if given is None else {GIVEN_ROWS: given})}
                yield from self._run_in_duckdb(sql, query.schema, inputs, turn)
        except SqlError as error:
            raise (snapshot.view.ended or error) from error.__cause__  # DuckDB wraps the errors of scans in its own
        finally:
            snapshot.view.release()

    def to_table(
        self,
        query: PreparedQuery,
        parameters: Parameters,
        take_snapshot: TakeSnapshot,
        given: pa.Table | None = None,
        parts: StatementReads | None = None,
    ) -> pa.Table:
        """All rows of `run`. Raises OutOfMemory if they are too large."""
        constant = query.constants(parameters, self._numbers, self._now)
        if constant is not None:
            return constant
        return self._as_table(query.schema, self.run(query, parameters, take_snapshot, given, parts))

    def committed_rows(self, relation: Table, keys: pa.Table, snapshot: CommittedSnapshot) -> pa.Table:
        """As `rows_with_keys`, but committed rows only. The caller releases the snapshot."""
        return PlanRun(snapshot.view, (), self._own, self._system(snapshot)).committed_with_keys(relation, keys)

    def has_committed(self, relation: Table, keys: pa.Table, snapshot: CommittedSnapshot) -> bool:
        """See `PlanRun.has_committed`. The caller releases the snapshot."""
        return PlanRun(snapshot.view, (), self._own, self._system(snapshot)).has_committed(relation, keys)

    def committed_by_index(
        self, index: Index, keys: Sequence[pa.Array | pa.ChunkedArray], snapshot: CommittedSnapshot
    ) -> pa.Table:
        """See `PlanRun.committed_by_index`. The caller releases the snapshot."""
        return PlanRun(snapshot.view, (), self._own, self._system(snapshot)).committed_by_index(index, keys)

    def rows_with_keys(self, relation: Table, keys: pa.Table, take_snapshot: TakeSnapshot) -> pa.Table:
        """The rows of a table (all columns, c0…) that have the keys of `keys`, in no order.

        `keys` has at least the key's columns, called by their positions in the relation, and no key twice. Rows that
        the transaction has written may come although nothing asked for their keys.
        """
        snapshot = take_snapshot(frozenset((relation.relation_id,)))
        try:
            reads = PlanRun(snapshot.view, (), self._own, self._system(snapshot))
            return reads.with_keys(relation, keys)
        finally:
            snapshot.view.release()

    def _kept(self, rows: Rows) -> pa.Table:
        """The rows as a table, which can be read several times. Raises OutOfMemory if they are too large."""
        return rows if isinstance(rows, pa.Table) else self._gathered(rows.schema, rows)

    def _as_table(self, schema: Schema, batches: Iterator[pa.RecordBatch]) -> pa.Table:
        """All batches of this schema. Raises OutOfMemory if they are too large."""
        return self._gathered(_arrow_schema(schema), batches)

    def _gathered(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> pa.Table:
        limits, kept, size = self._limits(), [], 0
        for batch in batches:
            size += batch.nbytes
            limits.check(size, "the statement's rows")
            limits.look()
            kept.append(batch)
        return pa.Table.from_batches(kept, schema)

    def evaluate(self, expressions: Sequence[Expr], schema: Schema, rows: pa.Table, parameters: Parameters) -> pa.Table:
        """Expressions over rows (c0…); `schema` has their types."""
        selected = Selected(lambda index: f"t.c{index}")
        columns = ", ".join(
            f"{selected.sql(bound(expr, parameters))} AS c{position}" for position, expr in enumerate(expressions)
        )
        with self._lease() as (lease, limits):
            sql = f"SELECT {columns} FROM {selected.source(f'{GIVEN_ROWS} AS t')}"
            batches = self._batches(lease, limits, sql, schema, {GIVEN_ROWS: rows})
            return self._as_table(schema, batches)

    def _run_in_duckdb(
        self, sql: QuerySql, schema: Schema, inputs: dict[str, Rows], turn: QueryTurn | None
    ) -> Iterator[pa.RecordBatch]:
        with self._lease() as (lease, limits), joins_by_bounds(lease.cursor, sql.text):

            def computed(text: str, columns: Schema, tables: Mapping[str, pa.Table]) -> pa.Table:
                return self._as_table(columns, self._batches(lease, limits, text, columns, {**inputs, **tables}, turn))

            for number, recursion in enumerate(sql.recursions):
                inputs[f"{ROUNDS}{number}"] = rows_after_rounds(recursion, computed)
            yield from self._batches(lease, limits, sql.text, schema, inputs, turn)

    def _passed_on(
        self, batches: Iterator[pa.RecordBatch], schema: Schema, turn: QueryTurn | None
    ) -> Iterator[pa.RecordBatch]:
        """Batches that are read within the statement's limits."""
        limits = self._limits()
        while True:
            with nullcontext() if turn is None else turn.working():
                limits.look()
                with working_for(limits):
                    batch = next(batches, None)
            if batch is None:
                return
            yield _conformed(batch, schema)

    @contextmanager
    def _turn(self, query: PreparedQuery) -> Iterator[QueryTurn | None]:
        """Waits until the query may compute, if it is one that reads relations and has DuckDB compute.

        What asks for the system's state only has no turn: so somebody can see what keeps the others waiting.
        """
        if not query.relations or isinstance(query.plan.answer, Direct | NotedCount):
            yield None
            return
        limits = self._limits()
        turn = self._engines.admission.place(limits.look, limits.calling)
        with ExitStack() as kept:
            with waiting(limits.cancelled, WaitEvent.TURN):
                kept.enter_context(turn)
            yield turn

    def _batches(
        self,
        lease: Lease,
        limits: StatementLimits,
        sql: str,
        schema: Schema,
        inputs: Mapping[str, Rows],
        turn: QueryTurn | None = None,
    ) -> Iterator[pa.RecordBatch]:
        sql, rows = at_time(intervals_apart(sql), limits.now), _rows_per_batch(schema)
        lease.make_known(sql)
        with self._work(lease.cursor, limits, turn):
            reader = query_over(lease.cursor, sql, inputs).to_arrow_reader(rows)
        while True:
            with self._work(lease.cursor, limits, turn):
                batch = next(reader, None)
            limits.look()
            if batch is None:
                return
            if batch.num_rows:
                yield _conformed(batch, schema)

    @contextmanager
    def _work(
        self, cursor: duckdb.DuckDBPyConnection, limits: StatementLimits, turn: QueryTurn | None
    ) -> Iterator[None]:
        work = _Work(cursor)
        with nullcontext() if turn is None else turn.working():
            with self._guard:
                self._working.append(work)
            try:
                limits.look()  # an earlier cancel had nothing to interrupt yet
                with working_for(limits):
                    yield
            finally:
                with self._guard:
                    self._working.remove(work)

    @contextmanager
    def _lease(self) -> Iterator[tuple[Lease, StatementLimits]]:
        """A cursor, and the statement's limits; a suspended portal keeps its own."""
        limits = self._limits()
        with self._translated(limits), self._engines.lease(limits.memory) as lease:
            yield lease, limits

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


def _rows_per_batch(schema: Schema) -> int:
    """The number of rows in a batch, smaller if rows may be large: DuckDB does not count a batch's memory."""
    return ROWS_PER_BATCH if all(_has_fixed_width(field.type.arrow) for field in schema) else ROWS_PER_TEXT_BATCH


def _has_fixed_width(type_: pa.DataType) -> bool:
    varies = pa.types.is_string(type_) or pa.types.is_binary(type_) or pa.types.is_nested(type_)
    return not varies


def _arrow_schema(schema: Schema) -> pa.Schema:
    return pa.schema([pa.field(f"c{index}", field.type.arrow) for index, field in enumerate(schema)])


def _conformed(batch: pa.RecordBatch, schema: Schema) -> pa.RecordBatch:
    """The batch with exactly the Arrow types of the plan's schema."""
    if not schema:  # SELECT FROM t: DuckDB has no rows without columns, so its result has one
        return pa.RecordBatch.from_struct_array(pa.StructArray.from_buffers(pa.struct([]), batch.num_rows, [None]))
    columns = [
        column if column.type.equals(field.type.arrow) else column.cast(field.type.arrow)
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=[f"c{index}" for index in range(len(columns))])
