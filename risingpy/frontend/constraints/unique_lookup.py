"""Whether several rows have the unique key of one of a few new rows, by a lookup in the index for each key.

    UNIQUE INDEX (lower(a)) WHERE b, new row ('X', true)   =>   SELECT … FROM t WHERE lower(a) = 'x' AND b

The transaction has the new rows already, and the planner lays its rows over those that the index finds. One query over
all keys would have to read the whole table: it joins the table with the keys.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from risingpy.batch import PLAIN_KEYS
from risingpy.frontend.binder.ddl.constraint_plans import duplicated_keys, rows_with_key
from risingpy.frontend.statement_context import StatementContext
from risingpy.plan.catalog import IndexDefinition, Table
from risingpy.plan.catalog.index_keys import key_expressions, keys_if_indexed
from risingpy.plan.expressions import Literal
from risingpy.plan.logical import Field, LogicalPlan
from risingpy.types import TypeKind

MOST_KEYS_LOOKED_UP = 8
"""Of more keys, a join with the whole table may take less than a query for each."""

FirstRow = Callable[[LogicalPlan], "list[object] | None"]
"""The first row of a plan, as Python's values; None if it has none."""


def can_look_up(table: Table, definition: IndexDefinition, rows: int) -> bool:
    """Whether so many rows' keys are looked up one by one: few, of types whose values are constants as they are."""
    rule = definition.unique
    types = [key.type for key in key_expressions(definition, table)]
    is_plain = all(each.kind in (*PLAIN_KEYS, TypeKind.JSONB) and not each.system for each in types)
    return rows <= MOST_KEYS_LOOKED_UP and is_plain and rule is not None and rule.nulls_distinct


def looked_up_twice(
    session: StatementContext, table: Table, definition: IndexDefinition, new: pa.Table, first: FirstRow
) -> list[object] | None:
    """The first key of the new rows that several rows of the table have, and how many; `can_look_up` holds."""
    keys = keys_if_indexed(definition, table)
    fields = tuple(Field(f"c{i}", each.type) for i, each in enumerate(keys))
    rows = session.evaluate(keys, fields, new, ())
    for values in dict.fromkeys(zip(*(column.to_pylist() for column in rows.columns), strict=True)):
        if None in values:
            continue
        constants = [Literal(value, key.type) for value, key in zip(values, keys, strict=True)]
        found = first(duplicated_keys(rows_with_key(table, definition, constants), definition, table))
        if found is not None:
            return [*values, *found[len(values) :]]  # as the new row writes it: 1.0, and not the 1 that is there
    return None
