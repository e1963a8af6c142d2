"""Makes the rows to be logged of a statement's rows: with all columns of the table, NOT NULL checked, and row ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from risingpy.batch import group_by_key
from risingpy.errors import NotNullViolation, SqlError
from risingpy.executors.change_chunk import DELETE, INSERT, make_chunk
from risingpy.frontend.constraints.checks import check_rows
from risingpy.frontend.constraints.domains import check_domains
from risingpy.frontend.constraints.enforcement import RowsChange, enforce
from risingpy.frontend.constraints.guarded import is_guarded
from risingpy.frontend.constraints.violations import shown_row
from risingpy.frontend.statement_context import StatementContext
from risingpy.memory import WRITTEN_SHARE, share_of_memory
from risingpy.meta.writing.dml_log import Spill, TableChange
from risingpy.meta.writing.row_keys import MOST_KEYS
from risingpy.plan.catalog import Table
from risingpy.plan.catalog.columns import ROW_ID
from risingpy.plan.expression_trees import remapped
from risingpy.plan.logical import Field
from risingpy.statement_limits import BYTES_OF_OUTPUT_ROW, StatementLimits


def inserted(session: StatementContext, relation: Table, visible: pa.Table, *, looks_at_rules: bool = True) -> pa.Table:
    """The rows in all columns of the relation, in storage order, from the visible ones; see `completed`."""
    columns = list(visible.columns)
    if relation.columns[-1].name == ROW_ID:
        first = session.database.writes.next_row_ids(visible.num_rows)
        columns.append(pa.chunked_array([np.arange(first, first + visible.num_rows, dtype=np.int64)]))
    rows = pa.table(columns, names=[f"c{index}" for index in range(len(columns))])
    return completed(session, relation, rows, looks_at_rules=looks_at_rules)


def completed(session: StatementContext, relation: Table, rows: pa.Table, *, looks_at_rules: bool = True) -> pa.Table:
    """New rows (all columns) with their generated columns. Raises NotNullViolation; moves identities' counters.

    Rows that come from another table do not need to be looked at for CHECK and domains: there they may be NOT VALID.
    """
    rows = with_generated(session, relation, rows)
    if looks_at_rules:
        check_domains(session, relation, rows)
    check_not_null(relation, rows)
    if looks_at_rules:
        check_rows(session, relation, rows)
    pass_numbers(session, relation, rows)
    return rows


def pass_numbers(session: StatementContext, relation: Table, rows: pa.Table) -> None:
    """Moves the sequences of identity columns past the numbers in the rows, so that no new row replaces one of them."""
    if rows.num_rows:
        session.database.writes.sequences.pass_rows(session.database.reads.catalog, relation, rows.columns)


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
    """Raises NotNullViolation, with the first failing row in its detail."""
    for index, column in enumerate(relation.columns):
        if relation.refuses_null(index) and rows.column(index).null_count:
            failing = rows.column(index).is_null().index(True).as_py()
            error = NotNullViolation(
                f'null value in column "{column.name}" of relation "{relation.name}" violates not-null constraint',
                detail=f"Failing row contains ({shown_row(relation, rows.slice(failing, 1))}).",
            )
            error.about = (("s", relation.schema_name), ("t", relation.name), ("c", column.name))
            raise error


def write_inserted(session: StatementContext, relation: Table, rows: pa.Table, *, by_key: bool = False) -> None:
    """Logs new rows, or keeps them for the commit. A guarded table is held, see `guarded`.

    `by_key`: of a table that is not guarded, the rows' keys will be locked, however many they are.
    """
    if not is_guarded(session.database.reads.catalog, relation):
        _write(session, relation, inserts(rows), by_key=by_key)
        return
    replaced, rows = _replaced(session, relation, rows)
    write_rewritten(session, relation, replaced, rows)


def write_spilled(session: StatementContext, relation: Table, spill: Spill) -> None:
    """As `write_inserted`, for the `inserts` in a spill file, which it also finishes."""
    chunk = spill.finish()
    if not is_guarded(session.database.reads.catalog, relation):
        _write(session, relation, chunk, spill)
        return
    rows = chunk.drop_columns(["op"])
    replaced, _ = _replaced(session, relation, rows)
    if replaced.num_rows:  # they go first, so that the spilled rows are the last of their keys
        _put(session, relation, make_chunk(np.full(replaced.num_rows, DELETE, np.int8), replaced.columns))
    _put(session, relation, chunk, spill)
    _end(session, [RowsChange(relation, replaced, rows)])


def _replaced(session: StatementContext, relation: Table, rows: pa.Table) -> tuple[pa.Table, pa.Table]:
    """(The rows whose keys new rows have, the new rows): of those of a key the last, first those that replace one."""
    if not relation.primary_key or not rows.num_rows:
        return rows.slice(0, 0), rows
    groups, _ = group_by_key(relation, rows)
    _, last_from_end = np.unique(groups[::-1], return_index=True)
    rows = rows.take(pa.array(np.sort(len(groups) - 1 - last_from_end)))
    return paired(relation, session.rows_with_keys(relation, rows), rows)


def paired(relation: Table, found: pa.Table, rows: pa.Table) -> tuple[pa.Table, pa.Table]:
    """(Those of the `found` rows whose keys new rows have, the new rows), whose first ones stand in their stead."""
    if not found.num_rows:
        return rows.slice(0, 0), rows
    codes, _ = group_by_key(relation, pa.concat_tables([rows, found.rename_columns(rows.column_names)]))
    come, stand = codes[: rows.num_rows], codes[rows.num_rows :]
    place_of = np.full(int(codes.max()) + 1, -1, np.int64)
    place_of[stand] = np.arange(len(stand))
    places = place_of[come]  # of the row that stands with the key of each new row; -1: none does
    meeting, fresh = np.flatnonzero(places >= 0), np.flatnonzero(places < 0)
    return found.take(pa.array(places[meeting])), rows.take(pa.array(np.concatenate([meeting, fresh])))


def inserts(rows: pa.Table) -> pa.Table:
    """The change chunk of new rows."""
    return make_chunk(np.full(rows.num_rows, INSERT, np.int8), rows.columns)


def write_rewritten(
    session: StatementContext,
    relation: Table,
    old: pa.Table,
    new: pa.Table | None,
    deleted: pa.Table | None = None,
    *,
    looks_at_keys: bool = True,
    by_key: bool = False,
) -> None:
    """Logs rows that went and, for an UPDATE, the rows that came instead: see `RowsChange`. `deleted` rows go besides.

    Looks at the constraints of a guarded table, which the session holds; not if they were looked at `by_key`, under
    the locks of all keys.
    """
    changes = [RowsChange(relation, old, new)]
    if deleted is not None and deleted.num_rows:
        changes.insert(0, RowsChange(relation, deleted, None))
    for change in changes:
        _put(session, relation, _chunk_of(change), by_key=by_key)
    _end(session, changes, looks_at_keys=looks_at_keys and not by_key)


def _chunk_of(change: RowsChange) -> pa.Table:
    old, new = change.old, change.new
    if new is not None and not old.num_rows:
        return inserts(new)
    ops = np.full(old.num_rows, DELETE, np.int8)
    columns = old.columns
    if new is not None:
        # All old rows first: where an UPDATE moves keys, the last write of a key must be the new row.
        ops = np.concatenate([ops, np.full(new.num_rows, INSERT, np.int8)])
        columns = [pa.chunked_array([*a.chunks, *b.chunks], a.type) for a, b in zip(columns, new.columns, strict=True)]
    return make_chunk(ops, columns)


def check_written(rows: int, size: int) -> None:
    """Raises OutOfMemory if the epoch that takes so many rows of `size` bytes, all at once, would need too much."""
    limits = StatementLimits(share_of_memory(WRITTEN_SHARE), setting="the server's --memory")
    limits.check(rows * BYTES_OF_OUTPUT_ROW + size, "an epoch with all the rows that the transaction writes")


def check_writable(session: StatementContext, verb: str) -> None:
    """Raises 25006 in a READ ONLY transaction, and on a server that only reads."""
    followed = session.database.followed
    if followed is not None:
        raise followed.refusal(verb)
    if session.transaction.read_only:
        raise SqlError(f"cannot execute {verb} in a read-only transaction", sqlstate="25006")


def _write(
    session: StatementContext, relation: Table, chunk: pa.Table, spill: Spill | None = None, *, by_key: bool = False
) -> None:
    _put(session, relation, chunk, spill, by_key=by_key)
    if chunk.num_rows and not session.transaction.is_open:
        session.scope.commit()


def _end(session: StatementContext, changes: Sequence[RowsChange], *, looks_at_keys: bool = True) -> None:
    """Looks at the constraints, then commits, if no transaction is open."""
    done = [each for each in changes if each.old.num_rows or (each.new is not None and each.new.num_rows)]
    if done and looks_at_keys and is_guarded(session.database.reads.catalog, done[0].table):
        enforce(session, done, _follow)
    if done and not session.transaction.is_open:
        session.scope.commit()


def _follow(session: StatementContext, change: RowsChange) -> RowsChange:
    """Writes what a foreign key makes of the rows of its table."""
    if change.new is not None:
        change = replace(change, new=completed(session, change.table, change.new))
    _put(session, change.table, _chunk_of(change))
    return change


def _put(
    session: StatementContext, relation: Table, chunk: pa.Table, spill: Spill | None = None, *, by_key: bool = False
) -> None:
    """Gives rows to the transaction: with `by_key` as changes that are small enough for all keys to be locked."""
    if not chunk.num_rows:
        return
    if relation.upstream is not None:
        message = f'cannot change table "{relation.name}": it copies table "{relation.upstream.name}" of a source'
        raise SqlError(message, sqlstate="55000", hint="Change it upstream.")
    check_written(session.transaction.written_rows + chunk.num_rows, session.transaction.written_bytes + chunk.nbytes)
    rows = MOST_KEYS if by_key else chunk.num_rows
    for start in range(0, chunk.num_rows, rows):
        piece = chunk.slice(start, rows) if chunk.num_rows > rows else chunk
        session.transaction.write(TableChange(relation.relation_id, relation.version, piece, spill, relation.rules))
