"""Each rule alone: a query's plan before and after, in `cases_of_rules.txt`. `pytest --update` rewrites it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from risingpy.optimizer.explain import explain_logical
from risingpy.optimizer.rules import optimize
from risingpy.optimizer.rules.apply_to_join import apply_to_join
from risingpy.optimizer.rules.column_pruning import column_pruning
from risingpy.optimizer.rules.common_factors import common_factors
from risingpy.optimizer.rules.constant_folding import constant_folding
from risingpy.optimizer.rules.drop_single_row import drop_single_row
from risingpy.optimizer.rules.filter_merge import filter_merge
from risingpy.optimizer.rules.join_reorder import join_reorder
from risingpy.optimizer.rules.null_safe_equality import null_safe_equality
from risingpy.optimizer.rules.outer_join_to_inner import outer_join_to_inner
from risingpy.optimizer.rules.predicate_pushdown import predicate_pushdown
from risingpy.optimizer.rules.project_merge import project_merge
from risingpy.optimizer.rules.range_joins import range_joins
from risingpy.optimizer.rules.subqueries_to_apply import subqueries_to_apply
from risingpy.plan.expressions import Call, Literal
from risingpy.plan.logical import Filter, Join, JoinKind, Values
from risingpy.types import BOOLEAN
from tests.frontend.binder.bench import bind

RULES = {
    rule.__name__: rule
    for rule in (
        column_pruning,
        common_factors,
        join_reorder,
        constant_folding,
        predicate_pushdown,
        project_merge,
        range_joins,
        optimize,
    )
}
UNNESTED = (apply_to_join, null_safe_equality, outer_join_to_inner, subqueries_to_apply)
RULES |= {rule.__name__: rule for rule in UNNESTED}
FILE = Path(__file__).parent / "cases_of_rules.txt"
CASES = re.split(r"\n\n", FILE.read_text().strip())


def printed(case: str) -> str:
    """The case with the plans that its query has now."""
    rule, sql = case.splitlines()[:2]
    plan = bind(sql).plan
    after = RULES[rule](plan)
    assert after.schema == plan.schema
    return "\n".join([rule, sql, *explain_logical(plan), "=>", *explain_logical(after)])


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(case.splitlines()[:2]))
def test_rule(case: str) -> None:
    assert printed(case) == case


def test_update(update_goldens: bool) -> None:
    if not update_goldens:
        pytest.skip("only with --update")
    FILE.write_text("\n\n".join(printed(case) for case in CASES) + "\n")


def test_filter_merge() -> None:
    plan = bind("select * from u").plan
    first, second = Literal(True, BOOLEAN), Literal(None, BOOLEAN)
    merged = filter_merge(Filter(Filter(plan, first), second))
    assert merged == Filter(plan, Call("and", (first, second), BOOLEAN))


def test_drop_single_row() -> None:
    plan = bind("select * from u").plan
    row = Values(((),), ())
    assert drop_single_row(Join(plan, row, JoinKind.CROSS, None, plan.schema)) == plan
    assert drop_single_row(Join(row, plan, JoinKind.CROSS, None, plan.schema)) == plan
    left = Join(row, plan, JoinKind.LEFT, None, plan.schema)
    assert drop_single_row(left) == left
