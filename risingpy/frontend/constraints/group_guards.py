"""What guards rows that go into the log with a group: new ones (`RowGuard`), and those that change or go."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

import pyarrow as pa

from risingpy.batch import CommittedKeys, value_of_row
from risingpy.frontend.constraints.guarded import enforced_keys, enforced_keys_to, is_guarded
from risingpy.frontend.constraints.row_keys import key_of, reference_of
from risingpy.frontend.statement_context import StatementContext
from risingpy.meta.writing.row_guard import Asked, Columns, Passes, RowGuard
from risingpy.meta.writing.row_keys import log_has_newest_rows
from risingpy.plan.catalog import Catalog, CheckConstraint, Table
from risingpy.plan.expression_trees import remapped
from risingpy.plan.expressions import Expr


def has_guards(catalog: Catalog, table: Table) -> bool:
    """Whether new rows of the table need a `RowGuard`."""
    return is_guarded(catalog, table) or bool(_checks(table))


def row_guard(session: StatementContext, catalog: Catalog, table: Table) -> RowGuard | None:
    """What looks at new rows; None if that takes more than their keys."""
    if table.primary_key and not log_has_newest_rows(catalog, table):
        return None
    indexes = catalog.unique_indexes_of(table.relation_id)
    unique = [(index, key_of(table, index)) for index in indexes]
    known = tuple((index, key) for index, key in unique if key is not None)
    references = [reference_of(catalog, table, key) for key in enforced_keys(table)]
    found = tuple(each for each in references if each is not None)
    if len(known) < len(unique) or len(found) < len(references):
        return None

    committed = CommittedKeys()

    def find_rows(asked: Sequence[Asked]) -> list[Sequence[int]]:
        view = session.database.reads.snapshot().view
        try:
            return [committed.of_keys(view, each.table, each.index, each.keys, each.columns) for each in asked]
        finally:
            view.release()

    return RowGuard(table, known, found, passes_of(table, range(len(table.columns))), find_rows)


def change_is_free(catalog: Catalog, table: Table, columns: Collection[int]) -> bool:
    """Whether nothing but CHECK guards a change of these columns, or without columns the loss of a row."""
    referring = enforced_keys_to(catalog, table.relation_id)
    if not columns:
        return not referring
    guarded = {column for key in enforced_keys(table) for column in key.columns}
    guarded |= {column for _, key in referring for column in key.referenced}
    if any(table.columns[place].column_id in guarded for place in columns):
        return False
    unique = [key_of(table, index) for index in catalog.unique_indexes_of(table.relation_id)]
    return all(key is not None and key.reads.isdisjoint(columns) for key in unique)


def passes_of(table: Table, columns: Iterable[int]) -> Passes | None:
    """What CHECK says of rows in which these columns are new; None if it says nothing."""
    changed = {table.columns[place].column_id for place in columns}
    places = {column.column_id: place for place, column in enumerate(table.columns)}
    asked = [each for each in _checks(table) if each.column_ids & changed or not each.column_ids]
    expressions = [remapped(each.expression, places) for each in asked]
    return _passing(table, expressions) if expressions else None


def _passing(table: Table, expressions: Sequence[Expr]) -> Callable[[Columns], list[bool]]:
    names = [f"c{index}" for index in range(len(table.columns))]

    def passes(columns: Columns) -> list[bool]:
        rows = pa.table(list(columns), names=names)
        return [_passes(table, expressions, rows.slice(row, 1)) for row in range(rows.num_rows)]

    return passes


def _passes(table: Table, expressions: Sequence[Expr], row: pa.Table) -> bool:
    values = [value_of_row(each, table, row) for each in expressions]
    return all(value is not None and value.value is not False for value in values)


def _checks(table: Table) -> list[CheckConstraint]:
    return [each for each in table.constraints if isinstance(each, CheckConstraint)]
