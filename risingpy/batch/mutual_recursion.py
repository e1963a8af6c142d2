"""Runs WITH MUTUALLY RECURSIVE in queries: its items again and again, each a query of DuckDB, until none changes.

A round computes every item from the rows that the items have, those before it in this round, as Materialize does. The
whole item is computed each time: a query has no state to begin with, and its rows are asked for once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa

from risingpy.batch.sql import MutualRecursionSql
from risingpy.errors import StatementTooComplex
from risingpy.plan.logical import Field, Schema
from risingpy.types import BIGINT

Computes = Callable[[str, Schema, Mapping[str, pa.Table]], pa.Table]
"""Gives the rows (c0, …) of a query of DuckDB, with columns of these types, which also reads these tables."""

_CHANGED = "SELECT count(*) AS c0 FROM (SELECT * FROM after_round EXCEPT ALL SELECT * FROM before_round)"


def rows_after_rounds(recursion: MutualRecursionSql, compute: Computes) -> pa.Table:
    """The rows of all items (c0: the item's number) once a round changes none.

    Raises StatementTooComplex if one beyond the limit still does.
    """
    tables = {name: _empty(item.schema) for name, item in zip(recursion.names, recursion.items, strict=True)}
    rounds = 0
    while rounds != recursion.limit or not recursion.returns_at_limit:
        is_changed = False
        for name, item in zip(recursion.names, recursion.items, strict=True):
            after = compute(item.text, item.schema, tables)
            is_changed = _differs(tables[name], after, compute) or is_changed
            tables[name] = after
        if not is_changed:
            break
        if rounds == recursion.limit:
            raise StatementTooComplex(
                f"WITH MUTUALLY RECURSIVE has not ended after {rounds} rounds",
                hint="Have it end earlier, by UNION or a condition, or set a higher RECURSION LIMIT.",
            )
        rounds += 1
    return _together(recursion, list(tables.values()))


def _differs(before: pa.Table, after: pa.Table, compute: Computes) -> bool:
    """Whether these are other rows, in whatever order."""
    if before.num_rows != after.num_rows:
        return True
    if before.equals(after):
        return False
    count = compute(_CHANGED, (Field("count", BIGINT),), {"before_round": before, "after_round": after})
    return bool(count.column(0)[0].as_py())


def _empty(schema: Schema) -> pa.Table:
    return pa.schema([(f"c{i}", field.type.arrow) for i, field in enumerate(schema)]).empty_table()


def _together(recursion: MutualRecursionSql, tables: Sequence[pa.Table]) -> pa.Table:
    """The rows of all items under each other, with NULLs in the columns of others."""
    types = [field.type.arrow for field in recursion.schema]
    names = [f"c{i}" for i in range(len(types))]
    parts, first = [], 1
    for number, table in enumerate(tables):
        rows, own = table.num_rows, range(first, first + table.num_columns)
        columns = [table.column(i - first) if i in own else pa.nulls(rows, type_) for i, type_ in enumerate(types)]
        columns[0] = pa.repeat(pa.scalar(number, types[0]), rows)
        parts.append(pa.table(columns, names=names))
        first = own.stop
    return pa.concat_tables(parts)
