"""SELECT … FOR UPDATE SKIP LOCKED, and FOR SHARE: rows that others have locked are left out.

    SELECT a FROM t WHERE b > 3 ORDER BY c LIMIT 2 FOR UPDATE SKIP LOCKED

reads t without the keys that are known to be locked by others, which come as arrays, one for each column of the key:

    SELECT a FROM t WHERE (b > 3) AND NOT $2 AND NOT EXISTS (SELECT FROM unnest($1) AS _l (k0) WHERE _l.k0 = t.id)
    ORDER BY c LIMIT 2

At first none is known. The keys of this query are locked without waiting; those that are not to be had join the known
ones, and the keys are asked again, until all of them are locked. So LIMIT counts the rows that were to be had, as a
queue of jobs needs it. $2 says that another has locked the whole table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from risingpy.batch import PreparedQuery
from risingpy.errors import LockNotAvailable
from risingpy.frontend.command import Parameters
from risingpy.frontend.parser import parse_expression
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.writes.rows_by_key import equal_key, row_keys, with_rows
from risingpy.meta.writing.row_keys import RowKey
from risingpy.meta.writing.table_locks import LockMode
from risingpy.plan.catalog import Table
from risingpy.sql_quoting import double_quoted
from risingpy.types import BOOLEAN, SqlType, array_of
from risingpy.types.far_moments import values_of


@dataclass(frozen=True, slots=True)
class KnownLocked:
    """The rows that a query is to leave out: an array for each column of the key, and whether all are meant."""

    columns: tuple[list[object], ...]
    all_of_them: bool = False

    @property
    def values(self) -> tuple[object, ...]:
        """As the last parameters of the query."""
        return *self.columns, self.all_of_them


def key_types(table: Table) -> list[SqlType]:
    """The types of the parameters that say which rows to leave out."""
    return [*(array_of(table.columns[place].type) for place in table.primary_key), BOOLEAN]


def without_known(tree: exp.Expr, alias: str, table: Table, first: int) -> exp.Expr:
    """The query that leaves rows out, which its parameters from number `first` on say."""
    numbers = range(len(table.primary_key))
    arrays = ", ".join(f"${first + number}" for number in numbers)
    names = ", ".join(f"k{number}" for number in numbers)
    item = double_quoted(alias)
    equal = " AND ".join(
        equal_key(table, place, f"_l.k{number}", f"{item}.{double_quoted(table.columns[place].name)}")
        for number, place in enumerate(table.primary_key)
    )
    text = f"NOT ${first + len(numbers)} AND NOT EXISTS (SELECT 1 FROM unnest({arrays}) AS _l ({names}) WHERE {equal})"
    condition = parse_expression(text).tree
    changed = tree.copy()
    where = changed.args.get("where")
    if where is not None:
        condition = exp.And(this=exp.Paren(this=where.this), expression=condition)
    changed.set("where", exp.Where(this=condition))
    return changed


def lock_what_is_free(
    session: StatementContext,
    table: Table,
    keys: PreparedQuery,
    parameters: Parameters,
) -> KnownLocked:
    """Locks the rows of the query that nobody has locked; gives those that it left out."""
    known: tuple[list[object], ...] = tuple([] for _ in table.primary_key)
    if not _is_taken(session, table, ()):
        return KnownLocked(known, all_of_them=True)
    taken = set[RowKey]()
    while True:
        rows = session.run_to_table(keys, (*parameters, *known, False))
        rows = with_rows(table, rows.rename_columns([f"c{place}" for place in table.primary_key]))
        fresh = [(key, place) for place, key in enumerate(row_keys(table, rows)) if key not in taken]
        if not fresh:
            return KnownLocked(known)
        locked = [place for key, place in fresh if not _is_taken(session, table, (key,))]
        taken |= {key for key, place in fresh if place not in locked}
        for column, values in zip(known, rows.take(pa.array(locked, pa.int64())).columns, strict=True):
            column += values_of(values)
        session.database.reads.wait_for_lsn(session.database.writes.last_lsn, session.cancelled)


def _is_taken(session: StatementContext, table: Table, keys: Sequence[RowKey]) -> bool:
    """Whether the rows could be locked at once; without keys: whether rows of the table can be locked at all."""
    try:
        if keys:
            session.transaction.take_rows(table.relation_id, keys, session.cancelled)
        else:
            session.transaction.lock(table.relation_id, LockMode.KEYS, session.cancelled, wait=False)
    except LockNotAvailable:
        return False
    return True
