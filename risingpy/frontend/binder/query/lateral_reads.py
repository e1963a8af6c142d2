"""What LATERAL may not read."""

from __future__ import annotations

from sqlglot import exp

from risingpy.errors import SqlError
from risingpy.frontend.binder.scope.columns import Scope
from risingpy.frontend.binder.trees import name_of, position_of
from risingpy.plan.expressions import Expr


def no_lateral_reference(lateral: exp.Lateral, left: Scope, value: Expr) -> SqlError:
    """For a RIGHT or FULL JOIN whose right side reads `value`, which is of a FROM item on the left.

    The error points at the column if it is written with the item's name, else at the subquery.
    """
    items = (table.alias for table in left.tables if any(column.expr == value for column in table.columns))
    alias = next(items, left.tables[0].alias)
    columns = lateral.find_all(exp.Column)
    named = (column for column in columns if column.args.get("table") and name_of(column.args["table"]) == alias)
    return SqlError(
        f'invalid reference to FROM-clause entry for table "{alias}"',
        sqlstate="42P10",
        position=position_of(next(named, lateral)),
        detail="The combining JOIN type must be INNER or LEFT for a LATERAL reference.",
    )
