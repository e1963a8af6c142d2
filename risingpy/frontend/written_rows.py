"""Makes the rows to be logged of a statement's rows: with all columns of the table, NOT NULL checked, and row ids."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import NotNullViolation, SqlError
from risingpy.executors.change_chunk import DELETE, INSERT, make_chunk
from risingpy.frontend.statement_context import StatementContext
from risingpy.functions.topics.identities import place_of
from risingpy.memory import WRITTEN_SHARE, share_of_memory
from risingpy.meta.writing.dml_log import Spill, TableChange
from risingpy.plan.catalog import Table
from risingpy.plan.expression_trees import remapped
from risingpy.plan.logical import Field
from risingpy.statement_limits import BYTES_OF_OUTPUT_ROW, StatementLimits
from risingpy.types.forms import format_text

ROW_ID = "_row_id"


def inserted(session: StatementContext, relation: Table, visible: pa.Table) -> pa.Table:
    """The rows in all columns of the relation, in storage order, from the visible ones."""
    columns = list(visible.columns)
    if relation.columns[-1].name == ROW_ID:
        first = session.database.writes.next_row_ids(visible.num_rows)
        columns.append(pa.chunked_array([np.arange(first, first + visible.num_rows, dtype=np.int64)]))
    return completed(session, relation, pa.table(columns, names=[f"c{index}" for index in range(len(columns))]))


def completed(session: StatementContext, relation: Table, rows: pa.Table) -> pa.Table:
    """New rows (all columns) with their generated columns. Raises NotNullViolation; moves identities' counters."""
    rows = with_generated(session, relation, rows)
    check_not_null(relation, rows)
    pass_numbers(session, relation, rows)
    return rows


def pass_numbers(session: StatementContext, relation: Table, rows: pa.Table) -> None:
    """Moves the counters of identity columns past the numbers in the rows, so that no new row replaces one of them."""
    for index, column in enumerate(relation.columns):
        identity = column.identity
        if identity is not None and rows.num_rows:
            furthest = (pc.max if identity.increment > 0 else pc.min)(rows.column(index)).as_py()
            if furthest is not None:
                place = place_of(furthest, identity.start, identity.increment)
                session.database.writes.identity_counters.pass_by(identity.counter, place)


def with_generated(session: StatementContext, relation: Table, rows: pa.Table) -> pa.Table:
    """The rows (all columns) with the generated columns computed from the others."""
    places = [index for index, column in enumerate(relation.columns) if column.generated is not None]
    if not places or not rows.num_rows:
        return rows
    positions = {column.column_id: index for index, column in enumerate(relation.columns)}
    generated = [relation.columns[index].generated for index in places]
    expressions = [remapped(each.expression, positions) for each in generated if each is not None]
    schema = tuple(Field(f"c{index}", relation.columns[index].type) for index in places)
    values = session.evaluate(expressions, schema, rows, ())
    for index, column in zip(places, values.columns, strict=True):
        rows = rows.set_column(index, f"c{index}", column)
    return rows


def check_not_null(relation: Table, rows: pa.Table) -> None:
    """Raises NotNullViolation, with the first failing row in its detail. Key columns are never NULL."""
    for index, column in enumerate(relation.columns):
        if (column.not_null or index in relation.primary_key) and rows.column(index).null_count:
            failing = rows.column(index).is_null().index(True).as_py()
            raise NotNullViolation(
                f'null value in column "{column.name}" of relation "{relation.name}" violates not-null constraint',
                detail=f"Failing row contains ({_shown(relation, rows.slice(failing, 1))}).",
            )


def write_inserted(session: StatementContext, relation: Table, rows: pa.Table) -> None:
    """Logs new rows, or keeps them for the commit."""
    _write(session, relation, inserts(rows))


def write_spilled(session: StatementContext, relation: Table, spill: Spill) -> None:
    """As `write_inserted`, for the `inserts` in a spill file, which it also finishes."""
    _write(session, relation, spill.finish(), spill)


def inserts(rows: pa.Table) -> pa.Table:
    """The change chunk of new rows."""
    return make_chunk(np.full(rows.num_rows, INSERT, np.int8), rows.columns)


def write_rewritten(session: StatementContext, relation: Table, old: pa.Table, new: pa.Table | None) -> None:
    """Logs rows that went and, for an UPDATE, the rows that came instead."""
    ops = np.full(old.num_rows, DELETE, np.int8)
    columns = old.columns
    if new is not None:
        # All old rows first: where an UPDATE moves keys, the last write of a key must be the new row.
        ops = np.concatenate([ops, np.full(new.num_rows, INSERT, np.int8)])
        columns = [pa.chunked_array([*a.chunks, *b.chunks], a.type) for a, b in zip(columns, new.columns, strict=True)]
    _write(session, relation, make_chunk(ops, columns))


def check_written(rows: int, size: int) -> None:
    """Raises OutOfMemory if the epoch that takes so many rows of `size` bytes, all at once, would need too much."""
    limits = StatementLimits(share_of_memory(WRITTEN_SHARE), setting="the server's --memory")
    limits.check(rows * BYTES_OF_OUTPUT_ROW + size, "an epoch with all the rows that the transaction writes")


def check_writable(session: StatementContext, verb: str) -> None:
    """Raises 25006 in a READ ONLY transaction."""
    if session.transaction.read_only:
        raise SqlError(f"cannot execute {verb} in a read-only transaction", sqlstate="25006")


def _write(session: StatementContext, relation: Table, chunk: pa.Table, spill: Spill | None = None) -> None:
    if not chunk.num_rows:
        return
    if relation.upstream is not None:
        message = f'cannot change table "{relation.name}": it copies table "{relation.upstream.name}" of a source'
        raise SqlError(message, sqlstate="55000", hint="Change it upstream.")
    check_written(session.transaction.written_rows + chunk.num_rows, session.transaction.written_bytes + chunk.nbytes)
    session.transaction.write(TableChange(relation.relation_id, relation.version, chunk, spill))
    if not session.transaction.is_open:
        session.scope.commit()


def _shown(relation: Table, row: pa.Table) -> str:
    """The visible values of one row as PostgreSQL prints them in details."""
    cells = []
    for index, column in enumerate(relation.columns):
        if not column.hidden:
            value = row.column(index)[0].as_py()
            cells.append("null" if value is None else format_text(column.type, value))
    return ", ".join(cells)
