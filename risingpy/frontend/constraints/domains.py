"""The rules of domains, over the values of columns.

Values are looked at where they are written, whatever statement writes them, and where ALTER DOMAIN adds a rule. Arrays
of a domain are looked at element by element. Few values are computed here, in microseconds each.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.batch import value_over
from risingpy.frontend.statement_context import StatementContext
from risingpy.functions.topics.domains import domain_violation, first_broken
from risingpy.plan.catalog import ColumnDesc, Table
from risingpy.plan.catalog.domains import DomainRules, domain_rules
from risingpy.plan.domain_casts import rules_over
from risingpy.plan.expressions import InputRef
from risingpy.plan.logical import Field
from risingpy.types import BOOLEAN
from risingpy.types.far_moments import values_of

_FEW_VALUES = 4  # DuckDB needs a millisecond for any number of them


def check_domains(session: StatementContext, table: Table, rows: pa.Table) -> None:
    """`rows` have all columns of the table. Raises 23514, or 23502, for the first row that breaks a domain's rule."""
    types, broken = session.database.reads.catalog.types, list[tuple[int, int, DomainRules, int]]()
    for place, column in enumerate(table.columns):
        if column.domain is None or not rows.num_rows:
            continue
        rules = domain_rules(column.domain, types)
        found = first_refused(session, rules, column, rows.column(place))
        if found is not None:
            broken.append((found[0], place, rules, found[1]))
    if broken:
        _, _, rules, number = min(broken, key=lambda each: each[:2])
        names = ((None,) if rules.not_null else ()) + tuple(check.name for check in rules.checks)
        raise domain_violation(rules.domain.schema_name, rules.domain.name, names[number])


def first_refused(
    session: StatementContext, rules: DomainRules, column: ColumnDesc, values: pa.ChunkedArray
) -> tuple[int, int] | None:
    """(The first row whose value in the column breaks a rule, the rule's number: 0 is NOT NULL, if it is one)."""
    if rules.are_none or not len(values):
        return None
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if isinstance(array, pa.ChunkedArray):  # too long for one array
        array = pa.concat_arrays(array.chunks)
    parents: list[pa.Array] = []
    for _ in range(rules.domain.dimensions(column.type)):
        parents.append(pc.list_parent_indices(array))
        array = pc.list_flatten(array)
    if not len(array):
        return None
    found = first_broken(_holds(session, rules, array))
    if found is None:
        return None
    row, number = found
    for indices in reversed(parents):
        row = indices[row].as_py()
    return row, number


def _holds(session: StatementContext, rules: DomainRules, values: pa.Array) -> list[pa.Array]:
    """For each rule, a column that is false where a value breaks it."""
    base = rules.domain.base
    expressions = rules_over(InputRef(0, base), rules)
    if len(values) <= _FEW_VALUES:
        given = values_of(values)
        known = [[value_over(each, base, value) for value in given] for each in expressions]
        if all(value is not None for column in known for value in column):
            return [pa.array([v.value for v in column if v is not None], pa.bool_()) for column in known]
    fields = tuple(Field(f"c{i}", BOOLEAN) for i in range(len(expressions)))
    computed = session.evaluate(expressions, fields, pa.table([values], names=["c0"]), ())
    return list(computed.columns)
