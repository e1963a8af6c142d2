"""`_rw_timestamp`: RisingWave's hidden column of tables, when the row was written last.

Rows do not have it: a table that keeps the times of its rows has them in a state table by their keys, and a statement
that names the column reads both. It is for queries alone: a write of a row, and not what it is in, changes it.
"""

from __future__ import annotations

from functools import reduce

from sqlglot import exp

from risingpy.errors import FeatureNotSupported
from risingpy.frontend.binder.plans import references
from risingpy.frontend.binder.query.relations import scan
from risingpy.frontend.binder.scope.columns import ROW_TIME
from risingpy.frontend.binder.scope.context import BindContext
from risingpy.frontend.binder.trees import name_of
from risingpy.plan.catalog import Relation, Table
from risingpy.plan.expressions import Call, Cast, Expr, InputRef, Literal
from risingpy.plan.logical import Field, Join, JoinKind, LogicalPlan, Project
from risingpy.types import BOOLEAN, DOUBLE, TIMESTAMPTZ

_MILLISECONDS = 1000.0


def with_row_timestamp(context: BindContext, tree: exp.Expr, relation: Relation, plan: LogicalPlan) -> LogicalPlan:
    """`plan`, all columns of the relation, with the hidden column, if the statement of `tree` names it."""
    ages = relation.ages_table if isinstance(relation, Table) else None
    if ages is None or not _names_it(tree.root()):
        return plan
    times = context.catalog.internal_tables.get(ages)
    if times is None:  # the catalog has just been changed, or is one without them
        return plan
    assert isinstance(relation, Table)
    context.dependencies.append(ages)
    width, read = len(plan.schema), scan(times)
    same: list[Expr] = []
    for place, each in enumerate(relation.table.key):
        type_ = plan.schema[each.index].type
        equal = "eq" if relation.refuses_null(each.index) else "is_not_distinct_from"
        same.append(Call(equal, (InputRef(each.index, type_), InputRef(width + place, type_)), BOOLEAN))
    condition = reduce(lambda a, b: Call("and", (a, b), BOOLEAN), same)
    joined = Join(plan, read, JoinKind.LEFT, condition, (*plan.schema, *read.schema))
    written = read.schema[-1]
    seconds = Call(
        "divide", (Cast(InputRef(len(joined.schema) - 1, written.type), DOUBLE), Literal(_MILLISECONDS, DOUBLE)), DOUBLE
    )
    time = Call("to_timestamp", (seconds,), TIMESTAMPTZ)
    return Project(joined, (*references(plan.schema), time), (*plan.schema, Field(ROW_TIME, TIMESTAMPTZ, hidden=True)))


def refuse_row_timestamp(tree: exp.Expr, what: str, position: int) -> None:
    """Raises FeatureNotSupported for a view, sink or subscription whose query names the column."""
    if _names_it(tree):
        message = f"{what} cannot read {ROW_TIME}: it is for queries alone"
        raise FeatureNotSupported(message, position=position, hint="A column with DEFAULT now() can be read by views.")


def _names_it(tree: exp.Expr) -> bool:
    return any(name_of(column.this) == ROW_TIME for column in tree.find_all(exp.Column))
