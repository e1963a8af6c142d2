"""What the rows of a table must satisfy before it changes."""

from __future__ import annotations

from risingpy.frontend.binder import RowCheck
from risingpy.frontend.constraints.violations import shown_key
from risingpy.frontend.statement_context import StatementContext
from risingpy.optimizer.rules import optimize
from risingpy.plan.expressions import Literal
from risingpy.plan.logical import Limit
from risingpy.types import BIGINT
from risingpy.types.far_moments import value_of


def check_rows(session: StatementContext, check: RowCheck) -> None:
    """Raises the check's error, or what its query fails with."""
    plan = check.plan if check.error is None else Limit(check.plan, Literal(1, BIGINT), None)
    for batch in session.run_query(session.planned(optimize(plan, session.check)), ()):
        if batch.num_rows and check.error is not None:
            if check.key:
                names, types = [name for name, _ in check.key], [type_ for _, type_ in check.key]
                values = [value_of(column, 0) for column in batch.columns[: len(names)]]
                check.error.detail = f"{shown_key(names, types, values)} {check.told}"
            raise check.error
